//! Commands with known true times, by all of `oscost ab -- A -- B` except its output, on a
//! simulated machine (docs/explanation/METHOD.md, section 13). Seeds are fixed.

use std::time::Duration;

use oscost_model::program::TrialTime;
use oscost_model::record::{Comparison, Record, Row};

use crate::sim::programs::{Load, ProgramTruth, RunTime, run_commands};

/// A program that waits for 10 ms and computes for 1 ms.
const WAITING: ProgramTruth = ProgramTruth { cpu_ns: 1e6, wait_ns: 1e7, ..ProgramTruth::BUSY };

/// A program whose times are longer by this share.
fn slower(truth: ProgramTruth, share: f64) -> ProgramTruth {
    let factor = 1.0 + share;
    ProgramTruth { cpu_ns: truth.cpu_ns * factor, wait_ns: truth.wait_ns * factor, ..truth }
}

fn of_metric(record: &Record, metric: &str) -> Comparison {
    let found = record.comparisons.iter().find(|it| it.metric == metric && !it.control);
    found.unwrap_or_else(|| panic!("no {metric}: {:?}", record.comparisons)).clone()
}

fn has_flag(flags: &[String], flag: &str) -> bool {
    flags.iter().any(|it| it == flag)
}

/// The verdict by a metric on a program and one that is slower by this share.
fn verdict(truth: ProgramTruth, share: f64, metric: &str) -> String {
    let record = run_commands(&[truth, slower(truth, share)], RunTime::USUAL, false, 3);
    let it = of_metric(&record, metric);
    assert!(!has_flag(&it.flags, "SECONDARY"), "{metric} is what the verdict rests on: {it:?}");
    assert!((it.ratio.value - 1.0 - share).abs() < 0.000_5, "{it:?}");
    it.verdict
}

#[test]
fn the_smallest_difference_of_cpu_time_is_smaller_than_that_of_wall_time() {
    assert_eq!(verdict(ProgramTruth::BUSY, 0.0, "cpu"), "equivalent");
    assert_eq!(verdict(ProgramTruth::BUSY, 0.002, "cpu"), "equivalent");
    assert_eq!(verdict(ProgramTruth::BUSY, 0.004, "cpu"), "slower");
    assert_eq!(verdict(WAITING, 0.004, "primary"), "equivalent");
    assert_eq!(verdict(WAITING, 0.006, "primary"), "slower");
}

#[test]
fn instructions_of_commands_in_turns_are_counted_and_show_a_fifth_of_a_per_cent() {
    let verdict = |share: f64| {
        let instructions = ProgramTruth::BUSY.instructions * (1.0 + share);
        let new = ProgramTruth { instructions, ..ProgramTruth::BUSY };
        let record = run_commands(&[ProgramTruth::BUSY, new], RunTime::USUAL, true, 5);
        let it = of_metric(&record, "insn");
        assert!(it.pairs >= 6, "short commands, of which a worker makes many rounds: {it:?}");
        it.verdict
    };
    assert_eq!(verdict(0.002), "slower");
    assert_eq!(verdict(0.000_5), "equivalent");
}

/// How many of 60 comparisons of commands that compute find equal ones different, and differences of
/// 2 %.
fn found_of_sixty(truth: ProgramTruth) -> [usize; 2] {
    [0.0, 0.02].map(|share| {
        let is_found = |&seed: &u64| {
            let record = run_commands(&[truth, slower(truth, share)], RunTime::USUAL, false, seed);
            let it = of_metric(&record, "cpu");
            it.verdict == "slower" || it.verdict == "faster"
        };
        (100..160).filter(is_found).count()
    })
}

#[test]
fn two_looks_call_few_equal_commands_different_and_find_two_per_cent() {
    let truth = ProgramTruth { cpu_ns: 5e7, sd: 0.03, ..ProgramTruth::BUSY };
    // 5 % of them are three; the standard deviation is 1.7.
    let [false_verdicts, true_verdicts] = found_of_sixty(truth);
    assert!(false_verdicts <= 3, "{false_verdicts} of 60 equal commands differ");
    assert!(true_verdicts >= 54, "{true_verdicts} of 60 differences of 2 % are found");
}

