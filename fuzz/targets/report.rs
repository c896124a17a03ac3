//! An untrusted record, written in every format: whatever it contains, each is written, and none of
//! its texts becomes a tag.

#![no_main]

use libfuzzer_sys::fuzz_target;
use oscost::estimate::comparison::compare;
use oscost::report::compare::Shown;
use oscost::report::export::{self, Sheet};
use oscost::report::{html, json, markdown};
use oscost::store::validate;

fuzz_target!(|bytes: &[u8]| {
    let Ok(record) = validate(bytes) else { return };
    let runs = std::slice::from_ref(&record);
    let compared = compare(runs, runs);
    let shown = Shown { base: runs, new: runs, compared: &compared, threshold: 5.0 };
    for sheet in [Sheet::rows(&record), Sheet::comparisons(&record), Sheet::compared(&shown)] {
        let table = export::csv(&sheet).expect("every table can be CSV");
        assert!(table.starts_with(sheet.columns[0].name.as_bytes()));
        let table = export::parquet(&sheet).expect("and Parquet");
        assert!(table.starts_with(b"PAR1") && table.ends_with(b"PAR1"));
    }
    for page in [markdown::run(&record), markdown::comparison(&shown)] {
        assert!(!page.contains('<'), "{page}");
    }
    let page = html::run(&html::Shown { record: &record, study: None, catalog: None });
    for page in [page, html::comparison(&shown, None)] {
        let page = page.expect("every record is a page");
        // What is packed, and what unpacks it.
        let ours = 2 + usize::from(page.contains("id=\"library\""));
        assert_eq!(page.matches("<script").count(), ours, "{page}");
        assert_eq!(page.matches("</script").count(), ours, "{page}");
        assert!(!page.contains("<img"), "{page}");
    }
    json::record(&record).expect("a record can be written");
});
