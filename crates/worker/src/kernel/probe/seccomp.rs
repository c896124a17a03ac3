//! seccomp(2): filters of system calls, and user-space listeners.
//!
//! A filter may disable speculation for its process (`spec_store_bypass_disable=seccomp`, the
//! default before Linux 5.16): it then costs more than its instructions.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{PidfdGetfdFlags, pidfd_getfd};

use crate::kernel::Errno;

/// The longest program that the kernel takes (BPF_MAXINSNS).
pub const MAX_INSTRUCTIONS: usize = 4_096;

/// The instruction that ends a filter with a constant (BPF_RET | BPF_K), in the highest 16 bits.
const RETURN: u64 = 0x06 << 48;

/// A filter that stops every call for a tracer.
pub const TRACE_ALL: [u64; 1] = [RETURN | libc::SECCOMP_RET_TRACE as u64];
/// A filter that notifies a listener of every call.
pub const NOTIFY_ALL: [u64; 1] = [RETURN | libc::SECCOMP_RET_USER_NOTIF as u64];

/// The same program with SIGSYS, which can be caught, in place of every end that kills; `None` if
/// no end of it kills or raises that signal.
pub fn with_signal_for_kill(program: &[u64]) -> Option<Vec<u64>> {
    const RAISE: u64 = RETURN | libc::SECCOMP_RET_TRAP as u64;
    const FATAL: [u32; 3] =
        [libc::SECCOMP_RET_KILL_PROCESS, libc::SECCOMP_RET_KILL_THREAD, libc::SECCOMP_RET_TRAP];
    let is_fatal = |instruction: u64| {
        let action = instruction as u32 & libc::SECCOMP_RET_ACTION_FULL;
        instruction >> 48 == RETURN >> 48 && FATAL.contains(&action)
    };
    let changed = program.iter().map(|&one| if is_fatal(one) { RAISE } else { one });
    program.iter().any(|&one| is_fatal(one)).then(|| changed.collect())
}

/// Whether this kernel supports filters.
pub fn is_supported() -> bool {
    std::path::Path::new("/proc/sys/kernel/seccomp").exists()
}

/// Whether a filter has a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotifyMode {
    /// No listener.
    None,
    /// The listener that is returned, for another process to take.
    Listener,
}

/// Installs a filter for the calling thread and its descendants. Each instruction is a number: see
/// `Applied::Seccomp` of the model. After the installing call this makes no other call: each may
/// wait for a listener that no process serves yet.
pub fn install(program: &[u64], notify: NotifyMode) -> Result<Option<OwnedFd>, Errno> {
    if program.is_empty() || program.len() > MAX_INSTRUCTIONS {
        return Err(Errno::EINVAL);
    }
    let mut filter: Vec<libc::sock_filter> = program
        .iter()
        .map(|&whole| libc::sock_filter {
            code: (whole >> 48) as u16,
            jt: (whole >> 40) as u8,
            jf: (whole >> 32) as u8,
            k: whole as u32,
        })
        .collect();
    let whole = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    let flags = match notify {
        NotifyMode::None => 0,
        NotifyMode::Listener => libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
    };
    rustix::thread::set_no_new_privs(true)?;
    // SAFETY: the kernel reads one local program.
    let installed = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const whole)
    };
    let fd = Errno::check(installed as i32)?;
    // SAFETY: with a listener the result is a new descriptor, owned here.
    Ok((notify == NotifyMode::Listener).then(|| unsafe { OwnedFd::from_raw_fd(fd) }))
}

/// A filter's listener, held by another process than the filtered one.
pub struct Listener(OwnedFd);

impl Listener {
    /// Duplicates descriptor `number` of a process (pidfd_getfd(2), Linux 5.6).
    pub fn take_from_process(process: BorrowedFd<'_>, number: i32) -> Result<Self, Errno> {
        Ok(Self(pidfd_getfd(process, number, PidfdGetfdFlags::empty())?))
    }

    /// Receives one notification and lets the call continue; `wakeups` is incremented before the
    /// caller wakes.
    pub fn continue_call(&self, wakeups: &AtomicU64) -> Result<(), Errno> {
        // SAFETY: all-zero bits are a valid notification, and required; the kernel writes one
        // notification and reads one response.
        unsafe {
            let mut asked: libc::seccomp_notif = std::mem::zeroed();
            let fd = self.0.as_raw_fd();
            Errno::check(libc::ioctl(fd, libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut asked))?;
            wakeups.fetch_add(1, Ordering::Relaxed);
            let mut answer: libc::seccomp_notif_resp = std::mem::zeroed();
            answer.id = asked.id;
            answer.flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32;
            Errno::check(libc::ioctl(fd, libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer)).map(drop)
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
