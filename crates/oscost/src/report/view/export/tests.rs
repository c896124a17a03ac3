//! Columns and their values.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use oscost_model::record::PRIMARY;
use oscost_model::unit::Unit;

use super::*;

/// A run with figures, quantiles, metrics, a floor and what was not measured.
pub(in crate::report) fn record() -> Record {
    serde_json::from_str(include_str!("../../../../tests/store/run-1.json")).unwrap()
}

/// The same with its first row compared with its second, by its own figure and by a metric.
fn compared() -> Record {
    let mut record = record();
    let metric = record.results[0].metrics.keys().next().cloned();
    let it = |metric: String| Comparison {
        case: record.results[0].case.clone(),
        metric,
        base: 1,
        new: 0,
        design: "twins".to_owned(),
        pairs: 12,
        span_s: 60.5,
        ratio: oscost_model::record::Ratio { value: 1.5, ci95: Some([1.25, 1.75]) },
        added: oscost_model::record::AddedCost { value: 0.1, ci95: None, unit: Unit::Seconds },
        p: 0.25,
        q: 0.5,
        verdict: "slower".to_owned(),
        mde_pct: None,
        ties: 0,
        added_cycles: None,
        monitor_events_per_op: None,
        decomposition: None,
        control: false,
        flags: vec!["BLOCKS".to_owned(), "SHORT_SPAN".to_owned()],
    };
    let names = [Some(PRIMARY.to_owned()), metric, Some("no-such".to_owned())];
    record.comparisons = names.into_iter().flatten().map(it).collect();
    record
}

/// Each cell is of its column's kind, and unknown only where that may be.
fn holds(sheet: &Sheet<'_>) {
    for at in 0..sheet.len() {
        for (column, value) in sheet.columns.iter().zip(sheet.line(at)) {
            let kind = match value {
                Value::Unknown => {
                    assert!(column.unknown.is_some(), "line {at} has no `{}`", column.name);
                    continue;
                }
                Value::Text(_) => Kind::Text,
                Value::Float(_) => Kind::Float,
                Value::Integer(_) => Kind::Integer,
                Value::Boolean(_) => Kind::Boolean,
            };
            assert_eq!(kind, column.kind, "{}", column.name);
        }
    }
}

fn cell<'a>(sheet: &Sheet<'a>, line: usize, name: &str) -> Value<'a> {
    let at = sheet.columns.iter().position(|column| column.name == name).unwrap();
    sheet.line(line).nth(at).unwrap()
}

#[test]
fn every_column_has_a_name_of_its_own_and_a_meaning() {
    let of_figures = |columns: &[Column]| columns.iter().map(Column::heading).collect::<Vec<_>>();
    for headings in [
        of_figures(rows::COLUMNS),
        of_figures(comparisons::COLUMNS),
        bills::headings().collect(),
        fleet_cases::headings().collect(),
    ] {
        let names: BTreeSet<&str> = headings.iter().map(|heading| heading.name).collect();
        assert_eq!(names.len(), headings.len());
        for Heading { name, means, unknown, .. } in &headings {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(name.chars().all(plain), "{name}");
            for text in [Some(*means), *unknown].into_iter().flatten() {
                assert!(!text.is_empty() && !text.contains(['|', '\n']), "{name}: {text}");
                assert!(text.is_ascii() && !text.ends_with('.'), "{name}: {text}");
            }
        }
    }
}

#[test]
fn a_row_has_a_line_for_each_of_its_figures_and_its_own_comes_first() {
    let mut record = record();
    holds(&Sheet::rows(&record));
    let row = &record.results[0];
    let figures: Vec<&str> = Side::all(&[], row).map(|side| side.metric).collect();
    assert_eq!(figures.len(), 1 + row.metrics.len());
    assert_eq!(figures[0], PRIMARY);
    let own = row.metrics.keys().next().unwrap().clone();
    record.results[0].primary_metric = Some(own.clone());
    let figures: Vec<&str> = Side::all(&[], &record.results[0]).map(|it| it.metric).collect();
    assert!(!figures.contains(&own.as_str()), "its own figure is listed twice: {figures:?}");
}

#[test]
fn what_was_compared_has_a_line_with_both_figures() {
    let record = compared();
    let sheet = Sheet::comparisons(&record);
    holds(&sheet);
    assert_eq!(sheet.len(), 3);
    let median = |row: usize| record.results[row].estimate.as_ref().map(|it| it.median);
    assert_eq!(cell(&sheet, 0, "base_median"), median(1).into());
    assert_eq!(cell(&sheet, 0, "new_median"), median(0).into());
    assert_eq!(cell(&sheet, 0, "flags"), "BLOCKS SHORT_SPAN".into());
    assert_eq!(cell(&sheet, 1, "metric"), record.comparisons[1].metric.as_str().into());
    assert_eq!(cell(&sheet, 2, "new_median"), Value::Unknown);
    assert_eq!(cell(&sheet, 2, "unit"), "s".into());
}

