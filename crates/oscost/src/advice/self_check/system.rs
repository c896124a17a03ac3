//! The system: /proc, processors, control groups, the timer slack.

use oscost_model::facts::Bound;

use super::conditions::{Conditions, ProcView};
use super::judgement::Judgement;

/// The slack that Linux gives every process, in nanoseconds.
const USUAL_SLACK_NS: u64 = 50_000;

/// Whether /proc is there.
pub(super) fn proc(conditions: &Conditions) -> Judgement {
    match conditions.host.proc {
        ProcView::Missing => Judgement::limits(
            "it is not mounted, or cannot be read",
            "facts of the machine, disturbances of rows, and who holds the machine's lock are \
             unknown; the largest sizes may be tried without a check of the memory",
            "`mount -t proc proc /proc` as root",
        ),
        ProcView::Mounted | ProcView::AllUsers | ProcView::OwnUser => Judgement::fine("mounted"),
    }
}

/// Whether the processes of other users can be seen.
pub(super) fn other_users(conditions: &Conditions) -> Judgement {
    match conditions.host.proc {
        ProcView::AllUsers => Judgement::fine("their processes are visible"),
        ProcView::OwnUser => Judgement::limits(
            "/proc hides their processes (hidepid)",
            "`oscost doctor` does not name what disturbs, and a program of another user that \
             holds the machine's lock is taken for a run",
            "run oscost as root, or in the group of the mount's `gid=`",
        ),
        ProcView::Missing => Judgement::unknown("there is no /proc"),
        ProcView::Mounted => Judgement::unknown("the options of /proc cannot be read"),
    }
}

/// The CPUs that workers may use.
pub(super) fn cpus(conditions: &Conditions) -> Judgement {
    let Ok(worker) = &conditions.worker else { return Judgement::without_worker() };
    let cpu = &worker.facts.cpu;
    let Some(allowed) = cpu.allowed_cpus.as_ref().filter(|allowed| !allowed.is_empty()) else {
        return Judgement::unknown("the CPUs of this process are unknown");
    };
    let count = allowed.len();
    let all = cpu.logical_online.map(|online| online as usize).filter(|&online| online > count);
    let found = match (count, all) {
        (count, Some(online)) => format!("{count} of {online} may be used (cpuset, affinity)"),
        (1, None) => "there is one".to_owned(),
        (count, None) => format!("all {count} may be used"),
    };
    if count > 1 {
        return Judgement::fine(found);
    }
    let remedy = match all {
        Some(_) => {
            "allow more: `taskset`, cpuset of the control group (with docker: \
                    `--cpuset-cpus`)"
        }
        None => "give the machine a second CPU",
    };
    Judgement::limits(
        found,
        "rows with `peer_cpu=other` are skipped; the tool and its workers share the CPU, which \
         makes figures noisier",
        remedy,
    )
}

/// The CPU time that control groups allow.
pub(super) fn cpu_quota(conditions: &Conditions) -> Judgement {
    let Ok(worker) = &conditions.worker else { return Judgement::without_worker() };
    match worker.facts.scheduling.cgroup_quota_milli_cpus {
        None => Judgement::unknown("the control groups of this process cannot be read"),
        Some(Bound::Unlimited(_)) => Judgement::fine("none"),
        Some(Bound::Max(quota)) if quota >= 2_000 => {
            Judgement::fine(format!("{} % of a CPU", quota / 10))
        }
        Some(Bound::Max(quota)) => Judgement::limits(
            format!("{} % of a CPU (cpu.max)", quota / 10),
            "workers are stopped for 10 to 100 ms at a time: intervals are wider, and rows with a \
             peer on another CPU pay for both",
            "raise the quota to two CPUs (with docker: `--cpus 2`)",
        ),
    }
}

/// How late timers of this process may be.
pub(super) fn timer_slack(conditions: &Conditions) -> Judgement {
    let Ok(worker) = &conditions.worker else { return Judgement::without_worker() };
    match worker.facts.scheduling.timer_slack_ns {
        None => Judgement::unknown("/proc/self/timerslack_ns cannot be read"),
        Some(slack) if slack <= USUAL_SLACK_NS => Judgement::fine(format!("{slack} ns")),
        Some(slack) => Judgement::limits(
            format!("{slack} ns; {USUAL_SLACK_NS} are usual"),
            "rows that sleep include it: `timer`, and waits with a timeout",
            "start oscost from a shell without it: prctl(PR_SET_TIMERSLACK), systemd's \
             `TimerSlackNSec=`",
        ),
    }
}
