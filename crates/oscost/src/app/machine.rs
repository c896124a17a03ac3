//! `oscost machine`: describes a machine.

use std::ops::ControlFlow;

use oscost_model::clock::{Calibration, ClockVerdict};
use oscost_model::facts::Facts;
use oscost_model::protocol::{CpuProbe, WorkerBuild};

use super::observer::Observer;
use super::targets::connect::{BusyPolicy, ConnectOptions, Machine, connect};
use super::targets::resolve::host_alone;
use super::targets::slurm_nodes::{NodeOutcomes, NodeTarget, at_each_node};
use crate::app::interrupt::listen;
use crate::hosts::{Interrupt, WorkerBinary};
use crate::run;

/// A machine.
pub struct Outcome {
    /// What its supervisor read of it.
    pub facts: Facts,
    /// Which clocks can be used there.
    pub clocks: Vec<ClockVerdict>,
    /// The program that measures there.
    pub worker: WorkerBuild,
    /// A spin on one CPU.
    pub probe: Option<CpuProbe>,
    /// The clock, calibrated there.
    pub calibration: Option<Calibration>,
    /// The process that is measuring there, if any: then nothing is timed here.
    pub measuring: Option<String>,
}

/// Describes the machine of a host.
pub fn machine(at: &str, observer: &dyn Observer) -> anyhow::Result<Outcome> {
    describe(at, &listen()?, observer)
}

/// Describes the machines of several nodes in turn.
pub fn machines(
    nodes: Vec<NodeTarget>,
    observer: &dyn Observer,
) -> anyhow::Result<NodeOutcomes<Outcome>> {
    let interrupt = listen()?;
    at_each_node("describe", nodes, observer, |node| {
        describe(&node.target, &interrupt, observer).map(ControlFlow::Continue)
    })
}

fn describe(at: &str, interrupt: &Interrupt, observer: &dyn Observer) -> anyhow::Result<Outcome> {
    let worker = WorkerBinary::find()?;
    let host = host_alone(at, "a machine is described without treatments")?;
    // A spin would disturb another run, and is not worth waiting for it.
    let on_busy = BusyPolicy::Continue;
    let options = ConnectOptions { interrupt, on_busy, observer };
    let mut connection = connect(&host, &worker, options)?;
    let session = &mut *connection.session;
    let (clock, measuring) = match connection.machine {
        Machine::Ours => (run::inspect_clock(session)?, None),
        Machine::Busy(by) => (run::ClockInspection::default(), Some(by)),
    };
    let hello = session.hello();
    Ok(Outcome {
        facts: hello.facts.clone(),
        clocks: hello.clocks.clone(),
        worker: hello.build.clone(),
        probe: clock.probe,
        calibration: clock.calibration,
        measuring,
    })
}