#[test]
fn what_is_not_finite_or_beyond_all_counting_is_unknown() {
    assert_eq!(Value::from(f64::NAN), Value::Unknown);
    assert_eq!(Value::from(f64::INFINITY), Value::Unknown);
    assert_eq!(Value::from(u64::MAX), Value::Unknown);
    assert_eq!(Value::from(i64::MAX as u64), Value::Integer(i64::MAX));
}

/// Where the record has what a column of `rows` holds: the key of a run, of a row (`row`), or of what
/// describes a figure (`estimate`).
const HELD: &[(&str, &str)] = &[
    ("run", "/id"),
    ("started", "/started"),
    ("label", "/label"),
    ("complete", "/complete"),
    ("cpu_model", "/machines/0/cpu/model_name"),
    ("kernel", "/machines/0/os/release"),
    ("run_class", "/conditions/0/class"),
    ("tool_version", "/tool/version"),
    ("case", "row/case"),
    ("benchmark", "row/benchmark"),
    ("rev", "row/rev"),
    ("target", "row/target/text"),
    ("host", "row/target/host"),
    ("cpu", "row/target/cpu"),
    ("peer", "row/target/peer"),
    ("outcome", "row/outcome"),
    ("reason", "row/reason"),
    ("mode", "row/mode"),
    ("primary_metric", "row/primary"),
    ("unit", "row/unit"),
    ("better", "row/better"),
    ("median", "estimate/median"),
    ("ci95_low", "estimate/ci95/0"),
    ("ci95_high", "estimate/ci95/1"),
    ("between_run_ci95_low", "estimate/between_run_ci95/0"),
    ("between_run_ci95_high", "estimate/between_run_ci95/1"),
    ("half_width_pct", "estimate/half_width_pct"),
    ("raw_median", "estimate/raw_median"),
    ("overhead_clock", "estimate/overhead/clock"),
    ("overhead_loop", "estimate/overhead/loop"),
    ("mean", "estimate/mean"),
    ("sd", "estimate/sd"),
    ("sd_within", "estimate/sd_within"),
    ("min", "estimate/min"),
    ("p10", "estimate/p10"),
    ("repetitions", "estimate/repetitions"),
    ("samples", "estimate/samples"),
    ("ops_per_sample", "estimate/ops_per_sample"),
    ("converged", "estimate/converged"),
    ("exact", "estimate/exact"),
    ("shots", "estimate/quantiles/n"),
    ("shot_p50", "estimate/quantiles/p50"),
    ("shot_p90", "estimate/quantiles/p90"),
    ("shot_p99", "estimate/quantiles/p99"),
    ("shot_p999", "estimate/quantiles/p999"),
    ("shot_max", "estimate/quantiles/max"),
    ("class", "row/class"),
    ("floor", "row/floor/value"),
    ("calls_expected", "row/calls/expected"),
    ("lost_pct", "row/disturbed/lost_pct"),
    ("rejected_pct", "row/disturbed/rejected_pct"),
    ("expected", "row/expected"),
];
/// Columns that are worked out of several keys.
const WORKED_OUT: &[&str] = &[
    "run_flags",
    "family",
    "point",
    "treatments",
    "requested",
    "metric",
    "calls_per_op",
    "peer_calls_per_op",
    "flags",
];

#[test]
fn every_column_is_read_from_where_the_record_has_it() {
    let record = record();
    let whole = serde_json::to_value(&record).unwrap();
    let sheet = Sheet::rows(&record);
    let names: BTreeSet<&str> = sheet.columns.iter().map(|column| column.name).collect();
    let known = HELD.iter().map(|(name, _)| *name).chain(WORKED_OUT.iter().copied());
    assert_eq!(names, known.collect());
    let lines = whole["results"].as_array().unwrap().iter().flat_map(|row| {
        let metrics = row["metrics"].as_object().unwrap().keys().map(Some);
        std::iter::once(None).chain(metrics).map(move |metric| (row, metric))
    });
    for (at, (row, metric)) in lines.enumerate() {
        let of = metric.map_or(row, |metric| &row["metrics"][metric]);
        for (name, path) in HELD {
            let held = match path.split_once('/').unwrap() {
                ("", _) => whole.pointer(path),
                // Two keys of a row are those of its metric, too; a floor is not.
                ("row", "floor/value") if metric.is_some() => None,
                ("row", key @ ("unit" | "better")) => of.get(key),
                ("row", key) => row.pointer(&format!("/{key}")),
                (_, key) => of["estimate"].pointer(&format!("/{key}")),
            };
            let read = match cell(&sheet, at, name) {
                Value::Unknown => Json::Null,
                Value::Text(text) => json!(text),
                Value::Float(number) => json!(number),
                Value::Integer(number) => json!(number),
                Value::Boolean(truth) => json!(truth),
            };
            assert_eq!(&read, held.unwrap_or(&Json::Null), "line {at}, `{name}`");
        }
    }
}

