//! Rows that could not be measured although nothing that they need is missing, and what they mean for
//! the run.

use std::collections::BTreeSet;

use oscost_model::record::{Record, Row, RowOutcome};
use oscost_model::untrusted_text::display_text;

use crate::app::selection::named_rows::NamedRows;

/// As many of them a note names; the table has all.
const MAX_NAMES: usize = 8;
/// The command of a user may be its own name.
const MAX_NAME_CHARS: usize = 80;

/// The requested rows of a run, and those of them that could not be measured.
pub(super) struct FailedRows<'a> {
    requested: Vec<&'a Row>,
    failed: Vec<&'a Row>,
    /// Of the failed, those that were asked for by name.
    named: Vec<&'a Row>,
}

impl<'a> FailedRows<'a> {
    pub(super) fn of(record: &'a Record, names: &NamedRows) -> Self {
        let rows = record.results.iter();
        let requested: Vec<&Row> = rows.filter(|row| row.is_requested()).collect();
        let failed: Vec<&Row> =
            requested.iter().copied().filter(|row| row.outcome.is_failure()).collect();
        let named = failed.iter().copied().filter(|row| names.contains(row)).collect();
        Self { requested, failed, named }
    }

    /// Whether the run did not measure what was asked for: nothing at all, nothing at one of its
    /// targets where something failed, or not a row that was asked for by name.
    pub(super) fn has_run_failed(&self) -> bool {
        let measured = self.requested.iter().filter(|row| row.outcome == RowOutcome::Measured);
        let at: BTreeSet<&str> = measured.map(|row| row.target.text.as_str()).collect();
        let is_lost = |row: &&Row| !at.contains(row.target.text.as_str());
        at.is_empty() || !self.named.is_empty() || self.failed.iter().any(is_lost)
    }

    /// What failed, in a sentence; `None` if nothing did.
    pub(super) fn note(&self) -> Option<String> {
        if self.failed.is_empty() {
            return None;
        }
        let by_name = match (self.named.len(), self.failed.len()) {
            (0, 1) => "; it was not asked for by name",
            (0, _) => "; none of them was asked for by name",
            _ => "",
        };
        Some(format!(
            "{} of {} rows could not be measured: {}{by_name}",
            self.failed.len(),
            self.requested.len(),
            names(&self.failed)
        ))
    }
}

/// The first rows with their outcomes, and how many others there are.
fn names(rows: &[&Row]) -> String {
    let name = |row: &&Row| {
        format!("{} ({})", display_text(&row.case, MAX_NAME_CHARS), row.outcome.text())
    };
    let named: Vec<String> = rows.iter().take(MAX_NAMES).map(name).collect();
    let named = named.join(", ");
    match rows.len().saturating_sub(MAX_NAMES) {
        0 => named,
        others => format!("{named} and {others} more"),
    }
}
