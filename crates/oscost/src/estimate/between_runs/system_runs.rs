//! Runs of one system.

use std::collections::BTreeMap;

use oscost_model::record::Row;
use oscost_stats::between_runs::RunMedian;
use oscost_stats::core_rate::RatedRun;

/// Runs of one system (machine, kernel and its configuration, worker), by case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SystemRuns {
    by_case: BTreeMap<CaseKey, Vec<RunMedian>>,
    /// Those of them that measured the core's rate.
    rated: BTreeMap<CaseKey, Vec<RatedRun>>,
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

    /// Adds the figure of a case in one run in time and in cycles of the core.
    pub fn insert_rated(&mut self, target: &str, case: &str, run: RatedRun) {
        let key = CaseKey { target: target.to_owned(), case: case.to_owned() };
        self.rated.entry(key).or_default().push(run);
        self.insert(target, case, run.time);
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
        let runs = self.by_case.get(&CaseKey::of(row)).filter(|_| row.target.peer.is_none());
        runs.map_or(&[], Vec::as_slice)
    }

    /// Those of them that measured the core's rate.
    pub fn rated(&self, row: &Row) -> &[RatedRun] {
        let runs = self.rated.get(&CaseKey::of(row)).filter(|_| row.target.peer.is_none());
        runs.map_or(&[], Vec::as_slice)
    }
}

impl CaseKey {
    fn of(row: &Row) -> Self {
        Self { target: row.target.text.clone(), case: row.case.clone() }
    }
}
