//! How the scheduler ranks workers among other tasks.

use oscost_model::facts::Scheduling;

use super::finding::{RuleResult, Weight};
use super::observations::Observations;
use super::wording::join_names;

const FIX: &str = "start oscost without nice(1) and chrt(1), and without `Nice=`, \
                   `CPUSchedulingPolicy=` and `CPUWeight=` of a service";

/// The policy, nice value and CPU weights that workers inherit.
pub(super) fn priority(observations: &Observations<'_>) -> RuleResult {
    let scheduling = &observations.facts.scheduling;
    let (Some(policy), Some(nice)) = (scheduling.policy.as_deref(), scheduling.nice) else {
        return RuleResult::unknown("priority (policy and nice value are not in /proc/self/stat)");
    };
    let mut conditions = Vec::new();
    if policy != "other" {
        conditions.push(format!("the scheduling policy `{policy}`"));
    }
    if nice != 0 {
        conditions.push(format!("the nice value {nice}"));
    }
    conditions.extend(weights(scheduling));
    if conditions.is_empty() {
        return RuleResult::pass("priority");
    }
    let (weight, effect) = judged(policy, nice);
    let what = format!("workers inherit {}", join_names(&conditions, 3));
    RuleResult::finding(weight, what, effect).with_fix(FIX)
}

/// The weights of control groups that are not the default; `None` if all are, or they are not known.
fn weights(scheduling: &Scheduling) -> Option<String> {
    let weights = scheduling.unusual_cpu_weights().filter(|weights| !weights.is_empty())?;
    let noun = if weights.len() == 1 { "weight" } else { "weights" };
    let weights: Vec<String> = weights.iter().map(u64::to_string).collect();
    Some(format!("the CPU {noun} {} of control groups", weights.join(", ")))
}

/// How much a policy and a nice value matter, and why.
fn judged(policy: &str, nice: i32) -> (Weight, &'static str) {
    match policy {
        "fifo" | "rr" | "deadline" => (
            Weight::Biases,
            "real-time tasks wake up at once, run before all others, and are throttled if they take \
             more than 95 % of each second: figures are not those of ordinary programs",
        ),
        "batch" | "idle" => (
            Weight::Biases,
            "a worker that wakes up does not preempt what runs: figures of rows that sleep and wake \
             up are larger, and other tasks take more of the CPU",
        ),
        _ if nice < 0 => (
            Weight::Note,
            "workers get a larger share of the CPU than other tasks: figures are less disturbed \
             than those of ordinary programs",
        ),
        _ => (
            Weight::Noise,
            "where other tasks want the CPU they get another share of it than beside an ordinary \
             program: no difference on an idle CPU, more lost time on a busy one",
        ),
    }
}
