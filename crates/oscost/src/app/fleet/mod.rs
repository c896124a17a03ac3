//! `oscost fleet`: many machines with one command.

pub mod report;

mod data_set;
mod source;

pub use source::RejectedRecord;
