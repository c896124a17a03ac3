//! ptrace(2): following a process and its descendants from one system call to the next.

use crate::kernel::Errno;
use crate::kernel::process::Termination;

/// What a traced task did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It entered a system call.
    Entry {
        /// The call's number.
        call: u64,
        /// Its first two arguments.
        args: [u64; 2],
    },
    /// It returned from one, with this result.
    Exit(i64),
    /// It executed one instruction.
    SingleStep,
    /// A signal is about to be delivered.
    Signal(i32),
    /// It created a new task.
    NewTask(u32),
    /// A new task's first stop, an exec, or an unrelated stop.
    Other,
    /// It ended.
    Ended(Termination),
}

/// Requests to be traced by the parent, then stops until the parent resumes it.
pub fn request_tracing() -> Result<(), Errno> {
    ptrace_request(Request::TraceMe, 0, 0)?;
    // SAFETY: a plain number; SIGSTOP passes control to the tracer.
    Errno::check(unsafe { libc::raise(libc::SIGSTOP) }).map(drop)
}

/// Attaches to a child that has called [`request_tracing`]: follows its forks, and kills it when
/// the tracer ends.
pub fn attach_child(pid: u32) -> Result<(), Errno> {
    let TaskStatus { status, .. } = wait_for_status(pid as i32, 0)?;
    if !libc::WIFSTOPPED(status) {
        return Err(Errno::EPERM);
    }
    let options = libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_EXITKILL;
    ptrace_request(Request::SetOptions, pid, options as usize)
}

/// Resumes a stopped task to its next system-call stop, delivering `signal` unless it is 0.
pub fn resume(pid: u32, signal: i32) -> Result<(), Errno> {
    ptrace_request(Request::ContinueToCall, pid, signal as usize)
}

/// Single-steps a stopped task, delivering `signal` unless it is 0.
pub fn step(pid: u32, signal: i32) -> Result<(), Errno> {
    ptrace_request(Request::Step, pid, signal as usize)
}

/// The requests that take a number, and no address in this process (linux/ptrace.h): C libraries have
/// them in different types.
#[derive(Clone, Copy)]
#[repr(u32)]
pub(super) enum Request {
    TraceMe = 0,
    Continue = 7,
    Step = 9,
    Detach = 17,
    ContinueToCall = 24,
    SetOptions = 0x4200,
    Seize = 0x4206,
    Interrupt = 0x4207,
    Listen = 0x4208,
}

/// Makes a request of a task, with a number.
pub(super) fn ptrace_request(request: Request, pid: u32, data: usize) -> Result<(), Errno> {
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: these requests read and write no memory of this process.
    Errno::check(unsafe { libc::ptrace(request as _, pid as i32, none, data) }).map(drop)
}

/// A wait(2) status.
pub(super) struct TaskStatus {
    /// The task that stopped or ended.
    pub(super) task: u32,
    pub(super) status: i32,
}

/// Waits for any child or traced task.
pub(super) fn wait_for_any() -> Result<TaskStatus, Errno> {
    wait_for_status(-1, libc::__WALL)
}

/// Waits for the given child or traced task.
pub(super) fn wait_for_status(target: i32, flags: i32) -> Result<TaskStatus, Errno> {
    let mut status = 0;
    loop {
        // SAFETY: one local integer is written.
        match Errno::check(unsafe { libc::waitpid(target, &raw mut status, flags) }) {
            Err(Errno::EINTR) => {}
            other => return other.map(|pid| TaskStatus { task: pid as u32, status }),
        }
    }
}

/// The address of the instruction that a stopped task runs next.
pub fn instruction_pointer(pid: u32) -> Result<u64, Errno> {
    syscall_info(pid as i32).map(|info| info.instruction_pointer)
}

/// Whether the instruction at that address is the system-call instruction.
pub fn is_syscall_instruction_at(pid: u32, position: u64) -> Result<bool, Errno> {
    let mut word: libc::c_long = 0;
    // SAFETY: unlike the library's wrapper, the call itself writes the word that it reads to the
    // given local.
    Errno::check(unsafe {
        libc::syscall(
            libc::SYS_ptrace,
            libc::PTRACE_PEEKTEXT as libc::c_long,
            libc::c_long::from(pid as i32),
            position as libc::c_long,
            &raw mut word,
        )
    } as i32)?;
    Ok(crate::kernel::arch::is_syscall_instruction(word as u64))
}

/// A stop of a traced task.
pub struct TaskStop {
    /// The task.
    pub task: u32,
    /// Why it stopped.
    pub stop: Stop,
}

/// Waits for the next stop of any traced task; `Err(ECHILD)` when there is none left.
pub fn next_stop() -> Result<TaskStop, Errno> {
    let TaskStatus { task, status } = wait_for_any()?;
    let stop = match Termination::from_status(status) {
        Some(termination) => Stop::Ended(termination),
        None => match classify_stop(task as i32, status) {
            // It was killed meanwhile; the next wait reports that.
            Err(Errno::ESRCH) => Stop::Other,
            stop => stop?,
        },
    };
    Ok(TaskStop { task, stop })
}

