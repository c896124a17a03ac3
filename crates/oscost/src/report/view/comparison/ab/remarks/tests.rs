//! A control, and rows that should not be used.

use super::*;

fn a_control(ends: [f64; 2], mde_pct: f64, ties: u32) -> String {
    let it = serde_json::json!({
        "case": "control", "metric": "primary", "base": 0, "new": 0, "design": "twins",
        "pairs": 9, "span_s": 0.4, "ratio": { "value": 1.0, "ci95": ends },
        "added": { "value": 0.0, "ci95": null, "unit": "ns/op" }, "p": 1.0, "q": 1.0,
        "verdict": "inconclusive", "mde_pct": mde_pct, "ties": ties, "control": true,
        "flags": []
    });
    control(&serde_json::from_value(it).unwrap())
}

#[test]
fn a_control_detects_nothing_smaller_than_its_own_interval() {
    let narrow = a_control([0.995, 1.004], 1.2, 0);
    assert!(narrow.ends_with("[0.995 .. 1.004]; 1.2 % would have been detected"), "{narrow}");
    let wide = a_control([0.6128, 1.000_01], 1.0136, 34);
    assert!(wide.ends_with("[0.613 .. 1.000]; 34 pairs of its batches did not differ"), "{wide}");
}

#[test]
fn rows_that_should_not_be_used_are_named_once_for_both_sides() {
    let text = include_str!("../../../../../../tests/store/run-1.json");
    let mut record: Record = serde_json::from_str(text).unwrap();
    let row = Row { outcome: RowOutcome::Measured, ..record.results[0].clone() };
    let flagged = |case: &str, flag: &str| Row {
        case: case.to_owned(),
        flags: vec![flag.to_owned()],
        ..row.clone()
    };
    record.comparisons.clear();
    record.results = vec![
        flagged("a/x", "DRIFT"),
        flagged("a/x", "DRIFT"),
        flagged("a/y", "PROCESSES_DIFFER"),
        flagged("a/y", "NOT_CONVERGED"),
    ];
    let [line] = &unusable_rows(&record)[..] else { panic!() };
    assert!(line.starts_with("DRIFT: ") && line.contains(": a/x. "), "{line}");
}
