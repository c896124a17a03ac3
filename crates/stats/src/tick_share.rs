//! The share of one of two modes in a time that clock ticks divide.
//!
//! Each tick finds the processor in one of the modes. Of some time the ticks give a share of each mode,
//! as if so many draws were made; several parts of the time show whether they vary more than draws.

use statrs::distribution::{ContinuousCDF, Normal};

use super::between_runs::student;
use super::interval::{Interval, Nominal};

/// Fewer parts do not show by how much their shares differ.
const MIN_PARTS: usize = 6;

/// A part of the time, as its own ticks divide it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimePart {
    /// The time in the mode.
    pub in_mode: f64,
    /// The time in both modes.
    pub all: f64,
}

/// The share of a mode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TickShare {
    /// The share, from 0 to 1.
    pub value: f64,
    /// Its interval.
    pub interval: Interval,
    /// The ticks in all of the time, on average.
    pub ticks: f64,
    /// How many times the variance of as many independent draws its variance is; at least 1.
    pub design_effect: f64,
}

/// The share of a mode in all of these parts together, where a tick follows the other after `tick`.
/// `None` without any time.
///
/// The variance of the ratio is that of independent draws, times by how much the shares of parts vary
/// more than these (the design effect): regular ticks of a long phase vary less. Fewer than six parts do
/// not show it; then `similar` ones do, other times of the same work whose level may be another one. The
/// interval is that of Wilson (1927) for the number of draws that would have this variance, with
/// Student's quantile where parts gave it.
pub fn tick_share(
    parts: &[TimePart],
    similar: &[TimePart],
    tick: f64,
    nominal: Nominal,
) -> Option<TickShare> {
    let Ratio { value, ticks, .. } = Ratio::of(parts, tick)?;
    let showing = if parts.len() >= MIN_PARTS { parts } else { similar };
    let design_effect = design_effect(showing, tick);
    let below = 0.5 + nominal.share() / 2.0;
    let quantile = match design_effect > 1.0 {
        true => {
            student(showing.len() as f64 - 1.0).map_or(f64::INFINITY, |it| it.inverse_cdf(below))
        }
        false => Normal::standard().inverse_cdf(below),
    };
    let interval = wilson(value, ticks / design_effect, quantile);
    Some(TickShare { value, interval, ticks, design_effect })
}

/// The share of a mode in some time.
struct Ratio {
    value: f64,
    /// The ticks in that time, on average.
    ticks: f64,
    /// The time in both modes.
    all: f64,
}

impl Ratio {
    fn of(parts: &[TimePart], tick: f64) -> Option<Self> {
        let in_mode: f64 = parts.iter().map(|it| it.in_mode).sum();
        let all: f64 = parts.iter().map(|it| it.all).sum();
        (all > 0.0 && tick > 0.0).then(|| Self { value: in_mode / all, ticks: all / tick, all })
    }
}

/// How many times the variance of as many independent draws the variance between parts is (Cochran 1977,
/// section 6.3); 1 where it is smaller, and of few parts. It does not depend on their length.
fn design_effect(parts: &[TimePart], tick: f64) -> f64 {
    let Some(Ratio { value, ticks, all }) = Ratio::of(parts, tick) else { return 1.0 };
    let of_draws = value * (1.0 - value) / ticks;
    let count = parts.len() as f64;
    let squares: f64 = parts.iter().map(|it| (it.in_mode - value * it.all).powi(2)).sum();
    let between_parts = count / (count - 1.0) * squares / (all * all);
    let varies_more = parts.len() >= MIN_PARTS && of_draws > 0.0 && between_parts > of_draws;
    if varies_more { between_parts / of_draws } else { 1.0 }
}

