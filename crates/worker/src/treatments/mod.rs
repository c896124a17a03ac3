//! Treatments: what is done to a process before its work begins.
//!
//! A process applies an [`AppliedTreatment`] to itself; treatments that need a monitor get one in a
//! process of its own. This module does not refer to benchmarks, clocks or events.

use oscost_model::treatment::AppliedTreatment;

use crate::kernel::file::location;

mod apply;
mod cgroup;
mod monitors;
mod page;
mod refusal;
pub mod system;

pub use apply::Treatments;
pub use cgroup::{remove as remove_group, remove_all_leftovers, remove_leftovers};
pub use monitors::TreatedProcess;
pub use page::MonitorPage;
pub use refusal::Refusal;

use apply::apply;

impl Treatments<'_> {
    /// Starts `body` in a process of its own under these treatments, and returns when all of them
    /// are applied. Children of that process are treated, too. It dies with the calling process,
    /// and dropping the result kills it. The value that `body` returns is its exit status.
    ///
    /// The calling process must have one thread.
    pub fn start(
        &self,
        body: &mut dyn FnMut(&MonitorPage) -> i32,
    ) -> Result<TreatedProcess, Refusal> {
        monitors::start(self, &mut || (), body)
    }

    /// The same, with a preparation in that process before any treatment is applied: a treatment may
    /// forbid the calls that it makes.
    pub fn start_prepared(
        &self,
        prepare: &mut dyn FnMut(),
        body: &mut dyn FnMut(&MonitorPage) -> i32,
    ) -> Result<TreatedProcess, Refusal> {
        monitors::start(self, prepare, body)
    }
}

/// Applies treatments that need no monitor to the calling process, in their order. The process that
/// waits for its end removes the groups of [`AppliedTreatment::Cgroup`]: see [`remove_groups`].
pub fn install(treatments: &Treatments<'_>) -> Result<(), Refusal> {
    let name = location::cgroup_name(treatments.arm);
    treatments.applied.iter().try_for_each(|applied| apply(applied, &name, &MonitorPage::none()))
}

/// Removes the control groups that [`install`] has created for an arm of this job.
pub fn remove_groups(treatments: &Treatments<'_>) {
    if treatments.applied.iter().any(|one| matches!(one, AppliedTreatment::Cgroup { .. })) {
        cgroup::remove(&location::cgroup_name(treatments.arm));
    }
}

/// The names of the treatments, as in a target: `ptrace+nice`.
pub fn names(applied: &[AppliedTreatment]) -> String {
    let name = |one: &AppliedTreatment| match one {
        AppliedTreatment::Seccomp { .. } => "seccomp",
        AppliedTreatment::SeccompTrace => "seccomp-trace",
        AppliedTreatment::SeccompNotify => "seccomp-notify",
        AppliedTreatment::Ptrace => "ptrace",
        AppliedTreatment::Sud => "sud",
        AppliedTreatment::Nice { .. } => "nice",
        AppliedTreatment::Cool { .. } => "cool",
        AppliedTreatment::Call { .. } => "call",
        AppliedTreatment::Cgroup { .. } => "cgroup",
        AppliedTreatment::Env { .. } => "env",
        AppliedTreatment::Wrapper { .. } => "cmd",
    };
    applied.iter().map(name).collect::<Vec<_>>().join("+")
}

#[cfg(test)]
mod tests;
