//! The plan of a comparison: what is measured with what, and how often.

use std::time::Duration;

use oscost_model::journal::Pairing;
use oscost_model::worker::BatchPlan;

use crate::plan::ComparisonSet;

/// The time from the first pair to the last one, if the budget allows it: a shared machine drifts
/// over seconds.
pub(in crate::run) const MIN_PAIR_SPAN: Duration = Duration::from_secs(62);
/// The parts of the time limit of rounds: of all of them, and of an arm in each beside its batches,
/// which starts a worker and attaches its treatments ...
const RUN_ALLOWANCE: Duration = Duration::from_secs(30);
const ARM_ALLOWANCE: Duration = Duration::from_millis(500);
/// ... and the planned time of its batches, this many times: warm-up, and CPUs that other programs
/// use too.
const BATCH_ALLOWANCE: f64 = 4.0;

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
    /// Whether the rounds end after several times what an idle machine takes, also with fewer pairs
    /// than the minimum.
    pub has_limit: bool,
}

/// The arms of a set, and the batches of each of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlannedArms<'a> {
    pub(super) arms: usize,
    pub(super) plan: &'a BatchPlan,
}

impl PlannedArms<'_> {
    /// The time that a round may take for them.
    fn time_limit(self) -> Duration {
        let Self { arms, plan } = self;
        let batches = f64::from(plan.groups) * plan.unroll_factors.len() as f64;
        let batches_s = batches * plan.batch_ns / 1e9;
        (ARM_ALLOWANCE + Duration::from_secs_f64(BATCH_ALLOWANCE * batches_s)) * arms as u32
    }
}

impl PairCount {
    /// The number of rounds, if the first one took this long.
    pub(super) fn rounds(self, first: Duration) -> u32 {
        let fit = self.time_budget.as_secs_f64() / first.as_secs_f64().max(1e-3);
        (fit as u32).clamp(self.min, self.max.max(self.min))
    }

    /// The time limit of all rounds with these sets, if they have one.
    pub(super) fn time_limit<'a>(
        self,
        sets: impl Iterator<Item = PlannedArms<'a>>,
    ) -> Option<Duration> {
        let round: Duration = sets.map(PlannedArms::time_limit).sum();
        self.has_limit.then(|| RUN_ALLOWANCE + round * self.min)
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

#[cfg(test)]
mod tests {
    use oscost_model::worker::Mode;

    use super::*;
    use crate::run::rows::test_pilot::pilot;

    #[test]
    fn the_time_limit_of_rounds_grows_with_their_arms_and_their_batches() {
        let quick = PairCount {
            min: 8,
            max: 8,
            spread: false,
            time_budget: Duration::ZERO,
            has_limit: true,
        };
        let short = BatchPlan { batch_ns: 0.0, ..pilot(Mode::B, 100) };
        let long = BatchPlan { batch_ns: 1e9, groups: 5, ..pilot(Mode::S, 1) };
        let limit_s = |count: PairCount, sets: &[PlannedArms<'_>]| {
            count.time_limit(sets.iter().copied()).map(|limit| limit.as_secs())
        };
        let pair = PlannedArms { arms: 2, plan: &short };
        assert_eq!(limit_s(quick, &[pair]), Some(30 + 8));
        assert_eq!(limit_s(quick, &[pair, PlannedArms { arms: 3, ..pair }]), Some(30 + 8 + 12));
        // Five batches of a second are planned for an arm.
        let slow = PlannedArms { arms: 2, plan: &long };
        assert_eq!(limit_s(quick, &[slow]), Some(30 + 8 + 8 * 2 * 4 * 5));
        assert_eq!(limit_s(PairCount { has_limit: false, ..quick }, &[slow]), None);
    }
}
