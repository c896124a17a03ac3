//! Rows that are skipped because something is missing on their target.

/// A planned row that is skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedRow {
    /// Its index among the planned rows.
    pub row: usize,
    /// What is missing, and how to get it.
    pub reason: String,
}
