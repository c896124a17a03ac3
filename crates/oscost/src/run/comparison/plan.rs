//! The plan of a comparison: what is measured with what, and how often.

use std::time::Duration;

use oscost_model::journal::{Design, Pairing};
use oscost_model::worker::BatchPlan;

use crate::plan::ComparisonSet;
use crate::run::counts::counted_events::PlannedCounting;

/// The time from the first pair to the last one, if the budget allows it: a shared machine drifts
/// over seconds.
pub(in crate::run) const MIN_PAIR_SPAN: Duration = Duration::from_secs(62);
/// A worker runs so many groups of batches before the timed ones (engine/collect.rs of the worker).
const WARM_UP_GROUPS: u32 = 5;
/// A control has two arms.
pub(super) const CONTROL_ARMS: u8 = 2;

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
    /// The time limit of the rounds: after it they end, also with fewer pairs than the minimum.
    /// `None` for no limit.
    pub limit: Option<RoundLimit>,
}

/// The time limit of rounds, of which the planned time of their batches is a part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundLimit {
    /// For all rounds together.
    pub run: Duration,
    /// For each worker's arm beside its batches: it starts a worker and attaches its treatments.
    pub arm: Duration,
    /// The planned time of batches, so many times: other programs use the CPUs too.
    pub batch_factor: f64,
}

impl RoundLimit {
    /// Several times what an idle machine takes.
    pub const QUICK: Self =
        Self { run: Duration::from_secs(30), arm: Duration::from_millis(500), batch_factor: 3.0 };

    /// The limit of an arm with so many groups of batches, and those of its warm-up.
    fn of_arm(self, plan: &BatchPlan, groups: u32) -> Duration {
        let batches = f64::from(groups + WARM_UP_GROUPS) * plan.unroll_factors.len() as f64;
        self.arm + Duration::from_secs_f64(self.batch_factor * batches * plan.batch_ns / 1e9)
    }

    /// The limit of all timed arms of a set in a round.
    fn of_arms(self, set: &PlannedSet<'_>, arms: u32) -> Duration {
        self.of_arm(set.plan, set.plan.groups) * arms
    }

    /// The limit of all workers of a set that count events.
    fn of_countings(self, set: &PlannedSet<'_>) -> Duration {
        let Some(PlannedCounting { workers, plan }) = &set.counting else {
            return Duration::ZERO;
        };
        let groups = plan.batches.groups * plan.sets.len() as u32;
        self.of_arm(&plan.batches, groups) * (workers * set.arms)
    }

    /// The limit of so many rounds with these sets.
    fn of_rounds(self, sets: &[PlannedSet<'_>], rounds: u32) -> Duration {
        let timed: Duration = sets.iter().map(|set| self.of_arms(set, set.arms)).sum();
        // Each round has a control of each design, of one set after the other.
        let control = |design: Design| -> Duration {
            let of_design = sets.iter().filter(|set| set.design == design);
            let limits = of_design.map(|set| self.of_arms(set, u32::from(CONTROL_ARMS)));
            limits.max().unwrap_or_default()
        };
        let controls: Duration =
            [Design::Twins, Design::Toggle, Design::Pairs].into_iter().map(control).sum();
        let counted: Duration = sets.iter().map(|set| self.of_countings(set)).sum();
        self.run + (timed + controls) * rounds + counted
    }
}

/// What the rounds do for a set.
#[derive(Clone, Debug)]
pub(super) struct PlannedSet<'a> {
    pub(super) design: Design,
    pub(super) arms: u32,
    /// The batches of each arm.
    pub(super) plan: &'a BatchPlan,
    /// The workers of each arm that count events.
    pub(super) counting: Option<PlannedCounting>,
}

impl PairCount {
    /// The number of rounds, if the first one took this long.
    pub(super) fn rounds(self, first: Duration) -> u32 {
        let fit = self.time_budget.as_secs_f64() / first.as_secs_f64().max(1e-3);
        (fit as u32).clamp(self.min, self.max.max(self.min))
    }

