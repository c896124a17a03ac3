//! What the workers of two rows say that counted events: whether their work differs, and why a figure
//! changed.

use oscost_model::journal::Pairing;
use oscost_model::record::{Comparison, CountedRepetition, Decomposition, RowOutcome};

use super::InterleavedRun;
use crate::estimate::comparison::paired_rows::PairedRows;
use crate::estimate::comparison::rows::PRIMARY;
use crate::estimate::comparison::work::{WorkPair, decompose, judge_work, repeats, work_effect};
use crate::estimate::counters::row::EvaluatedCounting;
use crate::estimate::counters::term::{Matching, Sides};

/// The counting workers of two rows.
struct CountedSides {
    base: Vec<CountedRepetition>,
    new: Vec<CountedRepetition>,
}

impl CountedSides {
    fn sides(&self) -> Sides<'_> {
        let matching = Matching::ByRound;
        Sides { base: &self.base, new: &self.new, matching, variation: None }
    }

    /// From the first of them to the last.
    fn span_s(&self) -> f64 {
        let times = self.base.iter().chain(&self.new).map(|it| it.at_s);
        let first = times.clone().fold(f64::INFINITY, f64::min);
        let last = times.fold(f64::NEG_INFINITY, f64::max);
        if first <= last { last - first } else { 0.0 }
    }
}

impl InterleavedRun<'_> {
    /// The comparisons of the counted instructions of rows.
    pub(super) fn work(self, pairings: &[Pairing]) -> Vec<Comparison> {
        let counted: Vec<(&Pairing, CountedSides)> =
            pairings.iter().map(|pairing| (pairing, self.counted_sides(pairing))).collect();
        let effects = counted.iter().filter_map(|(pairing, counted)| {
            let [base, new] = [pairing.base, pairing.new].map(|row| self.rows.get(row as usize));
            let (base, new) = (base?, new?);
            if base.outcome != RowOutcome::Measured || new.outcome != RowOutcome::Measured {
                return None;
            }
            let rows = [pairing.base, pairing.new];
            let (design, span_s) = (pairing.design.text(), counted.span_s());
            let repeats = repeats([base, new].into_iter());
            let pair = WorkPair { base, new, rows, design, span_s, repeats };
            work_effect(pair, counted.sides())
        });
        judge_work(effects.collect())
    }

    /// The workers of two rows that counted events for their comparison.
    fn counted_sides(self, pairing: &Pairing) -> CountedSides {
        let [base, new] = [pairing.base, pairing.new].map(|row| {
            let countings = self.states[row as usize].evaluated_countings(Some(self.clock));
            let of_set = countings.iter().filter(|it| it.entry.set == pairing.set);
            of_set.filter_map(EvaluatedCounting::repetition).collect()
        });
        CountedSides { base, new }
    }

    /// Why a row's own figure changed.
    pub(super) fn decomposition(self, found: &PairedRows) -> Option<Decomposition> {
        let pairing = found.pairing;
        let [base, new] = [pairing.base, pairing.new].map(|row| &self.rows[row as usize]);
        let counted = self.counted_sides(&pairing);
        let is_primary = found.metric.name == PRIMARY;
        is_primary.then(|| decompose(base, new, counted.sides(), &found.effect.ratio())).flatten()
    }
}
