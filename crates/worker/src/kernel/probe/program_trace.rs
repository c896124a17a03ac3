//! ptrace(2) of a program: a process and all of its descendants, followed from each call to its
//! result, with arguments and signals (PTRACE_SEIZE), and the memory that arguments point to.

use super::monitor::PTRACE_EVENT_STOP;
use super::ptrace::{
    CallStop, Request, SYSCALL_STOP, TaskStatus, event_message, ptrace_request, syscall_info,
    wait_for_any, wait_for_status,
};
use crate::kernel::Errno;
use crate::kernel::process::Termination;

/// The kernel's name of the processor's own system calls (linux/audit.h): a 32-bit program has
/// other numbers.
#[cfg(target_arch = "x86_64")]
const NATIVE_CALLS: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const NATIVE_CALLS: u32 = 0xc000_00b7;

/// Why a task has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramStop {
    /// It enters a system call.
    Entry {
        /// The call's number.
        call: u64,
        /// Its arguments.
        args: [u64; 6],
        /// Whether the number is one of this processor's own calls.
        is_native: bool,
    },
    /// It returns from one.
    Exit {
        /// The result; a negative errno if `is_error`.
        value: i64,
        /// Whether it failed.
        is_error: bool,
    },
    /// A signal is about to be delivered.
    Signal(i32),
    /// It has created this task.
    NewTask(u32),
    /// It has executed a program, and had this id before: all other threads have ended.
    Exec {
        /// The former id.
        former: u32,
    },
    /// All of its process waits for SIGCONT.
    GroupStop,
    /// Its first stop, or one of no interest.
    Other,
    /// It has ended.
    Ended(Termination),
}

/// A task that has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoppedTask {
    /// The task.
    pub task: u32,
    /// Why it stopped.
    pub stop: ProgramStop,
}

/// Stops until a tracer has attached: to be called by the process that is to be traced.
pub fn wait_for_tracer() -> Result<(), Errno> {
    // SAFETY: a plain number; SIGSTOP stops the caller until SIGCONT.
    Errno::check(unsafe { libc::raise(libc::SIGSTOP) }).map(drop)
}

/// Attaches to a child that has called [`wait_for_tracer`], and lets it go on to its next call. It
/// and all of its descendants die with the caller. `Err(ECHILD)` if the child has ended.
pub fn seize_stopped(pid: u32) -> Result<(), Errno> {
    let TaskStatus { status, .. } = wait_for_status(pid as i32, libc::WUNTRACED)?;
    if !libc::WIFSTOPPED(status) {
        return Err(Errno::ECHILD);
    }
    let options = libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_EXITKILL;
    ptrace_request(Request::Seize, pid, options as usize)?;
    // A process that is stopped already stops once more, for its tracer.
    let TaskStatus { status, .. } = wait_for_status(pid as i32, libc::__WALL)?;
    if !libc::WIFSTOPPED(status) {
        return Err(Errno::ECHILD);
    }
    // SAFETY: plain numbers; the process is a child that nobody has reaped.
    Errno::check(unsafe { libc::kill(pid as i32, libc::SIGCONT) })?;
    ptrace_request(Request::ContinueToCall, pid, 0)
}

/// Waits for the next stop of any traced task; `Err(ECHILD)` when there is none left.
pub fn next_stop() -> Result<StoppedTask, Errno> {
    let TaskStatus { task, status } = wait_for_any()?;
    let stop = match Termination::from_status(status) {
        Some(termination) => ProgramStop::Ended(termination),
        None => match classify(task as i32, status) {
            // It was killed meanwhile; the next wait reports that.
            Err(Errno::ESRCH) => ProgramStop::Other,
            stop => stop?,
        },
    };
    Ok(StoppedTask { task, stop })
}

