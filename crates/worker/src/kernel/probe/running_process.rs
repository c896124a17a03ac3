//! ptrace(2) of a process that runs already: all of its threads are attached to without a stop that
//! the process sees (PTRACE_SEIZE), and let go of as they were found.
//!
//! If the tracer dies, the kernel lets go of them itself.

use std::collections::BTreeSet;
use std::fs;

use super::program_trace::{ProgramStop, StoppedTask};
use super::ptrace::{Request, ptrace_request};
use crate::kernel::Errno;

/// Attaches to all threads of a process, those that it creates meanwhile too, and returns them. Each
/// is interrupted, so that it stops once for its tracer. `Err(ESRCH)` if the process has ended.
pub fn seize_threads(process: u32) -> Result<BTreeSet<u32>, Errno> {
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
                Err(error) => return Err(error),
            }
            seized.insert(thread);
        }
    }
    if seized.is_empty() {
        return Err(Errno::ESRCH);
    }
    seized.iter().for_each(|&thread| interrupt(thread));
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
}
