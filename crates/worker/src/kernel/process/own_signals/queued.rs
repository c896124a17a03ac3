//! A real-time signal that is queued with a value.

use std::sync::atomic::Ordering;

use super::{HandlerKind, Target, TemporaryAction, VALUE, handler_runs};
use crate::kernel::errno::raw_result;
use crate::kernel::{Errno, arch};

/// The kernel's `siginfo_t` of a signal that is queued with a value.
#[repr(C)]
struct QueueInfo {
    signal: i32,
    errno: i32,
    code: i32,
    padding: i32,
    process: i32,
    user: u32,
    value: u64,
    rest: [u64; 12],
}

const _: () = assert!(size_of::<QueueInfo>() == size_of::<libc::siginfo_t>());

/// A real-time signal that the calling process queues for itself with a value, and its handler.
pub struct QueuedSignal {
    target: Target,
    info: QueueInfo,
    _action: TemporaryAction,
}

impl QueuedSignal {
    /// Installs the handler.
    pub fn install() -> Result<Self, Errno> {
        let signal = libc::SIGRTMIN();
        let action = TemporaryAction::install(signal, &HandlerKind::WithInfo.action())?;
        // SAFETY: getuid takes no arguments.
        let user = unsafe { libc::getuid() };
        let process = std::process::id() as i32;
        let (code, value, rest) = (libc::SI_QUEUE, 0, [0; 12]);
        let info = QueueInfo { signal, errno: 0, code, padding: 0, process, user, value, rest };
        Ok(Self { target: Target::own(), info, _action: action })
    }

    /// Queues it with the next value by rt_sigqueueinfo(2). The handler must run once, with that
    /// value, on the return from the call.
    #[inline(always)]
    pub fn send(&mut self) -> Result<(), Errno> {
        let before = self.advance();
        let signal = self.info.signal as u64;
        let args = [self.target.process, signal, &raw const self.info as u64, 0, 0, 0];
        // SAFETY: the kernel reads one siginfo, which is borrowed; the signal has a handler.
        raw_result(unsafe { arch::syscall(libc::SYS_rt_sigqueueinfo, args) })?;
        self.check_received(before)
    }

    /// The same by sigqueue(3).
    #[inline(always)]
    pub fn send_by_library(&mut self) -> Result<(), Errno> {
        let before = self.advance();
        let sival_ptr = std::ptr::without_provenance_mut(self.info.value as usize);
        // SAFETY: plain numbers: no code uses the value as an address; the signal has a handler.
        Errno::check(unsafe {
            libc::sigqueue(self.info.process, self.info.signal, libc::sigval { sival_ptr })
        })?;
        self.check_received(before)
    }

    /// Takes the next value; returns how often a handler has run.
    #[inline(always)]
    fn advance(&mut self) -> u64 {
        self.info.value += 1;
        handler_runs()
    }

    #[inline(always)]
    pub(super) fn check_received(&self, before: u64) -> Result<(), Errno> {
        let ran_once = handler_runs() == before + 1;
        let value = VALUE.with(|last| last.load(Ordering::Relaxed));
        if ran_once && value == self.info.value { Ok(()) } else { Err(Errno::EPROTO) }
    }
}