/// Resumes a stopped task to its next stop. One that was killed meanwhile is no error: the next wait
/// reports it.
pub fn resume(stopped: StoppedTask) {
    let (request, data) = match stopped.stop {
        ProgramStop::Ended(_) => return,
        ProgramStop::GroupStop => (Request::Listen, 0),
        ProgramStop::Signal(signal) => (Request::ContinueToCall, signal as usize),
        _ => (Request::ContinueToCall, 0),
    };
    let _ = ptrace_request(request, stopped.task, data);
}

/// Classifies a stop.
fn classify(pid: i32, status: i32) -> Result<ProgramStop, Errno> {
    let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
    let stopping = [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
    Ok(match event {
        0 if signal == SYSCALL_STOP => system_call(pid)?,
        0 => ProgramStop::Signal(signal),
        libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
            ProgramStop::NewTask(event_message(pid)? as u32)
        }
        libc::PTRACE_EVENT_EXEC => ProgramStop::Exec { former: event_message(pid)? as u32 },
        PTRACE_EVENT_STOP if stopping.contains(&signal) => ProgramStop::GroupStop,
        _ => ProgramStop::Other,
    })
}

/// A stop at a system call.
fn system_call(pid: i32) -> Result<ProgramStop, Errno> {
    let info = syscall_info(pid)?;
    Ok(match info.stop() {
        CallStop::Entry { call, args } => {
            ProgramStop::Entry { call, args, is_native: info.arch == NATIVE_CALLS }
        }
        CallStop::Exit { value, is_error } => ProgramStop::Exit { value, is_error },
        CallStop::Other => ProgramStop::Other,
    })
}

/// Reads of another task's memory end with a page, since the next one may not be mapped.
const PAGE_BYTES: u64 = 4_096;
/// Most paths are shorter.
const CHUNK_BYTES: u64 = 256;

/// The text at an address of a stopped task up to its NUL, or its first `most` bytes; `None` if it
/// cannot be read.
pub fn text_of_task(task: u32, address: u64, most: usize) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    while text.len() < most {
        let begin = text.len();
        let at = address.checked_add(begin as u64)?;
        let room = (PAGE_BYTES - at % PAGE_BYTES).min(CHUNK_BYTES) as usize;
        text.resize(begin + room.min(most - begin), 0);
        let read = read_task(task, at, &mut text[begin..])?;
        text.truncate(begin + read);
        if let Some(end) = text[begin..].iter().position(|&byte| byte == 0) {
            text.truncate(begin + end);
            return Some(text);
        }
        if read == 0 {
            return None;
        }
    }
    Some(text)
}

/// The word at an address of a stopped task; `None` if it cannot be read.
pub fn word_of_task(task: u32, address: u64) -> Option<u64> {
    let mut word = [0; size_of::<u64>()];
    (read_task(task, address, &mut word)? == word.len()).then(|| u64::from_ne_bytes(word))
}

/// Reads the memory of a stopped task (process_vm_readv(2)); returns how many bytes were read.
fn read_task(task: u32, address: u64, into: &mut [u8]) -> Option<usize> {
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let remote = libc::iovec {
        iov_base: std::ptr::without_provenance_mut(address as usize),
        iov_len: into.len(),
    };
    // SAFETY: at most as many bytes are written as the slice has; the other address is one of the
    // other task, which the kernel checks.
    let read = unsafe {
        libc::process_vm_readv(task as i32, &raw const local, 1, &raw const remote, 1, 0)
    };
    usize::try_from(read).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_words_of_a_task_are_read_up_to_their_end() {
        let me = std::process::id();
        let long = [&[b'x'; 1_000][..], b"\0rest"].concat();
        let Some(read) = text_of_task(me, long.as_ptr() as u64, 4_096) else {
            return eprintln!("skipped: process_vm_readv is refused");
        };
        assert_eq!(read, vec![b'x'; 1_000]);
        assert_eq!(text_of_task(me, long.as_ptr() as u64, 10).map(|it| it.len()), Some(10));
        let word = 0x0123_4567_89ab_cdef_u64;
        assert_eq!(word_of_task(me, &raw const word as u64), Some(word));
        assert_eq!((text_of_task(me, 8, 4), word_of_task(me, 0)), (None, None));
    }
}
