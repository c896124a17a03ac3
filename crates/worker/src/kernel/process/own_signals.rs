//! Signals that a thread sends itself: handled, queued with a value, blocked and fetched, read from
//! a descriptor, ignored.
//!
//! Every value here restores the action, the mask and the alternate stack that were in force when
//! it was made. By the raw instruction, except where the C library is the question.

mod ignored;
mod queued;

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::atomic::{AtomicU64, Ordering, compiler_fence};

pub use self::ignored::{IgnoredSignal, IgnoringGroup};
pub use self::queued::QueuedSignal;
use crate::kernel::errno::raw_result;
use crate::kernel::memory::mapping::Mapping;
use crate::kernel::{Errno, arch};

/// The signal that is handled or blocked.
pub(in crate::kernel) const SIGNAL: i32 = libc::SIGUSR1;
/// The signal that is ignored: another one, so that a mistake ends the process and does not pass
/// unnoticed for a handled one.
const IGNORED: i32 = libc::SIGUSR2;

/// [`SIGNAL`] as a kernel signal set: one bit each.
pub(in crate::kernel) static SIGNAL_SET: u64 = 1 << (SIGNAL - 1);
/// Bytes of such a set.
const SET_BYTES: u64 = 8;
/// No time to wait: an all-zero timespec.
static NO_TIME: [u64; 2] = [0; 2];

/// Bytes of an alternate stack: a frame has some 3 KiB with AVX-512 and 11 KiB with AMX.
const ALTERNATE_BYTES: usize = 64 << 10;

thread_local! {
    /// How often a handler of this file has run on this thread.
    static RUNS: AtomicU64 = const { AtomicU64::new(0) };
    /// Where the frame of its last run was.
    static FRAME: AtomicU64 = const { AtomicU64::new(0) };
    /// The value that came with the last signal, where the handler is told.
    static VALUE: AtomicU64 = const { AtomicU64::new(0) };
}

/// Records a run of a handler. No other thread writes these: a load and a store suffice.
#[inline(always)]
fn record_run(frame: u64) {
    RUNS.with(|runs| runs.store(runs.load(Ordering::Relaxed) + 1, Ordering::Relaxed));
    FRAME.with(|last| last.store(frame, Ordering::Relaxed));
}

/// How often a handler has run on this thread. The fence is for the compiler: the handler runs
/// between two lines that do not mention it.
#[inline(always)]
pub(in crate::kernel) fn handler_runs() -> u64 {
    compiler_fence(Ordering::SeqCst);
    RUNS.with(|runs| runs.load(Ordering::Relaxed))
}

extern "C" fn count_run(_signal: libc::c_int) {
    let here = 0u8;
    record_run(&raw const here as u64);
}

extern "C" fn count_run_with_info(
    _signal: libc::c_int,
    info: *mut libc::siginfo_t,
    _context: *mut libc::c_void,
) {
    let here = 0u8;
    // SAFETY: the kernel passes a handler with SA_SIGINFO a valid siginfo, all bytes of which it
    // has written.
    let value = unsafe { (*info).si_value() };
    VALUE.with(|last| last.store(value.sival_ptr as u64, Ordering::Relaxed));
    record_run(&raw const here as u64);
}

/// How a handler is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandlerKind {
    /// Without flags.
    Plain,
    /// SA_SIGINFO: the handler is told who sent the signal, and what was interrupted.
    WithInfo,
    /// SA_ONSTACK: the handler runs on an alternate stack.
    AlternateStack,
    /// SA_NODEFER: the signal is not blocked while its handler runs.
    NotDeferred,
}

impl HandlerKind {
    /// The action of such a handler.
    fn action(self) -> libc::sigaction {
        let (handler, flags) = match self {
            HandlerKind::Plain => (count_run as *const () as usize, 0),
            HandlerKind::WithInfo => (count_run_with_info as *const () as usize, libc::SA_SIGINFO),
            HandlerKind::AlternateStack => (count_run as *const () as usize, libc::SA_ONSTACK),
            HandlerKind::NotDeferred => (count_run as *const () as usize, libc::SA_NODEFER),
        };
        // SAFETY: all-zero bits are a valid action with an empty mask.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = handler;
        action.sa_flags = flags;
        action
    }
}

/// The action for a signal, in force until dropped.
struct TemporaryAction {
    signal: i32,
    before: libc::sigaction,
}

impl TemporaryAction {
    fn install(signal: i32, action: &libc::sigaction) -> Result<Self, Errno> {
        // SAFETY: all-zero bits are a valid action, which is written; the handlers of this file
        // only touch atomics of their own thread.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            Errno::check(libc::sigaction(signal, &raw const *action, &raw mut before))?;
            Ok(Self { signal, before })
        }
    }

    fn ignore(signal: i32) -> Result<Self, Errno> {
        // SAFETY: all-zero bits are a valid action with an empty mask.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = libc::SIG_IGN;
        Self::install(signal, &action)
    }
}

