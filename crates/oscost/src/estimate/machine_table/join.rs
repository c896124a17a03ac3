//! Which rows of several machines stand in one line.

use std::collections::{BTreeMap, BTreeSet};

use oscost_model::record::{Record, Row};

use super::content::TableMachine;

/// A row and its run.
#[derive(Clone, Copy)]
pub(super) struct JoinedRow<'a> {
    pub(super) run: &'a Record,
    pub(super) row: &'a Row,
}

/// What rows share that stand in one line. The host is no part of it: it is what is compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LineKey<'a> {
    treatments: &'a [String],
    case: &'a str,
    /// Whether its other end is on another machine.
    has_peer: bool,
}

/// The rows of a line, those of each machine together.
pub(super) type RowsByMachine<'a> = Vec<Vec<JoinedRow<'a>>>;

/// The rows of all machines by their lines, without those that no run was asked for: reference
/// cases and the parts of floors are measured in any case.
pub(super) fn joined<'a>(
    machines: &[TableMachine<'a>],
) -> BTreeMap<LineKey<'a>, RowsByMachine<'a>> {
    let mut found: BTreeMap<LineKey<'a>, RowsByMachine<'a>> = BTreeMap::new();
    for (at, machine) in machines.iter().enumerate() {
        for it in &machine.runs {
            let run: &'a Record = it.record;
            // A run may compare a target with itself: its first row of a case is that of the base.
            let mut seen = BTreeSet::new();
            for row in run.results.iter().filter(|row| row.target.machine == it.machine) {
                let key = LineKey {
                    treatments: &row.target.treatments,
                    case: &row.case,
                    has_peer: row.target.peer.is_some(),
                };
                if seen.insert(key) {
                    let rows = found.entry(key).or_insert_with(|| vec![Vec::new(); machines.len()]);
                    rows[at].push(JoinedRow { run, row });
                }
            }
        }
    }
    found.retain(|_, rows| rows.iter().flatten().any(|it| it.row.is_requested()));
    found
}
