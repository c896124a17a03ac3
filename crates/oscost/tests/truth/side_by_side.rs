//! Rows measured side by side with known true effects: all of `oscost ab` except its output, on a
//! simulated machine (docs/explanation/METHOD.md, section 12). Seeds are fixed.

use std::time::Duration;

use crate::sim::arms::{Arms, RoundEnd, compare, compare_until};
use oscost::run::RoundLimit;
use oscost_model::journal::Design;
use oscost_model::record::{AddedCost, Comparison, Record, RowOutcome};
use oscost_model::unit::Unit;

/// Arms like fork twins on a shared machine: they differ by 0.4 % at random.
const EVEN: Arms = Arms {
    pair_sd: 0.004,
    effect: 0.0,
    bias: 0.0,
    drift_per_s: 0.0,
    mitigated: false,
    core_changes: false,
};

const DESIGNS: [Design; 3] = [Design::Twins, Design::Toggle, Design::Pairs];

/// The rows and the controls.
fn rows_and_controls(all: Vec<Comparison>) -> (Vec<Comparison>, Vec<Comparison>) {
    all.into_iter().partition(|it| !it.control)
}

fn holds(it: &Comparison, truth: f64) -> bool {
    it.ratio.ci95.is_some_and(|[low, high]| (low..=high).contains(&truth))
}

#[test]
fn no_design_raises_an_alarm_without_an_effect_on_a_drifting_machine() {
    for design in DESIGNS {
        // Costs increase by one per cent per second.
        let arms = Arms { drift_per_s: 0.01, ..EVEN };
        let (rows, controls) = rows_and_controls(compare(100, design, arms, 12, 7));
        let alarms = rows.iter().filter(|it| it.verdict == "slower" || it.verdict == "faster");
        assert_eq!(alarms.count(), 0, "{design:?}");
        // L5 of METHOD on a simulated machine: at most 16 of 200 significant, 2 beyond the margin.
        let significant = rows.iter().filter(|it| it.p <= 0.05).count();
        let beyond = |it: &&Comparison| {
            it.ratio.ci95.is_some_and(|[low, high]| low > 1.01 || high < 1.0 / 1.01)
        };
        let beyond = rows.iter().filter(beyond).count();
        println!("{design:?}: {significant} of 100 significant, {beyond} beyond 1 %");
        assert!(significant <= 8 && beyond <= 1, "{design:?}: {significant}, {beyond}");
        assert_eq!((rows.len(), controls.len()), (100, 1));
        // What its two equal sides would have shown is beyond its own margin, half that of a row.
        let detectable = controls[0].mde_pct.unwrap();
        assert!((0.5..3.0).contains(&detectable), "{design:?}: {detectable}");
    }
}

#[test]
fn five_per_cent_are_found_in_each_design_and_intervals_contain_them() {
    for design in DESIGNS {
        let arms = Arms { effect: 0.05, ..EVEN };
        let (rows, controls) = rows_and_controls(compare(100, design, arms, 16, 11));
        let found = rows.iter().filter(|it| it.verdict == "slower").count();
        let held = rows.iter().filter(|it| holds(it, 1.05)).count();
        println!("{design:?}: {found} found, {held} intervals contain 5 %");
        assert!(found >= 95, "{design:?}: {found}");
        assert!(rows.iter().all(|it| it.ratio.value > 1.0), "{design:?}: a wrong sign");
        assert!(held >= 90, "{design:?}: {held}");
        // The cost is 124 ns, and the added cost is in nanoseconds too.
        assert!(rows.iter().all(|it| (it.added.value - 6.2).abs() < 1.5), "{design:?}");
        assert!(controls.iter().all(|it| it.verdict != "slower" && it.verdict != "faster"));
        assert_eq!(rows[0].design, design.text());
        assert!(rows.iter().all(|it| it.pairs == 16), "{design:?}");
    }
}

/// 5 % of 124 ns at 2.6 cycles per ns.
const ADDED_CYCLES: f64 = 16.12;

/// In which share of the next runs the time added lies between these: their cores have any rate from
/// half to all of 2.6 cycles per ns.
fn share_of_next_runs([low, high]: [f64; 2]) -> f64 {
    const RUNS: u32 = 1_000;
    let added = |run: u32| {
        let share = 0.5 + 0.5 * (f64::from(run) + 0.5) / f64::from(RUNS);
        ADDED_CYCLES / (2.6 * share)
    };
    let held = (0..RUNS).filter(|&run| (low..=high).contains(&added(run)));
    held.count() as f64 / f64::from(RUNS)
}