impl Drop for TemporaryAction {
    fn drop(&mut self) {
        // SAFETY: restores the action that the kernel returned. It cannot fail, having been in
        // force before.
        unsafe { libc::sigaction(self.signal, &raw const self.before, std::ptr::null_mut()) };
    }
}

/// A stack for handlers of the calling thread, until dropped.
struct AlternateStack {
    memory: Mapping,
    before: libc::stack_t,
}

impl AlternateStack {
    fn install() -> Result<Self, Errno> {
        let memory = Mapping::private(ALTERNATE_BYTES)?;
        // SAFETY: all-zero bits are a valid description, which is filled in; the mapping lives
        // until the former stack has been restored.
        let before = unsafe {
            let mut stack: libc::stack_t = std::mem::zeroed();
            stack.ss_sp = memory.pointer::<libc::c_void>(0).as_ptr();
            stack.ss_size = memory.bytes();
            let mut before: libc::stack_t = std::mem::zeroed();
            Errno::check(libc::sigaltstack(&raw const stack, &raw mut before))?;
            before
        };
        Ok(Self { memory, before })
    }

    fn contains(&self, address: u64) -> bool {
        // SAFETY: offset 0 does not exceed the length.
        let base = unsafe { self.memory.pointer::<u8>(0) }.as_ptr() as u64;
        (base..base + self.memory.bytes() as u64).contains(&address)
    }
}

impl Drop for AlternateStack {
    fn drop(&mut self) {
        // SAFETY: restores the description that the kernel returned; no handler runs now.
        unsafe { libc::sigaltstack(&raw const self.before, std::ptr::null_mut()) };
    }
}

/// The process and the thread that a signal is sent to: the caller's.
#[derive(Clone, Copy)]
struct Target {
    process: u64,
    thread: u64,
}

impl Target {
    fn own() -> Self {
        // SAFETY: gettid takes no arguments.
        let thread = unsafe { libc::gettid() as u64 };
        Self { process: std::process::id().into(), thread }
    }

    /// kill(2).
    #[inline(always)]
    fn kill(self, signal: i32) -> Result<(), Errno> {
        // SAFETY: plain numbers; the caller blocks, handles or ignores the signal.
        let sent =
            unsafe { arch::syscall(libc::SYS_kill, [self.process, signal as u64, 0, 0, 0, 0]) };
        raw_result(sent).map(drop)
    }

    /// tgkill(2).
    #[inline(always)]
    fn tgkill(self, signal: i32) -> Result<(), Errno> {
        let args = [self.process, self.thread, signal as u64, 0, 0, 0];
        // SAFETY: as above.
        raw_result(unsafe { arch::syscall(libc::SYS_tgkill, args) }).map(drop)
    }
}

/// A handler for a signal to the calling thread.
pub struct HandledSignal {
    target: Target,
    _action: TemporaryAction,
    /// Removed after the action that runs on it.
    stack: Option<AlternateStack>,
}

impl HandledSignal {
    /// Installs the handler.
    pub fn install(kind: HandlerKind) -> Result<Self, Errno> {
        let stack = match kind {
            HandlerKind::AlternateStack => Some(AlternateStack::install()?),
            _ => None,
        };
        let action = TemporaryAction::install(SIGNAL, &kind.action())?;
        Ok(Self { target: Target::own(), _action: action, stack })
    }

    /// Sends the signal by tgkill(2). It must be delivered on the return from that very call.
    #[inline(always)]
    pub fn send(&self) -> Result<(), Errno> {
        let before = handler_runs();
        self.target.tgkill(SIGNAL)?;
        if handler_runs() == before + 1 { Ok(()) } else { Err(Errno::EPROTO) }
    }

    /// Whether the last run of the handler was on the alternate stack, if there is one, and
    /// otherwise on the thread's own.
    pub fn ran_where_it_should(&self) -> bool {
        let frame = FRAME.with(|last| last.load(Ordering::Relaxed));
        self.stack.as_ref().is_none_or(|stack| stack.contains(frame))
    }
}

/// A signal that the calling thread blocks until this is dropped. The process must have no other
/// thread that would take it.
pub struct BlockedSignal {
    target: Target,
    before: u64,
    /// Restored after the mask: a signal that arrived late runs the handler, and ends no process.
    _action: TemporaryAction,
}

