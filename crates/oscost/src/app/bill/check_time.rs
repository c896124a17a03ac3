//! For how long the check of a prediction runs a program, so that its increase is known well enough to judge by.

use oscost_model::bill::{Amount, BilledTrials};
use oscost_stats::interval::NORMAL_95;

/// What a check of a command takes at least, in seconds ...
const MIN_S: f64 = 60.0;
/// ... and at most, for each change: who asks for one waits for it.
const MAX_S: f64 = 240.0;
/// What half of the interval is to be of the increase. A quarter suffices to judge: the spread of the trials is
/// known badly itself.
const HALF_WIDTH_SHARE: f64 = 0.2;

/// The seconds in which pairs of trials tell the predicted increase to a fifth of itself, as far as the bill's own
/// trials tell how much they differ. Real time bounds what CPU time differs by; clock ticks spread the system time
/// alone, and a check may be judged by either.
pub(super) fn check_seconds(predicted: &Amount, trials: &BilledTrials) -> f64 {
    let spreads = [&trials.system, &trials.real].into_iter().filter_map(|it| it.sd);
    let Some(spread_s) = spreads.reduce(f64::min) else { return MIN_S };
    let half_width_s = HALF_WIDTH_SHARE * predicted.ns * 1e-9;
    if half_width_s <= 0.0 {
        return MIN_S;
    }
    // The difference of two trials has the variance of both.
    let pairs = 2.0 * (NORMAL_95 * spread_s / half_width_s).powi(2);
    (pairs * 2.0 * trials.real.mean).clamp(MIN_S, MAX_S)
}

#[cfg(test)]
mod tests {
    use oscost_model::program::{TreeUsage, Trial};
    use oscost_stats::interval::Nominal;

    use super::*;
    use crate::app::bill::trials::billed_trials;

    /// Trials of half a second, of which the system time has this standard deviation in milliseconds.
    fn trials(spread_ms: u64) -> BilledTrials {
        let trial = |ms: u64| Trial {
            real_ns: 500_000_000 + 1_000_000 * (ms % 2),
            usage: TreeUsage { system_ns: 1_000_000 * ms, ..TreeUsage::default() },
            ..Trial::default()
        };
        let of_both = [300 - spread_ms, 300 + spread_ms].map(trial);
        let trials: Vec<Trial> = of_both.into_iter().cycle().take(1_000).collect();
        billed_trials(&trials, Nominal::FIXED).unwrap()
    }

    #[test]
    fn a_check_takes_as_long_as_the_predicted_increase_needs() {
        let of = |increase_ms: f64, trials: &BilledTrials| {
            check_seconds(&Amount::exact(increase_ms * 1e6), trials)
        };
        let mut uneven = trials(10);
        // Pairs of a second: 2 x (1.96 x 10 / 2.4)^2.
        uneven.real.sd = None;
        let needed = of(12.0, &uneven);
        assert!((needed - 133.6).abs() < 0.5, "{needed}");
        assert_eq!(of(100.0, &uneven), 60.0, "the least");
        assert_eq!(of(1.0, &uneven), 240.0, "the most");
        assert_eq!(of(-1.0, &uneven), 60.0, "no increase");
        // Ticks spread the system time, and not the CPU time.
        uneven.real.sd = Some(0.001);
        assert_eq!(of(12.0, &uneven), 60.0);
        (uneven.real.sd, uneven.system.sd) = (None, None);
        assert_eq!(of(12.0, &uneven), 60.0, "a single trial");
    }
}
