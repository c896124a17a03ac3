//! What a comparison was asked for, and how many pairs that takes.

use std::time::Duration;

use oscost_model::journal::Design;

use crate::app::error::UsageError;
use crate::app::measurement::retention::Retention;
use crate::app::results::gate::GateRule;
use crate::app::selection::effort::Effort;
use crate::app::selection::programs::ProgramRequest;
use crate::app::targets::connect::BusyPolicy;
use crate::app::targets::vm::{GivenOption, refuse_options};
use crate::estimate::comparison::verdict::min_pairs_for_discovery;
use crate::plan::ComparisonSet;
use crate::run::{EventCounting, PairCount, RoundLimit};
use crate::studies::Study;

/// After the minimum number of pairs, rounds go on for this long.
const ROUNDS_S: f64 = 75.0;
const THOROUGH_S: f64 = 600.0;
/// Below this a minute is better spent on one row alone.
const MIN_PAIRS: u32 = 12;
/// Two consecutive workers differ more than two arms of one worker.
const MIN_PAIRS_OF_WORKERS: u32 = 20;
/// Pairs that may be lost.
const SPARE_PAIRS: u32 = 2;
/// More pairs add little: intervals narrow with their root.
const MAX_PAIRS: u32 = 40;
/// The same for figures that are published.
const MAX_PAIRS_THOROUGH: u32 = 120;
/// The minimum number of pairs that allows a verdict.
const QUICK_PAIRS: u32 = 8;

/// Which targets to compare, and with which cases.
#[derive(Clone, Debug)]
pub struct Request {
    /// The target to compare with; without it, the study's, or `local`.
    pub base: Option<String>,
    /// The targets to compare; without any, the study's.
    pub new: Vec<String>,
    /// Families, ids, cases or globs; without any, the price list.
    pub selectors: Vec<String>,
    /// Programs to measure.
    pub programs: ProgramRequest,
    /// The study to measure again.
    pub study: Option<String>,
    /// How many pairs are enough.
    pub effort: Effort,
    /// The time after which the run stops, in seconds.
    pub budget_s: Option<f64>,
    /// In which rounds events are counted.
    pub event_counting: EventCounting,
    /// The CPU of the workers; without it, the least disturbed.
    pub cpu: Option<u32>,
    /// Whose turn it is among the NUMA nodes of the machine, if they are measured in turn: a number
    /// that goes round. A CPU that is named has precedence.
    pub numa_turn: Option<u32>,
    /// The CPU of the second process of cases with two ends.
    pub peer_cpu: Option<u32>,
    /// The user's own words.
    pub label: Option<String>,
    /// The seed of all randomness; without it, a fresh one.
    pub seed: Option<u64>,
    /// How much slower is too much, if that is to be judged.
    pub gate: Option<GateRule>,
    /// What is kept.
    pub retention: Retention,
    /// What to do while another run has the machine.
    pub on_busy: BusyPolicy,
}

impl Request {
    /// Refuses options without meaning where instructions are counted.
    pub(super) fn check_counting(&self, study: Option<&Study>) -> Result<(), UsageError> {
        let option = |name, is_given| GivenOption { name, is_given };
        refuse_options(&[
            option("--study", study.is_some_and(|study| !study.has_instructions())),
            option("--budget", self.budget_s.is_some()),
            option("--counters", self.event_counting == EventCounting::InEveryRound),
            option("--cpu", self.cpu.is_some()),
            option("--peer-cpu", self.peer_cpu.is_some()),
            option("--seed", self.seed.is_some()),
        ])
    }

    /// How many pairs each row of these sets gets; a row of a study at least as many as it had
    /// runs.
    pub(super) fn pairs(&self, sets: &[ComparisonSet], study: Option<&Study>) -> PairCount {
        // A verdict on one row among many needs more pairs than a verdict on one alone.
        let rows = sets.iter().map(|set| set.news.len()).sum();
        let enough = min_pairs_for_discovery(rows) + SPARE_PAIRS;
        let is_quick = self.effort == Effort::Quick;
        let in_workers = sets.iter().any(|set| set.design == Design::Pairs) && !is_quick;
        let enough = if in_workers { enough.max(MIN_PAIRS_OF_WORKERS) } else { enough };
        let runs = study.map_or(0, |study| study.protocol.runs as u32 + SPARE_PAIRS);
        let count = |min: u32, max: u32, seconds: f64, spread: bool| PairCount {
            min: min.max(enough).max(runs),
            max: max.max(runs),
            spread,
            time_budget: Duration::from_secs_f64(seconds),
            // The pairs of a study are as many as it had runs, whatever time they take.
            limit: (is_quick && study.is_none()).then_some(RoundLimit::QUICK),
        };
        match self.effort {
            Effort::Quick => count(QUICK_PAIRS, QUICK_PAIRS, 0.0, false),
            Effort::Thorough => count(MIN_PAIRS, MAX_PAIRS_THOROUGH, THOROUGH_S, true),
            Effort::Default => count(MIN_PAIRS, MAX_PAIRS, ROUNDS_S, true),
        }
    }
}