/// The interval of a share of so many draws (Wilson 1927).
fn wilson(share: f64, draws: f64, quantile: f64) -> Interval {
    let square = quantile * quantile / draws;
    let middle = share + square / 2.0;
    let half = (square * (share * (1.0 - share) + square / 4.0)).sqrt();
    Interval { lo: (middle - half) / (1.0 + square), hi: (middle + half) / (1.0 + square) }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    use super::*;
    use crate::random::{standard_normal, uniform};

    const TICK: f64 = 4e6;

    /// What a kernel knows of the time of a process or of a group.
    #[derive(Default)]
    struct Accounted {
        user_ticks: f64,
        system_ticks: f64,
        exact: f64,
    }

    impl Accounted {
        /// How it divides that (cputime_adjust() in kernel/sched/cputime.c).
        fn part(&self) -> TimePart {
            let in_mode = match (self.user_ticks, self.system_ticks) {
                (_, 0.0) => 0.0,
                (user, system) => system * self.exact / (user + system),
            };
            TimePart { in_mode, all: self.exact }
        }
    }

    /// A processor whose ticks come regularly.
    struct Processor {
        random: Xoshiro256PlusPlus,
        until_tick: f64,
    }

    impl Processor {
        fn new(seed: u64) -> Self {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            let until_tick = TICK * uniform(&mut random);
            Self { random, until_tick }
        }

        fn run(&mut self, account: &mut Accounted, time: f64, in_kernel: bool) {
            account.exact += time;
            self.until_tick -= time;
            while self.until_tick <= 0.0 {
                self.until_tick += TICK;
                match in_kernel {
                    true => account.system_ticks += 1.0,
                    false => account.user_ticks += 1.0,
                }
            }
        }

        /// Something else runs.
        fn pass(&mut self) {
            self.until_tick = TICK * uniform(&mut self.random);
        }

        /// A program of this CPU time, in turns of some 100 us, with this share in the kernel.
        fn program(&mut self, account: &mut Accounted, time: f64, share: f64) {
            self.pass();
            let mut left = time;
            while left > 0.0 {
                let turn = (-1e5 * uniform(&mut self.random).ln()).min(left);
                self.run(account, turn * share, true);
                self.run(account, turn * (1.0 - share), false);
                left -= turn;
            }
        }
    }

    /// In how many of 400 measurements the interval has the true share: of so many groups, runs in
    /// each, nanoseconds of a run, and a share that varies by so much from group to group.
    fn covered(groups: u32, runs: u32, time: f64, [share, spread]: [f64; 2]) -> u32 {
        let measured = |seed: u64| {
            let mut processor = Processor::new(seed);
            let parts: Vec<TimePart> = (0..groups)
                .map(|_| {
                    let of_group = share + spread * standard_normal(&mut processor.random);
                    let mut account = Accounted::default();
                    (0..runs).for_each(|_| processor.program(&mut account, time, of_group));
                    account.part()
                })
                .collect();
            tick_share(&parts, &[], TICK, Nominal::FIXED).unwrap().interval.contains(share)
        };
        (0..400).map(|seed| u32::from(measured(seed))).sum()
    }

    #[test]
    fn intervals_hold_the_true_share_of_a_simulated_kernel() {
        // 380 are expected; the standard deviation of their number is 4.4.
        for share in [0.1, 0.6, 0.95] {
            for (groups, runs, time) in [(10, 10, 1e7), (6, 40, 2e6), (1, 180, 5e5), (1, 1, 1e9)] {
                let covered = covered(groups, runs, time, [share, 0.0]);
                let case = format!("{share}: {groups} groups of {runs} runs of {time} ns");
                assert!(covered >= 364, "{case}: {covered} of 400");
            }
        }
        let varying = covered(10, 10, 2e7, [0.5, 0.1]);
        assert!((364..=398).contains(&varying), "{varying} of 400");
    }

    #[test]
    fn processes_without_a_tick_lose_their_system_time_and_their_group_keeps_it() {
        let mut processor = Processor::new(1);
        let mut all = Accounted::default();
        let mut told = TimePart { in_mode: 0.0, all: 0.0 };
        for _ in 0..20_000 {
            // A child of a shell: 90 % of 50 us in the kernel.
            let mut own = Accounted::default();
            processor.program(&mut own, 5e4, 0.9);
            let part = own.part();
            told = TimePart { in_mode: told.in_mode + part.in_mode, all: told.all + part.all };
            all.user_ticks += own.user_ticks;
            all.system_ticks += own.system_ticks;
            all.exact += own.exact;
        }
        assert!(told.in_mode < 0.05 * told.all, "{told:?}");
        let found = tick_share(&[all.part()], &[], TICK, Nominal::FIXED).unwrap();
        assert_eq!((found.ticks.round(), found.design_effect), (250.0, 1.0));
        // Four standard deviations of the share.
        assert!((found.value - 0.9).abs() < 0.08, "{found:?}");
        assert!((0.02..0.06).contains(&found.interval.half_width()), "{found:?}");
    }

    #[test]
    fn a_few_parts_vary_as_much_as_others_of_the_same_work() {
        // Two runs of 100 ticks each in one group, and ten others: their shares differ by 0.1.
        let covered = (0..200).filter(|&seed| {
            let mut processor = Processor::new(seed);
            let mut run = |account: &mut Accounted| {
                let share = 0.6 + 0.1 * standard_normal(&mut processor.random);
                processor.program(account, 4e8, share);
            };
            let similar: Vec<TimePart> = (0..10)
                .map(|_| {
                    let mut account = Accounted::default();
                    run(&mut account);
                    account.part()
                })
                .collect();
            let mut group = Accounted::default();
            (0..2).for_each(|_| run(&mut group));
            let of = |similar: &[TimePart]| {
                tick_share(&[group.part()], similar, TICK, Nominal::FIXED).unwrap().interval
            };
            assert!(of(&similar).half_width() >= of(&[]).half_width());
            of(&similar).contains(0.6)
        });
        // 190 are expected; the standard deviation of their number is 3.
        let covered = covered.count();
        assert!((177..=199).contains(&covered), "{covered} of 200");
    }

    #[test]
    fn the_interval_is_that_of_wilson_and_of_the_variance_between_parts() {
        let part = |in_mode: f64| TimePart { in_mode, all: 10.0 };
        let one = tick_share(&[part(3.0)], &[], 1.0, Nominal::FIXED).unwrap();
        // Three of ten.
        assert!((one.interval.lo - 0.107_789).abs() < 1e-5, "{one:?}");
        assert!((one.interval.hi - 0.603_222).abs() < 1e-5, "{one:?}");
        let same = tick_share(&[part(3.0); 6], &[], 1.0, Nominal::FIXED).unwrap();
        assert_eq!((same.ticks, same.design_effect), (60.0, 1.0));
        let apart: Vec<TimePart> = [0.0, 6.0, 0.0, 6.0, 0.0, 6.0].map(part).to_vec();
        let apart = tick_share(&apart, &[], 1.0, Nominal::FIXED).unwrap();
        // 6 / 5 of 54 / 3,600 against 0.21 / 60.
        assert!((apart.design_effect - 36.0 / 7.0).abs() < 1e-9, "{apart:?}");
        assert!(apart.interval.half_width() > 2.0 * same.interval.half_width());
        let none = tick_share(&[part(0.0); 2], &[], 1.0, Nominal::FIXED).unwrap();
        assert!(none.value == 0.0 && none.interval.lo.abs() < 1e-12, "{none:?}");
        assert!(none.interval.hi > 0.1, "no tick of twenty is not none: {none:?}");
        assert_eq!(tick_share(&[], &[], 1.0, Nominal::FIXED), None);
        assert_eq!(
            tick_share(&[TimePart { in_mode: 0.0, all: 0.0 }], &[], 1.0, Nominal::FIXED),
            None
        );
    }
}
