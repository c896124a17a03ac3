//! `oscost run` at several nodes of Slurm: a run at each, one after the other, and their machines
//! side by side.

use std::ops::ControlFlow;

use super::error::{self, UsageError};
use super::measurement::retention::{CompletedRun, Completion, Retention};
use super::observer::Observer;
use super::run::{Request, run_until};
use super::table::{self, MeasuredMachine, TableUnit, table_of_measured};
use super::targets::slurm_nodes::{NodeOutcome, NodeOutcomes, NodeTarget, at_each_node};
use crate::app::interrupt::listen;
use crate::hosts::{HostError, Interrupt};
use crate::run::RunError;

/// A run that is kept in the store.
pub struct KeptNodeRun {
    /// The name of the node.
    pub node: String,
    /// The id of the run.
    pub id: String,
}

/// The runs of several nodes.
pub struct Outcome {
    /// Those that were measured, side by side; `None` without any.
    pub table: Option<table::Outcome>,
    /// Those that are kept.
    pub kept: Vec<KeptNodeRun>,
    /// The names of the nodes that were not measured; the reasons were reported.
    pub left_out: Vec<String>,
    /// How all of it ended.
    pub completion: Completion,
}

/// Measures the selected cases at each of these nodes in turn.
pub fn run_nodes(
    request: &Request,
    nodes: Vec<NodeTarget>,
    unit: TableUnit,
    observer: &dyn Observer,
) -> anyhow::Result<Outcome> {
    check(request)?;
    let interrupt = listen()?;
    let NodeOutcomes { done, left_out, is_interrupted } =
        at_each_node("measure", nodes, observer, |node| {
            measure(request, node, &interrupt, observer)
        })?;
    let mut has_failures = !left_out.is_empty();
    let (mut measured, mut kept) = (Vec::new(), Vec::new());
    for NodeOutcome { node, outcome: CompletedRun { record, kept_as, ended, .. } } in done {
        kept.extend(kept_as.map(|id| KeptNodeRun { node: node.name.clone(), id }));
        has_failures |= !matches!(ended, Ok(Completion::Complete));
        if let Some(error) =
            ended.err().map(anyhow::Error::from).filter(|it| !error::is_interrupted(it))
        {
            observer.failed(&error.context(format!("cannot finish the run at node {}", node.name)));
        }
        measured.push(MeasuredMachine { name: node.name, record });
    }
    let table = match measured.is_empty() {
        true => None,
        false => Some(table_of_measured(measured, unit)?),
    };
    let completion = match (is_interrupted, has_failures) {
        (true, _) => Completion::Interrupted,
        (false, true) => Completion::WithFailures,
        (false, false) => Completion::Complete,
    };
    Ok(Outcome { table, kept, left_out, completion })
}

/// Refuses what has one run alone.
fn check(request: &Request) -> Result<(), UsageError> {
    let what = "cannot measure several nodes";
    if request.study.is_some() {
        let hint = "name one node: a study is shown beside one run";
        return Err(UsageError::with_hint(&format!("{what} for a study"), hint));
    }
    if request.peer.is_some() {
        let hint = "name one node, or measure between pairs by `oscost fleet links`";
        return Err(UsageError::with_hint(&format!("{what} with one peer"), hint));
    }
    Ok(())
}

fn measure(
    request: &Request,
    node: &NodeTarget,
    interrupt: &Interrupt,
    observer: &dyn Observer,
) -> anyhow::Result<ControlFlow<CompletedRun, CompletedRun>> {
    let request = Request {
        at: node.target.clone(),
        // A table of machines shows no samples.
        retention: Retention { raw_samples: false, ..request.retention },
        ..request.clone()
    };
    let measured = run_until(interrupt, &request, observer)?;
    let is_stopped = matches!(
        measured.ended,
        Ok(Completion::Interrupted) | Err(RunError::Host(HostError::Interrupted))
    );
    Ok(match is_stopped {
        true => ControlFlow::Break(measured),
        false => ControlFlow::Continue(measured),
    })
}
