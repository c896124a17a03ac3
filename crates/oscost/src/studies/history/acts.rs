//! Acts: what rows of several studies have in common, so that their figures can stand side by side.
//!
//! A row of a study names its act by `same-as`. The list is closed: a comparison over the years is
//! meaningful only where what is compared is stated.

use crate::studies::figures::unit::UnitKind;

/// An act.
#[derive(Debug, PartialEq, Eq)]
pub struct Act {
    /// The key by which a study file names it.
    pub key: &'static str,
    /// Its name in tables.
    pub name: &'static str,
    /// What is done, and what is in the figure.
    pub definition: &'static str,
    /// The kind of its figures: a time or a rate.
    pub kind: UnitKind,
}

const fn timed(key: &'static str, name: &'static str, definition: &'static str) -> Act {
    Act { key, name, definition, kind: UnitKind::Time }
}

const fn rated(key: &'static str, name: &'static str, definition: &'static str) -> Act {
    Act { key, name, definition, kind: UnitKind::Rate }
}

/// The act whose cost is the first yardstick: others are shown in multiples of it.
pub const PROCEDURE_CALL: &str = "procedure-call";
/// The act whose cost is the second yardstick.
pub const MEMORY_LATENCY: &str = "memory-latency";

/// All acts, from what the core does alone to what the whole system does.
pub const ACTS: &[Act] = &[
    timed("addition", "addition", "one addition of two registers: a cycle of the core"),
    timed(PROCEDURE_CALL, "procedure call", "a function without arguments is called and returns"),
    timed(MEMORY_LATENCY, "memory latency", "a load that no cache holds"),
    timed("getpid", "getpid", "getpid or getppid: the kernel returns a number that it has"),
    timed("write", "write, one byte", "one byte, or one word, written to /dev/null"),
    timed("time-of-day", "time of day", "gettimeofday or clock_gettime, as programs called it"),
    timed("stat", "stat", "stat of a path"),
    timed("open-close", "open and close", "a path is opened, and the descriptor closed"),
    timed("sigaction", "sigaction", "a handler of a signal is installed"),
    timed("signal", "signal to itself", "a process signals itself, and its handler returns"),
    timed("signal-round-trip", "signals, round trip", "two processes signal each other in turn"),
    timed(
        "pipe-round-trip",
        "pipe, round trip",
        "a few bytes to another process and back, by pipes",
    ),
    timed("tcp-round-trip", "TCP, round trip", "a few bytes there and back by TCP within a host"),
    timed("udp-round-trip", "UDP, round trip", "a few bytes there and back by UDP within a host"),
    timed("tcp-connect", "TCP connection", "a connection is made by TCP within a host"),
    timed(
        "context-switch",
        "context switch",
        "from one of two processes without data to the other, less the calls of the pipe between them",
    ),
    timed("thread", "thread", "a thread is created; it need not have run"),
    timed("fork", "fork", "a process is created; it need not have run"),
    timed("fork-exit", "fork, exit, wait", "a process is created, exits, and is waited for"),
    timed("fork-exec", "fork, exec, wait", "the same, and the process executes another program"),
    timed("shell", "sh -c", "the same, and the program is started by a shell"),
    timed(
        "page-fault",
        "page fault, zero-filled",
        "the first access to a page of anonymous memory",
    ),
    timed(
        "file-page-fault",
        "page fault, cached file",
        "the first access to a mapped page of a file",
    ),
    timed("protection-fault", "protection fault", "a forbidden access, caught by a handler"),
    rated("memory-read", "memory, read", "a large block of memory is read"),
    rated("memory-write", "memory, write", "a large block of memory is written"),
    rated("memory-copy", "memory, copy", "a large block of memory is copied"),
    rated("pipe-rate", "pipe, rate", "much data to another process by a pipe, 64 KB a write"),
    rated("tcp-rate", "TCP, rate", "much data to another process by TCP within a host"),
];

/// The act with this key.
pub fn find_act(key: &str) -> Option<&'static Act> {
    ACTS.iter().find(|act| act.key == key)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_act_has_a_key_and_a_name_of_its_own() {
        let keys: BTreeSet<&str> = ACTS.iter().map(|act| act.key).collect();
        let names: BTreeSet<&str> = ACTS.iter().map(|act| act.name).collect();
        assert_eq!([keys.len(), names.len()], [ACTS.len(); 2]);
        for key in [PROCEDURE_CALL, MEMORY_LATENCY] {
            assert!(find_act(key).is_some_and(|act| act.kind == UnitKind::Time));
        }
        assert_eq!(find_act("no-such"), None);
    }

    #[test]
    fn every_act_is_documented() {
        let page = include_str!("../../../../../docs/reference/STUDY-FILES.md");
        for act in ACTS {
            let line = format!("| `{}` | {} |", act.key, act.definition);
            assert!(page.contains(&line), "{line}");
        }
    }
}
