//! ptrace(2) of a process that runs already: all of its threads are attached to without a stop that
//! the process sees (PTRACE_SEIZE), and let go of as they were found.
//!
//! If the tracer dies, the kernel lets go of them itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::program_trace::{ProgramStop, StoppedTask};
use super::ptrace::{Request, ptrace_request};
use crate::kernel::Errno;

/// Attaches to all threads of a process, and of its descendants if `children`, those that they create
/// meanwhile too, and returns them. Each is interrupted, so that it stops once for its tracer.
/// `Err(ESRCH)` if the process has ended.
pub fn seize_process(process: u32, children: bool) -> Result<BTreeSet<u32>, Errno> {
    let mut seized = seize_threads(process)?;
    let mut seen = BTreeSet::from([process]);
    // What a process has created before it was attached to is found by the next look.
    loop {
        let descendants = if children { descendants(process)? } else { Vec::new() };
        let fresh: Vec<u32> = descendants.into_iter().filter(|&it| seen.insert(it)).collect();
        if fresh.is_empty() {
            break;
        }
        for descendant in fresh {
            match seize_threads(descendant) {
                Ok(threads) => seized.extend(threads),
                // It has ended.
                Err(Errno::ESRCH) => {}
                Err(error) => return Err(error),
            }
        }
    }
    seized.iter().for_each(|&thread| interrupt(thread));
    Ok(seized)
}

/// Attaches to all threads of a process.
fn seize_threads(process: u32) -> Result<BTreeSet<u32>, Errno> {
    let options = libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEEXEC;
    let mut seized = BTreeSet::new();
    let mut seen = BTreeSet::new();
    loop {
        let threads = threads(process)?;
        let fresh: Vec<u32> = threads.into_iter().filter(|&thread| seen.insert(thread)).collect();
        if fresh.is_empty() {
            break;
        }
        for thread in fresh {
            match ptrace_request(Request::Seize, thread, options as usize) {
                Ok(()) => {}
                // It has ended.
                Err(Errno::ESRCH) => continue,
                // Its creator was attached to before it created this one.
                Err(Errno::EPERM) if is_traced_by_caller(thread) => {}
                // The kernel attaches to nothing that has ended.
                Err(Errno::EPERM) if has_ended(thread) => continue,
                Err(error) => return Err(error),
            }
            seized.insert(thread);
        }
    }
    if seized.is_empty() {
        return Err(Errno::ESRCH);
    }
    Ok(seized)
}

/// Lets an attached task stop, if it has not ended.
pub fn interrupt(task: u32) {
    let _ = ptrace_request(Request::Interrupt, task, 0);
}

/// Lets go of a stopped task, with the signal that it has stopped at. One that was killed meanwhile is
/// no error.
pub fn detach(stopped: StoppedTask) {
    let signal = match stopped.stop {
        ProgramStop::Ended(_) => return,
        ProgramStop::Signal(signal) => signal as usize,
        _ => 0,
    };
    let _ = ptrace_request(Request::Detach, stopped.task, signal);
}

/// The process that a task is a thread of; `None` if it has ended.
pub fn process_of(task: u32) -> Option<u32> {
    status_number(task, "Tgid:")
}

/// The threads of a process.
fn threads(process: u32) -> Result<Vec<u32>, Errno> {
    let entries = match fs::read_dir(format!("/proc/{process}/task")) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(Errno::ESRCH),
        Err(error) => return Err(error.into()),
    };
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

/// The processes that a process has created, that these have created, and so on, of those that are
/// there. One whose parent has ended has another parent since.
fn descendants(process: u32) -> Result<Vec<u32>, Errno> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in fs::read_dir("/proc")?.flatten() {
        let Some(other) = entry.file_name().to_str().and_then(|it| it.parse::<u32>().ok()) else {
            continue;
        };
        if let Some(parent) = status_number(other, "PPid:") {
            children.entry(parent).or_default().push(other);
        }
    }
    let mut found = Vec::new();
    let mut open = vec![process];
    while let Some(parent) = open.pop() {
        // Each is taken once: a circle in what /proc tells meanwhile ends.
        let created = children.remove(&parent).unwrap_or_default();
        found.extend(&created);
        open.extend(created);
    }
    Ok(found)
}

/// Whether a task has ended, and at most waits for its parent or tracer.
fn has_ended(task: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{task}/status")).unwrap_or_default();
    let state = status.lines().find_map(|line| line.strip_prefix("State:"));
    state.is_none_or(|state| state.trim_start().starts_with(['Z', 'X']))
}

fn is_traced_by_caller(task: u32) -> bool {
    status_number(task, "TracerPid:") == Some(std::process::id())
}

/// A number in the status of a task (proc_pid_status(5)).
fn status_number(task: u32, key: &str) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{task}/status")).ok()?;
    let number = status.lines().find_map(|line| line.strip_prefix(key))?;
    number.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_and_their_process_are_found() {
        let me = std::process::id();
        assert!(threads(me).unwrap().contains(&me));
        assert_eq!((process_of(me), status_number(me, "NoSuchKey:")), (Some(me), None));
        assert!(!is_traced_by_caller(me));
        assert_eq!((threads(u32::MAX), process_of(u32::MAX)), (Err(Errno::ESRCH), None));
    }

    #[test]
    fn descendants_are_found_and_one_that_has_ended_cannot_be_attached_to() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let me = std::process::id();
        assert!(descendants(me).unwrap().contains(&child.id()));
        assert_eq!(descendants(u32::MAX), Ok(Vec::new()));
        // It stays until this process waits for it.
        while !has_ended(child.id()) {
            std::thread::yield_now();
        }
        assert_eq!(seize_threads(child.id()), Err(Errno::ESRCH));
        assert!(!has_ended(me));
        child.wait().unwrap();
        assert!(has_ended(u32::MAX));
    }
}
