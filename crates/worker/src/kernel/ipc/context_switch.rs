//! The calls by which two sides of a context switch wake each other and wait.
//!
//! They use the raw instruction, so that both sides make the same calls and nothing else.

use std::cell::Cell;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

use rustix::event::EventfdFlags;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::kernel::Errno;
use crate::kernel::arch;
use crate::kernel::cpu::affinity;
use crate::kernel::errno::raw_result;
use crate::kernel::memory::mapping::Mapping;
use crate::kernel::net::socket;
use crate::kernel::process::{self, EndedChild, Termination, WaitTarget};

/// write(2); returns the bytes written.
#[inline(always)]
pub fn write(to: &File, bytes: &[u8]) -> Result<usize, Errno> {
    let args = [to.as_raw_fd() as u64, bytes.as_ptr() as u64, bytes.len() as u64, 0, 0, 0];
    // SAFETY: the kernel reads as many bytes as the slice has.
    raw_result(unsafe { arch::syscall(libc::SYS_write, args) }).map(|bytes| bytes as usize)
}

/// read(2); returns the bytes read, 0 at the end of the file.
#[inline(always)]
pub fn read(from: &File, into: &mut [u8]) -> Result<usize, Errno> {
    let args = [from.as_raw_fd() as u64, into.as_mut_ptr() as u64, into.len() as u64, 0, 0, 0];
    // SAFETY: the kernel writes at most as many bytes as the slice has.
    raw_result(unsafe { arch::syscall(libc::SYS_read, args) }).map(|given| given as usize)
}

/// sched_yield(2).
#[inline(always)]
pub fn sched_yield() -> Result<(), Errno> {
    // SAFETY: sched_yield takes no arguments.
    raw_result(unsafe { arch::syscall0(libc::SYS_sched_yield) }).map(drop)
}

/// Whether a futex word is private to a process or shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FutexScope {
    /// Private: the kernel need not look up the page.
    Private,
    /// Shared between processes.
    Shared,
}

impl FutexScope {
    fn flag(self) -> i32 {
        match self {
            FutexScope::Private => libc::FUTEX_PRIVATE_FLAG,
            FutexScope::Shared => 0,
        }
    }
}

/// futex(FUTEX_WAKE) of one waiter; returns the number woken.
#[inline(always)]
pub fn futex_wake(word: &AtomicU32, scope: FutexScope) -> Result<i64, Errno> {
    let op = (libc::FUTEX_WAKE | scope.flag()) as u64;
    // SAFETY: the kernel uses the word's address as a key and accesses no more than the word.
    raw_result(unsafe { arch::syscall(libc::SYS_futex, [word.as_ptr() as u64, op, 1, 0, 0, 0]) })
}

/// futex(FUTEX_WAIT) while the word is 0. EAGAIN means that it was not, EINTR that a signal
/// arrived.
#[inline(always)]
pub fn futex_wait(word: &AtomicU32, scope: FutexScope) -> Result<(), Errno> {
    let op = (libc::FUTEX_WAIT | scope.flag()) as u64;
    // SAFETY: the kernel reads the word, which is borrowed; no timeout is given.
    let done = unsafe { arch::syscall(libc::SYS_futex, [word.as_ptr() as u64, op, 0, 0, 0, 0]) };
    raw_result(done).map(drop)
}

/// A new eventfd(2) counter at 0.
pub fn eventfd() -> Result<File, Errno> {
    Ok(rustix::event::eventfd(0, EventfdFlags::CLOEXEC)?.into())
}

/// A connected pair of AF_UNIX stream sockets.
pub fn socket_pair() -> Result<(File, File), Errno> {
    let (one, other) =
        socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    Ok((one.into(), other.into()))
}

/// The id of the calling thread; for the main thread the process id.
pub fn thread_id() -> u32 {
    // SAFETY: gettid takes no arguments.
    unsafe { libc::gettid() as u32 }
}

/// The signal that one side sends to the other.
const SIGNAL: i32 = libc::SIGUSR1;

/// Sends a process the signal: kill(2).
#[inline(always)]
pub fn signal_process(pid: u32) -> Result<(), Errno> {
    // SAFETY: plain numbers.
    let sent =
        unsafe { arch::syscall(libc::SYS_kill, [u64::from(pid), SIGNAL as u64, 0, 0, 0, 0]) };
    raw_result(sent).map(drop)
}

