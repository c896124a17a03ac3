//! What two sides of a switch call: to wake the other one, and to wait until they are woken.
//!
//! The calls are made by the bare instruction, so that both sides make them alike and nothing else.

use std::cell::Cell;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

use crate::kernel::Errno;
use crate::kernel::arch;
use crate::kernel::cpu::affinity;
use crate::kernel::process::{self, Termination, WaitTarget};

/// Splits the kernel's convention into result and error.
#[inline(always)]
fn raw_result(result: i64) -> Result<i64, Errno> {
    if result < 0 { Err(Errno(-result as i32)) } else { Ok(result) }
}

/// write(2); the number of bytes taken.
#[inline(always)]
pub fn write(to: &File, bytes: &[u8]) -> Result<usize, Errno> {
    let args = [to.as_raw_fd() as u64, bytes.as_ptr() as u64, bytes.len() as u64, 0, 0, 0];
    // SAFETY: the kernel reads as many bytes as the slice has.
    raw_result(unsafe { arch::syscall(libc::SYS_write, args) }).map(|taken| taken as usize)
}

/// read(2); the number of bytes given, 0 at the end.
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

/// Whether a futex word lies in memory of one process alone or of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FutexScope {
    /// Of one: the kernel need not ask which page it is.
    Private,
    /// Of several.
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

/// futex(FUTEX_WAKE) of one waiter; how many were woken.
#[inline(always)]
pub fn futex_wake(word: &AtomicU32, reach: FutexScope) -> Result<i64, Errno> {
    let op = (libc::FUTEX_WAKE | reach.flag()) as u64;
    // SAFETY: the kernel takes the word's address as a name, and looks at no more than the word.
    raw_result(unsafe { arch::syscall(libc::SYS_futex, [word.as_ptr() as u64, op, 1, 0, 0, 0]) })
}

/// futex(FUTEX_WAIT) for as long as the word is 0. EAGAIN says that it was not, EINTR that a signal
/// came.
#[inline(always)]
pub fn futex_wait(word: &AtomicU32, reach: FutexScope) -> Result<(), Errno> {
    let op = (libc::FUTEX_WAIT | reach.flag()) as u64;
    // SAFETY: the kernel reads the word, which is there; no time limit is given.
    let done = unsafe { arch::syscall(libc::SYS_futex, [word.as_ptr() as u64, op, 0, 0, 0, 0]) };
    raw_result(done).map(drop)
}

/// A new eventfd(2) counter at 0.
pub fn eventfd() -> Result<File, Errno> {
    // SAFETY: plain numbers; the descriptor is new and ours.
    unsafe {
        let fd = Errno::check(libc::eventfd(0, libc::EFD_CLOEXEC))?;
        Ok(OwnedFd::from_raw_fd(fd).into())
    }
}

/// Both ends of a new stream of AF_UNIX.
pub fn socket_pair() -> Result<(File, File), Errno> {
    let mut ends = [0; 2];
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    // SAFETY: two descriptors are written, and both are ours.
    unsafe {
        Errno::check(libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()))?;
        Ok((OwnedFd::from_raw_fd(ends[0]).into(), OwnedFd::from_raw_fd(ends[1]).into()))
    }
}

/// The id of the calling thread; that of its process if it is the first.
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
        SIGNALS_RECEIVED.with(|heard| heard.set(heard.get() + 1));
    }
}

