//! The comparison of several runs on each side: of pairs of neighbours, if they were measured
//! alternately.

use std::collections::{BTreeMap, BTreeSet};

use oscost_model::record::{AddedCost, Record, RowOutcome};
use oscost_stats::interval::{Nominal, median_hs};
use oscost_stats::order;

use super::comparability::{
    MACHINES_DIFFER, incomparable_reason, method_differences, not_claimable_reason, other_machine,
    other_machine_of_run, system_differences,
};
use super::counted_work::{CountedWork, StoredRows};
use super::rows::{PRIMARY, RunRow, boot, counts_instructions, is_count, median, rows_by_key};
use super::run_comparison::{JudgedPair, RunComparison, Timing, margin};
use super::separate_runs::{EarlierRuns, compare_separate};
use super::start_time::{distance_s, start_time};
use super::verdict::{self, Side, min_pairs_for_discovery, neighbours};

/// Rows that were not compared, by reason.
type ExcludedPairs = BTreeMap<String, u32>;

/// Several runs of two sides, in the order in which they began.
pub(super) struct AlternatingRuns<'a> {
    base: &'a [Record],
    new: &'a [Record],
    /// All of them.
    all: Vec<&'a Record>,
    /// Those that verdicts may be based on.
    claimable: Vec<(Side, &'a Record)>,
    /// Why the others are left out.
    left_out: Vec<String>,
    /// Neighbours of two sides, none of which shares a boot with another.
    pairs: Vec<[&'a Record; 2]>,
    /// How many others share one.
    of_shared_boots: usize,
}

impl<'a> AlternatingRuns<'a> {
    pub(super) fn of(base: &'a [Record], new: &'a [Record]) -> Self {
        let mut runs: Vec<(Side, &Record)> = Vec::new();
        runs.extend(base.iter().map(|run| (Side::Base, run)));
        runs.extend(new.iter().map(|run| (Side::New, run)));
        runs.sort_by_key(|(_, run)| start_time(run));
        let all: Vec<&Record> = runs.iter().map(|(_, run)| *run).collect();
        let (mut claimable, mut left_out) = (Vec::new(), Vec::new());
        for &(side, run) in &runs {
            // A run without a start time has no neighbours.
            let untimed = start_time(run).is_none().then_some("has no valid start time");
            match not_claimable_reason(run).or(untimed) {
                Some(why) => left_out.push(format!("run {} is left out: it {why}", run.id)),
                None => claimable.push((side, run)),
            }
        }
        let sides: Vec<Side> = claimable.iter().map(|(side, _)| *side).collect();
        let neighbours = neighbours(&sides).into_iter();
        let neighbours = neighbours.map(|pair| pair.map(|at| claimable[at].1));
        let neighbours: Vec<[&Record; 2]> = neighbours.collect();
        let pairs = pairs_of_own_boots(&neighbours);
        let of_shared_boots = neighbours.len() - pairs.len();
        Self { base, new, all, claimable, left_out, pairs, of_shared_boots }
    }

    /// Whether they alternated often enough for a discovery among their rows, or count
    /// instructions, which do not drift.
    pub(super) fn can_be_paired(&self) -> bool {
        let needed = min_pairs_for_discovery(rows_by_key(&self.all).len()) as usize;
        self.pairs.len() >= needed || self.all.iter().all(|run| counts_instructions(run))
    }

    /// Compares them as runs that did not alternate, without those that are left out if both sides
    /// have others.
    pub(super) fn compare_separate(&self, earlier: &EarlierRuns) -> RunComparison {
        let of_side = |side: Side| -> Vec<&Record> {
            self.claimable.iter().filter(|it| it.0 == side).map(|it| it.1).collect()
        };
        let (base, new) = (of_side(Side::Base), of_side(Side::New));
        if base.is_empty() || new.is_empty() {
            let (base, new): (Vec<_>, Vec<_>) =
                (self.base.iter().collect(), self.new.iter().collect());
            return compare_separate(&base, &new, earlier);
        }
        let mut compared = compare_separate(&base, &new, earlier);
        compared.notes.extend(self.left_out.iter().cloned());
        compared
    }

    /// Compares pairs of neighbours, and all counts.
    pub(super) fn compare(&self) -> RunComparison {
        let Self { base, new, all, pairs, .. } = self;
        let mut compared = RunComparison::of_runs(all);
        if let ([first, ..], [other, ..]) = (base, new) {
            let of_machine = other_machine_of_run(first, other).into_iter();
            compared.differences = of_machine.chain(system_differences(first, other)).collect();
            let notes = all.iter().flat_map(|run| method_differences(first, run));
            compared.notes = notes.collect::<BTreeSet<_>>().into_iter().collect();
        }
        compared.notes.extend(self.left_out.iter().cloned());
        let mut excluded = ExcludedPairs::new();
        let mut judged = Vec::new();
        let mut work = CountedWork::default();
        for rows in rows_by_key(all).values() {
            if rows.iter().all(|it| is_count(it.row)) {
                compare_counts(&mut compared, rows, base, new, &mut excluded);
            } else {
                match judge_pairs(rows, pairs, &mut work, &mut excluded) {
                    Ok(pair) => judged.push(pair),
                    Err(why) => compared.exclude(rows[0].row, why),
                }
            }
        }
        let counting = all.iter().all(|run| counts_instructions(run));
        if !counting {
            compared.notes.push(self.describe_pairing());
        }
        let excluded = excluded.iter();
        compared.notes.extend(
            excluded.map(|(why, pairs)| format!("{pairs} pairs of rows are left out: {why}")),
        );
        compared.notes.extend(work.notes());
        compared.conclude(judged, work.judged());
        compared
    }

    /// How the runs of the two sides alternated.
    fn describe_pairing(&self) -> String {
        let count = |side| self.claimable.iter().filter(|it| it.0 == side).count();
        let (base, new) = (count(Side::Base), count(Side::New));
        let (pairs, shared) = (self.pairs.len(), self.of_shared_boots);
        let left = self.claimable.len() - 2 * (pairs + shared);
        let mut text = format!("{base} and {new} runs: {pairs} pairs of neighbours in time");
        if left > 0 {
            text.push_str(&format!(
                "; {left} runs without a neighbour on the other side are not used"
            ));
        }
        if shared > 0 {
            text.push_str(&format!(
                "; {shared} more share a boot with one of them and are not used, since what boots \
                 differ by is then in both"
            ));
        }
        text
    }
}

/// The pairs of which none shares a boot with one before it: what boots differ by is in the difference
/// of each, and pairs must be independent. Where both runs of a pair are of one boot, it cancels; of
/// unknown boots nothing is known.
fn pairs_of_own_boots<'a>(neighbours: &[[&'a Record; 2]]) -> Vec<[&'a Record; 2]> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let is_independent = |pair: &&[&'a Record; 2]| match pair.map(boot) {
        [Some(base), Some(new)] if base != new => {
            let is_new = !seen.contains(base) && !seen.contains(new);
            if is_new {
                seen.extend([base, new]);
            }
            is_new
        }
        _ => true,
    };
    neighbours.iter().filter(is_independent).copied().collect()
}

