//! Writes, by whether they extend their file.

use super::*;

#[test]
fn a_write_beyond_the_end_of_its_file_pays_for_new_pages() {
    let rows = vec![
        row("file/write:via=write,size=4096,onto=old", 1_000.0),
        row("file/write:via=write,size=4096,onto=new", 3_000.0),
    ];
    let written = |name: &str| form(name, Some(4_096), 2, 2 * 4_096);
    let forms = ["write file", "write append file", "pwrite64 file"].map(written).to_vec();
    let found = charges(rows, forms, Faults::default());
    assert_eq!(amount(&found, "write file"), Some(2_000.0));
    assert_eq!(amount(&found, "write append file"), Some(6_000.0));
    assert_eq!(amount(&found, "pwrite64 file"), Some(2_000.0));
}