#[test]
fn what_is_worked_out_is_as_the_page_says() {
    let mut record = record();
    let row = &mut record.results[0];
    row.target.treatments = vec!["seccomp=docker".to_owned(), "nice=5".to_owned()];
    row.flags = vec!["REFERENCE".to_owned(), "DRIFT".to_owned()];
    if let Some(calls) = &mut row.calls {
        calls.per_op = [("read".to_owned(), 1.5), ("write".to_owned(), 1.0)].into();
        calls.peer_per_op.clear();
    }
    let sheet = Sheet::rows(&record);
    assert_eq!(cell(&sheet, 0, "treatments"), "seccomp=docker+nice=5".into());
    assert_eq!(cell(&sheet, 0, "flags"), "REFERENCE DRIFT".into());
    assert_eq!(cell(&sheet, 0, "requested"), Value::Boolean(false));
    assert_eq!(cell(&sheet, 0, "family"), "syscall".into());
    assert_eq!(cell(&sheet, 0, "point"), "via=raw".into());
    assert_eq!(cell(&sheet, 0, "calls_per_op"), Value::Float(2.5));
    let Value::Float(none) = cell(&sheet, 0, "peer_calls_per_op") else { panic!("it is known") };
    assert!(none.is_sign_positive(), "no call is 0, not -0");
}

#[test]
fn a_bill_has_a_line_for_each_item_and_total_and_unknown_is_empty() {
    let bill: oscost_model::bill::Bill =
        serde_json::from_str(include_str!("../../../../tests/store/bill-1.json")).unwrap();
    let sheet = BillSheet::of(&bill);
    let headings = sheet.headings();
    let cell = |line: usize, name: &str| {
        let column = headings.iter().position(|heading| heading.name == name).unwrap();
        sheet.cell(line, column)
    };
    let kinds: Vec<Value<'_>> = (0..sheet.line_count()).map(|line| cell(line, "kind")).collect();
    let item = || Value::from("item");
    let totals = ["charged", "measured", "difference"].map(Value::from);
    assert_eq!(kinds[..4], [item(), item(), item(), item()]);
    assert_eq!(kinds[4..], totals);
    for line in 0..sheet.line_count() {
        for (column, heading) in headings.iter().enumerate() {
            let is_of_kind = match sheet.cell(line, column) {
                Value::Unknown => heading.unknown.is_some(),
                Value::Text(_) => heading.kind == Kind::Text,
                Value::Float(_) => heading.kind == Kind::Float,
                Value::Integer(_) => heading.kind == Kind::Integer,
                Value::Boolean(_) => heading.kind == Kind::Boolean,
            };
            assert!(is_of_kind, "line {line} has another value of `{}`", heading.name);
        }
    }
    assert_eq!(cell(0, "item"), "openat file".into());
    assert_eq!((cell(0, "family"), cell(4, "family")), ("".into(), Value::Unknown));
    assert_eq!(cell(4, "cautions"), "".into());
    assert_eq!(cell(0, "amount_ns"), Value::Float(2e6));
    assert_eq!(cell(0, "unit_ns"), Value::Float(2e3));
    assert_eq!(cell(0, "unit_ci95_low_ns"), Value::Float(1.8e3));
    assert_eq!(cell(0, "share_pct"), Value::Float(20.0));
    // The fourth has no price.
    assert_eq!((cell(3, "amount_ns"), cell(3, "share_pct")), (Value::Unknown, Value::Unknown));
    assert!(matches!(cell(3, "missing"), Value::Text(why) if why.starts_with("no price of")));
    assert_eq!((cell(4, "item"), cell(4, "times")), (Value::Unknown, Value::Unknown));
    assert_eq!(cell(4, "amount_ns"), Value::Float(3.1e6));
    assert_eq!(cell(5, "amount_ns"), Value::Float(1e7));
    assert_eq!(cell(5, "share_pct"), Value::Float(100.0));
    assert_eq!(cell(6, "amount_ci95_high_ns"), Value::Float(7.57e6));
    assert_eq!((cell(0, "counter"), cell(0, "added_pct")), ("ptrace".into(), Value::Float(100.0)));
    for name in ["watched_s", "kernel_calls", "on_cpu_ns", "off_cpu_ns"] {
        assert_eq!(cell(0, name), Value::Unknown, "{name} of a command that a tracer counted");
    }
    assert!(crate::report::csv(&sheet).is_ok() && crate::report::parquet(&sheet).is_ok());
}