/// Compares the rows of one case on one target, whose figures are counts. They do not drift, so
/// each run is comparable if it is comparable with the first one.
fn compare_counts(
    compared: &mut RunComparison,
    rows: &[RunRow<'_>],
    base: &[Record],
    new: &[Record],
    excluded: &mut ExcludedPairs,
) {
    let is_measured = |it: &&RunRow<'_>| it.row.outcome == RowOutcome::Measured;
    let first = *rows.iter().find(is_measured).unwrap_or(&rows[0]);
    let mut comparable: Vec<RunRow<'_>> = Vec::new();
    for &row in rows {
        match incomparable_reason(first, row) {
            Some(why) => *excluded.entry(why).or_default() += 1,
            None => comparable.push(row),
        }
    }
    let of_side = |runs: &[Record]| -> Vec<RunRow<'_>> {
        let is_of = |it: &&RunRow<'_>| runs.iter().any(|run| run.id == it.run.id);
        comparable.iter().filter(is_of).copied().collect()
    };
    let (base, new) = (of_side(base), of_side(new));
    let ends = base.first().zip(new.last());
    let span_s = ends.map_or(0.0, |(b, n)| distance_s(start_time(b.run), start_time(n.run)));
    compared.compare_counts(rows[0].row, &base, &new, "boots", span_s);
}

/// Judges the rows of one case on one target in pairs of neighbouring runs; the error says why
/// there is no pair.
fn judge_pairs<'a>(
    rows: &[RunRow<'a>],
    pairs: &[[&Record; 2]],
    work: &mut CountedWork<'a>,
    excluded: &mut ExcludedPairs,
) -> Result<JudgedPair<'a>, String> {
    let row_of = |run: &Record| rows.iter().copied().find(|it| it.run.id == run.id);
    let mut comparable: Vec<[RunRow<'a>; 2]> = Vec::new();
    let mut first_reason = None;
    for [base, new] in pairs.iter().filter_map(|[b, n]| Some([row_of(b)?, row_of(n)?])) {
        let why = incomparable_reason(rows[0], base)
            .or_else(|| incomparable_reason(base, new))
            .or_else(|| {
                // All runs of a side are of one machine, that of its first pair.
                let [first_base, first_new] = *comparable.first()?;
                other_machine(first_base, base).or_else(|| other_machine(first_new, new))
            });
        match why {
            Some(why) => {
                *excluded.entry(why.clone()).or_default() += 1;
                first_reason.get_or_insert(why);
            }
            None => comparable.push([base, new]),
        }
    }
    let ([base, new], [last, _]) = match comparable[..] {
        [only] => (only, only),
        [first, .., last] => (first, last),
        [] => {
            let absent = || "no pair of neighbouring runs has it".to_owned();
            return Err(first_reason.unwrap_or_else(absent));
        }
    };
    let values: Vec<[f64; 2]> =
        comparable.iter().map(|pair| pair.map(|found| median(found.row))).collect();
    let span_s = distance_s(start_time(base.run), start_time(last.run));
    let mut effect = verdict::paired_effect(&values, span_s, margin(base).ln_1p());
    if other_machine(base, new).is_some() {
        effect.equivalent = false;
        effect.flags.push(MACHINES_DIFFER);
    }
    let differences: Vec<f64> = values.iter().map(|[from, to]| to - from).collect();
    let differences = order::sorted(&differences);
    let added = AddedCost {
        value: order::median(&differences).unwrap_or(0.0),
        ci95: median_hs(&differences, Nominal::FIXED).map(|it| [it.lo, it.hi]),
        unit: base.row.unit,
    };
    // Instructions do not drift: the runs of a side are values of it, whatever their neighbours are.
    let stored = StoredRows {
        base: comparable.iter().map(|[base, _]| *base).collect(),
        new: comparable.iter().map(|[_, new]| *new).collect(),
        design: "boots",
        span_s,
    };
    let decomposition = work.add(&stored, &effect, &[]);
    let timing = Timing { design: "boots", pairs: values.len() as u32, span_s };
    let base_figure = median(base.row);
    Ok(JudgedPair {
        base,
        new,
        timing,
        effect,
        metric: PRIMARY,
        is_hypothesis: true,
        base_figure,
        added,
        decomposition,
    })
}