    /// The time limit of all rounds with these sets, if they have one.
    pub(super) fn time_limit(self, sets: &[PlannedSet<'_>]) -> Option<Duration> {
        Some(self.limit?.of_rounds(sets, self.min))
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
    use oscost_model::counters::{CounterEvent, CountingPlan};
    use oscost_model::worker::Mode;

    use super::*;
    use crate::run::rows::test_pilot::pilot;

    const QUICK: PairCount = PairCount {
        min: 8,
        max: 8,
        spread: false,
        time_budget: Duration::ZERO,
        limit: Some(RoundLimit::QUICK),
    };

    fn pair(plan: &BatchPlan) -> PlannedSet<'_> {
        PlannedSet { design: Design::Twins, arms: 2, plan, counting: None }
    }

    fn limit_s(sets: &[PlannedSet<'_>]) -> Option<u64> {
        QUICK.time_limit(sets).map(|limit| limit.as_secs())
    }

    #[test]
    fn the_time_limit_of_rounds_grows_with_their_arms_and_their_batches() {
        let short = BatchPlan { batch_ns: 0.0, ..pilot(Mode::B, 100) };
        let long = BatchPlan { batch_ns: 1e9, groups: 5, ..pilot(Mode::S, 1) };
        // Eight rounds of two arms and of a control.
        assert_eq!(limit_s(&[pair(&short)]), Some(30 + 8 + 8));
        let three = PlannedSet { arms: 3, ..pair(&short) };
        assert_eq!(limit_s(&[pair(&short), three]), Some(30 + 8 + 12 + 8));
        // Five batches of a second are planned for an arm, after as many to warm up.
        assert_eq!(limit_s(&[pair(&long)]), Some(30 + 8 + 8 + 8 * (2 + 2) * 3 * 10));
        let unlimited = PairCount { limit: None, ..QUICK };
        assert_eq!(unlimited.time_limit(&[pair(&long)]), None);
    }

    #[test]
    fn each_design_has_a_control_in_each_round_and_the_longest_one_counts() {
        let short = BatchPlan { batch_ns: 0.0, ..pilot(Mode::B, 100) };
        let long = BatchPlan { batch_ns: 1e9, groups: 5, ..pilot(Mode::S, 1) };
        let toggled = PlannedSet { design: Design::Toggle, ..pair(&short) };
        assert_eq!(limit_s(&[pair(&short), toggled]), Some(30 + 2 * 8 + 2 * 8));
        let slow_arms = 8 * 2 * 3 * 10;
        let timed = 2 * 8 + slow_arms;
        assert_eq!(limit_s(&[pair(&short), pair(&long)]), Some(30 + timed + 8 + slow_arms));
    }

    #[test]
    fn workers_that_count_events_are_planned_for() {
        // An op of 0.3 s, in one batch each.
        let plan = BatchPlan { batch_ns: 3e8, groups: 5, ..pilot(Mode::S, 1) };
        let counted = |workers: u32| {
            let batches = BatchPlan { groups: 3, ..plan.clone() };
            let sets = vec![CounterEvent::SOFTWARE.to_vec(); 2];
            let counting = CountingPlan {
                batches,
                sets,
                inherits: false,
                read_by: None,
                deferred_work_ns: None,
            };
            let counting = Some(PlannedCounting { workers, plan: counting });
            PlannedSet { counting, ..pair(&plan) }
        };
        let alone = limit_s(&[pair(&plan)]).unwrap();
        assert_eq!(alone, 30 + 8 + 8 + 8 * 4 * 9);
        // Two sets of three batches after five to warm up: 3.3 s, three times, and half a second.
        assert_eq!(limit_s(&[counted(8)]), Some(alone + 8 * 2 * 10 + 6));
        assert_eq!(limit_s(&[counted(0)]), Some(alone));
    }
}
