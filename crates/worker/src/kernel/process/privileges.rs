//! The capabilities of root's workers.
//!
//! Root's worker drops what its case does not need: no fault of a benchmark, and no program that it
//! starts, can then load a module, set a clock or trace a process of another user. The user stays
//! root, so that files of the kernel that only root may write can be written.

use rustix::process::geteuid;
pub use rustix::thread::CapabilitySet;
use rustix::thread::{CapabilitySets, capabilities, set_capabilities, set_no_new_privs};

use crate::kernel::Errno;

/// The variable of the environment that lets workers keep all capabilities, to compare figures.
pub const KEEP_VARIABLE: &str = "OSCOST_KEEP_CAPABILITIES";

/// What every worker keeps: the folder in which the user started oscost may be another user's; the
/// table of samples is locked into memory, and cases with many descriptors, queues or pipes raise a
/// limit.
pub const ALWAYS_KEPT: CapabilitySet = CapabilitySet::DAC_OVERRIDE
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::IPC_LOCK)
    .union(CapabilitySet::SYS_RESOURCE);

/// Drops root's other capabilities, for good: programs that it starts do not gain them either. It
/// does nothing for an ordinary user. The process must have one thread.
pub fn keep_only(kept: CapabilitySet) -> Result<(), Errno> {
    if !geteuid().is_root() || are_kept_by_request() {
        return Ok(());
    }
    let CapabilitySets { effective, permitted, inheritable } = capabilities(None)?;
    let sets = CapabilitySets {
        effective: effective & kept,
        permitted: permitted & kept,
        inheritable: inheritable & kept,
    };
    set_capabilities(None, sets)?;
    Ok(set_no_new_privs(true)?)
}

/// `prctl(PR_SET_NO_NEW_PRIVS)`: the calling thread, and what it starts, gains no privileges by
/// execve(2). There is no way back: a child calls this.
#[inline(always)]
pub fn forbid_new_privileges() -> Result<(), Errno> {
    Ok(set_no_new_privs(true)?)
}

/// The capabilities of a worker whose case needs no others, a bit each; all that this process has,
/// where they are not dropped. `None` if they are unknown.
pub fn of_plain_worker() -> Option<u64> {
    let sets = capabilities(None).ok()?;
    // A sandbox may refuse capset(2); this call changes nothing.
    let are_dropped =
        geteuid().is_root() && !are_kept_by_request() && set_capabilities(None, sets).is_ok();
    let kept = if are_dropped { sets.effective & ALWAYS_KEPT } else { sets.effective };
    Some(kept.bits())
}

/// Whether the user asked for workers with all capabilities.
pub fn are_kept_by_request() -> bool {
    std::env::var_os(KEEP_VARIABLE).is_some_and(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::process::in_own_process;

    #[test]
    fn what_is_not_kept_is_gone_for_good() {
        if !geteuid().is_root() {
            eprintln!("cannot run here: only root has capabilities to drop");
            return;
        }
        in_own_process(|| {
            let before = capabilities(None).unwrap();
            keep_only(CapabilitySet::FOWNER).unwrap();
            let after = capabilities(None).unwrap();
            assert_eq!(after.effective, before.effective & CapabilitySet::FOWNER);
            assert_eq!(after.permitted, before.permitted & CapabilitySet::FOWNER);
            if before.permitted != after.permitted {
                assert!(set_capabilities(None, before).is_err(), "they could be taken back");
            }
            assert!(rustix::thread::no_new_privs().unwrap());
            // Dropping again changes nothing.
            keep_only(ALWAYS_KEPT).unwrap();
            assert_eq!(capabilities(None).unwrap(), after);
        });
    }
}
