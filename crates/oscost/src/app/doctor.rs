//! `oscost doctor`: examines what makes figures noisy on a machine.

use std::ops::ControlFlow;
use std::time::Duration;

use oscost_model::clock::ClockVerdict;
use oscost_model::facts::Facts;

use super::error::UsageError;
use super::observer::Observer;
use super::targets::connect::{BusyPolicy, ConnectOptions, connect};
use super::targets::resolve::{host_alone, resolve};
use super::targets::slurm_nodes::{NodeOutcomes, NodeTarget, at_each_node};
use super::targets::vm::counted_machine;
use crate::advice::doctor::{Diagnosis, Observations, examine};
use crate::app::interrupt::listen;
use crate::hosts::{Interrupt, WorkerBinary};
use crate::run::{self, MachineInspection};

/// How long every CPU is watched: 120 ticks of the kernel's accounting, so that one tick is below 1
/// %.
const SPIN: Duration = Duration::from_millis(1_200);

/// Which machine to examine.
#[derive(Clone, Debug)]
pub struct Request {
    /// The host.
    pub at: String,
    /// What to do while another run has the machine.
    pub on_busy: BusyPolicy,
}

/// What was observed on a machine.
pub struct ExaminedMachine {
    facts: Facts,
    clocks: Vec<ClockVerdict>,
    inspection: MachineInspection,
}

impl ExaminedMachine {
    /// The input of the rules.
    pub fn observations(&self) -> Observations<'_> {
        let Self { facts, clocks, inspection } = self;
        let MachineInspection { probe, cpu, activity, uncountable_reason, core } = inspection;
        Observations {
            facts,
            clocks,
            probe,
            cpu: *cpu,
            activity: activity.as_ref().map_err(String::as_str),
            uncountable_reason: uncountable_reason.as_deref(),
            core: core.as_ref(),
        }
    }
}

/// The machine and the diagnosis.
pub struct Outcome {
    /// The machine.
    pub machine: ExaminedMachine,
    /// What the rules find.
    pub diagnosis: Diagnosis,
}

/// Examines a machine.
pub fn doctor(request: &Request, observer: &dyn Observer) -> anyhow::Result<Outcome> {
    diagnose(request, &listen()?, observer)
}

/// Examines the machines of several nodes in turn.
pub fn doctor_at_nodes(
    nodes: Vec<NodeTarget>,
    on_busy: BusyPolicy,
    observer: &dyn Observer,
) -> anyhow::Result<NodeOutcomes<Outcome>> {
    let interrupt = listen()?;
    at_each_node("examine", nodes, observer, |node| {
        let request = Request { at: node.target.clone(), on_busy };
        diagnose(&request, &interrupt, observer).map(ControlFlow::Continue)
    })
}

fn diagnose(
    request: &Request,
    interrupt: &Interrupt,
    observer: &dyn Observer,
) -> anyhow::Result<Outcome> {
    let Request { at, on_busy } = request;
    if counted_machine(&resolve(at, None)?)?.is_some() {
        let what = format!(
            "cannot examine noise at `{at}`: instructions are counted there, and noise does not \
             change a count"
        );
        let hint = "`oscost machine --at ...` describes such a machine";
        return Err(UsageError::with_hint(&what, hint).into());
    }
    let worker = WorkerBinary::find()?;
    let host = host_alone(at, "a machine is examined without treatments")?;
    let options = ConnectOptions { interrupt, on_busy: *on_busy, observer };
    let mut connection = connect(&host, &worker, options)?;
    let session = &mut *connection.session;
    observer.working("probing every CPU for 1.2 s");
    // This process is not other activity; on another machine its id means another process.
    let own_pid = (at == "local").then(std::process::id);
    let inspected = run::inspect_machine(session, SPIN, own_pid.as_slice());
    observer.finished();
    let inspection = inspected?;
    let hello = session.hello();
    let machine =
        ExaminedMachine { facts: hello.facts.clone(), clocks: hello.clocks.clone(), inspection };
    let diagnosis = examine(&machine.observations());
    Ok(Outcome { machine, diagnosis })
}
