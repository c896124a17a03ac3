//! Signals as something to read.

use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

use super::Errno;

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
    pub fn next(&self) -> Option<Arrived> {
        use std::os::fd::AsRawFd;
        // SAFETY: all-zero bits are a valid siginfo, and the kernel writes at most its size.
        let (read, info) = unsafe {
            let mut info: libc::signalfd_siginfo = std::mem::zeroed();
            let size = size_of_val(&info);
            (libc::read(self.0.as_raw_fd(), (&raw mut info).cast(), size), info)
        };
        (read > 0).then_some(match info.ssi_signo as i32 {
            libc::SIGCHLD => Arrived::ChildChanged,
            _ => Arrived::EndRequested,
        })
    }
}

impl AsFd for SignalFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// What a signal means to the supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrived {
    /// A child ended or stopped.
    ChildChanged,
    /// Somebody wants the supervisor to end.
    EndRequested,
}

/// Ignores what asks a process to end: one that has something to undo ends when it has done so.
pub fn ignore_requests_to_end() {
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM] {
        // SAFETY: no handler of ours is set, so that none is taken away.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Unblocks every signal and ignores none but SIGPIPE: a cell inherits the supervisor's mask, and
/// what a shell in the background or nohup(1) ignores; a benchmark must not.
pub fn unblock_all() {
    for signal in 1..32 {
        if ![libc::SIGKILL, libc::SIGSTOP, libc::SIGPIPE].contains(&signal) {
            // SAFETY: no handler of ours is set, so that none is taken away.
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
        (libc::SIGSYS, "SIGSYS"),
    ];
    NAMES
        .iter()
        .find(|&&(number, _)| number == signal)
        .map_or_else(|| format!("signal {signal}"), |&(_, name)| name.to_owned())
}