impl BlockedSignal {
    /// Installs a handler, which never runs, and blocks the signal.
    pub fn new() -> Result<Self, Errno> {
        let action = TemporaryAction::install(SIGNAL, &HandlerKind::Plain.action())?;
        let mut before = 0u64;
        let (set, operation) = (&raw const SIGNAL_SET as u64, libc::SIG_BLOCK as u64);
        let args = [operation, set, &raw mut before as u64, SET_BYTES, 0, 0];
        // SAFETY: the kernel reads one set and writes one, and both are there.
        raw_result(unsafe { arch::syscall(libc::SYS_rt_sigprocmask, args) })?;
        Ok(Self { target: Target::own(), before, _action: action })
    }

    /// Sends it to the process: kill(2).
    #[inline(always)]
    pub fn send_to_process(&self) -> Result<(), Errno> {
        self.target.kill(SIGNAL)
    }

    /// Sends it to the calling thread: tgkill(2).
    #[inline(always)]
    pub fn send_to_thread(&self) -> Result<(), Errno> {
        self.target.tgkill(SIGNAL)
    }

    /// Takes it by rt_sigtimedwait(2) without waiting; EAGAIN if it is not pending.
    #[inline(always)]
    pub fn fetch(&self) -> Result<(), Errno> {
        let (set, time) = (&raw const SIGNAL_SET as u64, NO_TIME.as_ptr() as u64);
        // SAFETY: the kernel reads a signal set and a timespec, and writes nothing.
        let fetched = raw_result(unsafe {
            arch::syscall(libc::SYS_rt_sigtimedwait, [set, 0, time, SET_BYTES, 0, 0])
        })?;
        if fetched == i64::from(SIGNAL) { Ok(()) } else { Err(Errno::EPROTO) }
    }
}

impl Drop for BlockedSignal {
    fn drop(&mut self) {
        // One may be pending for the process and one for the thread.
        while self.fetch().is_ok() {}
        let (set, operation) = (&raw const self.before as u64, libc::SIG_SETMASK as u64);
        // SAFETY: the kernel reads one set. It was in force before, so that this cannot fail.
        unsafe {
            arch::syscall(libc::SYS_rt_sigprocmask, [operation, set, 0, SET_BYTES, 0, 0]);
        }
    }
}

/// A blocked signal, and a descriptor that is readable while it is pending: signalfd(2).
pub struct SignalDescriptor {
    blocked: BlockedSignal,
    descriptor: File,
}

/// Words of the kernel's `struct signalfd_siginfo`, the first of which is the signal.
const DESCRIPTOR_INFO_WORDS: usize = size_of::<libc::signalfd_siginfo>() / size_of::<u32>();

impl SignalDescriptor {
    /// Blocks the signal and opens the descriptor.
    pub fn new() -> Result<Self, Errno> {
        let blocked = BlockedSignal::new()?;
        let flags = (libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) as u64;
        let (new, set) = (u64::MAX, &raw const SIGNAL_SET as u64);
        // SAFETY: the kernel reads one set; the descriptor is new and owned here.
        let descriptor = unsafe {
            let args = [new, set, SET_BYTES, flags, 0, 0];
            let fd = raw_result(arch::syscall(libc::SYS_signalfd4, args))?;
            File::from_raw_fd(fd as i32)
        };
        Ok(Self { blocked, descriptor })
    }

    /// Sends the signal to the process by kill(2), and reads it from the descriptor.
    #[inline(always)]
    pub fn send_and_read(&self) -> Result<(), Errno> {
        self.blocked.send_to_process()?;
        let mut info = [0u32; DESCRIPTOR_INFO_WORDS];
        let bytes = size_of_val(&info);
        let fd = self.descriptor.as_raw_fd() as u64;
        let args = [fd, info.as_mut_ptr() as u64, bytes as u64, 0, 0, 0];
        // SAFETY: the kernel writes at most as many bytes as the array has.
        let given = raw_result(unsafe { arch::syscall(libc::SYS_read, args) })?;
        let is_whole = given == bytes as i64 && info[0] == SIGNAL as u32;
        if is_whole { Ok(()) } else { Err(Errno::EPROTO) }
    }
}

/// A signal set of the C library, with which it blocks and unblocks one signal.
pub struct LibrarySet(libc::sigset_t);

impl LibrarySet {
    /// The set of the signal.
    pub fn new() -> Self {
        // SAFETY: all-zero bits are a valid set, which is emptied and changed; the signal exists.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, SIGNAL);
            Self(set)
        }
    }

    /// sigprocmask(2) with SIG_BLOCK, and with SIG_UNBLOCK.
    #[inline(always)]
    pub fn block_and_unblock(&self) -> Result<(), Errno> {
        for operation in [libc::SIG_BLOCK, libc::SIG_UNBLOCK] {
            // SAFETY: the set is read; the signal is not pending.
            Errno::check(unsafe {
                libc::sigprocmask(operation, &raw const self.0, std::ptr::null_mut())
            })?;
        }
        Ok(())
    }
}

impl Default for LibrarySet {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