/// A set of signals as the kernel takes it: one bit each.
const fn signal_set(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// rt_sigprocmask(2); the mask that was.
fn set_mask(how: i32, set: u64) -> Result<u64, Errno> {
    let mut before = 0u64;
    let args = [how as u64, &raw const set as u64, &raw mut before as u64, 8, 0, 0];
    // SAFETY: the kernel reads one set and writes one, and both are there.
    raw_result(unsafe { arch::syscall(libc::SYS_rt_sigprocmask, args) })?;
    Ok(before)
}

/// The calling thread's ear for the signal: it is held back until it is waited for, and the mask is
/// as it was when this is dropped. What the thread starts meanwhile inherits it.
///
/// The handler stays: it does nothing but count, and a signal that comes late kills nobody.
pub struct SignalReceiver {
    before: u64,
}

impl SignalReceiver {
    /// Sets the handler, and holds back the signal and the alarm's.
    pub fn install() -> Result<Self, Errno> {
        for signal in [SIGNAL, libc::SIGALRM] {
            // SAFETY: all-zero bits are a valid action; the handler touches nothing but a number of
            // its own thread. Without SA_RESTART, so that a call that waits comes back.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = count_signal as extern "C" fn(i32) as usize;
                Errno::check(libc::sigaction(signal, &raw const action, std::ptr::null_mut()))?;
            }
        }
        let both = signal_set(SIGNAL) | signal_set(libc::SIGALRM);
        Ok(Self { before: set_mask(libc::SIG_BLOCK, both)? })
    }

    /// The mask under which both signals come through.
    pub fn receiving_mask(&self) -> u64 {
        self.before & !(signal_set(SIGNAL) | signal_set(libc::SIGALRM))
    }
}

impl Drop for SignalReceiver {
    fn drop(&mut self) {
        // It was a mask before; setting it again cannot fail.
        let _ = set_mask(libc::SIG_SETMASK, self.before);
    }
}

/// rt_sigsuspend(2): waits under this mask until a handler has run.
#[inline(always)]
pub fn sigsuspend(mask: u64) {
    // SAFETY: the kernel reads one set, which is there. It always comes back with EINTR.
    unsafe {
        arch::syscall(libc::SYS_rt_sigsuspend, [&raw const mask as u64, 8, 0, 0, 0, 0]);
    }
}

/// sigwaitinfo(3), as the call that it makes: waits for the signal and takes it, without a handler.
#[inline(always)]
pub fn wait_for_signal() -> Result<(), Errno> {
    let set = signal_set(SIGNAL);
    // SAFETY: all-zero bits are a valid siginfo; the kernel reads one set and writes one siginfo.
    let taken = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let args = [&raw const set as u64, &raw mut info as u64, 0, 8, 0, 0];
        raw_result(arch::syscall(libc::SYS_rt_sigtimedwait, args))?
    };
    if taken == i64::from(SIGNAL) { Ok(()) } else { Err(Errno::EINTR) }
}

/// A signal each second to the process that waits, until this is dropped: a call that waits for a
/// peer comes back with EINTR, and who waits may look whether the peer is still there.
pub struct Alarm(());

impl Alarm {
    /// Starts it, and lets it reach the calling thread; others hold it back.
    pub fn start() -> Result<Self, Errno> {
        set_mask(libc::SIG_UNBLOCK, signal_set(libc::SIGALRM))?;
        Self::set_interval(1)?;
        Ok(Self(()))
    }

    fn set_interval(seconds: i64) -> Result<(), Errno> {
        let time = libc::timeval { tv_sec: seconds, tv_usec: 0 };
        let timer = libc::itimerval { it_interval: time, it_value: time };
        // SAFETY: one timer is read, which is there.
        Errno::check(unsafe {
            libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut())
        })
        .map(drop)
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        // Stopping a timer cannot fail.
        let _ = Self::set_interval(0);
    }
}

/// Words in a page that every fork of the process shares, each in a cache line of its own.
pub struct SharedWords(NonNull<u8>);

/// The size of a page that holds them, and of a line.
const PAGE_BYTES: usize = 4_096;
const LINE_BYTES: usize = 64;

