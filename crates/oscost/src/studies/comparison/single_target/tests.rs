use oscost_model::protocol::CpuProbe;
use oscost_model::study_method::{
    ClockCost, Statistic, StudyMethod, StudyMethodFigure, StudyMethodRound, TimingScope,
};

use super::*;
use crate::studies::claims::published_result::PublishedResult;
use crate::studies::claims::verdict::Verdict;
use crate::studies::parser;
use crate::studies::test_record::{CountedOp, measured_row, stored_record, with_counts};

/// Two rows of one loop, columns computed from each, and claims on them.
const SMALL: &str = r#"
id = "small"
title = "Calls"
authors = ["A"]
year = 2001
source = "somewhere"
measured-on = "something"
core-ghz = 2.0

[protocol]
original = "x"
replication = "y"
timed = "together"
iterations = 1000000
experiments = 1
statistic = "mean"
overhead = "included"

[[condition]]
text = "nothing else ran"
kind = "alone"

[[table]]
name = "Table 1"
title = "Costs"
unit = "s"

[[table.column]]
name = "time"
unit = "s"
figure = "this * 1000000"

[[table.column]]
name = "slowdown"
unit = "x"
figure = 'this / "none"'

[[table.column]]
name = "lines"
unit = "calls"
figure = "calls * 1000000 + 30"

[[table.row]]
name = "none"
case = "syscall/function"
published = ["0.002", "1x", "30"]

[[table.row]]
name = "getpid"
case = "syscall/getpid:via=raw"
published = ["0.2", "100x", "1000030"]
predicted = { hardware = "<0.1", total = "<0.15" }

[[table]]
name = "Figure 1"
title = "Costs over sizes"
unit = "cycle"

[[table.series]]
name = "pipe"
axis = "size"
values = [4, 64]
case = "pipe/round-trip:by=pipe,size={},peer_cpu=other"
statistic = "none"
published = ["400-600", "-"]

[[table.series]]
name = "far"
axis = "size"
values = [4, 64]
case = "socket/round-trip:by=tcp,size={},peer_cpu=other"
peer = true

[[claim]]
text = "a call costs more than a function"
location = "page 1"
kind = "order"
cases = ["syscall/function", "syscall/getpid:via=raw"]

[[claim]]
text = "it is a call"
location = "page 1"
kind = "calls"
cases = ["syscall/getpid:via=raw"]
min = 1
max = 1

[[claim]]
text = "the size does not matter"
location = "page 2"
kind = "flat"
series = ["pipe"]
max = 1.5
"#;

const STUDY_METHOD: StudyMethod = StudyMethod {
    timed: TimingScope::Together,
    iterations: 1_000_000,
    experiments: 1,
    statistic: Statistic::Mean,
    clock: ClockCost::Included,
};

fn study() -> Study {
    parser::parse(SMALL.as_bytes()).unwrap()
}

/// A stored record without comparisons, on a core of 4 GHz.
fn record() -> Record {
    let mut record = stored_record();
    record.comparisons.clear();
    record.results[0].target.cpu = Some(0);
    let probe = &mut record.conditions[0].probe;
    let one: CpuProbe = probe[0].clone();
    *probe = vec![CpuProbe { cpu: 0, core_cycles_per_ns: Some(4.0), ..one }];
    record
}

/// A measured row with repetitions of these values, and the figure by the study's method.
fn row(record: &Record, case: &str, values: &[f64], by: Option<f64>) -> Row {
    let mut row = measured_row(record, case, values);
    let estimate = row.estimate.as_mut().unwrap();
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    estimate.median = sorted[sorted.len() / 2];
    estimate.ci95 = Some([estimate.median - 1.0, estimate.median + 1.0]);
    row.study_method = by.map(|value| StudyMethodFigure {
        method: STUDY_METHOD,
        iterations: 10_000,
        experiments: 1,
        ops: 10_000,
        value: Some(value),
        deviation: None,
        rounds: vec![StudyMethodRound { round: 0, ops: 10_000, value, deviation: None }],
        distance_from_rounds_pct: None,
        reason: None,
    });
    let calls = row.calls.as_mut().unwrap();
    calls.per_op.clear();
    calls.counted_ops = 23;
    row
}

/// Values around a cost that differ between rounds.
fn around(cost: f64) -> Vec<f64> {
    (0..12).map(|round| cost * (1.0 + 0.01 * f64::from(round % 5 - 2))).collect()
}

