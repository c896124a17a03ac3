//! How many trials a program has that is also counted, in three blocks.

use oscost_stats::stopping::{AdaptiveStopping, Goal};

/// After each block the program is counted once: a form whose count varies shows.
const BLOCKS: u32 = 3;
/// The most time for the trials, if their number is not given.
const TRIAL_TIME_NS: u64 = 6_000_000_000;
/// The least that have an interval.
const MIN_TRIALS: u32 = 6;
/// More change little; the clock ticks of short runs are many enough.
const MAX_TRIALS: u32 = 90;
/// Half of an interval, as a fraction of the figure, that is narrow enough: prices are not known
/// better.
const PRECISION: f64 = 0.02;

/// The number of trials: as many as were asked for, or until they are enough.
#[derive(Clone, Copy, Debug)]
pub(super) struct TrialCount {
    /// Of all blocks together; the most, if they may end earlier.
    trials: u32,
    ends_when_enough: bool,
}

impl TrialCount {
    /// As many as were asked for.
    pub(super) fn fixed(trials: u32) -> Self {
        Self { trials, ends_when_enough: false }
    }

    /// At most as many as fit, if one takes so long.
    pub(super) fn fitting(real_ns: u64) -> Self {
        let fit = TRIAL_TIME_NS / real_ns.max(1);
        let trials = u32::try_from(fit).unwrap_or(u32::MAX).clamp(MIN_TRIALS, MAX_TRIALS);
        Self { trials, ends_when_enough: true }
    }

    /// When the first two blocks are enough: the rule looks at the trials of both. `None` if their
    /// number was asked for.
    pub(super) fn stopping(self) -> Option<AdaptiveStopping> {
        let max_repetitions = self.until_end_of(1) as usize;
        let goal = Goal { relative_half_width: PRECISION, max_repetitions };
        self.ends_when_enough.then(|| AdaptiveStopping::new(goal))
    }

    /// The trials of the first block: a third, or until the first look.
    pub(super) fn first_block(self) -> u32 {
        let third = self.until_end_of(0);
        self.stopping().map_or(third, |rule| third.min(rule.first_look() as u32))
    }

    /// The trials of the second block, if their number was asked for.
    pub(super) fn second_block(self) -> u32 {
        self.until_end_of(1) - self.until_end_of(0)
    }

    /// The trials of the last block, after so many: a third of all.
    pub(super) fn last_block(self, done: u32) -> u32 {
        match self.ends_when_enough && done < self.until_end_of(1) {
            true => done.div_ceil(2),
            false => self.trials - self.until_end_of(1),
        }
    }

    /// The trials of this block and those before it: all blocks have as many, or one more.
    fn until_end_of(self, block: u32) -> u32 {
        (u64::from(self.trials) * u64::from(block + 1) / u64::from(BLOCKS)) as u32
    }
}

#[cfg(test)]
mod tests {
    use oscost_stats::stopping::{Decision, Look};

    use super::*;

    /// The trials of all blocks, if every look shows this half-width.
    fn trials(count: TrialCount, relative_half_width: Option<f64>) -> [u32; 3] {
        let first = count.first_block();
        let Some(mut rule) = count.stopping() else {
            return [first, count.second_block(), count.last_block(first + count.second_block())];
        };
        let mut until = rule.first_look();
        while let Decision::Continue { until: next } =
            rule.look(Look { repetitions: until, relative_half_width })
        {
            until = next;
        }
        [first, until as u32 - first, count.last_block(until as u32)]
    }

    #[test]
    fn the_trials_of_all_blocks_are_as_many_as_were_asked_for() {
        for count in [0, 1, 2, 3, 6, 10, 1_000] {
            let blocks = trials(TrialCount::fixed(count), Some(0.0));
            assert_eq!(blocks.iter().sum::<u32>(), count, "{blocks:?}");
            assert!(blocks.iter().all(|block| block.abs_diff(count / 3) <= 1), "{blocks:?}");
        }
    }

    #[test]
    fn without_a_narrow_interval_they_take_all_of_their_time() {
        for (real_ns, blocks) in
            [(0, [10, 50, 30]), (500_000_000, [4, 4, 4]), (60_000_000_000, [2, 2, 2])]
        {
            assert_eq!(trials(TrialCount::fitting(real_ns), None), blocks, "{real_ns} ns");
            assert_eq!(trials(TrialCount::fitting(real_ns), Some(0.03)), blocks, "{real_ns} ns");
        }
    }

    #[test]
    fn they_end_after_two_narrow_looks_and_half_as_many_again() {
        let of = |real_ns| trials(TrialCount::fitting(real_ns), Some(0.01));
        assert_eq!(of(100_000_000), [10, 5, 8]);
        assert_eq!(of(200_000_000), [10, 5, 8]);
        assert_eq!(of(300_000_000), [6, 7, 7], "as many as fit into its time");
    }
}
