//! For how long the check of a prediction runs a program, so that its increase is known well enough to
//! judge by.

use std::f64::consts::FRAC_PI_2;

use oscost_model::bill::{BilledTrials, WhatIf};
use oscost_model::program::REAL;
use oscost_stats::interval::NORMAL_95;

/// What a check of a command takes at least, in seconds ...
const MIN_S: f64 = 60.0;
/// ... and at most, for each change: who asks for one waits for it.
const MAX_S: f64 = 240.0;
/// What half of the interval is to be of the increase. A quarter suffices to judge: the spread of the
/// trials is known badly itself.
const HALF_WIDTH_SHARE: f64 = 0.2;

/// The seconds in which pairs of trials tell the predicted increase to a fifth of itself, as far as the
/// bill's own trials tell how much they differ in the time that is judged.
pub(super) fn check_seconds(what_if: &WhatIf, trials: &BilledTrials) -> f64 {
    let is_of_real = what_if.judged_by == REAL;
    let increase = match is_of_real {
        true => &what_if.predicted_real_ns,
        false => &what_if.predicted_system_ns,
    };
    let spread_s = if is_of_real { trials.real.sd } else { least_spread_s(trials) };
    let half_width_s = HALF_WIDTH_SHARE * increase.ns * 1e-9;
    let Some(spread_s) = spread_s.filter(|_| half_width_s > 0.0) else { return MIN_S };
    // The difference of two trials has the variance of both. The increase is the median over pairs,
    // whose variance is pi/2 times that of a mean where they differ normally.
    let pairs = FRAC_PI_2 * 2.0 * (NORMAL_95 * spread_s / half_width_s).powi(2);
    (pairs * pair_seconds(what_if, trials)).clamp(MIN_S, MAX_S)
}

/// What a trial with a change and one without it take together, in seconds.
pub(super) fn pair_seconds(what_if: &WhatIf, trials: &BilledTrials) -> f64 {
    2.0 * trials.real.mean + what_if.predicted_real_ns.ns * 1e-9
}

/// What trials differ by in the system time or in the CPU time of both modes, by either of which a check
/// may be judged. Clock ticks spread the system time alone. Of a program of one thread the real time bounds
/// by how much its CPU time differs; that of threads side by side may differ by more.
fn least_spread_s(trials: &BilledTrials) -> Option<f64> {
    [&trials.system, &trials.real].into_iter().filter_map(|it| it.sd).reduce(f64::min)
}

#[cfg(test)]
mod tests {
    use oscost_model::program::{SYSTEM, TreeUsage, Trial};
    use oscost_stats::interval::Nominal;
    use serde_json::json;

    use super::*;
    use crate::app::bill::trials::billed_trials;

    /// Trials of half a second, whose system time has this standard deviation in milliseconds.
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

    fn prediction(judged_by: &str, increase_ms: f64) -> WhatIf {
        let (sum, nothing) =
            (json!({"ns": 1e6 * increase_ms, "ci95": null}), json!({"ns": 0.0, "ci95": null}));
        let what_if = json!({
            "treatments": ["ph"], "predicted_at": "2026-11-26T12:00:02Z", "runs": [],
            "predicted_system_ns": sum, "predicted_real_ns": sum, "estimated_ns": nothing,
            "unpriced_calls": 0.0, "items": [], "doubt": null, "measured": null,
            "not_measured": null, "judged_by": judged_by, "ratio": null, "judged": null
        });
        serde_json::from_value(what_if).unwrap()
    }

    #[test]
    fn a_check_takes_as_long_as_the_predicted_increase_needs() {
        let of = |increase_ms: f64, trials: &BilledTrials| {
            check_seconds(&prediction(SYSTEM, increase_ms), trials)
        };
        let mut uneven = trials(10);
        // Pairs of 1.012 s: pi/2 x 2 x (1.96 x 10.005 / 2.4)^2.
        uneven.real.sd = None;
        let needed = of(12.0, &uneven);
        assert!((needed - 212.246).abs() < 0.01, "{needed}");
        assert_eq!(of(100.0, &uneven), 60.0, "the least");
        assert_eq!(of(1.0, &uneven), 240.0, "the most");
        assert_eq!(of(-1.0, &uneven), 60.0, "no increase");
        // Ticks spread the system time, and not the CPU time.
        uneven.real.sd = Some(0.001);
        assert_eq!(of(12.0, &uneven), 60.0);
        (uneven.real.sd, uneven.system.sd) = (None, None);
        assert_eq!(of(12.0, &uneven), 60.0, "a single trial");
    }

    #[test]
    fn a_check_by_real_time_takes_as_long_as_that_needs() {
        let mut uneven = trials(10);
        (uneven.system.sd, uneven.real.sd) = (Some(0.001), Some(0.02));
        assert_eq!(check_seconds(&prediction(SYSTEM, 24.0), &uneven), 60.0);
        // Pairs of 1.024 s: pi/2 x 2 x (1.96 x 20 / 4.8)^2.
        let needed = check_seconds(&prediction(REAL, 24.0), &uneven);
        assert!((needed - 214.548).abs() < 0.01, "{needed}");
        uneven.real.sd = None;
        assert_eq!(check_seconds(&prediction(REAL, 24.0), &uneven), 60.0, "a single trial");
    }
}
