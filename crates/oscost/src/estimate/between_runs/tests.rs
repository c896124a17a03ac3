use oscost_model::counters::INSN;
use oscost_model::record::{Estimate, Metric};
use oscost_model::unit::Better;
use oscost_stats::core_rate::RatedRun;
use oscost_stats::moments;

use super::*;
use crate::estimate::core_rate::set_core_rates;
use crate::estimate::made_up_rows::{conditions, counters, rated_row, row};

/// A row of eleven repetitions.
fn read_row() -> Row {
    row("syscall/read", 100.0)
}

/// The interval of a row, as a share of its figure.
fn relative_width(mut row: Row, known: &[CaseVariation], conditions: &[Conditions]) -> Option<f64> {
    set_intervals(std::slice::from_mut(&mut row), known, conditions);
    let estimate = row.estimate.unwrap();
    let [low, high] = estimate.between_run_ci95?;
    assert!(low < estimate.median && estimate.median < high, "{low} {high}");
    Some((high - low) / estimate.median)
}

#[test]
fn an_interval_between_runs_is_that_of_the_class_until_there_are_earlier_runs() {
    let quiet = conditions([100.0; 2]);
    let of_class = relative_width(read_row(), &[], &quiet).unwrap();
    // 2.776 times 5 % on both sides.
    assert!((0.26..0.31).contains(&of_class), "{of_class}");
    let of_boots = |deviation: f64, boot_of_run: fn(usize) -> usize| {
        let mut runs = SystemRuns::default();
        let logs: Vec<f64> = (-3..=3).map(|step| deviation * f64::from(step) / 2.0).collect();
        assert!((moments::standard_deviation(&logs).unwrap() / deviation - 1.08).abs() < 0.01);
        for (at, value) in logs.into_iter().enumerate() {
            let boot = format!("boot {}", boot_of_run(at));
            let run = RunMedian { value, standard_error: 0.0, count: 6 };
            runs.insert("local", "syscall/read", Some(&boot), run);
        }
        variations(&[read_row()], &runs)
    };
    let earlier = |deviation| of_boots(deviation, |at| at);
    let (steady, varying) = (earlier(0.002), earlier(0.2));
    assert_eq!((steady[0].runs, steady[0].boots), (7, Some(7)));
    assert_eq!(steady[0].degrees_of_freedom, 10.0);
    let width = |known: &[CaseVariation]| relative_width(read_row(), known, &quiet).unwrap();
    assert!(width(&steady) < 0.7 * of_class && width(&varying) > 2.0 * of_class);
    assert_eq!(variations(&[read_row()], &SystemRuns::default()), []);
    // Runs of one boot do not narrow what is known of boots; they widen it if they vary by more.
    let one_boot = |deviation| of_boots(deviation, |_| 0);
    let [steady, varying] = [one_boot(0.002), one_boot(0.2)];
    assert_eq!((steady[0].runs, steady[0].boots), (7, Some(1)));
    assert!((width(&steady) / of_class - 1.0).abs() < 1e-9 && width(&varying) > 2.0 * of_class);
    assert!(note_on_boots(&steady).is_some_and(|it| it.contains("7 of a case")));
    assert_eq!([note_on_boots(&earlier(0.002)), note_on_boots(&[])], [None, None]);
    let two_boots = of_boots(0.002, |at| at % 2);
    assert!(width(&two_boots) < of_class && note_on_boots(&two_boots).is_none());
}

#[test]
fn counted_instructions_of_ops_have_an_interval_over_runs_of_a_boot_those_of_programs_none() {
    let interval = |counts: &[f64], primary_metric: Option<&str>| {
        let counters = counters(counts.iter().map(|&insn| [(INSN, insn), ("cycles", insn)]));
        let mut row = read_row();
        row.primary_metric = primary_metric.map(str::to_owned);
        let estimate = row.estimate.clone().unwrap();
        let of = |unit| Metric { unit, better: Better::Lower, estimate: estimate.clone() };
        row.metrics.insert(INSN.to_owned(), of(Unit::InstructionsPerOp));
        row.metrics.insert("cycles".to_owned(), of(Unit::CyclesPerOp));
        row.counters = Some(counters);
        set_intervals(std::slice::from_mut(&mut row), &[], &conditions([100.0; 2]));
        assert_eq!(row.metrics["cycles"].estimate.between_run_ci95, None, "not measured");
        row.metrics[INSN].estimate.between_run_ci95
    };
    let [low, high] = interval(&[5_000.0, 5_001.0, 5_002.0], None).unwrap();
    assert!(
        (4_990.0..4_995.0).contains(&low) && (5_007.0..5_012.0).contains(&high),
        "{low} {high}"
    );
    assert_eq!(interval(&[5_000.0; 2], None), None, "too few workers");
    assert_eq!(interval(&[5_000.0; 6], Some("real")), None);
}

