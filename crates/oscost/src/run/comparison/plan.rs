//! The plan of a comparison: what is measured with what, and how often.

use std::time::Duration;

use oscost_model::journal::Pairing;

use crate::plan::ComparisonSet;

/// The time from the first pair to the last one, if the budget allows it: a shared machine drifts
/// over seconds.
pub(in crate::run) const MIN_PAIR_SPAN: Duration = Duration::from_secs(62);

/// The plan of a comparison.
#[derive(Clone, Debug)]
pub struct ComparisonPlan {
    /// The workers of a round: their rows, and how they are interleaved.
    pub sets: Vec<ComparisonSet>,
    /// How many pairs.
    pub pairs: PairCount,
    /// Whether a base is measured alone if none of its partners can be measured.
    pub measure_lone_bases: bool,
}

/// How many pairs a row gets. The number depends on the time that a round takes, never on what was
/// measured: stopping once the result is significant finds effects that do not exist.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairCount {
    /// The minimum, whatever time it takes.
    pub min: u32,
    /// The maximum.
    pub max: u32,
    /// Whether they are spread over a minute.
    pub spread: bool,
    /// The time budget of the rounds beyond the minimum.
    pub time_budget: Duration,
}

impl PairCount {
    /// The number of rounds, if the first one took this long.
    pub(super) fn rounds(self, first: Duration) -> u32 {
        let fit = self.time_budget.as_secs_f64() / first.as_secs_f64().max(1e-3);
        (fit as u32).clamp(self.min, self.max.max(self.min))
    }
}

impl ComparisonPlan {
    /// The pairs of rows for the journal; `looks` is how often there may be a look at those of a set.
    pub(super) fn pairings(&self, looks: &dyn Fn(&ComparisonSet) -> u32) -> Vec<Pairing> {
        let of = |(number, set): (usize, &ComparisonSet)| {
            let (base, design, looks) = (set.base as u32, set.design, looks(set));
            let set_number = number as u32;
            let one = move |&new: &usize| Pairing {
                base,
                new: new as u32,
                design,
                set: set_number,
                looks,
            };
            set.news.iter().map(one).collect::<Vec<_>>()
        };
        self.sets.iter().enumerate().flat_map(of).collect()
    }
}
