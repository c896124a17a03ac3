//! Waiting calls with nothing to wait for, and signals.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering, compiler_fence};

use super::call::{Buffer, Call};
use crate::kernel::{Errno, arch};

/// The kernel's name of the call that [`poll`] makes.
#[cfg(target_arch = "x86_64")]
pub const POLL: &str = "poll";
/// The kernel's name of the call that [`poll`] makes.
#[cfg(target_arch = "aarch64")]
pub const POLL: &str = "ppoll";

/// The kernel's name of the call that [`epoll_wait`] makes.
#[cfg(target_arch = "x86_64")]
pub const EPOLL_WAIT: &str = "epoll_wait";
/// The kernel's name of the call that [`epoll_wait`] makes.
#[cfg(target_arch = "aarch64")]
pub const EPOLL_WAIT: &str = "epoll_pwait";

/// A descriptor that is never readable: an eventfd that stays at 0.
fn idle_descriptor() -> Result<OwnedFd, Errno> {
    // SAFETY: the descriptor is new and owned here.
    unsafe { Ok(OwnedFd::from_raw_fd(Errno::check(libc::eventfd(0, libc::EFD_CLOEXEC))?)) }
}

/// poll(2) of one idle descriptor without waiting, which must find none ready.
pub fn poll() -> Result<Call, Errno> {
    let idle = idle_descriptor()?;
    let fds = Buffer::zeroed(size_of::<libc::pollfd>());
    // SAFETY: the buffer has a pollfd's size, and more than its alignment.
    unsafe {
        let of = libc::pollfd { fd: idle.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        (fds.address() as *mut libc::pollfd).write(of);
    }
    // SAFETY: one pollfd is read and written; the call owns it and its descriptor.
    #[cfg(target_arch = "x86_64")]
    let call = unsafe { Call::new(libc::SYS_poll, &[fds.address(), 1, 0]) };
    #[cfg(target_arch = "aarch64")]
    let call = {
        let no_time = Buffer::zeroed(size_of::<libc::timespec>());
        // SAFETY: as above; the time is read, and the call owns it.
        unsafe { Call::new(libc::SYS_ppoll, &[fds.address(), 1, no_time.address(), 0, 0]) }
            .with_owned(no_time)
    };
    Ok(call.with_owned(fds).with_owned(idle))
}

/// epoll_wait(2) on one idle descriptor without waiting, which must find none ready.
pub fn epoll_wait() -> Result<Call, Errno> {
    /// Events that the buffer holds.
    const EVENTS: usize = 8;
    let idle = idle_descriptor()?;
    // SAFETY: the descriptor is new and owned here; the kernel reads one valid event.
    let epoll = unsafe {
        let epoll = OwnedFd::from_raw_fd(Errno::check(libc::epoll_create1(libc::EPOLL_CLOEXEC))?);
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
        let (set, fd) = (epoll.as_raw_fd(), idle.as_raw_fd());
        Errno::check(libc::epoll_ctl(set, libc::EPOLL_CTL_ADD, fd, &raw mut event))?;
        epoll
    };
    let events = Buffer::zeroed(EVENTS * size_of::<libc::epoll_event>());
    let args = [epoll.as_raw_fd() as u64, events.address(), EVENTS as u64, 0];
    // SAFETY: at most this many events are written; the call owns them and both descriptors.
    #[cfg(target_arch = "x86_64")]
    let call = unsafe { Call::new(libc::SYS_epoll_wait, &args) };
    // SAFETY: as above; the fifth argument is no mask.
    #[cfg(target_arch = "aarch64")]
    let call = unsafe { Call::new(libc::SYS_epoll_pwait, &args) };
    Ok(call.with_owned(events).with_owned(epoll).with_owned(idle))
}

/// `futex(FUTEX_WAKE)` of a word without waiters, which must wake none.
pub fn futex_wake() -> Call {
    let word = Buffer::zeroed(8);
    let wake = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as u64;
    // SAFETY: the kernel only uses the word's address; the call owns the word.
    unsafe { Call::new(libc::SYS_futex, &[word.address(), wake, 1]) }.with_owned(word)
}

/// `futex(FUTEX_CMP_REQUEUE)` from a word without waiters to another one, which must move none.
pub fn futex_requeue() -> Call {
    /// Waiters of the first word to be woken, and to be moved, if there were any.
    const WAKE: u64 = 1;
    const MOVE: u64 = i32::MAX as u64;
    let words = Buffer::zeroed(16);
    let requeue = (libc::FUTEX_CMP_REQUEUE | libc::FUTEX_PRIVATE_FLAG) as u64;
    let args = [words.address(), requeue, WAKE, MOVE, words.address() + 8, 0];
    // SAFETY: the kernel reads the first word and uses both addresses; the call owns the words.
    unsafe { Call::new(libc::SYS_futex, &args) }.with_owned(words)
}

/// The kernel's description of a handler (its own `struct sigaction`, not the C library's).
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct KernelAction([u64; 4]);

/// Bytes of the kernel's signal mask.
const MASK_BYTES: u64 = 8;

extern "C" fn no_op_handler(_signal: libc::c_int) {}

/// The C library's description of a no-op handler.
pub(in crate::kernel) fn no_op_action() -> libc::sigaction {
    action_with(no_op_handler)
}

fn action_with(handler: extern "C" fn(libc::c_int)) -> libc::sigaction {
    // SAFETY: all-zero bits are a valid description: no flags, an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as usize;
    action
}

/// Installs a handler by the C library, which adds the return trampoline.
fn install(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) -> Result<(), Errno> {
    let action = action_with(handler);
    // SAFETY: the description is read; the handlers here touch nothing that interrupted code could
    // be modifying.
    Errno::check(unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) })
        .map(drop)
}