#[test]
fn runs_of_unknown_boots_are_no_further_boots() {
    let mut runs = SystemRuns::default();
    let run = RunMedian { value: 0.0, standard_error: 0.0, count: 6 };
    let row = read_row();
    let counts = |runs: &SystemRuns| {
        let boots: Vec<usize> = runs.boots(&row).iter().map(Vec::len).collect();
        (boots, runs.boot_count(&row))
    };
    assert_eq!(counts(&runs), (vec![], None));
    runs.insert("local", "syscall/read", None, run);
    runs.insert("local", "syscall/read", None, run);
    assert_eq!(counts(&runs), (vec![2], None));
    runs.insert("local", "syscall/read", Some("a"), run);
    runs.insert("local", "syscall/read", Some("b"), run);
    assert_eq!(counts(&runs), (vec![3, 1], Some(2)));
}

#[test]
fn a_machine_that_changed_during_the_run_widens_the_interval() {
    let quiet = relative_width(read_row(), &[], &conditions([100.0, 101.0])).unwrap();
    let moved = relative_width(read_row(), &[], &conditions([100.0, 150.0])).unwrap();
    assert!(moved > 3.0 * quiet, "{moved} {quiet}");
}

#[test]
fn the_interval_of_a_row_on_two_levels_spans_both() {
    let mut row = read_row();
    for (at, it) in row.repetitions.iter_mut().enumerate() {
        it.value = it.value.map(|value| if at % 2 == 0 { value } else { 1.8 * value });
    }
    let steady = [CaseVariation {
        target: "local".to_owned(),
        case: "syscall/read".to_owned(),
        runs: 9,
        boots: Some(9),
        deviation: 0.002,
        degrees_of_freedom: 10.0,
        core_cycles: None,
        metrics: Vec::new(),
    }];
    set_intervals(std::slice::from_mut(&mut row), &steady, &conditions([100.0; 2]));
    let estimate = row.estimate.unwrap();
    let levels = estimate.levels.unwrap();
    assert_eq!((levels.low_count, levels.high_count), (6, 5));
    let [low, high] = estimate.between_run_ci95.unwrap();
    assert!(low <= levels.low && levels.low < 101.0 && high >= levels.high, "{low} {high}");
    assert_eq!(row.flags, ["TWO_LEVELS"]);
}

#[test]
fn a_reference_case_drifts_if_it_moves_by_more_than_it_varies_between_runs() {
    let case = "syscall/getppid:via=raw";
    let known = |deviation: f64| CaseVariation {
        target: "local".to_owned(),
        case: case.to_owned(),
        runs: 9,
        boots: Some(9),
        deviation,
        degrees_of_freedom: 10.0,
        core_cycles: None,
        metrics: Vec::new(),
    };
    let is_flagged = |after: f64, known: &[CaseVariation], row: Row| {
        let mut there = conditions([100.0, after]);
        flag_drift(&mut there, &[row], known);
        there[0].flags == ["REFERENCE_DRIFT"]
    };
    // By the class: 2.394 times the square root of 2 times 5 %.
    assert!(!is_flagged(115.0, &[], row(case, 100.0)));
    assert!(is_flagged(120.0, &[], row(case, 100.0)) && is_flagged(80.0, &[], row(case, 100.0)));
    assert!(is_flagged(103.0, &[known(0.002)], row(case, 100.0)), "a steady machine");
    assert!(!is_flagged(150.0, &[known(0.2)], row(case, 100.0)), "one that always varies");
    let counted = Row { unit: Unit::InstructionsPerOp, ..row(case, 100.0) };
    assert!(!is_flagged(150.0, &[], counted), "counts do not drift");
    assert!(!is_flagged(150.0, &[], row("syscall/read", 100.0)), "another case");
}

