//! A figure of a run in the store.

use crate::store::{Figure, MachineState, SummarisedRun};

/// A figure, its run, and the machines that it was measured on.
#[derive(Clone, Copy)]
pub(super) struct RunFigure<'a> {
    pub(super) run: &'a SummarisedRun,
    pub(super) figure: &'a Figure,
    pub(super) machine: Option<&'a MachineState>,
    pub(super) peer: Option<&'a MachineState>,
}

impl<'a> RunFigure<'a> {
    pub(super) fn new(run: &'a SummarisedRun, figure: &'a Figure) -> Self {
        let state =
            |index: Option<usize>| index.and_then(|index| run.summary.machine_states.get(index));
        Self { run, figure, machine: state(figure.machine), peer: state(figure.peer) }
    }

    pub(super) fn has_flag(&self, flag: &str) -> bool {
        self.figure.flags.iter().any(|it| it == flag)
    }
}
