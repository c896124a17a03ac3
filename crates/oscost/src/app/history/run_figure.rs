//! A figure of a run in the store.

use crate::store::{Figure, Kept, Stand};

/// A figure, its run, and the machines that it was measured on.
#[derive(Clone, Copy)]
pub(super) struct RunFigure<'a> {
    pub(super) run: &'a Kept,
    pub(super) figure: &'a Figure,
    pub(super) stand: Option<&'a Stand>,
    pub(super) peer: Option<&'a Stand>,
}

impl<'a> RunFigure<'a> {
    pub(super) fn new(run: &'a Kept, figure: &'a Figure) -> Self {
        let stand = |at: Option<usize>| at.and_then(|at| run.summary.stands.get(at));
        Self { run, figure, stand: stand(figure.machine), peer: stand(figure.peer) }
    }

    pub(super) fn has(&self, flag: &str) -> bool {
        self.figure.flags.iter().any(|it| it == flag)
    }
}
