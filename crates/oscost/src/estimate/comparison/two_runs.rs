//! The comparison of two runs, one on each side.

use std::collections::BTreeSet;

use oscost_model::record::{AddedCost, Record, Row};
use oscost_stats::interval::{Interval, Nominal};

use super::comparability::{
    incomparable_reason, method_differences, not_claimable_reason, system_differences,
};
use super::reference_drift::reference_drift;
use super::rows::{
    RowKey, RowsByKey, counts_instructions, has_flag, is_count, median, rows_by_key,
};
use super::run_comparison::{JudgedPair, RunComparison, Timing};
use super::start_time::{distance_s, start_time};
use super::verdict::{self, MIN_EFFECT};
use super::work::{WorkPair, decompose, judge_work, stored_sides, work_difference, work_effect};

pub(super) fn compare_two(base: &Record, new: &Record) -> RunComparison {
    let mut compared = RunComparison::of_runs(&[base, new]);
    compared.differences = system_differences(base, new);
    compared.notes = method_differences(base, new);
    let counting = [base, new].into_iter().any(counts_instructions);
    let same_system = compared.differences.is_empty();
    // Instruction counts of reference cases do not drift.
    let drift = if counting { None } else { reference_drift(base, new, same_system) };
    if let Some(drift) = &drift
        && drift.log_ratio > (1.0 + MIN_EFFECT).ln()
    {
        compared.notes.push(format!(
            "the reference cases moved by up to {:.0} % ({}): each interval is wider by as much",
            100.0 * drift.log_ratio.exp_m1(),
            drift.case
        ));
    }
    let mut is_claimable = true;
    for (side, run) in [("base run", base), ("new run", new)] {
        if let Some(why) = not_claimable_reason(run) {
            is_claimable = false;
            compared.notes.push(format!("no verdict: the {side} {why}"));
        }
    }
    let span_s = distance_s(start_time(base), start_time(new));
    let drift = drift.map_or(0.0, |drift| drift.log_ratio);
    let found = rows_by_key(&[base, new]);
    let mut judged = Vec::new();
    let mut work = Vec::new();
    let mut other_work = BTreeSet::new();
    for (key, rows) in &found {
        let row_of = |run: &Record| rows.iter().copied().find(|it| it.run.id == run.id);
        let (one, other) = match (row_of(base), row_of(new)) {
            (Some(one), Some(other)) => (one, other),
            (one, _) => {
                let side = if one.is_some() { "new run" } else { "base" };
                compared.exclude(rows[0].row, missing_reason(&found, *key, side));
                continue;
            }
        };
        if let Some(why) = incomparable_reason(one, other) {
            compared.exclude(rows[0].row, why);
            continue;
        }
        if is_count(one.row) && is_count(other.row) {
            compared.compare_counts(rows[0].row, &[one], &[other], "stored", span_s);
            continue;
        }
        let counted = stored_sides(one.row, other.row);
        let counted = match work_difference(one, other) {
            Some(why) => {
                other_work.insert(why);
                None
            }
            None => counted,
        };
        work.extend(counted.and_then(|sides| {
            let rows = [one.index, other.index];
            let (base, new) = (one.row, other.row);
            work_effect(WorkPair { base, new, rows, design: "stored", span_s, sides })
        }));
        let nominal = [base, new].map(|run| Nominal::from_run_level(run.settings.nominal));
        let Some(mut effect) =
            verdict::unpaired_effect(&logs(one.row), &logs(other.row), nominal, drift)
        else {
            let why = "fewer than six repetitions on a side: there is no interval";
            compared.exclude(rows[0].row, why);
            continue;
        };
        if !is_claimable || [one, other].iter().any(|it| has_flag(it.row, "UNRELIABLE")) {
            effect.flags.push("UNRELIABLE");
            effect.p = 1.0;
        }
        let (from, to) = (median(one.row), median(other.row));
        // The interval of the ratio, applied to the base's figure: what runs differ by is a share.
        let added = AddedCost {
            value: to - from,
            ci95: effect
                .interval
                .map(|Interval { lo, hi }| [from * lo.exp_m1(), from * hi.exp_m1()]),
            unit: one.row.unit,
        };
        let timing = Timing { design: "stored", pairs: 1, span_s };
        let decomposition =
            counted.and_then(|sides| decompose(one.row, other.row, sides, &effect.ratio()));
        judged.push(JudgedPair { base: one, new: other, timing, effect, added, decomposition });
    }
    let why = other_work.into_iter();
    compared.notes.extend(why.map(|why| format!("instructions are not compared: {why}")));
    compared.conclude(judged, judge_work(work));
    compared
}

/// Why one of the two runs has no row with this key.
fn missing_reason(found: &RowsByKey<'_>, key: RowKey<'_>, side: &str) -> String {
    let mut of_case = found.keys().filter(|it| it.case == key.case);
    if of_case.clone().any(|it| it.target == key.target && it.peer != key.peer) {
        let location = |remote: bool| if remote { "on two machines" } else { "on one machine" };
        let (own, other) = (location(key.peer.is_some()), location(key.peer.is_none()));
        return format!("another peer: its ends are {own} here, {other} in the {side}");
    }
    let text = |key: &RowKey<'_>| found[key][0].row.target.text.clone();
    match of_case.find(|it| it.target != key.target) {
        Some(other) => {
            format!("another target: `{}` here, `{}` in the {side}", text(&key), text(other))
        }
        None => format!("not measured in the {side}"),
    }
}

/// The logarithms of a row's repetitions.
fn logs(row: &Row) -> Vec<f64> {
    row.repetitions.iter().filter_map(|it| it.value).map(f64::ln).collect()
}
