//! Runs of one system.

use std::collections::BTreeMap;

use oscost_model::record::Row;
use oscost_stats::between_runs::RunMedian;

/// Runs of one system (machine, kernel and its configuration, worker), by case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SystemRuns {
    by_case: BTreeMap<CaseKey, Vec<RunMedian>>,
}

/// A case on a target, without a remote peer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CaseKey {
    target: String,
    case: String,
}

impl SystemRuns {
    /// Adds the figure of a case in one run.
    pub fn insert(&mut self, target: &str, case: &str, run: RunMedian) {
        let key = CaseKey { target: target.to_owned(), case: case.to_owned() };
        self.by_case.entry(key).or_default().push(run);
    }

    /// How many figures they are.
    pub fn len(&self) -> usize {
        self.by_case.values().map(Vec::len).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_case.is_empty()
    }

    /// The runs of a row's case. A row with a remote peer has none: they may have had another peer.
    pub fn of(&self, row: &Row) -> &[RunMedian] {
        let key = CaseKey { target: row.target.text.clone(), case: row.case.clone() };
        let runs = self.by_case.get(&key).filter(|_| row.target.peer.is_none());
        runs.map_or(&[], Vec::as_slice)
    }
}
