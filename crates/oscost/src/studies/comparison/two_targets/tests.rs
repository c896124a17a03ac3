use std::collections::BTreeMap;

use oscost_model::record::MonitorSummary;
use oscost_model::unit::Unit;

use super::*;
use crate::studies::claims::verdict::Verdict;
use crate::studies::find_built_in;
use crate::studies::test_record::{measured_row, stored_record};

const GETPID: &str = "syscall/getpid:via=raw";
const LIBC: &str = "timer/gettimeofday:via=libc";

/// A measured row of a case on a target, with repetitions of these values in this order.
fn row(record: &Record, case: &str, target: &str, values: &[f64]) -> Row {
    let mut row = measured_row(record, case, values);
    row.target.text = target.to_owned();
    row
}

fn joined_row<'a>(study: &'a Study, record: &'a Record, name: &str) -> TwoTargetRow<'a> {
    let comparison = compare_two_targets(study, record).unwrap();
    let mut rows = comparison.tables.into_iter().flat_map(|table| table.rows);
    rows.find(|it| it.row.name == name).unwrap()
}

#[test]
fn the_first_ten_runs_are_compared_with_the_ten_of_the_study_in_its_unit() {
    let study = find_built_in("ph-2000").unwrap();
    let mut record = stored_record();
    // One failed, and the figures after ten others differ.
    let values =
        [&[100.0, 0.0, 102.0, 98.0][..], &[100.0; 4], &[101.0, 99.0, 100.0], &[5_000.0; 4]]
            .concat();
    let base = row(&record, GETPID, "local", &values);
    let mut new = row(&record, GETPID, "ph", &[200.0; 4]);
    new.repetitions.reverse();
    record.results = vec![base, new];
    record.comparisons[0].base = 0;
    record.comparisons[0].new = 1;
    let row = joined_row(&study, &record, "getpid");
    let [Some(base), Some(new)] = row.statistics else { panic!("{:?}", row.statistics) };
    assert!((base.mean - 0.1).abs() < 1e-12, "{base:?}");
    // Of ten, four differ from the mean: by 2, 2, 1 and 1.
    assert!((base.deviation.unwrap() - 0.001 * (10.0f64 / 9.0).sqrt()).abs() < 1e-12);
    assert_eq!((base.runs, new.runs, new.mean), (10, 4, 0.2));
    assert_eq!(row.comparison.map(|it| it.new), Some(1));
    let other = joined_row(&study, &record, "write");
    assert!(
        other.sides == [None; 2] && other.statistics == [None; 2] && other.comparison.is_none()
    );
    let targets = compare_two_targets(&study, &record).unwrap().targets;
    assert_eq!(targets, [Some("local"), Some("ph")]);
}

#[test]
fn a_row_that_was_not_measured_or_is_not_a_time_has_no_figure() {
    let study = find_built_in("ph-2000").unwrap();
    let mut record = stored_record();
    let base = row(&record, GETPID, "local", &[100.0; 12]);
    let mut new = row(&record, GETPID, "ph", &[]);
    new.outcome = RowOutcome::Skipped;
    record.results = vec![base.clone(), new];
    let row = joined_row(&study, &record, "getpid");
    assert!(row.statistics[0].is_some() && row.statistics[1].is_none());
    let mut bytes = base;
    bytes.unit = Unit::BytesPerSecond;
    record.results = vec![bytes];
    assert_eq!(joined_row(&study, &record, "getpid").statistics, [None; 2]);
}

#[test]
fn a_target_compared_with_itself_has_two_columns() {
    let study = find_built_in("ph-2000").unwrap();
    let mut record = stored_record();
    let [one, other] = [100.0, 110.0].map(|value| row(&record, GETPID, "local", &[value; 12]));
    record.results = vec![one, other];
    let row = joined_row(&study, &record, "getpid");
    let means = row.statistics.map(|here| here.map(|it| (1e6 * it.mean).round()));
    assert_eq!(means, [Some(100_000.0), Some(110_000.0)]);
}

#[test]
fn a_note_on_no_calls_is_shown_only_with_a_count() {
    let study = find_built_in("ph-2000").unwrap();
    let mut record = stored_record();
    record.results = vec![row(&record, LIBC, "local", &[25.0; 12])];
    let notes = |record: &Record| joined_row(&study, record, "gettimeofday (libc)").notes;
    let calls = |record: &mut Record, made: f64, vdso: bool| {
        let calls = record.results[0].calls.as_mut().unwrap();
        calls.per_op = BTreeMap::from([("gettimeofday".to_owned(), made)]);
        calls.vdso = Some(vdso);
        calls.counted_ops = 23;
    };
    calls(&mut record, 0.0, true);
    let [note] = &notes(&record)[..] else { panic!() };
    assert!(
        note.ends_with("(counted here: no call in 23 ops, code of the vDSO executed)"),
        "{note}"
    );
    let mut new = record.results[0].clone();
    new.monitor = Some(MonitorSummary { profile_states: vec![], observed_calls: 0, anomalies: 0 });
    record.results.push(new);
    let [note] = &notes(&record)[..] else { panic!() };
    assert!(note.ends_with("code of the vDSO executed; the monitor observed 0)"), "{note}");
    // With another clock source the library enters the kernel, and the monitor observes it.
    calls(&mut record, 1.0, false);
    assert_eq!(notes(&record), Vec::<String>::new());
    record.results[0].calls = None;
    assert_eq!(notes(&record), Vec::<String>::new());
}

#[test]
fn claims_are_judged_by_the_rows_of_both_targets_unless_the_run_is_void() {
    let study = find_built_in("ph-2000").unwrap();
    let mut record = stored_record();
    let cases = study.claims[0].cases.clone();
    // Values that differ a little between rounds, so that they have an interval.
    let values = |cost: f64| (0..12).map(|round| cost + f64::from(round % 5)).collect::<Vec<_>>();
    let base = cases.iter().map(|case| row(&record, case, "local", &values(100.0)));
    let new = cases.iter().map(|case| row(&record, case, "ph", &values(220.0)));
    record.results = base.chain(new).collect();
    let verdict =
        |record: &Record| compare_two_targets(&study, record).unwrap().claims[0].verdict.clone();
    assert_eq!(verdict(&record), Verdict::Holds);
    let added = compare_two_targets(&study, &record).unwrap().claims[0].added.unwrap();
    assert_eq!((added.mean.value, added.rounds), (120.0, 12));
    record.results[9] = row(&record, &cases[4], "ph", &values(300.0));
    assert_eq!(verdict(&record), Verdict::DoesNotHold);
    record.comparisons[0].flags = vec!["VOID".to_owned()];
    assert!(matches!(verdict(&record), Verdict::Undecided(why) if why.contains("control")));
    record.comparisons.clear();
    record.results[9].outcome = RowOutcome::Failed;
    assert!(matches!(verdict(&record), Verdict::Undecided(_)));
}