fn measured() -> Record {
    let mut record = record();
    let none = row(&record, "syscall/function", &around(2.0), Some(2.5));
    let mut getpid = row(&record, "syscall/getpid:via=raw", &around(100.0), Some(120.0));
    getpid.calls.as_mut().unwrap().per_op.insert("getpid".to_owned(), 1.0);
    let small = row(&record, "pipe/round-trip:by=pipe,size=4,peer_cpu=other", &around(90.0), None);
    let large = row(&record, "pipe/round-trip:by=pipe,size=64,peer_cpu=other", &around(99.0), None);
    record.results = vec![none, getpid, small, large];
    record
}

fn close(one: f64, other: f64) -> bool {
    (one / other - 1.0).abs() < 1e-9
}

#[test]
fn each_column_has_the_published_figure_and_its_formula_of_the_run() {
    let (study, record) = (study(), measured());
    let comparison = compare_single_target(&study, &record, &[]);
    let [time, slowdown, lines] = &comparison.tables[0].rows[1].cells[..] else { panic!() };
    let here = |cell: &ColumnResult<'_>| cell.by_study_statistic.unwrap().value;
    assert!(close(here(time), 0.12), "{time:?}");
    assert!(close(here(slowdown), 48.0) && close(here(lines), 1_000_030.0));
    // oscost's own estimate is of its own repetitions, not by the study's method.
    let own = |cell: &ColumnResult<'_>| cell.estimate.unwrap();
    assert!(close(own(time).value, 0.1) && close(own(time).interval.unwrap().lo, 0.099));
    assert!(close(own(slowdown).value, 50.0), "{slowdown:?}");
    let [low, high] = time.published_ratio.unwrap();
    assert!(close(low, 0.2 / 0.12) && low == high);
    // The study's core had half the cycles per nanosecond.
    assert!(close(time.published_ratio_in_cycles.unwrap()[0], 0.2 / 0.12 / 2.0));
    assert_eq!((slowdown.published_ratio, lines.published_ratio_in_cycles), (None, None));
    let by = time.by_study_statistic.unwrap().by.unwrap();
    assert_eq!((by.iterations, by.method.iterations), (10_000, 1_000_000));
}

#[test]
fn a_range_in_cycles_is_compared_with_cycles_of_this_core() {
    let (study, record) = (study(), measured());
    let comparison = compare_single_target(&study, &record, &[]);
    let cell = &comparison.tables[1].rows[0].cells[0];
    assert!(close(
        cell.estimate.unwrap().value,
        4.0 * record.results[2].estimate.as_ref().unwrap().median
    ));
    let [low, high] = cell.published_ratio_in_cycles.unwrap();
    let measured = cell.by_study_statistic.unwrap().value;
    assert!(close(low, 400.0 / measured) && close(high, 600.0 / measured), "{cell:?}");
}

#[test]
fn a_time_has_a_ratio_in_cycles_that_the_processor_counted() {
    let (study, mut record) = (study(), measured());
    // 2 GHz then: 0.2 s are 4e8 cycles, and a million calls here take 3e8.
    let op = CountedOp { cycles: 300.0, running_ns: Some(99.0), waiting_ns: Some(1.0) };
    with_counts(&mut record.results[1], op);
    with_counts(&mut record.results[2], CountedOp { cycles: 250.0, ..op });
    let comparison = compare_single_target(&study, &record, &[]);
    let [time, slowdown, lines] = &comparison.tables[0].rows[1].cells[..] else { panic!() };
    assert!(close(time.counted_cycles.unwrap(), 3e8), "{time:?}");
    let [low, high] = time.published_ratio_in_counted_cycles.unwrap();
    assert!(close(low, 4.0 / 3.0) && low == high, "{time:?}");
    // Beside that by the clock's rate, at 4 GHz here.
    assert!(close(time.published_ratio_in_cycles.unwrap()[0], 0.2 / 0.12 / 2.0));
    // Ratios and calls are no times, and what was not counted has none.
    for cell in [slowdown, lines, &comparison.tables[0].rows[0].cells[0]] {
        let both = (cell.counted_cycles, cell.published_ratio_in_counted_cycles);
        assert_eq!(both, (None, None), "{cell:?}");
    }
    let in_cycles = &comparison.tables[1].rows[0].cells[0];
    let [low, high] = in_cycles.published_ratio_in_counted_cycles.unwrap();
    assert!(close(low, 400.0 / 250.0) && close(high, 600.0 / 250.0), "{in_cycles:?}");
}

