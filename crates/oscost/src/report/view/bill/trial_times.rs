//! The times of the trials of a bill, each by the figure that its interval belongs to.

use oscost_model::bill::{Amount, BilledTrials, TrialFigure};
use oscost_model::record::Estimate;

use crate::report::text::plain;
use crate::report::view::what_if::with_interval;

const MEDIAN: &str = TrialFigure::Median.text();
const MEAN: &str = TrialFigure::Mean.text();
const POOLED: &str = TrialFigure::Pooled.text();
const WATCHED: &str = TrialFigure::Watched.text();

/// Real, user and system time, with the names of their figures; of a single observation without.
pub(super) fn text(trials: &BilledTrials) -> String {
    let [real, user] = [&trials.real, &trials.user].map(|it| with_interval(&seconds(it)));
    let system = with_interval(&trials.system_time);
    match (user_figure(trials), trials.system_figure.as_str()) {
        (_, WATCHED) => format!("real {real}, user {user}, system {system}"),
        (MEDIAN, MEDIAN) => format!("real {real}, user {user}, system {system} (medians)"),
        (MEDIAN, other) => {
            format!("real {real}, user {user} (medians), system {system} ({})", plain(other))
        }
        (POOLED, POOLED) => {
            format!("real {real} (median), user {user} and system {system} (means, pooled)")
        }
        (MEAN, MEAN) => {
            format!("real {real} (median), user {user} and system {system} (means)")
        }
        (of_user, of_system) => {
            let [of_user, of_system] = [of_user, of_system].map(plain);
            format!("real {real} (median), user {user} ({of_user}), system {system} ({of_system})")
        }
    }
}

/// What the user time is. Bills of before it was told have the median.
fn user_figure(trials: &BilledTrials) -> &str {
    if trials.user_figure.is_empty() { MEDIAN } else { &trials.user_figure }
}

/// An estimate in seconds, whose median is its figure, with its interval.
fn seconds(estimate: &Estimate) -> Amount {
    Amount { ns: estimate.median, ci95: estimate.ci95 }.times(1e9)
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
        trials.system_time = Amount { ns: 54.2e6, ci95: Some([52e6, 56e6]) };
        let mut told = |user: &str, system: &str| {
            (trials.user_figure, trials.system_figure) = (user.to_owned(), system.to_owned());
            text(&trials)
        };
        assert_eq!(told("median", "median"), told("", "median"), "bills of before");
        let of_both = told(MEAN, MEAN);
        let words = "(median), user 100 ms [99.0 .. 101] and system 54.2 ms [52.0 .. 56.0] (means)";
        assert!(of_both.ends_with(words), "{of_both}");
        let of_system = told(MEDIAN, MEAN);
        let words = "user 100 ms [99.0 .. 101] (medians), system 54.2 ms [52.0 .. 56.0] (mean)";
        assert!(of_system.ends_with(words), "{of_system}");
        let of_user = told(MEAN, MEDIAN);
        let words = "real 500 ms [495 .. 505] (median), user 100 ms [99.0 .. 101] (mean), system \
                     54.2 ms [52.0 .. 56.0] (median)";
        assert_eq!(of_user, words);
        let pooled = told(POOLED, POOLED);
        let words = "(median), user 100 ms [99.0 .. 101] and system 54.2 ms [52.0 .. 56.0] \
                     (means, pooled)";
        assert!(pooled.ends_with(words), "{pooled}");
        trials.system_time.ci95 = None;
        (trials.user_figure, trials.system_figure) = (WATCHED.to_owned(), WATCHED.to_owned());
        assert!(text(&trials).ends_with("system 54.2 ms"), "{}", text(&trials));
    }
}