#[test]
fn the_watch_and_the_time_in_the_kernel_have_columns() {
    let mut bill: oscost_model::bill::Bill =
        serde_json::from_str(include_str!("../../../../tests/store/bill-1.json")).unwrap();
    bill.watched = Some(oscost_model::bill::Watched {
        pid: 7,
        seconds: 10.0,
        threads: 1,
        children: false,
        ended: false,
        on_cpu_ns: None,
    });
    let time =
        oscost_model::program_calls::KernelTime { calls: 10, on_cpu_ns: 9_000, off_cpu_ns: 70 };
    bill.items[0].in_kernel = Some(time);
    let sheet = BillSheet::of(&bill);
    let headings = sheet.headings();
    let cell = |line: usize, name: &str| {
        let column = headings.iter().position(|heading| heading.name == name).unwrap();
        sheet.cell(line, column)
    };
    assert_eq!(cell(0, "watched_s"), Value::Float(10.0));
    let times = ["kernel_calls", "on_cpu_ns", "off_cpu_ns"].map(|name| cell(0, name));
    assert_eq!(times, [10, 9_000, 70].map(Value::Integer));
    assert_eq!((cell(1, "on_cpu_ns"), cell(4, "on_cpu_ns")), (Value::Unknown, Value::Unknown));
}

#[test]
fn the_treatments_of_a_bill_have_columns() {
    let mut bill: oscost_model::bill::Bill =
        serde_json::from_str(include_str!("../../../../tests/store/bill-1.json")).unwrap();
    bill.treatments = vec!["nice=5".to_owned(), "ptrace".to_owned()];
    bill.counted_without = Some("only one monitor".to_owned());
    let sheet = BillSheet::of(&bill);
    let headings = sheet.headings();
    let cell = |name: &str| {
        let column = headings.iter().position(|heading| heading.name == name).unwrap();
        sheet.cell(0, column)
    };
    assert_eq!(cell("treatments"), "nice=5+ptrace".into());
    assert_eq!(cell("counted_without"), "only one monitor".into());
}

#[test]
fn the_cool_end_of_a_bill_has_columns() {
    let mut bill: oscost_model::bill::Bill =
        serde_json::from_str(include_str!("../../../../tests/store/bill-1.json")).unwrap();
    let amount =
        |ns: f64| Some(oscost_model::bill::Amount { ns, ci95: Some([0.5 * ns, 2.0 * ns]) });
    (bill.charged_cool, bill.difference_cool) = (amount(6e6), amount(4e6));
    let item = &mut bill.items[0];
    (item.cool_price, item.cool_amount) = (amount(3e3), amount(3e6));
    item.cool_source = Some("cool=1M".to_owned());
    (item.rare_times, item.rare_cool_source) = (3.0, Some("cool=32M".to_owned()));
    item.function_added = amount(1e6);
    item.function_source = Some("call=function".to_owned());
    let sheet = BillSheet::of(&bill);
    let headings = sheet.headings();
    let cell = |line: usize, name: &str| {
        let column = headings.iter().position(|heading| heading.name == name).unwrap();
        sheet.cell(line, column)
    };
    assert_eq!(cell(0, "cool_price_ns"), Value::Float(3e3));
    assert_eq!(cell(0, "cool_amount_ci95_high_ns"), Value::Float(6e6));
    assert_eq!(cell(0, "cool_source"), "cool=1M".into());
    assert_eq!(cell(0, "rare_times"), Value::Float(3.0));
    assert_eq!(cell(0, "rare_cool_source"), "cool=32M".into());
    assert_eq!(cell(0, "function_added_ns"), Value::Float(1e6));
    assert_eq!(cell(0, "function_source"), "call=function".into());
    assert_eq!(cell(1, "function_added_ns"), Value::Unknown);
    let of_totals = [4, 5, 6].map(|line| cell(line, "cool_amount_ns"));
    assert_eq!(of_totals, [Value::Float(6e6), Value::Unknown, Value::Float(4e6)]);
    assert_eq!(cell(1, "cool_amount_ns"), Value::Unknown);
}

#[test]
fn a_bill_that_was_not_counted_has_no_totals_of_charges() {
    let mut bill: oscost_model::bill::Bill =
        serde_json::from_str(include_str!("../../../../tests/store/bill-1.json")).unwrap();
    (bill.counted, bill.charged, bill.difference) = (None, None, None);
    bill.items.clear();
    let sheet = BillSheet::of(&bill);
    assert_eq!(sheet.line_count(), 1, "the measured system time is all there is");
}
