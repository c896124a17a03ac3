//! What the threads of a process were charged.

use std::collections::BTreeMap;
use std::fs;

/// What a thread was charged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    /// Nanoseconds on a CPU.
    pub on_cpu_ns: u64,
    /// Context switches since it waited.
    pub voluntary_switches: u64,
    /// Context switches since another task was to run.
    pub involuntary_switches: u64,
}

pub(super) fn threads_of(process: u32) -> BTreeMap<u32, ThreadUsage> {
    let entries = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter_map(|thread| Some((thread, thread_usage(process, thread)?))).collect()
}

fn thread_usage(process: u32, thread: u32) -> Option<ThreadUsage> {
    let folder = format!("/proc/{process}/task/{thread}");
    let read = |file: &str| fs::read_to_string(format!("{folder}/{file}")).ok();
    parse_thread(&read("schedstat")?, &read("status")?)
}

/// Parses schedstat, whose first number is the time on a CPU, and proc_pid_status(5).
fn parse_thread(schedstat: &str, status: &str) -> Option<ThreadUsage> {
    let switches = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        line.trim().parse::<u64>().ok()
    };
    Some(ThreadUsage {
        on_cpu_ns: schedstat.split_whitespace().next()?.parse().ok()?,
        voluntary_switches: switches("voluntary_ctxt_switches:")?,
        involuntary_switches: switches("nonvoluntary_ctxt_switches:")?,
    })
}

pub(super) fn charge_of_threads(
    first: &BTreeMap<u32, ThreadUsage>,
    last: &BTreeMap<u32, ThreadUsage>,
) -> Option<ThreadUsage> {
    if first.is_empty() || first.keys().any(|thread| !last.contains_key(thread)) {
        return None;
    }
    let mut sum = ThreadUsage::default();
    for (thread, now) in last {
        let then = first.get(thread).copied().unwrap_or_default();
        sum.on_cpu_ns += now.on_cpu_ns.checked_sub(then.on_cpu_ns)?;
        sum.voluntary_switches += now.voluntary_switches.checked_sub(then.voluntary_switches)?;
        sum.involuntary_switches +=
            now.involuntary_switches.checked_sub(then.involuntary_switches)?;
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedstat_and_status_tell_of_a_thread() {
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t6\n";
        let found = parse_thread("123 4 5\n", status).unwrap();
        let expected =
            ThreadUsage { on_cpu_ns: 123, voluntary_switches: 5, involuntary_switches: 6 };
        assert_eq!(found, expected);
        assert_eq!((parse_thread("", status), parse_thread("1 2 3", "")), (None, None));
    }
}
