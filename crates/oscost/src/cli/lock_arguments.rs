//! Options about the lock of the machine.

use crate::app::BusyPolicy;

/// What to do about another run on the machine; without an option, to wait for it.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct LockArguments {
    /// Fail instead of waiting for another run.
    #[arg(long)]
    no_wait: bool,
    /// Do not lock the machine: measure also beside another run, which disturbs both.
    #[arg(long, conflicts_with = "no_wait")]
    no_lock: bool,
}

impl LockArguments {
    pub(super) fn policy(self) -> BusyPolicy {
        match (self.no_lock, self.no_wait) {
            (true, _) => BusyPolicy::NoLock,
            (false, true) => BusyPolicy::Fail,
            (false, false) => BusyPolicy::Wait,
        }
    }
}
