//! How many trials a program has that is also counted, in three blocks.

use oscost_model::program::Trial;
use oscost_stats::stopping::{AdaptiveStopping, Goal};

/// After each block the program is counted once: a form whose count varies shows.
const BLOCKS: u32 = 3;
/// The most time for the trials, if their number is not given ...
const TRIAL_TIME_NS: u64 = 6_000_000_000;
/// ... and if their figure is not known well enough after that time.
const LONGEST_TRIAL_TIME_NS: u64 = 20_000_000_000;
/// The least that have an interval.
const MIN_TRIALS: u32 = 6;
/// More change little; the clock ticks of short runs are many enough.
const MAX_TRIALS: u32 = 90;
/// In the longest time: the result of a block is one line, of some hundred bytes a trial.
const MAX_FURTHER_TRIALS: u32 = 1_000;
/// Half of an interval, as a fraction of the figure, that is narrow enough: prices are not known
/// better.
const PRECISION: f64 = 0.02;
/// Half of an interval that is wider says little of a bill: then trials go on.
const COARSEST_PRECISION: f64 = 0.1;

/// How well the figure of some trials is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FigureWidth {
    /// Half of its interval, as a fraction of it; `None` without an interval, and of a figure of 0.
    pub relative_half_width: Option<f64>,
    /// Whether few clock ticks make the figure of a trial: chance may make the interval of few trials
    /// narrow, and each further one counts.
    pub is_divided_by_ticks: bool,
}

impl FigureWidth {
    /// The half-width for the rule that ends trials early; `None` where all of the time is needed.
    pub(super) fn for_an_early_end(self) -> Option<f64> {
        self.relative_half_width.filter(|_| !self.is_divided_by_ticks)
    }
}

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

    /// When the trials of the first two blocks are enough, if these so far are not: until the figure is
    /// known coarsely, or their part of the longest time is over. `None` if it is known so well, if no
    /// more fit, or if their number was asked for.
    ///
    /// The rule has seen these trials before its first look: it ends at the second narrow one after
    /// them.
    pub(super) fn going_on(self, so_far: &[Trial], width: FigureWidth) -> Option<AdaptiveStopping> {
        let is_known = width.relative_half_width.is_some_and(|half| half <= COARSEST_PRECISION);
        let real_ns: u64 = so_far.iter().map(|trial| trial.real_ns).sum();
        let fit = LONGEST_TRIAL_TIME_NS.saturating_mul(so_far.len() as u64) / real_ns.max(1);
        let trials = u32::try_from(fit).unwrap_or(u32::MAX).min(MAX_FURTHER_TRIALS);
        let max_repetitions = until_end_of(trials, 1) as usize;
        let goes_on = self.ends_when_enough && !is_known && max_repetitions > so_far.len();
        let goal = Goal { relative_half_width: COARSEST_PRECISION, max_repetitions };
        goes_on.then(|| AdaptiveStopping::new(goal))
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
        match self.ends_when_enough && done != self.until_end_of(1) {
            true => done.div_ceil(2),
            false => self.trials - self.until_end_of(1),
        }
    }

    /// The trials of this block and those before it.
    fn until_end_of(self, block: u32) -> u32 {
        until_end_of(self.trials, block)
    }
}

/// Of so many trials those of this block and those before it: all blocks have as many, or one more.
fn until_end_of(trials: u32, block: u32) -> u32 {
    (u64::from(trials) * u64::from(block + 1) / u64::from(BLOCKS)) as u32
}

#[cfg(test)]
mod tests {
    use oscost_stats::interval::{Interval, Nominal};
    use oscost_stats::moments;
    use oscost_stats::random::uniform;
    use oscost_stats::stopping::{Decision, Look};
    use oscost_stats::student::Estimate;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

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

    fn width(relative_half_width: Option<f64>) -> FigureWidth {
        FigureWidth { relative_half_width, is_divided_by_ticks: true }
    }

    /// So many trials that took so many milliseconds each.
    fn took(trials: usize, ms: u64) -> Vec<Trial> {
        vec![Trial { real_ns: 1_000_000 * ms, ..Trial::default() }; trials]
    }

    #[test]
    fn clock_ticks_end_no_trials_early() {
        let narrow = width(Some(0.0));
        assert_eq!(narrow.for_an_early_end(), None);
        let exact = FigureWidth { is_divided_by_ticks: false, ..narrow };
        assert_eq!(exact.for_an_early_end(), Some(0.0));
    }

