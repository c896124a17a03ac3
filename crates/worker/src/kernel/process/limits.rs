//! Resource limits of the process.

use crate::kernel::Errno;

/// The number of descriptors this process may have open, after raising the soft limit to the hard
/// one, which needs no privilege.
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

/// The number of descriptors this process may have open, after trying to allow `wanted`: with
/// privilege the hard limit is raised too, up to `fs.nr_open`.
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

/// A limited resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// Its address space (RLIMIT_AS).
    AddressSpace,
    /// The size of a file that it writes (RLIMIT_FSIZE).
    File,
}

/// A soft limit that this process has lowered for its children: restored on drop.
pub struct LoweredLimit(LimitKind, libc::rlimit);

impl LoweredLimit {
    /// Lowers a limit to `mib` MiB; it is never raised.
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
        // Raising up to the unchanged hard limit needs no privilege.
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

/// Limits this process and its children to `most` descriptors, and drops the capability to raise
/// the limit again (CAP_SYS_RESOURCE).
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
