//! Runs of a program in control groups, by whose clock ticks its CPU time is divided.
//!
//! The kernel divides the CPU time of each process by the ticks that have interrupted it, and gives
//! all of it to user mode where no tick has. A program that starts many short processes loses nearly
//! all of its system time in this way, in every trial. The ticks of a control group are those of all
//! processes in it, over all of its runs.

use oscost_model::program::{GroupTimes, Trial};
use oscost_model::worker::WorkerSpec;

use crate::hosts::HostError;
use crate::run::jobs::job::job_failure;
use crate::run::jobs::workers::{TurnsTaken, Workers};

/// From so many ticks on in each of its processes, on average, what those without a tick take is
/// little beside the rest.
const MANY_TICKS: f64 = 20.0;
/// A process alone is interrupted at least once if it takes longer than a tick.
const ENOUGH_TICKS_ALONE: f64 = 2.0;
/// The most time for these runs ...
const TIME_NS: f64 = 3e9;
/// ... each of which takes about so much more than a trial ...
const ADDED_NS: f64 = 2e6;
/// ... and how many they are for each trial at most.
const MAX_RUNS_PER_TRIAL: f64 = 2.0;
/// A group that no tick interrupts is told to have been in user mode alone, too.
const TICKS_PER_GROUP: f64 = 20.0;
/// As many groups show by how much their shares differ; fewer do not.
const MIN_GROUPS: f64 = 6.0;
/// More show it hardly better.
const MAX_GROUPS: f64 = 10.0;

/// The CPU times of control groups in which a program ran.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupRuns {
    /// Of each group.
    pub groups: Vec<GroupTimes>,
    /// The time between two clock ticks, in nanoseconds.
    pub tick_ns: f64,
}

/// How often a program runs in control groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct GroupPlan {
    /// The number of groups.
    pub(super) groups: u32,
    /// The runs in each of them.
    pub(super) runs: u32,
    tick_ns: f64,
}

impl GroupPlan {
    /// The plan for a program with these trials, which creates so many processes, if that is known;
    /// `None` where the division of each process is good enough.
    pub(super) fn of(trials: &[Trial], forks: Option<u64>, tick_ns: f64) -> Option<Self> {
        let mean = |value: fn(&Trial) -> u64| {
            trials.iter().map(|trial| value(trial) as f64).sum::<f64>() / trials.len() as f64
        };
        if trials.is_empty() {
            return None;
        }
        let ticks = mean(|trial| trial.usage.cpu_ns()) / tick_ns;
        let is_enough = match forks {
            Some(0) => ticks >= ENOUGH_TICKS_ALONE,
            forks => ticks >= MANY_TICKS * (1 + forks.unwrap_or(0)) as f64,
        };
        // Without any CPU time there is nothing to divide.
        if is_enough || ticks == 0.0 {
            return None;
        }
        let fitting = TIME_NS / (mean(|trial| trial.real_ns) + ADDED_NS);
        let runs = fitting.min(MAX_RUNS_PER_TRIAL * trials.len() as f64).max(1.0).floor();
        let groups = (ticks * runs / TICKS_PER_GROUP).min(MAX_GROUPS).min(runs).floor();
        let groups = if groups >= MIN_GROUPS { groups } else { 1.0 };
        Some(Self { groups: groups as u32, runs: (runs / groups) as u32, tick_ns })
    }
}

/// Carries out a plan: `turns` has the runs of one group. The inner error is why there are no times.
pub(super) fn run_in_groups(
    workers: &mut Workers<'_>,
    plan: GroupPlan,
    turns: &WorkerSpec,
) -> Result<Result<GroupRuns, String>, HostError> {
    let mut groups = Vec::new();
    for _ in 0..plan.groups {
        let times = match workers.take_turns(turns.clone())? {
            Ok(TurnsTaken { failure: Some(failed), .. }) => Err(job_failure(*failed.event).reason),
            Ok(TurnsTaken { group: Some(times), .. }) => times,
            Ok(_) => Err("the times of its control group were not told".to_owned()),
            Err(failure) => Err(failure.reason),
        };
        match times {
            Ok(times) => groups.push(times),
            Err(reason) => return Ok(Err(reason)),
        }
    }
    Ok(Ok(GroupRuns { groups, tick_ns: plan.tick_ns }))
}

#[cfg(test)]
mod tests {
    use oscost_model::program::TreeUsage;

    use super::*;

    const TICK_NS: f64 = 4e6;

    /// What is planned for this many trials of so many microseconds, all of them on a CPU.
    fn plan(trials: usize, us: u64, forks: Option<u64>) -> Option<[u32; 2]> {
        let usage = TreeUsage { user_ns: 600 * us, system_ns: 400 * us, ..TreeUsage::default() };
        let trial = Trial { real_ns: 1_000 * us, usage, ..Trial::default() };
        let plan = GroupPlan::of(&vec![trial; trials], forks, TICK_NS)?;
        Some([plan.groups, plan.runs])
    }

    #[test]
    fn processes_of_many_ticks_and_one_that_a_tick_cannot_miss_need_no_group() {
        assert_eq!(plan(10, 79_000, None), Some([10, 2]));
        assert_eq!(plan(10, 80_000, None), None);
        assert_eq!(plan(10, 8_000, Some(0)), None);
        assert_eq!(plan(60, 7_900, Some(0)), Some([10, 12]));
        assert_eq!(plan(10, 159_000, Some(1)), Some([10, 1]));
        assert_eq!(plan(10, 160_000, Some(1)), None);
        assert_eq!(plan(0, 50_000, Some(500)), None);
        assert_eq!(plan(10, 0, Some(500)), None);
    }

    #[test]
    fn groups_are_as_many_as_their_ticks_and_the_time_allow() {
        assert_eq!(plan(60, 500, Some(0)), Some([1, 120]), "15 ticks");
        assert_eq!(plan(90, 4_000, Some(1)), Some([9, 20]), "180 ticks");
        assert_eq!(plan(60, 50_000, Some(500)), Some([10, 5]), "3 s");
        assert_eq!(plan(6, 1_000_000, Some(500)), Some([1, 2]));
        assert_eq!(plan(6, 60_000_000, Some(50_000)), Some([1, 1]), "a run takes longer");
    }
}
