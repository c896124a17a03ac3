//! What /proc/PID/stat tells of a process, and of its descendants.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// The unit of times in /proc/PID/stat: USER_HZ is 100 on every processor that oscost knows.
const TICK_NS: u64 = 10_000_000;
/// The tree of a process is not followed further down: a circle in what /proc tells meanwhile ends.
const MAX_PROCESSES: usize = 100_000;

/// What /proc/PID/stat tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProcessStat {
    state: char,
    parent: u32,
    pub(super) usage: ProcessUsage,
    /// That of children that were waited for.
    of_ended_children: ProcessUsage,
    pub(super) threads: u32,
    /// When it was created, in ticks since the boot: another process with its number has another.
    pub(super) start: u64,
}

/// Times and faults of one process or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessUsage {
    /// CPU time in user mode, in nanoseconds.
    pub user_ns: u64,
    /// CPU time in the kernel, in nanoseconds.
    pub system_ns: u64,
    /// Page faults without a disk.
    pub minor_faults: u64,
    /// Page faults with a disk.
    pub major_faults: u64,
}

impl ProcessUsage {
    fn plus(self, other: Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_add(other.user_ns),
            system_ns: self.system_ns.saturating_add(other.system_ns),
            minor_faults: self.minor_faults.saturating_add(other.minor_faults),
            major_faults: self.major_faults.saturating_add(other.major_faults),
        }
    }

    /// Since an earlier reading; `None` if it is smaller: a child has ended that nobody waited for,
    /// and its part is lost.
    pub fn since(self, earlier: Self) -> Option<Self> {
        Some(Self {
            user_ns: self.user_ns.checked_sub(earlier.user_ns)?,
            system_ns: self.system_ns.checked_sub(earlier.system_ns)?,
            minor_faults: self.minor_faults.checked_sub(earlier.minor_faults)?,
            major_faults: self.major_faults.checked_sub(earlier.major_faults)?,
        })
    }
}

/// The process that a task is a thread of; `None` if it is not there.
pub fn process_of(task: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{task}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

pub(super) fn stat_of(process: u32) -> Option<ProcessStat> {
    parse_stat(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

/// Parses proc_pid_stat(5). The name of the process, which may contain anything, is in brackets.
fn parse_stat(text: &str) -> Option<ProcessStat> {
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    // The first one is the third of the manual.
    let field = |number: usize| fields.get(number.checked_sub(3)?).copied();
    let number = |at: usize| field(at)?.parse::<u64>().ok();
    let ns = |at: usize| Some(number(at)?.saturating_mul(TICK_NS));
    Some(ProcessStat {
        state: field(3)?.chars().next()?,
        parent: field(4)?.parse().ok()?,
        usage: ProcessUsage {
            user_ns: ns(14)?,
            system_ns: ns(15)?,
            minor_faults: number(10)?,
            major_faults: number(12)?,
        },
        of_ended_children: ProcessUsage {
            user_ns: ns(16)?,
            system_ns: ns(17)?,
            minor_faults: number(11)?,
            major_faults: number(13)?,
        },
        threads: field(20)?.parse().ok()?,
        start: number(22)?,
    })
}

/// Whether all threads of a process have ended: the first one may end before others.
pub(super) fn has_ended(stat: &ProcessStat) -> bool {
    matches!(stat.state, 'Z' | 'X') && stat.threads <= 1
}

fn all_stats() -> Option<BTreeMap<u32, ProcessStat>> {
    let entries = fs::read_dir("/proc").ok()?.flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    Some(numbers.filter_map(|process| Some((process, stat_of(process)?))).collect())
}

/// Whether a process is this one, or this one's parent, or that one's, and so on.
pub fn is_own_or_ancestor(process: u32) -> bool {
    let mut current = std::process::id();
    let mut seen = BTreeSet::new();
    while current != 0 && seen.insert(current) {
        if current == process {
            return true;
        }
        current = stat_of(current).map_or(0, |stat| stat.parent);
    }
    false
}

/// The usage of a process and its descendants, with that of descendants that were waited for: what
/// a child was charged does not get lost when its parent waits for it.
pub(super) fn tree_usage(root: u32) -> Option<ProcessUsage> {
    usage_below(root, &all_stats()?)
}

/// The descendants of a process that are there, and that have not ended.
pub fn living_descendants(process: u32) -> Vec<u32> {
    let stats = all_stats().unwrap_or_default();
    let mut below = tree_below(process, &stats);
    let lives = |it: &u32| stats.get(it).is_some_and(|stat| !has_ended(stat));
    below.retain(|it| *it != process && lives(it));
    below
}

fn usage_below(root: u32, stats: &BTreeMap<u32, ProcessStat>) -> Option<ProcessUsage> {
    let of_tree = tree_below(root, stats).into_iter().filter_map(|process| stats.get(&process));
    let sum = of_tree.fold(ProcessUsage::default(), |sum, stat| {
        sum.plus(stat.usage).plus(stat.of_ended_children)
    });
    stats.contains_key(&root).then_some(sum)
}

/// A process and its descendants.
fn tree_below(root: u32, stats: &BTreeMap<u32, ProcessStat>) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (&process, stat) in stats {
        children.entry(stat.parent).or_default().push(process);
    }
    let mut tree = Vec::new();
    let mut seen = BTreeSet::new();
    let mut open = vec![root];
    while let Some(process) = open.pop() {
        if !seen.insert(process) || seen.len() > MAX_PROCESSES {
            continue;
        }
        tree.push(process);
        open.extend(children.get(&process).into_iter().flatten());
    }
    tree
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of /proc/PID/stat with these times in ticks.
    fn line(name: &str, parent: u32, [user, system, of_user, of_system]: [u64; 4]) -> String {
        format!(
            "7 ({name}) S {parent} 7 7 0 -1 4194304 11 12 13 14 {user} {system} {of_user} \
             {of_system} 20 0 3 0 99 1 2 3"
        )
    }

    #[test]
    fn the_line_of_a_process_is_read_whatever_its_name() {
        let stat = parse_stat(&line("a) S 1 (b", 5, [1, 2, 3, 4])).unwrap();
        assert_eq!((stat.state, stat.parent, stat.threads, stat.start), ('S', 5, 3, 99));
        let own = ProcessUsage {
            user_ns: 10_000_000,
            system_ns: 20_000_000,
            minor_faults: 11,
            major_faults: 13,
        };
        assert_eq!(stat.usage, own);
        assert_eq!(stat.of_ended_children.system_ns, 40_000_000);
        assert_eq!((parse_stat("7 (x) S 1 2"), parse_stat("")), (None, None));
        // Its first thread has ended, and two others have not.
        let first_ended = ProcessStat { state: 'Z', ..stat };
        assert!(!has_ended(&stat) && !has_ended(&first_ended));
        assert!(has_ended(&ProcessStat { threads: 1, ..first_ended }));
    }

    #[test]
    fn a_tree_has_the_times_of_all_that_live_and_of_all_that_were_waited_for() {
        let stat = |parent, times| parse_stat(&line("x", parent, times)).unwrap();
        let stats = BTreeMap::from([
            (10, stat(1, [1, 0, 2, 0])),
            (11, stat(10, [4, 0, 8, 0])),
            (12, stat(11, [16, 0, 0, 0])),
            (13, stat(1, [32, 0, 0, 0])),
        ]);
        let user = |root| usage_below(root, &stats).map(|usage| usage.user_ns / TICK_NS);
        assert_eq!([user(10), user(12), user(14)], [Some(31), Some(16), None]);
        assert_eq!(tree_below(10, &stats), [10, 11, 12]);
    }
}
