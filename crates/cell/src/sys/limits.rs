//! What a process may have.

use super::Errno;

/// How many descriptors this process may have open: the soft limit is raised to the hard one, which
/// everyone may do.
pub fn descriptors() -> Result<u64, Errno> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: one rlimit is written, and then read, which is there.
    unsafe {
        Errno::check(libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit))?;
        if limit.rlim_cur < limit.rlim_max {
            let raised = libc::rlimit { rlim_cur: limit.rlim_max, ..limit };
            Errno::check(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const raised))?;
        }
    }
    Ok(limit.rlim_max)
}