/// Sends a thread of process `pid` the signal: tgkill(2).
#[inline(always)]
pub fn signal_thread(pid: u32, thread: u32) -> Result<(), Errno> {
    let args = [u64::from(pid), u64::from(thread), SIGNAL as u64, 0, 0, 0];
    // SAFETY: plain numbers.
    raw_result(unsafe { arch::syscall(libc::SYS_tgkill, args) }).map(drop)
}

thread_local! {
    /// How often the handler of the signal has run on this thread.
    static SIGNALS_RECEIVED: Cell<u32> = const { Cell::new(0) };
}

/// How often the handler of the signal has run on the calling thread.
#[inline(always)]
pub fn signals_received() -> u32 {
    SIGNALS_RECEIVED.with(Cell::get)
}

extern "C" fn count_signal(signal: i32) {
    if signal == SIGNAL {
        SIGNALS_RECEIVED.with(|count| count.set(count.get() + 1));
    }
}

/// A set of signals as the kernel takes it: one bit each.
const fn signal_set(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// rt_sigprocmask(2); the mask that was.
fn set_mask(operation: i32, set: u64) -> Result<u64, Errno> {
    let mut before = 0u64;
    let args = [operation as u64, &raw const set as u64, &raw mut before as u64, 8, 0, 0];
    // SAFETY: the kernel reads one set and writes one, and both are there.
    raw_result(unsafe { arch::syscall(libc::SYS_rt_sigprocmask, args) })?;
    Ok(before)
}

/// Receives the signal in the calling thread: it is blocked except while waited for, and the mask
/// is restored on drop. Threads and children started meanwhile inherit it.
///
/// The handler stays installed: it only counts, and a late signal kills nothing.
pub struct SignalReceiver {
    before: u64,
}

impl SignalReceiver {
    /// Installs the handler, and blocks the signal and SIGALRM.
    pub fn install() -> Result<Self, Errno> {
        for signal in [SIGNAL, libc::SIGALRM] {
            // SAFETY: all-zero bits are a valid action; the handler only touches a counter of its
            // own thread. Without SA_RESTART, so that a waiting call returns.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = count_signal as extern "C" fn(i32) as usize;
                Errno::check(libc::sigaction(signal, &raw const action, std::ptr::null_mut()))?;
            }
        }
        let both = signal_set(SIGNAL) | signal_set(libc::SIGALRM);
        Ok(Self { before: set_mask(libc::SIG_BLOCK, both)? })
    }

    /// The mask that lets both signals through.
    pub fn receiving_mask(&self) -> u64 {
        self.before & !(signal_set(SIGNAL) | signal_set(libc::SIGALRM))
    }
}

impl Drop for SignalReceiver {
    fn drop(&mut self) {
        // The mask was valid before; setting it cannot fail.
        let _ = set_mask(libc::SIG_SETMASK, self.before);
    }
}

/// rt_sigsuspend(2): waits under this mask until a handler has run.
#[inline(always)]
pub fn sigsuspend(mask: u64) {
    // SAFETY: the kernel reads one local set. It always returns EINTR.
    unsafe {
        arch::syscall(libc::SYS_rt_sigsuspend, [&raw const mask as u64, 8, 0, 0, 0, 0]);
    }
}

/// sigwaitinfo(2), as the system call it makes: waits for the signal and takes it, without a
/// handler.
#[inline(always)]
pub fn wait_for_signal() -> Result<(), Errno> {
    let set = signal_set(SIGNAL);
    // SAFETY: all-zero bits are a valid siginfo; the kernel reads one set and writes one siginfo.
    let received = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let args = [&raw const set as u64, &raw mut info as u64, 0, 8, 0, 0];
        raw_result(arch::syscall(libc::SYS_rt_sigtimedwait, args))?
    };
    if received == i64::from(SIGNAL) { Ok(()) } else { Err(Errno::EINTR) }
}

/// SIGALRM every second until dropped: a call that waits for a peer returns EINTR, and the waiter
/// may check whether the peer still runs.
pub struct Alarm(());

impl Alarm {
    /// Starts it, and unblocks it in the calling thread; other threads block it.
    pub fn start() -> Result<Self, Errno> {
        set_mask(libc::SIG_UNBLOCK, signal_set(libc::SIGALRM))?;
        Self::set_interval(1)?;
        Ok(Self(()))
    }

    fn set_interval(seconds: u64) -> Result<(), Errno> {
        socket::set_interval_timer(Duration::from_secs(seconds))
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        // Stopping a timer cannot fail.
        let _ = Self::set_interval(0);
    }
}

/// Words in a page shared with every fork, each in its own cache line.
pub struct SharedWords(Mapping);

