//! The tables of the store, and how journal entries and samples become rows.

pub(in crate::store) mod bill_row;
pub mod counted_batches;
pub(in crate::store) mod entry_row;
pub(in crate::store) mod json;
mod long_numbers;
pub(in crate::store) mod packed_record;
pub(in crate::store) mod run_row;
pub mod samples;
pub(in crate::store) mod schema;
pub(in crate::store) mod texts;
