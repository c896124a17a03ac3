//! The comparison of runs that did not alternate: one on each side, or a few
//! (docs/explanation/METHOD.md, section 11).
//!
//! Each run is one value, its median. Two values say nothing about how far a case varies between
//! runs in which nothing changed; that is known from earlier runs of the same system, and from the
//! class of the case.

mod case_sides;
mod core_cycles;
mod earlier_runs;
mod evidence;
mod reference_drift;

use std::collections::BTreeSet;

use oscost_model::record::Record;

use self::case_sides::comparable_sides;
use self::core_cycles::CycleRows;
pub use self::earlier_runs::EarlierRuns;
use self::evidence::{Evidence, JudgedEffect, source_of_variation};
use self::reference_drift::ReferenceDrift;
use super::comparability::{
    method_differences, not_claimable_reason, other_machine_of_run, system_differences,
};
use super::counted_work::CountedWork;
use super::rows::{boot, counts_instructions, is_count, rows_by_key};
use super::run_comparison::RunComparison;

/// Compares the runs of two sides, each with at least one.
pub(super) fn compare_separate(
    base: &[&Record],
    new: &[&Record],
    earlier: &EarlierRuns,
) -> RunComparison {
    let all: Vec<&Record> = base.iter().chain(new).copied().collect();
    let mut compared = RunComparison::of_runs(&all);
    let (Some(&first), Some(&other)) = (base.first(), new.first()) else { return compared };
    let two_machines = other_machine_of_run(first, other);
    let of_machine = two_machines.iter().cloned();
    compared.differences = of_machine.chain(system_differences(first, other)).collect();
    let notes = all[1..].iter().flat_map(|run| method_differences(first, run));
    compared.notes = notes.collect::<BTreeSet<_>>().into_iter().collect();
    for (side, runs) in [("base", base), ("new", new)] {
        let differences = runs.iter().flat_map(|run| {
            let of_machine = other_machine_of_run(runs[0], run).into_iter();
            of_machine.chain(system_differences(runs[0], run))
        });
        let differences: BTreeSet<String> = differences.collect();
        let differences = differences.into_iter();
        compared.notes.extend(
            differences.map(|text| format!("the {side} runs differ among themselves: {text}")),
        );
    }
    let same_system = all[1..].iter().all(|run| system_differences(first, run).is_empty());
    let mut is_claimable = true;
    for (side, runs) in [("base", base), ("new", new)] {
        for run in runs {
            let Some(why) = not_claimable_reason(run) else { continue };
            is_claimable = false;
            compared.notes.push(match runs.len() {
                1 => format!("no verdict: the {side} run {why}"),
                _ => format!("no verdict: run {} {why}", run.id),
            });
        }
    }
    // Instruction counts of reference cases do not drift, and between two machines their difference
    // is a part of what is compared.
    let has_no_drift = two_machines.is_some() || all.iter().any(|run| counts_instructions(run));
    let (drift, drift_in_cycles) = match has_no_drift {
        true => (ReferenceDrift::default(), None),
        false => (
            ReferenceDrift::between(base, new, same_system),
            ReferenceDrift::in_cycles(base, new, same_system),
        ),
    };
    let evidence = Evidence { earlier, drift, drift_in_cycles, is_claimable };
    let found = rows_by_key(&all);
    let mut judged = Vec::new();
    let mut work = CountedWork::default();
    let mut sources = Vec::new();
    let mut cycle_rows = CycleRows::default();
    for (key, rows) in &found {
        let sides = match comparable_sides(&found, *key, base, new) {
            Ok(sides) => sides,
            Err(why) => {
                compared.exclude(rows[0].row, why);
                continue;
            }
        };
        let [one, other] = [sides.base[0], sides.new[0]];
        if is_count(one.row) && is_count(other.row) {
            let span_s = sides.span_s();
            compared.compare_counts(rows[0].row, &sides.base, &sides.new, "stored", span_s);
            continue;
        }
        let Some(JudgedEffect { effect, source, between_sides }) = evidence.effect(&sides) else {
            let why = "fewer than six repetitions on a side: there is no interval";
            compared.exclude(rows[0].row, why);
            continue;
        };
        sources.push(source);
        let of_work = earlier.work_boots(one.row, other.row);
        let decomposition = work.add(&sides.stored_rows(), &effect, &of_work);
        // By the variation between runs alone, before either effect is looked at.
        let in_cycles = evidence.effect_in_cycles(&sides).and_then(|it| {
            let vary_less = it.between_sides < between_sides;
            sides.judged_in_cycles(it.effect, vary_less)
        });
        let by_cycles = in_cycles.as_ref().is_some_and(|it| it.is_hypothesis);
        if in_cycles.is_some() {
            cycle_rows.add(by_cycles);
        }
        judged.push(sides.judged(effect, !by_cycles, decomposition));
        judged.extend(in_cycles);
    }
    compared.notes.extend(work.notes());
    if !judged.is_empty() {
        compared.notes.extend(evidence.drift_note());
        compared.notes.extend(source_of_variation(sources, earlier.very_noisy));
        compared.notes.extend(note_on_boots(base, new));
        compared.notes.extend(cycle_rows.note());
    }
    compared.conclude(judged, work.judged());
    cycle_rows.complete(&mut compared);
    compared
}

/// That runs of a side share a boot, if not all are of the same one.
fn note_on_boots(base: &[&Record], new: &[&Record]) -> Option<String> {
    let boots = |runs: &[&Record]| -> Option<BTreeSet<String>> {
        runs.iter().map(|run| boot(run).map(str::to_owned)).collect()
    };
    let (of_base, of_new) = (boots(base)?, boots(new)?);
    let is_shared = of_base.len() < base.len() || of_new.len() < new.len();
    let is_one = of_base.len() == 1 && of_base == of_new;
    (is_shared && !is_one).then(|| {
        format!(
            "{} and {} runs are of {} and {} boots: for what boots differ by, runs of one boot count \
             once",
            base.len(),
            new.len(),
            of_base.len(),
            of_new.len(),
        )
    })
}
