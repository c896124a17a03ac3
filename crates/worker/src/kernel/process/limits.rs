//! What a process may have.

use crate::kernel::Errno;

/// How many descriptors this process may have open: the soft limit is raised to the hard one, which
/// everyone may do.
pub fn raise_descriptor_limit() -> Result<u64, Errno> {
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

/// How many descriptors this process may have open, where it wants so many: beyond the hard limit
/// who may raises that too, as far as the system goes (`fs.nr_open`).
pub fn raise_descriptor_limit_to(wanted: u64) -> Result<u64, Errno> {
    let limit = raise_descriptor_limit()?;
    if wanted <= limit {
        return Ok(limit);
    }
    let raised = libc::rlimit { rlim_cur: wanted, rlim_max: wanted };
    // SAFETY: one rlimit is read, which is there.
    let done = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const raised) };
    Ok(if done == 0 { wanted } else { limit })
}

/// What a process may not exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// Its address space (RLIMIT_AS).
    AddressSpace,
    /// The size of a file that it writes (RLIMIT_FSIZE).
    File,
}

/// A soft limit that this process has lowered for what it starts meanwhile: its own are raised
/// again when this is dropped.
pub struct LoweredLimit(LimitKind, libc::rlimit);

impl LoweredLimit {
    /// Lowers a limit to so many MiB; it is never raised.
    pub fn new(what: LimitKind, mib: u32) -> Result<Self, Errno> {
        let mut before = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: one rlimit is written, which is there.
        Errno::check(unsafe {
            match what {
                LimitKind::AddressSpace => libc::getrlimit(libc::RLIMIT_AS, &raw mut before),
                LimitKind::File => libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut before),
            }
        })?;
        let wanted = libc::rlim_t::from(mib) << 20;
        let lowered = libc::rlimit { rlim_cur: wanted.min(before.rlim_cur), ..before };
        set(what, &lowered).map(|()| Self(what, before))
    }
}

impl Drop for LoweredLimit {
    fn drop(&mut self) {
        // Up to the hard limit, which was not touched, everyone may.
        let _ = set(self.0, &self.1);
    }
}

fn set(what: LimitKind, limit: &libc::rlimit) -> Result<(), Errno> {
    // SAFETY: one rlimit is read, which is there.
    Errno::check(unsafe {
        match what {
            LimitKind::AddressSpace => libc::setrlimit(libc::RLIMIT_AS, limit),
            LimitKind::File => libc::setrlimit(libc::RLIMIT_FSIZE, limit),
        }
    })
    .map(drop)
}

/// Has this process, and what it starts, make do with so many descriptors: the right to raise the
/// limit again (CAP_SYS_RESOURCE) is given up.
#[cfg(test)]
pub(crate) fn lower_descriptor_limit(most: u64) -> Result<(), Errno> {
    const VERSION_3: u32 = 0x2008_0522;
    const SYS_RESOURCE: u32 = 24;
    let header = [VERSION_3, 0];
    let mut rights = [0u32; 6];
    let lowered = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: a header of two words is read, and rights of twice three are written, then read; so
    // is one rlimit.
    unsafe {
        Errno::check(libc::syscall(libc::SYS_capget, header.as_ptr(), rights.as_mut_ptr()))?;
        rights[0] &= !(1 << SYS_RESOURCE);
        Errno::check(libc::syscall(libc::SYS_capset, header.as_ptr(), rights.as_ptr()))?;
        Errno::check(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const lowered)).map(drop)
    }
}