#[test]
fn two_per_cent_are_found_beside_programs_that_take_turns_on_a_core_that_becomes_slower() {
    let truth = ProgramTruth { cpu_ns: 2e7, sd: 0.02, load: Load::BUSY, ..ProgramTruth::BUSY };
    let [false_verdicts, true_verdicts] = found_of_sixty(truth);
    assert!(false_verdicts <= 3, "{false_verdicts} of 60 equal commands differ");
    assert!(true_verdicts >= 54, "{true_verdicts} of 60 differences of 2 % are found");
}

/// The rounds of a row's trials, lost ones included.
fn rounds(row: &Row) -> Vec<u32> {
    row.repetitions.iter().map(|it| it.round).collect()
}

#[test]
fn a_lost_trial_is_noted_in_its_own_round() {
    let failing = |trial| ProgramTruth { failing_trial: Some(trial), ..ProgramTruth::BUSY };
    for (truths, flaky) in [
        (vec![failing(13)], 0),
        (vec![ProgramTruth::BUSY, failing(13)], 1),
        (vec![ProgramTruth::BUSY, failing(0)], 1),
    ] {
        let trial = truths[flaky].failing_trial.unwrap();
        let record = run_commands(&truths, RunTime::USUAL, false, 7);
        let row = &record.results[flaky];
        let lost: Vec<u32> =
            row.repetitions.iter().filter(|it| it.value.is_none()).map(|it| it.round).collect();
        assert_eq!(lost, [trial], "{truths:?}");
        let all: Vec<u32> = (0..row.repetitions.len() as u32).collect();
        assert_eq!(rounds(row), all, "each round once: {truths:?}");
        assert!(has_flag(&row.flags, "WORKER_LOST"), "{:?}", row.flags);
    }
}

#[test]
fn commands_that_used_the_time_that_was_asked_for_are_complete() {
    let seconds = |first_look_s| TrialTime { first_look_s, last_look_s: None };
    let both = [ProgramTruth::BUSY; 2];
    // `--budget`: the time of the whole run is up after the first worker, which has 35 rounds.
    let limited =
        |min_trials| RunTime { trials: seconds(60.0), min_trials, limit: Some(Duration::ZERO) };
    let record = run_commands(&both, limited(20), false, 11);
    assert!(record.complete);
    let pairs = of_metric(&record, "cpu").pairs;
    assert!((20..60).contains(&pairs), "{pairs}");
    assert!(run_commands(&both[..1], limited(20), false, 11).complete);
    // Fewer than the minimum are too few.
    let record = run_commands(&both, limited(60), false, 11);
    assert!(!record.complete);
    assert_eq!(of_metric(&record, "cpu").pairs, pairs);
    // `--thorough` has no limit but the span of its pairs.
    let thorough = RunTime { trials: seconds(120.0), min_trials: 40, limit: None };
    let record = run_commands(&both, thorough, false, 11);
    assert!(record.complete);
    // The span begins with the end of the first pair.
    let span_s = of_metric(&record, "cpu").span_s;
    assert!((119.0..125.0).contains(&span_s), "{span_s}");
}

#[test]
fn times_in_both_modes_that_the_tick_divides_are_flagged() {
    let is_flagged = |tick_ns: Option<f64>, cpu_ns: f64| {
        let truth = ProgramTruth { tick_ns, cpu_ns, sd: 0.01, ..ProgramTruth::BUSY };
        let record = run_commands(&[truth], RunTime::USUAL, false, 13);
        has_flag(&record.results[0].flags, "TICK_SPLIT")
    };
    // 250 ticks a second: in 10 ms two or three, in 40 ms ten, in half a second 125.
    assert!(is_flagged(Some(4e6), 1e7));
    assert!(is_flagged(Some(4e6), 4e7));
    assert!(!is_flagged(Some(4e6), 5e8), "they are known to a few per cent");
    assert!(!is_flagged(None, 1e7) && !is_flagged(None, 4e7), "divided exactly");
}