/// Classifies a stop.
fn classify_stop(pid: i32, status: i32) -> Result<Stop, Errno> {
    let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
    let creations = [libc::PTRACE_EVENT_FORK, libc::PTRACE_EVENT_VFORK, libc::PTRACE_EVENT_CLONE];
    if creations.contains(&event) {
        return Ok(Stop::NewTask(event_message(pid)? as u32));
    }
    Ok(match (signal, event) {
        (SYSCALL_STOP, _) => system_call(pid)?,
        (libc::SIGTRAP, 0) => Stop::SingleStep,
        // SIGSTOP is a new task's first stop.
        (libc::SIGSTOP, _) | (_, 1..) => Stop::Other,
        (signal, _) => Stop::Signal(signal),
    })
}

/// What a stop at an event is about: the new task, or the former id of one that executed a program.
pub(super) fn event_message(pid: i32) -> Result<u64, Errno> {
    let mut message: libc::c_ulong = 0;
    // SAFETY: one local number is written.
    Errno::check(unsafe {
        libc::ptrace(
            libc::PTRACE_GETEVENTMSG,
            pid,
            std::ptr::null_mut::<libc::c_void>(),
            &raw mut message,
        )
    })?;
    Ok(message)
}

/// The signal of a stop at a system call (PTRACE_O_TRACESYSGOOD).
pub(super) const SYSCALL_STOP: i32 = libc::SIGTRAP | 0x80;

/// The system-call stop of a task.
fn system_call(pid: i32) -> Result<Stop, Errno> {
    let info = syscall_info(pid)?;
    Ok(match info.stop() {
        CallStop::Entry { call, args: [first, second, ..] } => {
            Stop::Entry { call, args: [first, second] }
        }
        CallStop::Exit { value, .. } => Stop::Exit(value),
        CallStop::Other => Stop::Other,
    })
}

/// `struct ptrace_syscall_info` of linux/ptrace.h, which not every C library has.
#[repr(C)]
#[derive(Default)]
pub(super) struct SyscallInfo {
    op: u8,
    padding: [u8; 3],
    /// The kernel's name of the processor's system calls (linux/audit.h).
    pub(super) arch: u32,
    instruction_pointer: u64,
    stack_pointer: u64,
    /// What there is at such a stop.
    words: [u64; 8],
}

/// What a task does at a system-call stop.
pub(super) enum CallStop {
    /// It enters the call of this number.
    Entry { call: u64, args: [u64; 6] },
    /// It returns from one.
    Exit { value: i64, is_error: bool },
    /// Neither.
    Other,
}

impl SyscallInfo {
    pub(super) fn stop(&self) -> CallStop {
        const ENTRY: u8 = 1;
        const EXIT: u8 = 2;
        let [first, second, third, fourth, fifth, sixth, seventh, _] = self.words;
        match self.op {
            ENTRY => CallStop::Entry {
                call: first,
                args: [second, third, fourth, fifth, sixth, seventh],
            },
            // A byte follows the result.
            EXIT => {
                let is_error = second.to_ne_bytes()[0] != 0;
                CallStop::Exit { value: first as i64, is_error }
            }
            _ => CallStop::Other,
        }
    }
}

/// A stopped task's system-call information (PTRACE_GET_SYSCALL_INFO, Linux 5.3), the same on every
/// architecture.
pub(super) fn syscall_info(pid: i32) -> Result<SyscallInfo, Errno> {
    const GET_SYSCALL_INFO: u32 = 0x420e;
    let mut info = SyscallInfo::default();
    let size = std::ptr::without_provenance_mut::<libc::c_void>(size_of_val(&info));
    // SAFETY: the kernel writes at most as many bytes as the structure has.
    Errno::check(unsafe { libc::ptrace(GET_SYSCALL_INFO as _, pid, size, &raw mut info) })?;
    Ok(info)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_call_stop_has_the_layout_of_the_kernels_header() {
        assert_eq!(size_of::<SyscallInfo>(), 88);
        assert_eq!(std::mem::offset_of!(SyscallInfo, arch), 4);
        assert_eq!(std::mem::offset_of!(SyscallInfo, words), 24);
        let info = |op, words| SyscallInfo { op, words, ..SyscallInfo::default() }.stop();
        let CallStop::Entry { call, args } = info(1, [39, 1, 2, 3, 4, 5, 6, 7]) else {
            panic!("no entry");
        };
        assert_eq!((call, args), (39, [1, 2, 3, 4, 5, 6]));
        for (result, flag) in [(-2_i64, true), (7, false)] {
            let words = [result as u64, u64::from(flag).to_le(), 0, 0, 0, 0, 0, 0];
            let CallStop::Exit { value, is_error } = info(2, words) else { panic!("no exit") };
            assert_eq!((value, is_error), (result, flag));
        }
        assert!(matches!(info(3, [0; 8]), CallStop::Other));
    }
}
