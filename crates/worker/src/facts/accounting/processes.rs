//! The running processes and the CPU time of each.

use oscost_model::watch::{ProcessActivity, ProcessKind};

use crate::facts::source::roots::Roots;
use crate::facts::source::{parse, reader};

/// Maximum number of processes: reading more would take longer than half a second.
const MAX_PROCESSES: usize = 16_384;

/// Maximum number of ancestors that are followed.
const MAX_DEPTH: usize = 64;

/// Maximum number of entries, and of process numbers in each.
const MAX_ENTRIES: usize = 16;
const MAX_PIDS: usize = 4;

/// `PF_KTHREAD` of linux/sched.h, in the flags of `/proc/PID/stat`.
const PF_KTHREAD: u64 = 0x0020_0000;

/// The length of a tick in which `/proc/PID/stat` and `/proc/stat` count: `USER_HZ` is 100 on every
/// architecture that this is built for.
pub(in crate::facts) const TICK_NS: u64 = 10_000_000;

/// Programs that are known to disturb, to set clocks or to start work by themselves; the kernel
/// truncates names to 15 characters.
const DAEMONS: &str = concat!(
    // Time.
    "chronyd ntpd openntpd phc2sys ptp4l systemd-timesyn ",
    // Interrupts, frequencies.
    "auto-cpufreq irqbalance power-profiles- thermald tuned ",
    // Work that starts by itself.
    "anacron atd boinc condor_master condor_startd cron crond pbs_mom sge_execd slurmd ",
    // Monitors of every system call.
    "auditd falco falcon-sensor osqueryd sysdig tetragon tracee wdavdaemon ",
);

/// A process in one snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Process {
    pid: u32,
    parent: u32,
    name: String,
    is_kernel: bool,
    own_ticks: u64,
    child_ticks: u64,
    started: u64,
}

/// All visible processes in one snapshot.
#[derive(Clone, Debug, Default)]
pub(in crate::facts) struct Census {
    /// Sorted by process number.
    processes: Vec<Process>,
    /// Why some are not visible.
    pub(in crate::facts) unread: Option<String>,
}

/// Reads every process: some 15 us each.
pub(in crate::facts) fn census(roots: &Roots) -> Census {
    let folder = roots.at("proc");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        return Census { unread: Some("/proc cannot be read".to_owned()), ..Census::default() };
    };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let mut pids: Vec<u32> = pids.take(MAX_PROCESSES + 1).collect();
    let many = pids.len() > MAX_PROCESSES;
    pids.truncate(MAX_PROCESSES);
    insertion_sort(&mut pids);
    // A process that has ended in the meantime has no file.
    let read = |pid: u32| process(pid, &reader::lines(&folder.join(format!("{pid}/stat")))?);
    let processes: Vec<Process> = pids.into_iter().filter_map(read).collect();
    let unread = match () {
        () if many => Some(format!("there are more than {MAX_PROCESSES} processes")),
        () if processes.first().is_none_or(|first| first.pid != 1) => {
            Some("/proc hides processes of other users (hidepid)".to_owned())
        }
        () => None,
    };
    Census { processes, unread }
}

/// Sorts numbers that the kernel lists in order: then an insertion sort takes one pass.
fn insertion_sort(pids: &mut [u32]) {
    for end in 1..pids.len() {
        let mut at = end;
        while at > 0 && pids[at - 1] > pids[at] {
            pids.swap(at - 1, at);
            at -= 1;
        }
    }
}

/// A line of `/proc/PID/stat`. The name is in parentheses and may contain any character,
/// parentheses included: the last one ends it.
fn process(pid: u32, stat: &str) -> Option<Process> {
    let (begin, end) = (stat.find('(')?, stat.rfind(')')?);
    let name = stat.get(begin + 1..end)?;
    let rest = stat.get(end + 1..)?;
    let number = |at: usize| rest.split_ascii_whitespace().nth(at)?.parse::<u64>().ok();
    let sum = |at: usize| number(at)?.checked_add(number(at + 1)?);
    Some(Process {
        pid,
        parent: u32::try_from(number(1)?).ok()?,
        name: parse::printable(name, 32).unwrap_or("?".to_owned()),
        is_kernel: number(6)? & PF_KTHREAD != 0,
        own_ticks: sum(11)?,
        child_ticks: sum(13)?,
        started: number(19)?,
    })
}

/// The difference of two snapshots.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::facts) struct CpuUsage {
    /// The processes that used CPU time, the largest first.
    pub(in crate::facts) processes: Vec<ProcessActivity>,
    /// The CPU time of all processes, own ones included, in nanoseconds.
    pub(in crate::facts) known_ns: u64,
    /// Known daemons that run.
    pub(in crate::facts) daemons: Vec<String>,
}

