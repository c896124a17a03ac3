//! Records whose pages are tested, and their pages.

use oscost_model::record::{Comparison, Record};
use oscost_model::unit::Unit;

use super::large_run;
use crate::estimate::comparison::threshold::Threshold;
use crate::estimate::comparison::{EarlierRuns, compare};
use crate::report::render::html::report as html;
use crate::report::view;
use crate::report::view::comparison::compare::ComparisonContent as ComparedRuns;
use crate::report::view::page::PageContent;

/// Two rows at one target, one of them without a figure.
pub(super) fn record() -> Record {
    let mut record: Record =
        serde_json::from_str(include_str!("../../../../../tests/store/run-1.json")).unwrap();
    record.comparisons.clear();
    record
}

/// A few rows of three families, with curves.
pub(super) fn several() -> Record {
    let of = [("pipe/copy", Unit::NsPerOp), ("file/read", Unit::BytesPerSecond)];
    large_run::run(&[&of[..], &[("process/fork", Unit::Seconds)]].concat(), 60, 3)
}

/// The same with its first rows compared, and a second target.
pub(super) fn compared() -> Record {
    let mut record = several();
    for pair in record.results.chunks_exact_mut(2) {
        pair[1].case = pair[0].case.clone();
        pair[1].target.text = "seccomp=docker".to_owned();
    }
    let case = |at: u32| record.results[at as usize].case.clone();
    record.comparisons = (0..10u32).map(|at| comparison_of(case(2 * at), 2 * at)).collect();
    record
}

pub(super) fn comparison_of(case: String, base: u32) -> Comparison {
    serde_json::from_value(serde_json::json!({
        "case": case, "metric": "primary", "base": base, "new": base + 1, "design": "pairs",
        "pairs": 12, "span_s": 90.0, "ratio": { "value": 1.5, "ci95": [1.25, 1.75] },
        "added": { "value": 40.0, "ci95": null, "unit": "ns/op" }, "p": 0.01, "q": 0.02,
        "verdict": "slower", "mde_pct": 2.5, "control": false, "flags": ["SHORT_SPAN"]
    }))
    .unwrap()
}

pub(super) fn page(record: &Record) -> String {
    html(&view::page::run(&PageContent { record, study: None, catalog: None })).unwrap()
}

pub(super) fn page_compared(base: &[Record], new: &[Record]) -> String {
    let compared = compare(base, new, &EarlierRuns::default());
    let shown = ComparedRuns { base, new, compared: &compared, threshold: Threshold::PerCent(5.0) };
    html(&view::page::comparison(&shown, None)).unwrap()
}
