//! The work of compared rows of stored runs, as far as it was counted: of one run on each side by their
//! workers, of several by the runs (docs/explanation/METHOD.md, section 17).

use std::collections::BTreeSet;

use oscost_model::record::{Comparison, CountedMedians, Decomposition};
use oscost_stats::between_runs::RunMedian;

use super::rows::RunRow;
use super::verdict::EffectEstimate;
use super::work::{
    EQUIVALENT_WORK, WorkEffect, WorkPair, decompose, decompose_runs, judge_work, means_difference,
    origin, repeats, stored_sides, work_difference, work_effect,
};
use crate::estimate::counted_medians::counted_medians;
use crate::estimate::counters::row::{is_repeating, work};
use crate::estimate::counters::run_values::{CountedRun, RunValues};
use crate::estimate::counters::term::half_width_between_two_runs;

/// The rows of a case on both sides, at least one on each.
pub(super) struct StoredRows<'a> {
    pub(super) base: Vec<RunRow<'a>>,
    pub(super) new: Vec<RunRow<'a>>,
    pub(super) design: &'static str,
    /// From the first run to the last.
    pub(super) span_s: f64,
}

/// The work of the compared rows.
#[derive(Default)]
pub(super) struct CountedWork<'a> {
    effects: Vec<WorkEffect<'a>>,
    /// Why some are not compared.
    differences: BTreeSet<&'static str>,
    /// Of rows of two single runs that cannot be equivalent, whatever their workers counted: half the
    /// interval that the variation between runs leaves, as a logarithm.
    too_wide: Vec<f64>,
}

impl<'a> CountedWork<'a> {
    /// Adds the work of a case, of which these are earlier runs, those of a boot in one item; the result
    /// is why its time changed.
    pub(super) fn add(
        &mut self,
        rows: &StoredRows<'a>,
        effect: &EffectEstimate,
        earlier: &[Vec<RunMedian>],
    ) -> Option<Decomposition> {
        match (&rows.base[..], &rows.new[..]) {
            ([base], [new]) => self.add_two(rows, [*base, *new], effect, earlier),
            _ => self.add_several(rows, effect),
        }
    }

    fn add_two(
        &mut self,
        rows: &StoredRows<'a>,
        [base, new]: [RunRow<'a>; 2],
        effect: &EffectEstimate,
        earlier: &[Vec<RunMedian>],
    ) -> Option<Decomposition> {
        if let Some(why) = work_difference(base, new) {
            self.differences.insert(why);
            return None;
        }
        let counted = stored_sides(base.row, new.row, earlier)?;
        let repeats = repeats([base.row, new.row].into_iter());
        if let Some(of_work) = work_effect(rows.pair([base, new], repeats), counted) {
            let half_width = counted.variation.map(half_width_between_two_runs);
            self.too_wide.extend(half_width.filter(|&it| it >= EQUIVALENT_WORK.ln()));
            self.effects.push(of_work);
        }
        decompose(base.row, new.row, counted, &effect.ratio())
    }

    /// Of several runs each is one value.
    fn add_several(
        &mut self,
        rows: &StoredRows<'a>,
        effect: &EffectEstimate,
    ) -> Option<Decomposition> {
        let (base, new) = (counts(&rows.base), counts(&rows.new));
        if base.is_empty() || new.is_empty() {
            return None;
        }
        let of_means = |it: &RowCounts<'_>| means_difference(base[0].row.row, it.row.row);
        if let Some(why) = base.iter().chain(&new).find_map(of_means) {
            self.differences.insert(why);
            return None;
        }
        let values = match RunValues::of(&counted_runs(&base), &counted_runs(&new)) {
            Ok(values) => values,
            Err(why) => {
                self.differences.insert(why);
                return None;
            }
        };
        let first = [*rows.base.first()?, *rows.new.first()?];
        let pair = rows.pair(first, runs_repeat(rows, &values));
        self.effects.extend(work_effect(pair, values.sides()));
        decompose_runs(first[0].row, first[1].row, &values, &effect.ratio())
    }

    /// Why the work of some rows is not compared, a note each, and which ones cannot be equivalent.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> + '_ {
        let what = match self.effects.is_empty() {
            true => "instructions",
            false => "instructions of some rows",
        };
        let not_compared =
            self.differences.iter().map(move |why| format!("{what} are not compared: {why}"));
        not_compared.chain(self.note_on_equivalence())
    }

    /// That some rows cannot be equivalent, however close their counts are.
    fn note_on_equivalence(&self) -> Option<String> {
        let least = self.too_wide.iter().copied().min_by(f64::total_cmp)?;
        let rows = match self.too_wide.len() {
            1 => "1 row".to_owned(),
            count => format!("{count} rows"),
        };
        Some(format!(
            "instructions of {rows} cannot be shown to be equivalent (within 0.3 %) by two single runs: \
             by their class and earlier runs, two runs of one cost may differ by {:.2} % and more; three \
             runs a side, or `oscost ab`, can show it",
            100.0 * least.exp_m1()
        ))
    }

    /// The verdicts on the work of all rows.
    pub(super) fn judged(self) -> Vec<Comparison> {
        judge_work(self.effects)
    }
}

impl<'a> StoredRows<'a> {
    fn pair(&self, [base, new]: [RunRow<'a>; 2], repeats: Option<bool>) -> WorkPair<'a> {
        WorkPair {
            base: base.row,
            new: new.row,
            rows: [base.index, new.index],
            design: self.design,
            span_s: self.span_s,
            repeats,
        }
    }
}

/// What was counted in a run, and the row that it is of.
struct RowCounts<'a> {
    row: RunRow<'a>,
    medians: CountedMedians,
}

/// The counts of the rows that have some.
fn counts<'a>(rows: &[RunRow<'a>]) -> Vec<RowCounts<'a>> {
    let of = |&row: &RunRow<'a>| {
        let medians = counted_medians(row.row.counters.as_ref()?)?;
        Some(RowCounts { row, medians })
    };
    rows.iter().filter_map(of).collect()
}

fn counted_runs<'b>(counts: &'b [RowCounts<'_>]) -> Vec<CountedRun<'b>> {
    counts.iter().map(|it| CountedRun { origin: origin(it.row), medians: &it.medians }).collect()
}

/// Whether the work of all runs repeats between the workers of each, and between the runs of a side:
/// workers that agree do not show that runs do.
fn runs_repeat(rows: &StoredRows<'_>, values: &RunValues) -> Option<bool> {
    let between = [&values.base, &values.new]
        .map(|side| is_repeating(&side.iter().filter_map(work).collect::<Vec<f64>>()));
    let within = repeats(rows.base.iter().chain(&rows.new).map(|it| it.row));
    let all = [between[0], between[1], within];
    match all.contains(&Some(false)) {
        true => Some(false),
        false => all.iter().all(|it| *it == Some(true)).then_some(true),
    }
}
