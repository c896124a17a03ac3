//! The times of the trials of a bill, each by the figure that its interval belongs to.

use oscost_model::bill::{Amount, BilledTrials};
use oscost_model::record::Estimate;

use crate::report::text::plain;
use crate::report::view::what_if::with_interval;

/// The figure by which clock ticks of control groups divide CPU time.
const POOLED: &str = "pooled";
/// The mean of trials that few clock ticks divide.
const MEAN: &str = "mean";
/// The one observation of a running process.
const WATCHED: &str = "watched";

/// Real, user and system time, with the names of their figures; of a single observation without.
pub(super) fn text(trials: &BilledTrials) -> String {
    let figure = trials.system_figure.as_str();
    // Bills of before have the median beside a system time that is a mean.
    let has_mean_user = (trials.user.median - trials.user.mean).abs() <= 1e-9;
    let user = if figure == POOLED { trials.user.mean } else { trials.user.median };
    let user = with_interval(&seconds(user, &trials.user));
    let real = with_interval(&seconds(trials.real.median, &trials.real));
    let system = with_interval(&trials.system_time);
    match figure {
        WATCHED => format!("real {real}, user {user}, system {system}"),
        "median" => format!("real {real}, user {user}, system {system} (medians)"),
        POOLED => {
            format!("real {real} (median), user {user} and system {system} (means, pooled)")
        }
        MEAN if has_mean_user => {
            format!("real {real} (median), user {user} and system {system} (means)")
        }
        other => {
            format!("real {real}, user {user} (medians), system {system} ({})", plain(other))
        }
    }
}

/// A figure of an estimate in seconds, with its interval.
fn seconds(figure: f64, estimate: &Estimate) -> Amount {
    Amount { ns: figure, ci95: estimate.ci95 }.times(1e9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::view::bill::made_up::find;

    #[test]
    fn each_time_is_the_figure_that_its_interval_belongs_to() {
        let mut trials = find().trials;
        let medians = "real 500 ms [495 .. 505], user 100 ms [99.0 .. 101], system 100 ms \
                       [99.0 .. 101] (medians)";
        assert_eq!(text(&trials), medians);
        trials.system_figure = "mean".to_owned();
        trials.system_time = Amount { ns: 54.2e6, ci95: Some([52e6, 56e6]) };
        let told = text(&trials);
        let words = "(median), user 100 ms [99.0 .. 101] and system 54.2 ms [52.0 .. 56.0] (means)";
        assert!(told.ends_with(words), "{told}");
        trials.user.mean = 0.2;
        let told = text(&trials);
        assert!(told.ends_with("(medians), system 54.2 ms [52.0 .. 56.0] (mean)"), "{told}");
        trials.system_figure = POOLED.to_owned();
        let told = text(&trials);
        let words = "(median), user 200 ms [99.0 .. 101] and system 54.2 ms [52.0 .. 56.0] \
                     (means, pooled)";
        assert!(told.ends_with(words), "{told}");
        (trials.system_figure, trials.system_time.ci95) = (WATCHED.to_owned(), None);
        assert!(text(&trials).ends_with("system 54.2 ms"), "{}", text(&trials));
    }
}
