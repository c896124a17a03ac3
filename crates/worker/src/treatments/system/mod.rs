//! Treatments of the whole system, for as long as a process keeps them attached.
//!
//! A process of its own attaches, waits, and undoes. An eBPF program and an antagonist end with
//! that process, however it ends. Changes in the kernel's files (a tracing instance, the clock
//! source) would stay: so the parent of that process records them beforehand ([`RestorePlan`]) and
//! undoes them again when the process has ended. If both are killed, the next session removes what
//! they left, as far as that can be recognised: a clock source has no owner.

mod antagonist;
mod clocksource;
mod failure;
mod ftrace;
mod monitor_process;

use std::time::Duration;

use oscost_model::monitor_report::MonitorReport;
use oscost_model::treatment::AttachedTreatment;

use crate::kernel::Errno;
use crate::kernel::probe::bpf::SysEnterProgram;

use antagonist::Antagonist;
use clocksource::ClocksourceChange;
use ftrace::TracingInstance;
use monitor_process::MonitorProcess;

pub use antagonist::AntagonistCpus;
pub use ftrace::remove_stale_instances;

/// The time until a change has reached every CPU: an RCU grace period and inter-processor
/// interrupts.
pub const SETTLING_TIME: Duration = Duration::from_millis(20);

/// The attached treatments. Dropping it undoes them in reverse order.
#[derive(Default)]
pub struct SystemTreatments(Vec<Attachment>);

enum Attachment {
    Program(SysEnterProgram),
    Ftrace(TracingInstance),
    Clocksource(ClocksourceChange),
    Antagonists(Vec<Antagonist>),
    Monitor(MonitorProcess),
}

/// What the treatments observed while they were attached.
#[derive(Debug, Default)]
pub struct DetachReport {
    /// The number of system calls, if they were counted.
    pub call_count: Option<u64>,
    /// The report of the monitor, if there was one.
    pub monitor: Option<MonitorReport>,
}

impl SystemTreatments {
    /// Attaches each of these in turn; `name` is for those that have one in the kernel. If one is
    /// unavailable the error is [`Errno::UNAVAILABLE`], and nothing stays attached.
    pub fn attach(
        treatments: &[AttachedTreatment],
        cpus: AntagonistCpus,
        name: &str,
    ) -> Result<Self, Errno> {
        let mut system = SystemTreatments::default();
        for treatment in treatments {
            system.0.push(match treatment {
                AttachedTreatment::Ebpf { counts } => {
                    Attachment::Program(SysEnterProgram::attach(*counts)?)
                }
                AttachedTreatment::Ftrace => Attachment::Ftrace(TracingInstance::create(name)?),
                AttachedTreatment::Clocksource { name } => {
                    Attachment::Clocksource(ClocksourceChange::start(name)?)
                }
                AttachedTreatment::Ph { monitor_command } => {
                    Attachment::Monitor(MonitorProcess::start(monitor_command)?)
                }
                AttachedTreatment::Antagonist { load, same_cpu } => {
                    Attachment::Antagonists(antagonist::start(*load, *same_cpu, cpus)?)
                }
            });
        }
        Ok(system)
    }

    /// Undoes everything.
    pub fn detach(mut self) -> Result<DetachReport, Errno> {
        let call_count = self.0.iter().find_map(|attachment| match attachment {
            Attachment::Program(program) => program.call_count(),
            _ => None,
        });
        let monitor = self.undo()?;
        Ok(DetachReport { call_count: call_count.transpose()?, monitor })
    }

    /// Undoes everything, even after an error; returns the first error, or the report of the
    /// monitor.
    fn undo(&mut self) -> Result<Option<MonitorReport>, Errno> {
        let mut report = None;
        let mut result = Ok(());
        while let Some(attachment) = self.0.pop() {
            let step = match attachment {
                Attachment::Ftrace(instance) => instance.remove(),
                Attachment::Clocksource(changed) => changed.restore(),
                Attachment::Antagonists(all) => {
                    all.into_iter().map(Antagonist::end).fold(Ok(()), Result::and)
                }
                Attachment::Monitor(monitor) => monitor.end().map(|ended| report = Some(ended)),
                Attachment::Program(_) => Ok(()),
            };
            result = result.and(step);
        }
        result.map(|()| report)
    }
}

impl Drop for SystemTreatments {
    fn drop(&mut self) {
        // Errors have no receiver here; the parent process undoes everything again.
        let _ = self.undo();
    }
}

/// What must be restored after another process has attached something, recorded before it does.
/// Restoring twice does nothing.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RestorePlan {
    instance: Option<String>,
    /// The clock source before and after.
    clock: Option<(String, String)>,
}

impl RestorePlan {
    /// Records the present state of everything that `treatments` change; `name` as for
    /// [`SystemTreatments::attach`].
    pub fn of(treatments: &[AttachedTreatment], name: &str) -> Self {
        let mut plan = Self::default();
        for treatment in treatments {
            match treatment {
                AttachedTreatment::Ftrace => plan.instance = Some(name.to_owned()),
                // With two of them, the first one sees the original clock source.
                AttachedTreatment::Clocksource { name } => {
                    plan.clock = match plan.clock.take() {
                        Some((previous, _)) => Some((previous, name.clone())),
                        None => {
                            clocksource::current().ok().map(|previous| (previous, name.clone()))
                        }
                    };
                }
                AttachedTreatment::Ebpf { .. }
                | AttachedTreatment::Ph { .. }
                | AttachedTreatment::Antagonist { .. } => {}
            }
        }
        plan
    }

    /// Restores it, if that has not been done.
    pub fn restore(&self) {
        // Errors have no receiver here; usually the process that attached it has undone it.
        if let Some(name) = &self.instance {
            let _ = ftrace::remove(name);
        }
        if let Some((previous, applied)) = &self.clock {
            let _ = clocksource::restore(previous, applied);
        }
    }
}