/// rt_sigaction(2): installs a handler for SIGUSR2 that is already installed.
pub fn sigaction() -> Result<Call, Errno> {
    install(libc::SIGUSR2, no_op_handler)?;
    let mut installed = KernelAction::default();
    let signal = libc::SIGUSR2 as u64;
    // SAFETY: the kernel writes its description, which has this size on every 64-bit machine that
    // returns from handlers by SA_RESTORER.
    let asked = unsafe {
        let args = [signal, 0, &raw mut installed as u64, MASK_BYTES, 0, 0];
        arch::syscall(libc::SYS_rt_sigaction, args)
    };
    if asked < 0 {
        return Err(Errno(-asked as i32));
    }
    let room = Buffer::containing(installed);
    // SAFETY: the description is read, and the call owns it: it is the one in force.
    let call =
        unsafe { Call::new(libc::SYS_rt_sigaction, &[signal, room.address(), 0, MASK_BYTES]) };
    Ok(call.with_owned(room))
}

thread_local! {
    /// How often this thread's handler has run: it runs on the thread that was signalled.
    static HANDLER_RUNS: AtomicU64 = const { AtomicU64::new(0) };
}

extern "C" fn count_run(_signal: libc::c_int) {
    // No other thread writes it: a load and a store suffice.
    HANDLER_RUNS
        .with(|handled| handled.store(handled.load(Ordering::Relaxed) + 1, Ordering::Relaxed));
}

/// How often the handler has run on this thread. The fence is for the compiler: the handler runs
/// between two lines that do not mention it.
#[inline(always)]
fn handler_runs() -> u64 {
    compiler_fence(Ordering::SeqCst);
    HANDLER_RUNS.with(|handled| handled.load(Ordering::Relaxed))
}

/// A counting handler for SIGUSR1, and the thread that it runs on.
pub struct SelfSignal {
    process: u64,
    thread: u64,
}

/// Installs the handler for the calling thread.
pub fn signal_to_self() -> Result<SelfSignal, Errno> {
    install(libc::SIGUSR1, count_run)?;
    // SAFETY: neither call takes an argument.
    let (process, thread) = unsafe { (libc::getpid() as u64, libc::gettid() as u64) };
    Ok(SelfSignal { process, thread })
}

impl SelfSignal {
    /// How often the handler has run on this thread.
    pub fn handler_runs(&self) -> u64 {
        handler_runs()
    }

    /// Sends the signal by tgkill(2). It must be delivered on the return from that very call.
    #[inline(always)]
    pub fn send(&self) -> Result<(), Errno> {
        let before = handler_runs();
        let args = [self.process, self.thread, libc::SIGUSR1 as u64, 0, 0, 0];
        // SAFETY: plain numbers; the signal has a handler.
        let sent = unsafe { arch::syscall(libc::SYS_tgkill, args) };
        if sent < 0 {
            return Err(Errno(-sent as i32));
        }
        if handler_runs() == before + 1 { Ok(()) } else { Err(Errno::EPROTO) }
    }
}