#[test]
fn a_formula_of_several_rows_is_in_counted_cycles_only_if_all_of_them_were_counted() {
    let text = SMALL.replacen("figure = \"this * 1000000\"", "figure = 'this - \"none\"'", 1);
    let study = parser::parse(text.as_bytes()).unwrap();
    let mut record = measured();
    let op = CountedOp { cycles: 300.0, running_ns: Some(100.0), waiting_ns: Some(0.0) };
    with_counts(&mut record.results[1], op);
    let cycles = |record: &Record| {
        let comparison = compare_single_target(&study, record, &[]);
        comparison.tables[0].rows[1].cells[0].counted_cycles
    };
    assert_eq!(cycles(&record), None);
    with_counts(&mut record.results[0], CountedOp { cycles: 8.0, ..op });
    assert_eq!(cycles(&record), Some(292.0));
    // What is subtracted waits: its cycles are not those of its time.
    let waits = CountedOp { cycles: 8.0, running_ns: Some(1.0), waiting_ns: Some(1.0) };
    with_counts(&mut record.results[0], waits);
    assert_eq!(cycles(&record), None);
}

#[test]
fn a_prediction_is_judged_by_the_published_and_by_the_measured_figure() {
    let (study, record) = (study(), measured());
    let comparison = compare_single_target(&study, &record, &[]);
    let expected = comparison.tables[0].rows[1].expected.unwrap();
    assert_eq!(
        (expected.published_result, expected.measured_result),
        (PredictionResult::DidNotHold, PredictionResult::Held)
    );
    assert!(comparison.tables[0].rows[0].expected.is_none());
}

#[test]
fn claims_are_judged_round_by_round_and_calls_by_their_count() {
    let (study, mut record) = (study(), measured());
    let verdicts = |record: &Record| -> Vec<Verdict> {
        let compared = compare_single_target(&study, record, &[]);
        compared.claims.iter().map(|it| it.verdict.clone()).collect()
    };
    assert_eq!(verdicts(&record), [Verdict::Holds, Verdict::Holds, Verdict::Holds]);
    let then = &compare_single_target(&study, &record, &[]).claims[0].published;
    assert_eq!(*then, Some(PublishedResult::Within(vec![Some(100.0)])));
    // These change the figures of the rows, so that all claims fail.
    record.results[3] = row(&record, &record.results[3].case.clone(), &around(190.0), None);
    record.results[1].calls.as_mut().unwrap().per_op.clear();
    let slow = row(&record, "syscall/function", &around(300.0), Some(300.0));
    record.results[0] = slow;
    assert_eq!(verdicts(&record), vec![Verdict::DoesNotHold; 3]);
    record.results[1].calls = None;
    record.results[0].repetitions.truncate(5);
    record.results[3].outcome = RowOutcome::Failed;
    // Too few rounds, no counts, and a row without figures.
    let open = verdicts(&record);
    let [Verdict::Undecided(_), Verdict::NotMeasured(_), Verdict::NotMeasured(_)] = &open[..]
    else {
        panic!("{open:?}")
    };
}

#[test]
fn a_row_with_a_remote_peer_is_another_row() {
    let (study, mut record) = (study(), measured());
    let local = row(&record, "socket/round-trip:by=tcp,size=4,peer_cpu=other", &around(50.0), None);
    let mut remote = row(&record, &local.case, &around(500.0), None);
    remote.target.peer = Some("m1".to_owned());
    record.results.extend([local, remote]);
    let comparison = compare_single_target(&study, &record, &[]);
    let found = comparison.tables[1].rows[2].measured.unwrap();
    assert_eq!(found.target.peer.as_deref(), Some("m1"));
    assert!(comparison.tables[1].rows[3].measured.is_none());
}

#[test]
fn no_claim_rests_on_rows_whose_peer_allows_none() {
    let claim = "[[claim]]\ntext = \"so\"\nlocation = \"page 3\"\nkind = \"flat\"\n\
                 series = [\"far\"]\nmax = 1.5\n";
    let study = parser::parse(format!("{SMALL}\n{claim}").as_bytes()).unwrap();
    let mut record = measured();
    for size in [4, 64] {
        let case = format!("socket/round-trip:by=tcp,size={size},peer_cpu=other");
        let mut far = row(&record, &case, &around(500.0), None);
        far.target.peer = Some("m1".to_owned());
        record.results.push(far);
    }
    let peer = Conditions { machine: "m1".to_owned(), ..record.conditions[0].clone() };
    record.conditions.push(peer);
    let verdicts = |record: &Record| -> Vec<Verdict> {
        let compared = compare_single_target(&study, record, &[]);
        compared.claims.iter().map(|it| it.verdict.clone()).collect()
    };
    assert_eq!(verdicts(&record), vec![Verdict::Holds; 4]);
    record.conditions[1].flags.push("CLOCK_DRIFTED".to_owned());
    let [local @ .., Verdict::Withheld { why, .. }] = &verdicts(&record)[..] else { panic!() };
    assert_eq!(local, vec![Verdict::Holds; 3], "they are measured without the peer");
    assert!(why.contains("is measured with a peer that has a clock that drifted"), "{why}");
}

