//! Resource limits of the process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::kernel::Errno;

/// The number of descriptors this process may have open, after raising the soft limit to the hard
/// one, which needs no privilege.
pub fn raise_descriptor_limit() -> Result<u64, Errno> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?;
    }
    Ok(maximum.unwrap_or(u64::MAX))
}

/// The number of descriptors this process may have open, after trying to allow `wanted`: with
/// privilege the hard limit is raised too, up to `fs.nr_open`.
pub fn raise_descriptor_limit_to(wanted: u64) -> Result<u64, Errno> {
    let limit = raise_descriptor_limit()?;
    if wanted <= limit {
        return Ok(limit);
    }
    let raised = Rlimit { current: Some(wanted), maximum: Some(wanted) };
    Ok(if setrlimit(Resource::Nofile, raised).is_ok() { wanted } else { limit })
}

/// The limit of this process's stack in bytes; `None` without one.
pub fn stack_limit() -> Option<u64> {
    getrlimit(Resource::Stack).current
}

/// A soft limit that this process has lowered for its children: restored on drop.
pub struct LoweredLimit(Resource, Rlimit);

impl LoweredLimit {
    /// Lowers a limit to `mib` MiB; it is never raised.
    pub fn new(resource: Resource, mib: u32) -> Result<Self, Errno> {
        let before = getrlimit(resource);
        let wanted = u64::from(mib) << 20;
        let current = Some(before.current.map_or(wanted, |current| current.min(wanted)));
        setrlimit(resource, Rlimit { current, maximum: before.maximum })?;
        Ok(Self(resource, before))
    }
}

impl Drop for LoweredLimit {
    fn drop(&mut self) {
        // Raising up to the unchanged hard limit needs no privilege.
        let _ = setrlimit(self.0, self.1);
    }
}

/// Limits this process and its children to `max` descriptors, and drops the capability to raise
/// the limit again.
#[cfg(test)]
pub(crate) fn lower_descriptor_limit(max: u64) -> Result<(), Errno> {
    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
    let mut sets = capabilities(None)?;
    sets.effective.remove(CapabilitySet::SYS_RESOURCE);
    set_capabilities(None, sets)?;
    Ok(setrlimit(Resource::Nofile, Rlimit { current: Some(max), maximum: Some(max) })?)
}