/// The size of the page, and of a cache line.
const PAGE_BYTES: usize = 4_096;
const LINE_BYTES: usize = 64;

// SAFETY: the page is only accessed through atomics.
unsafe impl Send for SharedWords {}
// SAFETY: as above.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    /// A zeroed page, already faulted in.
    pub fn new() -> Result<Self, Errno> {
        let words = Self(Mapping::shared(PAGE_BYTES)?);
        words.word(0).store(0, std::sync::atomic::Ordering::Relaxed);
        Ok(words)
    }

    /// A word of 32 bits, in one of the 32 lines of the page's first half.
    #[inline(always)]
    pub fn word(&self, line: usize) -> &AtomicU32 {
        // SAFETY: the line lies in the page, is aligned, and is never anything but this.
        unsafe { self.0.pointer(line % 32 * LINE_BYTES).as_ref() }
    }

    /// A word of 64 bits, in one of the 32 lines of the page's second half.
    #[inline(always)]
    pub fn word64(&self, line: usize) -> &AtomicU64 {
        // SAFETY: as above.
        unsafe { self.0.pointer((32 + line % 32) * LINE_BYTES).as_ref() }
    }
}

/// A child that serves as the peer of the calling process: it dies with that process, and with this
/// value.
pub struct PeerProcess(u32);

impl PeerProcess {
    /// Forks a child that runs `serve` on `cpu`, or with its parent's affinity.
    pub fn start(
        cpu: Option<u32>,
        serve: impl FnOnce() -> Result<(), Errno>,
    ) -> Result<Self, Errno> {
        let parent = std::process::id();
        let child = move || {
            let placed =
                process::die_with_parent(parent).and_then(|()| cpu.map_or(Ok(()), affinity::pin));
            // Its exit status carries the errno.
            placed.and_then(|()| serve()).map_or_else(|error| error.0, |()| 0)
        };
        process::fork(child).map(Self)
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.0
    }

    /// Checks that it still runs; if not, returns the error that it ended with, or ESRCH.
    pub fn check_running(&self) -> Result<(), Errno> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let pid = i32::try_from(self.0).ok().and_then(Pid::from_raw).ok_or(Errno::ESRCH)?;
        match waitid(WaitId::Pid(pid), options)? {
            None => Ok(()),
            Some(ended) => match ended.exit_status() {
                Some(status @ 1..) => Err(Errno(status)),
                _ => Err(Errno::ESRCH),
            },
        }
    }

    /// Waits until it exits by itself; an error if it failed or was killed.
    pub fn join(self) -> Result<(), Errno> {
        let peer = std::mem::ManuallyDrop::new(self);
        match process::wait(WaitTarget::Child(peer.0), true)? {
            Some(EndedChild { termination: Termination::Exited(0), .. }) => Ok(()),
            Some(EndedChild { termination: Termination::Exited(status), .. }) => Err(Errno(status)),
            _ => Err(Errno::ESRCH),
        }
    }
}

impl Drop for PeerProcess {
    fn drop(&mut self) {
        process::kill_and_reap(self.0);
    }
}

/// A thread's body.
type ThreadBody = Box<dyn FnOnce() + Send>;

/// A thread, created by pthread_create(3).
pub struct Thread(libc::pthread_t);

impl Thread {
    /// Starts one that runs `body`.
    pub fn start(body: ThreadBody) -> Result<Self, Errno> {
        let body = Box::into_raw(Box::new(body));
        // SAFETY: all-zero bits are a valid id, which is written; the thread takes ownership of the
        // body.
        let (refused, thread) = unsafe {
            let mut thread: libc::pthread_t = std::mem::zeroed();
            let refused =
                libc::pthread_create(&raw mut thread, std::ptr::null(), run_body, body.cast());
            (refused, thread)
        };
        if refused != 0 {
            // SAFETY: no thread took it.
            drop(unsafe { Box::from_raw(body) });
            return Err(Errno(refused));
        }
        Ok(Self(thread))
    }

    /// Waits until it has ended.
    pub fn join(self) {
        // SAFETY: it was started here, and is joined once. Joining such a thread cannot fail.
        unsafe { libc::pthread_join(self.0, std::ptr::null_mut()) };
    }
}

extern "C" fn run_body(body: *mut libc::c_void) -> *mut libc::c_void {
    // SAFETY: the creator passed this box to this thread only.
    let body = unsafe { Box::from_raw(body.cast::<ThreadBody>()) };
    body();
    std::ptr::null_mut()
}
