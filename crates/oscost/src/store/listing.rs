//! A run in the list of runs.

/// A run in the list of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing {
    /// A UUID in lower case.
    pub id: String,
    /// RFC 3339, UTC.
    pub started: String,
    /// RFC 3339, UTC; `None` while it is running, and if it was killed.
    pub ended: Option<String>,
    /// Whether everything that was requested was done.
    pub complete: bool,
    /// The label that the user gave it.
    pub label: Option<String>,
    /// The command line.
    pub command: Vec<String>,
    /// The number of rows that were requested; `None` before they were planned. An imported record
    /// does not say which rows were requested: there it is the number of all rows.
    pub rows_requested: Option<u64>,
    /// The number of workers that ended, whatever their outcome.
    pub workers: u64,
    /// Whether it was imported as a record.
    pub imported: bool,
    /// Whether its journal has its raw batches; an imported record may have its own.
    pub has_raw_batches: bool,
}