// SAFETY: the page is only ever looked at through atomics.
unsafe impl Send for SharedWords {}
// SAFETY: as above.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    /// A fresh page, all 0, written to once.
    pub fn new() -> Result<Self, Errno> {
        let (access, kind) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), PAGE_BYTES, access, kind, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(Errno::last());
        }
        let words = Self(NonNull::new(base.cast()).ok_or(Errno::EINVAL)?);
        words.word(0).store(0, std::sync::atomic::Ordering::Relaxed);
        Ok(words)
    }

    /// A word of 32 bits, in one of the 32 lines of the page's first half.
    #[inline(always)]
    pub fn word(&self, line: usize) -> &AtomicU32 {
        // SAFETY: the line lies in the page, is aligned, and is never anything but this.
        unsafe { self.0.add(line % 32 * LINE_BYTES).cast().as_ref() }
    }

    /// A word of 64 bits, in one of the 32 lines of the page's second half.
    #[inline(always)]
    pub fn word64(&self, line: usize) -> &AtomicU64 {
        // SAFETY: as above.
        unsafe { self.0.add((32 + line % 32) * LINE_BYTES).cast().as_ref() }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: this value alone owns the mapping in this process, and nothing borrows from it.
        unsafe { libc::munmap(self.0.as_ptr().cast(), PAGE_BYTES) };
    }
}

/// A child that stands beside the calling process: it dies with it, and with this value.
pub struct PeerProcess(u32);

impl PeerProcess {
    /// Forks a child that runs `serve` on `cpu`, or wherever its parent does.
    pub fn start(
        cpu: Option<u32>,
        serve: impl FnOnce() -> Result<(), Errno>,
    ) -> Result<Self, Errno> {
        let parent = std::process::id();
        let child = move || {
            let placed =
                process::die_with_parent(parent).and_then(|()| cpu.map_or(Ok(()), affinity::pin));
            // Its status says what went wrong, as far as there is room.
            placed.and_then(|()| serve()).map_or_else(|error| error.0, |()| 0)
        };
        process::fork(child).map(Self)
    }

    /// Its id.
    pub fn id(&self) -> u32 {
        self.0
    }

    /// Whether it is still there; if not, the error that it ended with, or ESRCH.
    pub fn check_running(&self) -> Result<(), Errno> {
        let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        // SAFETY: all-zero bits are a valid siginfo, and the kernel fills it in.
        let info = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            Errno::check(libc::waitid(libc::P_PID, self.0, &raw mut info, flags))?;
            info
        };
        // SAFETY: waitid fills in these members, or leaves them 0.
        let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
        match (pid, info.si_code, status) {
            (0, ..) => Ok(()),
            (_, libc::CLD_EXITED, 1..) => Err(Errno(status)),
            _ => Err(Errno::ESRCH),
        }
    }
}

impl PeerProcess {
    /// Waits until it has ended by itself; an error if it ended otherwise than it should.
    pub fn join(self) -> Result<(), Errno> {
        let peer = std::mem::ManuallyDrop::new(self);
        match process::wait(WaitTarget::Child(peer.0), true)? {
            Some((_, Termination::Exited(0))) => Ok(()),
            Some((_, Termination::Exited(status))) => Err(Errno(status)),
            _ => Err(Errno::ESRCH),
        }
    }
}

impl Drop for PeerProcess {
    fn drop(&mut self) {
        process::kill(self.0);
        // It was our child and is now ended: there is nothing left to know.
        let _ = process::wait(WaitTarget::Child(self.0), true);
    }
}

/// What a thread does.
type ThreadBody = Box<dyn FnOnce() + Send>;

/// A thread, made by the C library's own call.
pub struct Thread(libc::pthread_t);

impl Thread {
    /// Starts one that runs `body`.
    pub fn start(body: ThreadBody) -> Result<Self, Errno> {
        let body = Box::into_raw(Box::new(body));
        // SAFETY: all-zero bits are room for an id, which is written; the body belongs to the
        // thread, which takes it.
        let (refused, thread) = unsafe {
            let mut thread: libc::pthread_t = std::mem::zeroed();
            let refused =
                libc::pthread_create(&raw mut thread, std::ptr::null(), run_body, body.cast());
            (refused, thread)
        };
        if refused != 0 {
            // SAFETY: nobody has taken it.
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
    // SAFETY: whoever started the thread has handed it this box, and to nobody else.
    let body = unsafe { Box::from_raw(body.cast::<ThreadBody>()) };
    body();
    std::ptr::null_mut()
}
