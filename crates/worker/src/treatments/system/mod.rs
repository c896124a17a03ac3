//! What is attached to the whole system, for as long as somebody holds it.
//!
//! A process of its own attaches, holds, and undoes. An eBPF program goes with that process,
//! whatever ends it, and so does a neighbour. What is written to files of the kernel's (a tracing
//! instance, the clock source) would stay: so whoever started that process makes a note of it
//! before ([`PutBack`]), and undoes it again when the process has ended. What two killed processes
//! have left the next session sweeps, as far as that can be known: a clock source has no owner.

mod antagonist;
mod clocksource;
mod failure;
mod ftrace;
mod monitor_process;

use std::time::Duration;

use oscost_model::monitor_report::MonitorReport;
use oscost_model::treatment::AttachedTreatment;

use crate::kernel::Errno;
use crate::kernel::probe::bpf::AtEachCall;

use antagonist::Antagonist;
use clocksource::ClocksourceChange;
use ftrace::TracingInstance;
use monitor_process::MonitorProcess;

pub use antagonist::AntagonistCpus;
pub use ftrace::remove_stale_instances;

/// What it takes until every CPU goes the new way: a grace period of RCU, and interrupts between
/// the processors.
pub const SETTLING_TIME: Duration = Duration::from_millis(20);

/// Things that are attached. Dropping it undoes them, the last one first.
#[derive(Default)]
pub struct SystemTreatments(Vec<Attachment>);

enum Attachment {
    Program(AtEachCall),
    Ftrace(TracingInstance),
    Clocksource(ClocksourceChange),
    Antagonists(Vec<Antagonist>),
    Monitor(MonitorProcess),
}

impl SystemTreatments {
    /// Does each of these in turn; `name` is for what has one in
    /// the kernel. What is lacking is said by [`Errno::LACKING`], and nothing stays attached then.
    pub fn attach(
        treatments: &[AttachedTreatment],
        cpus: AntagonistCpus,
        name: &str,
    ) -> Result<Self, Errno> {
        let mut system = SystemTreatments::default();
        for treatment in treatments {
            system.0.push(match treatment {
                AttachedTreatment::Ebpf { counts } => {
                    Attachment::Program(AtEachCall::attach(*counts)?)
                }
                AttachedTreatment::Ftrace => Attachment::Ftrace(TracingInstance::create(name)?),
                AttachedTreatment::Clocksource { name } => {
                    Attachment::Clocksource(ClocksourceChange::to(name)?)
                }
                AttachedTreatment::Ph { monitor_command: holder } => {
                    Attachment::Monitor(MonitorProcess::start(holder)?)
                }
                AttachedTreatment::Antagonist { load: does, same_cpu } => {
                    Attachment::Antagonists(antagonist::start(*does, *same_cpu, cpus)?)
                }
            });
        }
        Ok(system)
    }

    /// Undoes all, and says how many calls were counted where that was asked for, and what a
    /// monitor saw.
    pub fn detach(mut self) -> Result<(Option<u64>, Option<MonitorReport>), Errno> {
        let counting = self.0.iter().find_map(|thing| match thing {
            Attachment::Program(program) => program.counted(),
            _ => None,
        });
        let seen = self.undo()?;
        counting.transpose().map(|counted| (counted, seen))
    }

    /// Undoes all, whatever happens; the error is the first one. A holder says then what it has seen.
    fn undo(&mut self) -> Result<Option<MonitorReport>, Errno> {
        let mut seen = None;
        let mut undone = Ok(());
        while let Some(thing) = self.0.pop() {
            let this = match thing {
                Attachment::Ftrace(instance) => instance.remove(),
                Attachment::Clocksource(changed) => changed.restore(),
                Attachment::Antagonists(all) => {
                    all.into_iter().map(Antagonist::end).fold(Ok(()), Result::and)
                }
                Attachment::Monitor(holder) => holder.end().map(|it| seen = Some(it)),
                Attachment::Program(_) => Ok(()),
            };
            undone = undone.and(this);
        }
        undone.map(|()| seen)
    }
}

impl Drop for SystemTreatments {
    fn drop(&mut self) {
        // There is nobody to tell; who waits for the end undoes it again.
        let _ = self.undo();
    }
}

/// What must be put back where another process attaches something, known before it does. Putting
/// back what is as it was does nothing.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RestorePlan {
    instance: Option<String>,
    /// Which clock source there was, and which there will be.
    clock: Option<(String, String)>,
}

impl RestorePlan {
    /// Makes a note of how things are that `treatments` change; `name` as for [`System::attach`].
    pub fn of(treatments: &[AttachedTreatment], name: &str) -> Self {
        let mut it = Self::default();
        for treatment in treatments {
            match treatment {
                AttachedTreatment::Ftrace => it.instance = Some(name.to_owned()),
                // Of two the first one finds what was there.
                AttachedTreatment::Clocksource { name } => {
                    it.clock = match it.clock.take() {
                        Some((was, _)) => Some((was, name.clone())),
                        None => clocksource::current().ok().map(|was| (was, name.clone())),
                    };
                }
                AttachedTreatment::Ebpf { .. }
                | AttachedTreatment::Ph { .. }
                | AttachedTreatment::Antagonist { .. } => {}
            }
        }
        it
    }

    /// Puts it back, if it is not yet.
    pub fn restore(&self) {
        // There is nobody to tell: mostly it is done already, by whoever attached it.
        if let Some(name) = &self.instance {
            let _ = ftrace::remove(name);
        }
        if let Some((was, becomes)) = &self.clock {
            let _ = clocksource::back(was, becomes);
        }
    }
}
