//! Observers of the journal of a run.

use oscost_model::journal::{Entry, PlannedRow};

use super::progress::RunProgress;

/// Receives journal entries: called between workers, never while one is timing.
pub trait Observer {
    /// Handles an entry.
    fn observe(&mut self, entry: &Entry);

    /// Handles how far the run is.
    fn progress(&mut self, _progress: &RunProgress) {}

    /// Returns additional rows to be measured. Called once, when all rows are settled or their time
    /// is up.
    fn additional_rows(&mut self) -> Vec<PlannedRow> {
        Vec::new()
    }
}

impl<F: FnMut(&Entry)> Observer for F {
    fn observe(&mut self, entry: &Entry) {
        self(entry);
    }
}
