//! An untrusted record, written in every format: whatever it contains, each is written, and none of
//! its texts becomes a tag.

#![no_main]

#[path = "../common/in_time.rs"]
mod in_time;

use in_time::in_time;
use libfuzzer_sys::fuzz_target;
use oscost::estimate::comparison::threshold::Threshold;
use oscost::estimate::comparison::{EarlierRuns, compare};
use oscost::report::compare::ComparisonContent;
use oscost::report::export::Sheet;
use oscost::report::{brief, csv, html, json, markdown, page, parquet};
use oscost::store::validate;

/// How the method begins in Markdown.
const FOLD: &str = "<details><summary>How it was measured</summary>";

fuzz_target!(|bytes: &[u8]| in_time(bytes.len(), || check(bytes)));

fn check(bytes: &[u8]) {
    let Ok(record) = validate(bytes) else { return };
    let runs = std::slice::from_ref(&record);
    let compared = compare(runs, runs, &EarlierRuns::default());
    let shown = ComparisonContent {
        base: runs,
        new: runs,
        compared: &compared,
        threshold: Threshold::PerCent(5.0),
    };
    for sheet in [Sheet::rows(&record), Sheet::comparisons(&record), Sheet::compared(&shown)] {
        let table = csv(&sheet).expect("every table can be CSV");
        assert!(table.starts_with(sheet.columns[0].name.as_bytes()));
        let table = parquet(&sheet).expect("and Parquet");
        assert!(table.starts_with(b"PAR1") && table.ends_with(b"PAR1"));
    }
    for view in [brief(&record), oscost::report::compare::brief(&shown)] {
        let page = markdown(&view);
        // The fold of the method, once.
        let texts = page.replacen(FOLD, "", 1).replacen("</details>", "", 1);
        assert!(!texts.contains('<'), "{page}");
    }
    let run = page::run(&page::PageContent { record: &record, study: None, catalog: None });
    for view in [run, page::comparison(&shown, None)] {
        let page = html(&view).expect("every record is a page");
        // What is packed, and what unpacks it.
        let ours = 2 + usize::from(page.contains("id=\"library\""));
        assert_eq!(page.matches("<script").count(), ours, "{page}");
        assert_eq!(page.matches("</script").count(), ours, "{page}");
        assert!(!page.contains("<img"), "{page}");
    }
    json::record(&record).expect("a record can be written");
}
