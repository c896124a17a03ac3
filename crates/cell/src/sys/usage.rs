//! What the kernel has charged the calling thread so far.

use super::Errno;

/// Counters of the calling thread that are cheap to read.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadUsage {
    /// Switches that the scheduler forced (`ru_nivcsw`).
    pub involuntary_switches: u64,
    /// Faults that waited for a disk (`ru_majflt`).
    pub major_faults: u64,
}

/// getrusage(RUSAGE_THREAD); a sandbox may refuse it.
pub fn thread() -> Result<ThreadUsage, Errno> {
    // SAFETY: all-zero bits are a valid rusage, and the call fills it in.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        Errno::check(libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage))?;
        usage
    };
    Ok(ThreadUsage {
        involuntary_switches: usage.ru_nivcsw as u64,
        major_faults: usage.ru_majflt as u64,
    })
}
