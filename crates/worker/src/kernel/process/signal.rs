//! Signals: read from a descriptor, blocked, forwarded, reset.

use std::sync::atomic::{AtomicI32, Ordering};

use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::kernel::Errno;

/// A descriptor that becomes readable when SIGTERM, SIGINT, SIGHUP or SIGCHLD arrives; they are
/// blocked. A SIGHUP that is ignored, as nohup(1) has it, stays so: blocked, it would arrive.
pub fn block_and_open() -> Result<SignalFd, Errno> {
    let hangup = (!is_ignored(Signal::SIGHUP)).then_some(Signal::SIGHUP);
    let signals: SigSet =
        [Signal::SIGTERM, Signal::SIGINT, Signal::SIGCHLD].into_iter().chain(hangup).collect();
    signals.thread_block()?;
    Ok(SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?)
}

/// The next signal that has arrived at a descriptor, if any.
pub fn next_event(signals: &SignalFd) -> Option<SignalEvent> {
    let info = signals.read_signal().ok()??;
    Some(match info.ssi_signo as i32 {
        libc::SIGCHLD => SignalEvent::ChildChanged,
        signal => SignalEvent::EndRequested { signal },
    })
}

/// A signal's meaning for the supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalEvent {
    /// A child ended or stopped.
    ChildChanged,
    /// The supervisor is asked to end, by this signal.
    EndRequested {
        /// Its number.
        signal: i32,
    },
}

/// From now on a write beyond the limit of file sizes fails with EFBIG, as one to a full disk fails
/// with ENOSPC, and does not end this process. By a handler: a program that is started gets back
/// the default, while it would inherit that a signal is ignored.
pub fn outlive_file_size_limit() {
    extern "C" fn nothing(_: i32) {}
    if !is_ignored(Signal::SIGXFSZ) {
        // SAFETY: no handler was installed, so none is removed; the new one does nothing.
        let _ = unsafe { signal(Signal::SIGXFSZ, SigHandler::Handler(nothing)) };
    }
}

/// Whether this process ignores a signal.
fn is_ignored(signal: Signal) -> bool {
    // SAFETY: all-zero bits are a valid action, which the call fills in.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal as i32, std::ptr::null(), &raw mut action);
        action.sa_sigaction == libc::SIG_IGN
    }
}

/// The signals that a wrapper process forwards to its child.
const FORWARDED: [Signal; 7] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGALRM,
];

/// Signals that are blocked until unblocked.
pub struct BlockedSignals(SigSet);

/// Blocks what [`forward_to`] forwards until the target is known: a signal in between would end
/// this process and leave the other one.
pub fn block_forwarded() -> BlockedSignals {
    let forwarded: SigSet = FORWARDED.into_iter().collect();
    // Changing the mask cannot fail.
    let before = forwarded.thread_swap_mask(SigmaskHow::SIG_BLOCK);
    BlockedSignals(before.unwrap_or_else(|_| SigSet::empty()))
}

impl BlockedSignals {
    /// Unblocks them: also in a child, which has inherited the mask.
    pub fn unblock(&self) {
        // It cannot fail.
        let _ = self.0.thread_set_mask();
    }
}

/// The target of [`forward_to`]; 0 for none.
static FORWARD_TARGET: AtomicI32 = AtomicI32::new(0);

/// Forwards signals to this process to `pid` from now on; 0 for none. Signals that the terminal
/// sends reach that process anyway and are not sent twice; ignored signals stay ignored.
pub fn forward_to(pid: u32) {
    FORWARD_TARGET.store(pid as i32, Ordering::Relaxed);
    for signal in FORWARDED.map(|signal| signal as i32) {
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
    let target = FORWARD_TARGET.load(Ordering::Relaxed);
    // SAFETY: the kernel passes a siginfo that lives as long as the handler runs. Signals sent by a
    // process have a code of 0 or below.
    unsafe {
        if target > 1 && (*info).si_code <= 0 {
            libc::kill(target, signal);
        }
    }
}

/// Unblocks every signal and ignores none but SIGPIPE: a worker inherits the supervisor's mask, and
/// what a background shell or nohup(1) ignores; a benchmark must not.
pub fn reset_all() {
    let kept = [Signal::SIGKILL, Signal::SIGSTOP, Signal::SIGPIPE];
    for one in Signal::iterator().filter(|one| !kept.contains(one)) {
        // SAFETY: no handler was installed, so none is removed.
        let _ = unsafe { signal(one, SigHandler::SigDfl) };
    }
    // It cannot fail.
    let _ = SigSet::empty().thread_set_mask();
}

/// Ignores the terminal's signals and polite requests to end: this process ends with another one.
pub fn ignore_terminal_signals() {
    let all = [
        Signal::SIGHUP,
        Signal::SIGINT,
        Signal::SIGQUIT,
        Signal::SIGTERM,
        Signal::SIGTSTP,
        Signal::SIGTTIN,
        Signal::SIGTTOU,
    ];
    for one in all {
        // SAFETY: no handler was installed, so none is removed.
        let _ = unsafe { signal(one, SigHandler::SigIgn) };
    }
}

/// A signal's name, as kill(1) spells it.
pub fn name(number: i32) -> String {
    Signal::try_from(number).map_or_else(|_| format!("signal {number}"), |one| one.to_string())
}
