//! Scheduling: what preempts, migrates, throttles or slows down a running thread.

use oscost_model::facts::Scheduling;

use crate::facts::source::roots::Roots;
use crate::facts::source::{parse, reader};
use crate::facts::system::{cgroup, os};

/// Scheduling, from sysfs, the control group and the command line. `allowed` are the CPUs of this
/// process.
pub(in crate::facts) fn gather(roots: &Roots, allowed: Option<&[u32]>) -> Scheduling {
    let cpus = roots.at("sys/devices/system/cpu");
    let first = allowed.and_then(|cpus| cpus.first()).copied().unwrap_or_default();
    let clock = roots.at("sys/devices/system/clocksource/clocksource0");
    let available = reader::value(&clock.join("available_clocksource"));
    let no_turbo = || reader::switch(&cpus.join("intel_pstate/no_turbo")).map(|off| !off);
    let group = cgroup::own_group(roots, "cpu");
    let stat = reader::lines(&roots.at("proc/self/stat")).unwrap_or_default();
    let bound = |controller, files| cgroup::own_group(roots, controller)?.bound(files);
    Scheduling {
        preempt: preempt(roots),
        smt_active: reader::switch(&cpus.join("smt/active")),
        isolated_cpus: reader::list(&cpus.join("isolated")),
        nohz_full_cpus: reader::list(&cpus.join("nohz_full")),
        governor: reader::value(&cpus.join(format!("cpu{first}/cpufreq/scaling_governor"))),
        boost: reader::switch(&cpus.join("cpufreq/boost")).or_else(no_turbo),
        idle_driver: reader::value(&cpus.join("cpuidle/current_driver")),
        idle_governor: idle_governor(roots),
        clocksource: reader::value(&clock.join("current_clocksource")),
        clocksources_available: available
            .map(|names| names.split_whitespace().map(str::to_string).collect()),
        timer_slack_ns: reader::number(&roots.at("proc/self/timerslack_ns")),
        cgroup_version: group.as_ref().map(|group| group.version),
        cgroup_quota_milli_cpus: group.as_ref().and_then(|group| group.quota_milli_cpus()),
        cgroup_memory_bytes: bound("memory", ["memory.limit_in_bytes", "memory.max"]),
        cgroup_tasks: bound("pids", ["pids.max", "pids.max"]),
        policy: stat_field(&stat, POLICY_FIELD).and_then(policy_name),
        nice: stat_field(&stat, NICE_FIELD).and_then(|nice| nice.parse().ok()),
        cgroup_cpu_weights: group.and_then(|group| group.cpu_weights()),
    }
}

/// Numbers of fields of `/proc/PID/stat` (proc_pid_stat(5)).
const NICE_FIELD: usize = 19;
const POLICY_FIELD: usize = 41;

/// A field by its number, from 3 on. The name before it, in parentheses, may have any character.
fn stat_field(stat: &str, number: usize) -> Option<&str> {
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(number.checked_sub(3)?)
}

/// The name of a policy, from its number in `linux/sched.h`.
fn policy_name(number: &str) -> Option<String> {
    let name = match number.parse::<u32>().ok()? {
        0 => "other",
        1 => "fifo",
        2 => "rr",
        3 => "batch",
        5 => "idle",
        6 => "deadline",
        7 => "ext",
        _ => number,
    };
    Some(name.to_owned())
}

/// The idle governor; older kernels have only the read-only file.
fn idle_governor(roots: &Roots) -> Option<String> {
    let file = |name| reader::value(&roots.at("sys/devices/system/cpu/cpuidle").join(name));
    file("current_governor").or_else(|| file("current_governor_ro"))
}

/// The preemption mode, from the most reliable readable source. `uname -v` shows the build, and
/// PREEMPT_RT decides. A kernel with switchable modes shows the present one in debugfs, which only
/// root can read; the command line may have set it. `PREEMPT` alone means one of two modes since
/// Linux 6.13, and without any word the mode is `none` or `voluntary`: unknown.
fn preempt(roots: &Roots) -> Option<String> {
    let version = reader::value(&roots.at("proc/sys/kernel/version")).unwrap_or_default();
    let built = version.split_whitespace().find(|word| word.starts_with("PREEMPT"));
    if built == Some("PREEMPT_RT") {
        return Some("rt".to_string());
    }
    if let Some(mode) = reader::selected(&roots.at("sys/kernel/debug/sched/preempt")) {
        return Some(mode);
    }
    match built? {
        "PREEMPT" => Some("full-or-lazy".to_string()),
        "PREEMPT_DYNAMIC" => {
            let cmdline = os::raw_cmdline(roots).unwrap_or_default();
            // The last one takes effect.
            let set = cmdline.split_whitespace().rev().find_map(|w| w.strip_prefix("preempt="));
            Some(set.and_then(|mode| parse::printable(mode, 32)).unwrap_or("dynamic".to_string()))
        }
        _ => None,
    }
}
