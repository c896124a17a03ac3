//! How precise figures are to be, and how many trials of programs that takes.

use std::time::Duration;

use oscost_model::program::TrialTime;

use crate::estimate::comparison::verdict::min_pairs_for_discovery;
use crate::run::TrialBudget;

/// Pairs that may be lost.
const SPARE_PAIRS: u32 = 2;

/// The time for trials beyond the minimum number, as for the price list.
const TRIAL_TIME: Duration = Duration::from_secs(60);
/// The same for figures that are published.
const TRIAL_TIME_THOROUGH: Duration = Duration::from_secs(600);

/// How precise the figures are to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// The least that gives a figure or a verdict.
    Quick,
    /// The usual.
    #[default]
    Default,
    /// For figures that are published.
    Thorough,
}

impl Effort {
    /// Its name in a record.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Effort::Quick => "quick",
            Effort::Default => "default",
            Effort::Thorough => "thorough",
        }
    }
}

/// How many trials a command of the command line gets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CommandTrials {
    /// At least so many.
    pub(crate) min: u32,
    /// As many as fit into this time.
    pub(crate) time: TrialTime,
}

impl CommandTrials {
    /// Those of a command alone.
    pub(crate) fn alone(effort: Effort, budget_s: Option<f64>) -> Self {
        let (min, seconds) = match effort {
            Effort::Quick => (3, 3.0),
            Effort::Default => (10, 10.0),
            Effort::Thorough => (30, 60.0),
        };
        let first_look_s = budget_s.unwrap_or(seconds);
        Self { min, time: TrialTime { first_look_s, last_look_s: None } }
    }

    /// Those of commands that are compared. What is no different after the first look is measured
    /// until the pairs span the minute that the verdict `equivalent` needs.
    pub(crate) fn compared(effort: Effort, budget_s: Option<f64>, comparisons: usize) -> Self {
        let (min, first_look_s, last_look_s) = match effort {
            Effort::Quick => (8, 5.0, None),
            Effort::Default => (20, 20.0, Some(61.0)),
            Effort::Thorough => (40, 120.0, None),
        };
        let time = match budget_s {
            Some(first_look_s) => TrialTime { first_look_s, last_look_s: None },
            None => TrialTime { first_look_s, last_look_s },
        };
        // Fewer could never be a discovery, however large the difference is.
        let enough = min_pairs_for_discovery(comparisons.max(1) * time.looks() as usize);
        Self { min: min.max(enough + SPARE_PAIRS), time }
    }
}

/// How much time the trials of programs may take.
pub(crate) fn trial_budget(
    effort: Effort,
    count_calls: bool,
    budget_s: Option<f64>,
) -> TrialBudget {
    let time_budget = match effort {
        Effort::Quick => Duration::ZERO,
        Effort::Default => TRIAL_TIME,
        Effort::Thorough => TRIAL_TIME_THOROUGH,
    };
    TrialBudget {
        time_budget,
        spread: effort != Effort::Quick,
        count_calls,
        run_limit: budget_s.map(Duration::from_secs_f64),
    }
}

#[cfg(test)]
mod tests;
