//! docs/catalog is generated from the definitions, the tables of columns in
//! docs/reference/EXPORTS.md from the columns, docs/reference/PEERS.md from docs/reference/peers, and
//! docs/reference/CALLS.md from docs/reference/calls.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

#[path = "../benches/peers/main.rs"]
#[expect(dead_code, reason = "the comparisons themselves are made by hand")]
mod bench;
mod calls;
#[path = "common/golden.rs"]
mod golden;
mod peers;

use std::fs;
use std::path::Path;

use golden::check_golden;
use oscost::report;

#[test]
fn each_family_has_a_page_and_no_other_page_exists() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/catalog");
    let catalog = oscost_worker::benchmarks::data();
    for family in &catalog.families {
        let page = report::catalog_page(&catalog, &family.name);
        check_golden(&folder.join(format!("{}.md", family.name)), &page);
    }
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let is_page = catalog.families.iter().any(|it| path.ends_with(format!("{}.md", it.name)));
        assert!(is_page, "{} is not the page of a family", path.display());
    }
}

#[test]
fn each_comparison_with_a_peer_names_a_case_whose_op_it_is() {
    let unresolved = bench::unresolved(&oscost_worker::benchmarks::data());
    assert!(unresolved.is_empty(), "{unresolved:#?}");
}

#[test]
fn pages_have_every_benchmark_and_lines_of_at_most_80_columns() {
    let catalog = oscost_worker::benchmarks::data();
    for family in &catalog.families {
        let page = report::catalog_page(&catalog, &family.name);
        let long: Vec<&str> = page.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(long.is_empty(), "{long:?}");
        for definition in catalog.benchmarks.iter().filter(|it| it.family() == family.name) {
            assert!(page.contains(&format!("\n## {}\n", definition.id)), "{page}");
        }
    }
}

#[test]
fn the_page_on_exports_describes_every_column() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/EXPORTS.md");
    let page = fs::read_to_string(&path).unwrap();
    let mut made = page.clone();
    for (schema, table) in report::export::page() {
        // Between the line that names the columns' version and the next heading.
        let (before, after) = made.split_once(&format!("`{schema}`\n\n")).unwrap();
        let (_, behind) = after.split_once("\n\n").unwrap();
        made = format!("{before}`{schema}`\n\n{table}\n{behind}");
    }
    check_golden(&path, &made);
}
