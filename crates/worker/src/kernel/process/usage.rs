//! What the kernel has charged the calling thread, and processes that have ended.

use oscost_model::program::TreeUsage;

use crate::kernel::Errno;
use crate::kernel::process::{Termination, WaitTarget, waitpid_argument};

/// Counters of the calling thread that are inexpensive to read.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadUsage {
    /// Switches that the scheduler forced (`ru_nivcsw`).
    pub involuntary_switches: u64,
    /// Faults that waited for a disk (`ru_majflt`).
    pub major_faults: u64,
    /// Faults that needed no disk (`ru_minflt`).
    pub minor_faults: u64,
    /// The same of children of the process that were waited for, and of theirs; 0 where they were not
    /// asked for.
    pub child_minor_faults: u64,
    /// Switches because the thread waited (`ru_nvcsw`).
    pub voluntary_switches: u64,
    /// CPU time in user mode, in nanoseconds (`ru_utime`).
    pub user_ns: u64,
    /// CPU time in the kernel, in nanoseconds (`ru_stime`).
    pub system_ns: u64,
}

impl ThreadUsage {
    /// What was charged between `earlier` and this.
    #[must_use]
    pub fn since(self, earlier: ThreadUsage) -> ThreadUsage {
        self.combine(earlier, u64::saturating_sub)
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: ThreadUsage) -> ThreadUsage {
        self.combine(other, u64::saturating_add)
    }

    fn combine(self, other: ThreadUsage, combine: fn(u64, u64) -> u64) -> ThreadUsage {
        ThreadUsage {
            involuntary_switches: combine(self.involuntary_switches, other.involuntary_switches),
            major_faults: combine(self.major_faults, other.major_faults),
            minor_faults: combine(self.minor_faults, other.minor_faults),
            child_minor_faults: combine(self.child_minor_faults, other.child_minor_faults),
            voluntary_switches: combine(self.voluntary_switches, other.voluntary_switches),
            user_ns: combine(self.user_ns, other.user_ns),
            system_ns: combine(self.system_ns, other.system_ns),
        }
    }
}

/// The usage of the calling thread, and the faults of children of its process that have ended.
pub fn thread_with_children() -> Result<ThreadUsage, Errno> {
    let children = usage_of(libc::RUSAGE_CHILDREN)?;
    Ok(ThreadUsage { child_minor_faults: children.ru_minflt as u64, ..thread()? })
}

/// getrusage(2).
fn usage_of(whom: i32) -> Result<libc::rusage, Errno> {
    // SAFETY: all-zero bits are a valid rusage, and the call fills it in.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        Errno::check(libc::getrusage(whom, &raw mut usage))?;
        Ok(usage)
    }
}

/// getrusage(RUSAGE_THREAD); a sandbox may refuse it.
pub fn thread() -> Result<ThreadUsage, Errno> {
    let usage = usage_of(libc::RUSAGE_THREAD)?;
    Ok(ThreadUsage {
        involuntary_switches: usage.ru_nivcsw as u64,
        major_faults: usage.ru_majflt as u64,
        minor_faults: usage.ru_minflt as u64,
        child_minor_faults: 0,
        voluntary_switches: usage.ru_nvcsw as u64,
        user_ns: nanoseconds(usage.ru_utime),
        system_ns: nanoseconds(usage.ru_stime),
    })
}

/// The CPU time of all children that the process has waited for, in nanoseconds: in either mode in
/// whole microseconds.
pub fn children_cpu_ns() -> Result<u64, Errno> {
    let children = usage_of(libc::RUSAGE_CHILDREN)?;
    Ok(nanoseconds(children.ru_utime) + nanoseconds(children.ru_stime))
}

/// The largest resident set of this process so far, in bytes; a sandbox may refuse to tell.
pub fn own_peak_bytes() -> Result<u64, Errno> {
    usage_of(libc::RUSAGE_SELF).map(|usage| peak_bytes(&usage))
}

/// A process that has ended.
pub struct EndedProcess {
    /// How it ended.
    pub termination: Termination,
    /// What the kernel charged it and its waited-for children.
    pub usage: TreeUsage,
}

/// Waits as [`crate::kernel::process::wait`] does, and also returns the usage.
pub fn wait(target: WaitTarget, patient: bool) -> Result<Option<EndedProcess>, Errno> {
    let flags = if patient { 0 } else { libc::WNOHANG };
    loop {
        match wait4(target, flags) {
            // A tracee has stopped.
            Ok(None) if patient => {}
            Err(Errno::EINTR) => {}
            waited => return waited,
        }
    }
}

/// Waits until a process has ended, in one wait4(2); `None` if a handler of a signal has run before
/// that.
pub fn wait_until_signal(target: WaitTarget) -> Result<Option<EndedProcess>, Errno> {
    match wait4(target, 0) {
        Err(Errno::EINTR) => Ok(None),
        waited => waited,
    }
}

/// wait4(2); `None` if no process has ended.
fn wait4(target: WaitTarget, flags: i32) -> Result<Option<EndedProcess>, Errno> {
    // SAFETY: all-zero bits are a valid rusage; it is written, and so is one integer.
    let (ended, status, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        let mut status = 0;
        let ended = libc::wait4(waitpid_argument(target), &raw mut status, flags, &raw mut usage);
        (Errno::check(ended)?, status, usage)
    };
    let termination = Termination::from_status(status).filter(|_| ended != 0);
    Ok(termination.map(|termination| EndedProcess { termination, usage: tree_usage(&usage) }))
}

fn tree_usage(usage: &libc::rusage) -> TreeUsage {
    TreeUsage {
        user_ns: nanoseconds(usage.ru_utime),
        system_ns: nanoseconds(usage.ru_stime),
        peak_bytes: peak_bytes(usage),
        starter_peak_bytes: None,
        minor_faults: usage.ru_minflt as u64,
        major_faults: usage.ru_majflt as u64,
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
    }
}

/// The largest resident set, which Linux tells in KiB.
fn peak_bytes(usage: &libc::rusage) -> u64 {
    (usage.ru_maxrss as u64) << 10
}

fn nanoseconds(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000
}
