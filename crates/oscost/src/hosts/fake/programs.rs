//! The programs of a fake host.

use oscost_model::counters::TreeCounts;
use oscost_model::program::{GroupTimes, OutputDigest, ProgramResult, TreeUsage, TurnResult};

/// The result of a trial: of its cost, 60 % is user time and 30 % system time, to which all that
/// treatments add belongs.
pub(super) fn trial_result(
    cost_ns: f64,
    added_ns: f64,
    output: String,
    counts: Option<TreeCounts>,
) -> ProgramResult {
    let usage = TreeUsage {
        user_ns: (0.6 * cost_ns) as u64,
        system_ns: (0.3 * cost_ns + added_ns) as u64,
        peak_bytes: 4 << 20,
        minor_faults: 100,
        voluntary_switches: 3,
        ..TreeUsage::default()
    };
    ProgramResult {
        real_ns: (cost_ns + added_ns) as u64,
        usage,
        lines: Some(output.lines().count() as u64),
        digest: Some(digest(&output)),
        output,
        counts,
    }
}

/// The times of the control group of trials: there are no ticks, and all times are exact.
pub(super) fn group_times(trials: &[TurnResult]) -> GroupTimes {
    let sum = |time: fn(&TreeUsage) -> u64| -> u64 {
        trials.iter().map(|trial| time(&trial.result.usage) / 1_000).sum()
    };
    GroupTimes { user_us: sum(|usage| usage.user_ns), system_us: sum(|usage| usage.system_ns) }
}

fn digest(output: &str) -> OutputDigest {
    let mut digest = OutputDigest::default();
    digest.add(output.as_bytes());
    digest
}