#[test]
fn what_is_added_at_changing_rates_of_the_core_is_known_in_cycles() {
    for design in DESIGNS {
        let arms = Arms { effect: 0.05, core_changes: true, ..EVEN };
        let (rows, _) = rows_and_controls(compare(40, design, arms, 16, 19));
        let cycles: Vec<_> = rows.iter().filter_map(|it| it.added_cycles.as_ref()).collect();
        assert_eq!(cycles.len(), rows.len(), "{design:?}: each row follows the core");
        assert!(cycles.iter().all(|it| it.unit == Unit::CyclesPerOp));
        let ends = |it: &AddedCost| it.ci95.unwrap();
        let holds = |it: &&&AddedCost| {
            let [low, high] = ends(it);
            (low..=high).contains(&ADDED_CYCLES)
        };
        let held = cycles.iter().filter(holds).count();
        // The time added is that of any rate: it is less well known.
        let width = |it: &AddedCost| {
            let [low, high] = ends(it);
            (high - low) / it.value
        };
        let narrower =
            rows.iter().zip(&cycles).filter(|(row, cycles)| width(cycles) < width(&row.added));
        let narrower = narrower.count();
        println!("{design:?}: {held} of 40 hold, {narrower} narrower in cycles");
        assert!(held >= 34 && narrower == 40, "{design:?}: {held}, {narrower}");
        // The core of the next run has any rate from half to all of its own.
        let mean_held = rows.iter().map(|it| share_of_next_runs(ends(&it.added))).sum::<f64>()
            / rows.len() as f64;
        println!("{design:?}: times hold {mean_held:.3} of the next runs");
        assert!(mean_held >= 0.93, "{design:?}: {mean_held}");
    }
    let arms = Arms { effect: 0.05, ..EVEN };
    let (rows, _) = rows_and_controls(compare(3, Design::Twins, arms, 16, 19));
    assert!(rows.iter().all(|it| it.added_cycles.is_none()), "one rate shows nothing: {rows:?}");
}

#[test]
fn a_bias_towards_one_side_shows_in_the_control_and_voids_all_verdicts() {
    for design in [Design::Twins, Design::Toggle] {
        let arms = Arms { effect: 0.10, bias: 0.03, ..EVEN };
        let (rows, controls) = rows_and_controls(compare(3, design, arms, 16, 13));
        assert_eq!(controls.len(), 1);
        assert_eq!(controls[0].verdict, "slower", "{design:?}: {controls:?}");
        for it in rows {
            assert_eq!(it.verdict, "inconclusive", "{design:?}");
            assert!(it.flags.iter().any(|flag| flag == "VOID"), "{design:?}");
        }
    }
}

#[test]
fn twins_with_different_speculation_control_are_flagged() {
    for mitigated in [true, false] {
        let (rows, controls) =
            rows_and_controls(compare(3, Design::Twins, Arms { mitigated, ..EVEN }, 16, 17));
        let marked = |it: &Comparison| it.flags.iter().any(|flag| flag == "SPECULATION_DIFFERS");
        assert_eq!(rows.iter().filter(|it| marked(it)).count(), if mitigated { 3 } else { 0 });
        // Both arms of a control are the base.
        assert!(!controls.iter().any(marked));
    }
}

#[test]
fn pairs_within_a_minute_are_flagged_and_never_called_equivalent() {
    let (rows, _) = rows_and_controls(compare(2, Design::Twins, EVEN, 20, 17));
    for it in rows {
        assert_eq!(it.verdict, "inconclusive");
        assert!(it.flags.iter().any(|flag| flag == "SHORT_SPAN"), "{it:?}");
        // The margin of 1 %, and little more.
        assert!(it.mde_pct.is_some_and(|pct| (1.0..2.0).contains(&pct)), "{it:?}");
    }
}

/// The number of workers of each row of three benchmarks, base and new.
fn workers(record: &Record) -> Vec<usize> {
    record.results.iter().map(|row| row.repetitions.len()).collect()
}

#[test]
fn rounds_end_by_the_clock_after_the_first_one() {
    let no_time = RoundLimit { run: Duration::ZERO, arm: Duration::ZERO, batch_factor: 0.0 };
    for design in DESIGNS {
        let workers_within = |limit| {
            let end = RoundEnd { limit: Some(limit), ..RoundEnd::default() };
            let record = compare_until(end, 3, design, EVEN, 8, 19);
            (workers(&record), record.complete)
        };
        assert_eq!(workers_within(no_time), (vec![1; 6], false), "{design:?}");
        assert_eq!(workers_within(RoundLimit::QUICK), (vec![8; 6], true), "{design:?}");
    }
}

#[test]
fn rounds_end_when_no_row_that_was_asked_for_is_left() {
    for design in DESIGNS {
        let end = RoundEnd { failing: 1, ..RoundEnd::default() };
        let record = compare_until(end, 3, design, EVEN, 8, 23);
        // The first benchmark fails; the others were not asked for.
        assert_eq!(record.results[3].outcome, RowOutcome::Failed, "{design:?}");
        for row in [1, 2, 4, 5] {
            assert_eq!(record.results[row].repetitions.len(), 1, "{design:?}");
        }
        assert!(record.complete, "{design:?}: no pair is missing");
    }
}
