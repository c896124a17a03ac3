//! A reading of a process, and the difference of two.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::process_stat::{ProcessUsage, has_ended, stat_of, tree_usage};
use super::threads::{ThreadUsage, charge_of_threads};

/// A reading of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    /// Times and faults, with those of children if these are followed.
    pub(super) usage: ProcessUsage,
    /// What each of its threads was charged, of those whose files could be read; `None` if they were
    /// not read, as with descendants, whose threads end in the meantime.
    pub(super) threads: Option<BTreeMap<u32, ThreadUsage>>,
    /// The number of its threads.
    pub(super) thread_count: u32,
    /// When the process was created.
    pub(super) start: u64,
    pub(super) has_ended: bool,
    /// When it was read.
    pub(super) at: Instant,
}

/// Reads a process, with its descendants if `children`, but not its threads; `None` if it is not there.
pub(super) fn read(process: u32, children: bool) -> Option<Reading> {
    let stat = stat_of(process)?;
    let usage = if children { tree_usage(process)? } else { stat.usage };
    Some(Reading {
        usage,
        threads: None,
        thread_count: stat.threads,
        start: stat.start,
        has_ended: has_ended(&stat),
        at: Instant::now(),
    })
}

/// What a process was charged between two readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    /// Times and faults.
    pub usage: ProcessUsage,
    /// That of its threads, all together; `None` if one of the first reading has ended, or their files
    /// cannot be read: what a thread was charged is lost when it ends. `None` with descendants.
    pub threads: Option<ThreadUsage>,
    /// The time between the readings.
    pub time: Duration,
    /// Whether the process has ended meanwhile.
    pub has_ended: bool,
}

/// The difference of two readings; `None` if the second is smaller.
pub(super) fn charge(first: &Reading, last: &Reading, has_ended: bool) -> Option<Charge> {
    let threads = first.threads.as_ref().zip(last.threads.as_ref());
    Some(Charge {
        usage: last.usage.since(first.usage)?,
        threads: threads.and_then(|(first, last)| charge_of_threads(first, last)),
        time: last.at.saturating_duration_since(first.at),
        has_ended,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_end_take_their_times_with_them() {
        let thread = |on_cpu_ns| ThreadUsage { on_cpu_ns, ..ThreadUsage::default() };
        let reading = |threads: &[(u32, u64)], user_ns| Reading {
            usage: ProcessUsage { user_ns, ..ProcessUsage::default() },
            threads: Some(threads.iter().map(|&(id, ns)| (id, thread(ns))).collect()),
            thread_count: threads.len() as u32,
            start: 0,
            has_ended: false,
            at: Instant::now(),
        };
        let first = reading(&[(1, 100), (2, 200)], 5);
        let more = reading(&[(1, 110), (2, 220), (3, 7)], 9);
        let found = charge(&first, &more, false).unwrap();
        assert_eq!((found.usage.user_ns, found.threads), (4, Some(thread(37))));
        let less = reading(&[(1, 110)], 9);
        assert_eq!(charge(&first, &less, true).unwrap().threads, None);
        assert_eq!(charge(&more, &first, false), None);
        let unread = Reading { threads: None, ..more };
        assert_eq!(charge(&first, &unread, true).unwrap().threads, None);
    }
}