    #[test]
    fn trials_whose_figure_is_known_badly_go_on_for_the_longest_time() {
        let most = |trials: usize, ms: u64, half: Option<f64>| {
            let count = TrialCount::fitting(1_000_000 * ms);
            count.going_on(&took(trials, ms), width(half)).map(|rule| rule.max_repetitions())
        };
        assert_eq!(most(4, 1_500, Some(0.3)), Some(8), "two thirds of 13");
        assert_eq!(most(4, 1_500, None), Some(8));
        assert_eq!(most(4, 1_500, Some(0.1)), None, "it is known");
        assert_eq!(most(8, 500, Some(0.11)), Some(26));
        assert_eq!(most(60, 10, Some(0.11)), Some(666), "of a thousand");
        assert_eq!(most(4, 4_000, None), None, "no more fit");
        assert_eq!(most(4, 60_000, None), None);
        let fixed = TrialCount::fixed(6);
        assert!(fixed.going_on(&took(4, 100), width(None)).is_none(), "it was asked for");
    }

    #[test]
    fn the_last_block_is_a_third_of_all_however_many_came_before() {
        let count = TrialCount::fitting(1_500_000_000);
        assert_eq!([4, 8, 10].map(|done| count.last_block(done)), [2, 4, 5]);
    }

    /// A program whose CPU time is exact and divided by so many clock ticks, of which each finds it in
    /// the kernel with this probability.
    #[derive(Clone, Copy)]
    struct DividedProgram {
        ticks: u32,
        share: f64,
    }

    impl DividedProgram {
        /// The system time of a trial, in ticks.
        fn trial(self, random: &mut Xoshiro256PlusPlus) -> f64 {
            (0..self.ticks).map(|_| f64::from(uniform(random) < self.share)).sum()
        }

        /// All trials of a bill.
        fn trials(self, seed: u64) -> Vec<f64> {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            let ms = 4 * u64::from(self.ticks);
            let count = TrialCount::fitting(1_000_000 * ms);
            let until = count.until_end_of(1) as usize;
            let mut trials: Vec<f64> = (0..until).map(|_| self.trial(&mut random)).collect();
            let going_on = count.going_on(&took(until, ms), width(half_width(&trials)));
            if let Some(mut rule) = going_on {
                let mut look = |trials: &[f64]| {
                    let relative_half_width = half_width(trials);
                    rule.look(Look { repetitions: trials.len(), relative_half_width })
                };
                while let Decision::Continue { until } = look(&trials) {
                    trials.extend((trials.len()..until).map(|_| self.trial(&mut random)));
                }
            }
            let last = count.last_block(trials.len() as u32);
            trials.extend((0..last).map(|_| self.trial(&mut random)));
            trials
        }
    }

    /// The interval of the mean.
    fn interval(trials: &[f64]) -> Interval {
        let count = trials.len() as f64;
        let value = trials.iter().sum::<f64>() / count;
        let standard_error = moments::standard_deviation(trials).unwrap() / count.sqrt();
        let mean = Estimate { value, standard_error, degrees_of_freedom: count - 1.0 };
        mean.interval(Nominal::ADAPTIVE)
    }

    fn half_width(trials: &[f64]) -> Option<f64> {
        let Interval { lo, hi } = interval(trials);
        (lo + hi > 0.0).then(|| (hi - lo) / (hi + lo))
    }

    #[test]
    fn intervals_of_trials_that_go_on_hold_the_true_time_that_ticks_divide() {
        // 380 of 400 are expected at least; the standard deviation of their number is 4.4.
        for (ticks, share, most) in [(375, 0.032, 12), (125, 0.05, 39), (50, 0.1, 99)] {
            let program = DividedProgram { ticks, share };
            let truth = f64::from(ticks) * share;
            let all: Vec<Vec<f64>> = (0..400).map(|seed| program.trials(seed)).collect();
            let covered = all.iter().filter(|trials| interval(trials).contains(truth)).count();
            assert!(covered >= 367, "{ticks} ticks: {covered} of 400");
            let longest = all.iter().map(Vec::len).max();
            assert_eq!(longest, Some(most), "{ticks} ticks");
        }
    }
}
