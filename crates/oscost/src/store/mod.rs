//! The store: every run and bill that was measured here or imported, in one SQLite file.
//!
//! What is this room for? It keeps journals, one committed entry at a time, so that after a kill at
//! any moment everything that was finished is there. It lists and finds runs, returns a journal as
//! it was written, imports records after a complete check, finds those of a fleet, and deletes. With
//! each run it keeps the figures that a history needs, so that a history reads no journal.
//!
//! What may it not know? How a record is computed from a journal, and what any figure in either
//! means. No other room sees SQL, a table or a SQLite error.
//!
//! The store never blocks a run: each way in which a disk or another process can prevent an
//! operation is a [`Cause`] of its own, after which the caller can continue without a store.

mod bills;
mod check;
mod check_bill;
mod error;
mod file;
mod find;
mod find_error;
mod fleets;
mod import;
mod inspect;
mod limits;
mod listing;
mod lock_wait;
mod prune;
mod read;
mod record_kind;
mod summaries;
pub mod tables;
mod write;

#[cfg(test)]
mod tests;

pub use bills::{BillListing, MAX_BILL_BYTES, validate_bill};
pub use error::{Cause, ImportError, StoreError};
pub use file::Store;
pub use find_error::FindError;
pub use fleets::{StoredFleet, StoredVisit};
pub use import::{CheckedRecord, ImportOutcome, MAX_IMPORT_BYTES, kind_of, validate};
pub use limits::MAX_PREDICTIONS;
pub use listing::Listing;
pub use prune::PrunedBytes;
pub use read::StoredRun;
pub use record_kind::{NamedRecord, RecordKind};
pub use summaries::summary::{
    Figure, MachineState, MetricFigure, RunState, SummarisedRun, Summary, UnsummarisedRun,
};