#[test]
fn a_core_of_unknown_frequency_has_no_cycles_and_a_failed_method_no_figure() {
    let (study, mut record) = (study(), measured());
    record.conditions[0].probe[0].core_cycles_per_ns = None;
    let study_method = record.results[1].study_method.as_mut().unwrap();
    (study_method.value, study_method.reason) = (None, Some("it failed".to_owned()));
    let comparison = compare_single_target(&study, &record, &[]);
    let cell = &comparison.tables[1].rows[0].cells[0];
    assert!(
        cell.by_study_statistic.is_none()
            && cell.estimate.is_none()
            && cell.published_ratio.is_none()
    );
    let time = &comparison.tables[0].rows[1].cells[0];
    assert!(
        time.by_study_statistic.is_none()
            && time.estimate.is_some()
            && time.published_ratio_in_cycles.is_none()
    );
}

#[test]
fn a_row_with_a_unit_of_its_own_is_shown_in_it() {
    let row = "[[table.row]]\nname = \"in ms\"\ncase = \"process/shell\"\nunit = \"ms\"\n\
               statistic = \"none\"\npublished = [\"2\"]\n\n[[table.series]]";
    let study = parser::parse(SMALL.replacen("[[table.series]]", row, 1).as_bytes()).unwrap();
    let mut record = measured();
    record.results.push(row_of(&record, "process/shell", 1e6));
    let comparison = compare_single_target(&study, &record, &[]);
    let cell = &comparison.tables[1].rows[0].cells[0];
    assert!(close(cell.estimate.unwrap().value, 1.0), "{cell:?}");
    assert!(close(cell.published_ratio.unwrap()[0], 2.0));
}

/// A row with this cost.
fn row_of(record: &Record, case: &str, cost: f64) -> Row {
    row(record, case, &around(cost), None)
}

#[test]
fn an_extreme_by_noise_alone_is_undecided() {
    let text = SMALL
        .replace("values = [4, 64]\ncase = \"pipe", "values = [4, 16, 64]\ncase = \"pipe")
        .replace("published = [\"400-600\", \"-\"]\n", "")
        .replace("max = 1.5", "max = 1.1");
    let study = parser::parse(text.as_bytes()).unwrap();
    let mut record = measured();
    // Three equal costs, each with its own noise: in every round the largest is a fifth above the
    // smallest, but none costs more than another.
    let noise = [[0.9, 1.0, 1.1], [1.1, 0.9, 1.0], [1.0, 1.1, 0.9]];
    let of =
        |noise: [f64; 3]| -> Vec<f64> { (0..15).map(|round| 100.0 * noise[round % 3]).collect() };
    record.results.truncate(2);
    for (size, noise) in [4, 16, 64].into_iter().zip(noise) {
        let case = format!("pipe/round-trip:by=pipe,size={size},peer_cpu=other");
        record.results.push(row(&record, &case, &of(noise), None));
    }
    let verdict = compare_single_target(&study, &record, &[]).claims[2].verdict.clone();
    assert!(matches!(verdict, Verdict::Undecided(_)), "{verdict:?}");
}

#[test]
fn other_metrics_of_a_program_have_no_figures_by_round() {
    let mut record = measured();
    record.results[0].primary_metric = Some("real".to_owned());
    let study = study();
    let first = &study.tables[0].rows[0];
    let of = |metric: &str| TableRow { metric: Some(metric.to_owned()), ..first.clone() };
    let mut rounds = Rounds::default();
    rounds.add(&of("user"), &record.results[0]);
    rounds.add(&of("real"), &record.results[0]);
    let known =
        |key: &'static str| rounds.values_by_round(&[key], &|of| of(key)).map(|known| known.len());
    assert_eq!(known("syscall/function user"), Some(0));
    assert_eq!(known("syscall/function real"), Some(12));
    let values = rounds.values_by_round(&["syscall/function real"], &|_| None);
    assert_eq!(
        values, None,
        "a value that is missing in one round is not computed from the others"
    );
}