#[test]
fn counts_programs_and_figures_of_few_repetitions_or_near_zero_have_no_interval_between_runs() {
    let quiet = conditions([100.0; 2]);
    let mut few = read_row();
    few.repetitions.truncate(5);
    assert_eq!(relative_width(few, &[], &quiet), None);
    let mut below = read_row();
    below.flags.push("BELOW_DETECTION".to_owned());
    assert_eq!(relative_width(below, &[], &quiet), None);
    let mut exact = read_row();
    exact.estimate.as_mut().unwrap().exact = true;
    assert_eq!(relative_width(exact, &[], &quiet), None);
    let counted = Row { unit: Unit::InstructionsPerOp, ..read_row() };
    assert_eq!(relative_width(counted, &[], &quiet), None);
    let program = Row { primary_metric: Some("wall".to_owned()), ..read_row() };
    assert_eq!(relative_width(program, &[], &quiet), None);
    let mut negative = read_row();
    negative.repetitions[0].value = Some(-1.0);
    assert_eq!(relative_width(negative, &[], &quiet), None);
}

#[test]
fn a_program_has_an_interval_between_runs_by_its_earlier_runs_alone() {
    let quiet = conditions([100.0; 2]);
    let program = || Row { primary_metric: Some("real".to_owned()), ..read_row() };
    let earlier = |count: usize, deviation: f64| {
        let mut runs = SystemRuns::default();
        for at in 0..count {
            let value = deviation * (at as f64 - 1.0);
            let boot = format!("boot {at}");
            let run = RunMedian { value, standard_error: 0.0, count: 6 };
            runs.insert("local", "syscall/read", Some(&boot), run);
        }
        variations(&[program()], &runs)
    };
    assert_eq!(earlier(2, 0.01), [], "two runs show too little");
    let known = earlier(3, 0.01);
    assert_eq!((known[0].runs, known[0].boots, known[0].degrees_of_freedom), (3, Some(3), 2.0));
    // Some 4.2 times 1 % on both sides, and what the repetitions leave open.
    let width = relative_width(program(), &known, &quiet).unwrap();
    assert!((0.078..0.1).contains(&width), "{width}");
    assert!(relative_width(program(), &earlier(3, 0.05), &quiet).unwrap() > 3.0 * width);
    let of_command = CaseVariation { case: "workload/gzip".to_owned(), ..known[0].clone() };
    let of_one_boot = CaseVariation { boots: Some(1), ..of_command };
    assert_eq!(note_on_boots(&[of_one_boot]), None, "its interval is by these runs");
}

#[test]
fn a_count_that_is_equal_in_all_repetitions_is_that_of_the_next_run() {
    let mut counted = Row { unit: Unit::InstructionsPerOp, ..read_row() };
    counted.estimate.as_mut().unwrap().exact = true;
    set_intervals(std::slice::from_mut(&mut counted), &[], &conditions([100.0, 150.0]));
    assert_eq!(counted.estimate.unwrap().between_run_ci95, Some([100.0; 2]));
}

#[test]
fn the_interval_of_cycles_has_the_variation_of_cycles() {
    let changing = [3.0, 1.5, 2.0, 2.9, 1.6, 2.4, 1.8, 2.7, 2.2, 3.0];
    let mut runs = SystemRuns::default();
    for at in 0..9 {
        let rate = (1.5 + 0.2 * f64::from(at * 5 % 8)).ln();
        let median = |value| RunMedian { value, standard_error: 0.0, count: 6 };
        let cycles = 360f64.ln() + 0.003 * f64::from(at % 3);
        let (time, cycles) = (median(cycles - rate), median(cycles));
        let boot = format!("boot {at}");
        runs.insert_rated("local", "syscall/read", Some(&boot), RatedRun { time, cycles });
    }
    let mut rows = [rated_row("syscall/read", 360.0, &changing, 1.0)];
    let known = variations(&rows, &runs);
    assert_eq!(known[0].runs, 9);
    assert!(known[0].core_cycles.unwrap().deviation < 0.5 * known[0].deviation, "{known:?}");
    set_core_rates(&mut rows, &known, Nominal::FIXED);
    set_intervals(&mut rows, &known, &conditions([100.0; 2]));
    let width = |estimate: &Estimate| {
        let [low, high] = estimate.between_run_ci95.unwrap();
        (high / low).ln()
    };
    let time = width(rows[0].estimate.as_ref().unwrap());
    let cycles = width(&rows[0].metrics[CORE_CYCLES].estimate);
    assert!(cycles < 0.5 * time, "{cycles} {time}");
}