impl Census {
    /// The CPU time used between this snapshot and a later one. `own_pids` and their descendants
    /// count as known and are not listed.
    pub(in crate::facts) fn usage_until(&self, after: &Census, own_pids: &[u32]) -> CpuUsage {
        let mut activities: Vec<ProcessActivity> = Vec::new();
        let mut known_ticks = 0u64;
        for now in &after.processes {
            let then = self.same(now);
            let own = now.own_ticks.saturating_sub(then.map_or(0, |then| then.own_ticks));
            let children = self.ended_children(now, then, after);
            known_ticks += own + children;
            if after.is_descendant(now.pid, own_pids) {
                continue;
            }
            let kind = if now.is_kernel { ProcessKind::Kernel } else { ProcessKind::Program };
            for (kind, ticks) in [(kind, own), (ProcessKind::Children, children)] {
                if ticks > 0 {
                    charge(&mut activities, now, kind, ticks);
                }
            }
        }
        let runs = |daemon: &&str| after.processes.iter().any(|entry| entry.name == *daemon);
        let daemons = DAEMONS.split_ascii_whitespace().filter(runs).map(str::to_owned).collect();
        CpuUsage { processes: largest(activities), known_ns: known_ticks * TICK_NS, daemons }
    }

    fn find(&self, pid: u32) -> Option<&Process> {
        let at = self.processes.binary_search_by_key(&pid, |process| process.pid).ok()?;
        self.processes.get(at)
    }

    /// The same process in this snapshot: a number may have been reused.
    fn same(&self, process: &Process) -> Option<&Process> {
        self.find(process.pid).filter(|found| found.started == process.started)
    }

    /// The time that children which ended in between had used since the first snapshot. A parent is
    /// charged with a child's whole life when it reaps it; what the child had used before the first
    /// snapshot is subtracted.
    fn ended_children(&self, now: &Process, then: Option<&Process>, after: &Census) -> u64 {
        let charged = now.child_ticks.saturating_sub(then.map_or(0, |then| then.child_ticks));
        if charged == 0 {
            return 0;
        }
        let children = self.processes.iter().filter(|then| then.parent == now.pid);
        let ended = children.filter(|then| after.same(then).is_none());
        let before: u64 = ended.map(|then| then.own_ticks + then.child_ticks).sum();
        charged.saturating_sub(before)
    }

    /// Whether a process is one of `own_pids` or a descendant of one.
    fn is_descendant(&self, pid: u32, own_pids: &[u32]) -> bool {
        let mut at = pid;
        for _ in 0..MAX_DEPTH {
            if own_pids.contains(&at) {
                return true;
            }
            match self.find(at) {
                Some(process) if process.parent != 0 => at = process.parent,
                _ => return false,
            }
        }
        false
    }
}

/// Adds the time of a process to the entry of its name.
fn charge(activities: &mut Vec<ProcessActivity>, process: &Process, kind: ProcessKind, ticks: u64) {
    let at = activities.iter().position(|entry| entry.kind == kind && entry.name == process.name);
    let at = at.unwrap_or_else(|| {
        let name = process.name.clone();
        activities.push(ProcessActivity { name, kind, ..ProcessActivity::default() });
        activities.len() - 1
    });
    let entry = &mut activities[at];
    entry.count += 1;
    entry.cpu_ns += ticks * TICK_NS;
    if entry.pids.len() < MAX_PIDS {
        entry.pids.push(process.pid);
    }
}

