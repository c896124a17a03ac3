//! Signals: read from a descriptor, blocked, forwarded, reset.

use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};

use crate::kernel::Errno;

/// A descriptor that becomes readable when SIGTERM, SIGINT, SIGHUP or SIGCHLD arrives.
pub struct SignalFd(OwnedFd);

impl SignalFd {
    /// Blocks the four signals and opens the descriptor.
    pub fn block_and_open() -> Result<Self, Errno> {
        // SAFETY: the set is initialised before it is used; the descriptor is new and ours.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGCHLD] {
                libc::sigaddset(&raw mut set, signal);
            }
            Errno::check(libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()))?;
            let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
            let fd = Errno::check(libc::signalfd(-1, &raw const set, flags))?;
            Ok(Self(OwnedFd::from_raw_fd(fd)))
        }
    }

    /// The next signal that has arrived, if any.
    pub fn next(&self) -> Option<SignalEvent> {
        use std::os::fd::AsRawFd;
        // SAFETY: all-zero bits are a valid siginfo, and the kernel writes at most its size.
        let (read, info) = unsafe {
            let mut info: libc::signalfd_siginfo = std::mem::zeroed();
            let size = size_of_val(&info);
            (libc::read(self.0.as_raw_fd(), (&raw mut info).cast(), size), info)
        };
        (read > 0).then_some(match info.ssi_signo as i32 {
            libc::SIGCHLD => SignalEvent::ChildChanged,
            _ => SignalEvent::EndRequested,
        })
    }
}

impl AsFd for SignalFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A signal's meaning for the supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalEvent {
    /// A child ended or stopped.
    ChildChanged,
    /// The supervisor is asked to end.
    EndRequested,
}

/// The signals that a wrapper process forwards to its child.
const FORWARDED: [i32; 7] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
];

/// Signals that are blocked until unblocked.
pub struct BlockedSignals(libc::sigset_t);

/// Blocks what [`forward_to`] forwards until the target is known: a signal in between would end
/// this process and leave the other one.
pub fn block_forwarded() -> BlockedSignals {
    // SAFETY: both sets are written before they are read, and are there.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in FORWARDED {
            libc::sigaddset(&raw mut set, signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, &raw mut before);
        BlockedSignals(before)
    }
}

impl BlockedSignals {
    /// Unblocks them: also in a child, which has inherited the mask.
    pub fn unblock(&self) {
        // SAFETY: the mask is the one that was there before.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut());
        }
    }
}

/// The target of [`forward_to`]; 0 for none.
static FORWARD_TARGET: AtomicI32 = AtomicI32::new(0);

/// Forwards signals to this process to `pid` from now on; 0 for none. Signals that the terminal
/// sends reach that process anyway and are not sent twice; ignored signals stay ignored.
pub fn forward_to(pid: u32) {
    FORWARD_TARGET.store(pid as i32, Ordering::Relaxed);
    for signal in FORWARDED {
        // SAFETY: all-zero bits are a valid action, of which one is read and one is written; the
        // handler only makes a call that handlers may make.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut action);
            if action.sa_sigaction == libc::SIG_IGN {
                continue;
            }
            action.sa_sigaction = forward as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

extern "C" fn forward(signal: i32, info: *const libc::siginfo_t, _: *const libc::c_void) {
    let heir = FORWARD_TARGET.load(Ordering::Relaxed);
    // SAFETY: the kernel passes a siginfo that lives as long as the handler runs. Signals sent by a
    // process have a code of 0 or below.
    unsafe {
        if heir > 1 && (*info).si_code <= 0 {
            libc::kill(heir, signal);
        }
    }
}

/// Unblocks every signal and ignores none but SIGPIPE: a worker inherits the supervisor's mask, and
/// what a background shell or nohup(1) ignores; a benchmark must not.
pub fn reset_all() {
    for signal in 1..32 {
        if ![libc::SIGKILL, libc::SIGSTOP, libc::SIGPIPE].contains(&signal) {
            // SAFETY: no handler was installed, so none is removed.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
    }
    // SAFETY: an empty set is valid, and setting it cannot fail.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
    }
}

/// Ignores the terminal's signals and polite requests to end: this process ends with another one.
pub fn ignore_terminal_signals() {
    let all = [
        libc::SIGHUP,
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGTERM,
        libc::SIGTSTP,
        libc::SIGTTIN,
        libc::SIGTTOU,
    ];
    for signal in all {
        // SAFETY: no handler was installed, so none is removed.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// A signal's name, as kill(1) spells it.
pub fn name(signal: i32) -> String {
    const NAMES: &[(i32, &str)] = &[
        (libc::SIGHUP, "SIGHUP"),
        (libc::SIGINT, "SIGINT"),
        (libc::SIGQUIT, "SIGQUIT"),
        (libc::SIGILL, "SIGILL"),
        (libc::SIGTRAP, "SIGTRAP"),
        (libc::SIGABRT, "SIGABRT"),
        (libc::SIGBUS, "SIGBUS"),
        (libc::SIGFPE, "SIGFPE"),
        (libc::SIGKILL, "SIGKILL"),
        (libc::SIGSEGV, "SIGSEGV"),
        (libc::SIGPIPE, "SIGPIPE"),
        (libc::SIGTERM, "SIGTERM"),
        (libc::SIGXCPU, "SIGXCPU"),
        (libc::SIGXFSZ, "SIGXFSZ"),
        (libc::SIGSYS, "SIGSYS"),
    ];
    NAMES
        .iter()
        .find(|&&(number, _)| number == signal)
        .map_or_else(|| format!("signal {signal}"), |&(_, name)| name.to_owned())
}