/// The entries with the most CPU time, the largest first.
fn largest(mut activities: Vec<ProcessActivity>) -> Vec<ProcessActivity> {
    let mut largest_first = Vec::new();
    while largest_first.len() < MAX_ENTRIES {
        let largest = activities
            .iter()
            .enumerate()
            .max_by_key(|(at, entry)| (entry.cpu_ns, activities.len() - at));
        let Some((at, _)) = largest else { break };
        largest_first.push(activities.remove(at));
    }
    largest_first
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(name: &str, parent: u32, flags: u64, ticks: [u64; 4], started: u64) -> String {
        let [user, system, child_user, child_system] = ticks;
        format!(
            "7 ({name}) S {parent} 7 7 0 -1 {flags} 1 2 3 4 {user} {system} {child_user} \
             {child_system} 20 0 1 0 {started} 100 200\n"
        )
    }

    fn census(stats: &[(u32, String)]) -> Census {
        let processes = stats.iter().map(|(pid, stat)| process(*pid, stat).unwrap()).collect();
        Census { processes, unread: None }
    }

    #[test]
    fn a_name_may_contain_parentheses_spaces_and_control_characters() {
        let found = process(7, &stat("a) R 1 (b\u{1b}[31m", 1, 0, [3, 4, 5, 6], 9)).unwrap();
        assert_eq!(found.name, "a) R 1 (b\u{fffd}[31m");
        assert_eq!((found.own_ticks, found.child_ticks, found.started), (7, 11, 9));
        for text in ["", "7 (a", "7 (a) S", "7 (a) S x y z\n"] {
            assert_eq!(process(7, text), None, "{text}");
        }
    }

    #[test]
    fn time_is_charged_to_names_and_own_processes_are_known_but_not_listed() {
        let before = census(&[
            (1, stat("init", 0, 0, [9, 9, 0, 0], 1)),
            (50, stat("oscost-worker", 40, 0, [1, 1, 0, 0], 5)),
            (60, stat("rustc", 1, 0, [100, 0, 0, 0], 6)),
        ]);
        let after = census(&[
            (1, stat("init", 0, 0, [9, 9, 0, 0], 1)),
            (2, stat("kworker/0:1", 0, PF_KTHREAD, [0, 2, 0, 0], 2)),
            (50, stat("oscost-worker", 40, 0, [1, 1, 200, 0], 5)),
            (51, stat("oscost-worker", 50, 0, [3, 0, 0, 0], 8)),
            (60, stat("rustc", 1, 0, [130, 10, 0, 0], 6)),
            (61, stat("rustc", 1, 0, [20, 0, 0, 0], 7)),
        ]);
        let usage = before.usage_until(&after, &[50]);
        let listed: Vec<(&str, ProcessKind, u32, u64)> = usage
            .processes
            .iter()
            .map(|entry| (entry.name.as_str(), entry.kind, entry.count, entry.cpu_ns / TICK_NS))
            .collect();
        let program = ProcessKind::Program;
        assert_eq!(listed, [("rustc", program, 2, 60), ("kworker/0:1", ProcessKind::Kernel, 1, 2)]);
        assert_eq!(usage.processes[0].pids, [60, 61]);
        // 60 + 2 of others, 200 + 3 of ours.
        assert_eq!(usage.known_ns, 265 * TICK_NS);
    }

    #[test]
    fn children_that_ended_are_charged_with_what_they_used_in_between() {
        let before = census(&[
            (1, stat("init", 0, 0, [0; 4], 1)),
            (10, stat("make", 1, 0, [1, 0, 50, 0], 2)),
            (11, stat("cc", 10, 0, [30, 0, 0, 0], 3)),
        ]);
        // The compiler ended at 42 ticks, another came and went with 8.
        let after = census(&[
            (1, stat("init", 0, 0, [0; 4], 1)),
            (10, stat("make", 1, 0, [1, 0, 100, 0], 2)),
        ]);
        let usage = before.usage_until(&after, &[]);
        let [children] = &usage.processes[..] else { panic!("{usage:?}") };
        assert_eq!((children.name.as_str(), children.kind), ("make", ProcessKind::Children));
        assert_eq!(children.cpu_ns, 20 * TICK_NS);
        assert_eq!(children.pids, [10]);
    }

    #[test]
    fn a_reused_number_is_another_process() {
        let before = census(&[(10, stat("old", 1, 0, [500, 0, 0, 0], 2))]);
        let after = census(&[(10, stat("new", 1, 0, [3, 0, 0, 0], 90))]);
        let usage = before.usage_until(&after, &[]);
        assert_eq!(
            (usage.processes[0].name.as_str(), usage.processes[0].cpu_ns),
            ("new", 3 * TICK_NS)
        );
    }

    #[test]
    fn daemons_are_listed_by_name_and_the_list_is_bounded() {
        let many = (1..400u32).map(|pid| (pid, stat(&format!("p{pid}"), 0, 0, [0, 1, 0, 0], 1)));
        let mut many: Vec<_> = many.collect();
        many.push((400, stat("chronyd", 1, 0, [0; 4], 1)));
        many.push((401, stat("systemd-timesyn", 1, 0, [0; 4], 1)));
        let usage = Census::default().usage_until(&census(&many), &[]);
        assert_eq!(usage.daemons, ["chronyd", "systemd-timesyn"]);
        assert_eq!(usage.processes.len(), MAX_ENTRIES);
        assert_eq!(usage.known_ns, 399 * TICK_NS, "time that is not listed is still known");
    }

    #[test]
    fn a_cycle_of_parents_terminates() {
        let cycle = census(&[(3, stat("a", 4, 0, [0; 4], 1)), (4, stat("b", 3, 0, [0; 4], 1))]);
        assert!(!cycle.is_descendant(3, &[9]));
    }
}
