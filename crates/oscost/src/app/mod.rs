//! The use cases of oscost, one file each: a request becomes an outcome.
//!
//! What this room is for: it resolves targets, connects, selects cases, runs, and keeps results.
//! What it may not know: arguments, and how an outcome is shown. It never prints: notes and progress
//! go to an [`Observer`].
//!
//! The private modules are what several use cases need; none of them imports a use case.

pub mod ab;
pub mod compare;
pub mod doctor;
pub mod explain;
pub mod history;
pub mod kernels;
pub mod list;
pub mod machine;
pub mod ph;
pub mod predict;
pub mod report;
pub mod run;
pub mod runs;
pub mod study;
pub mod treat;
pub mod workload;

mod connect;
mod counting;
mod error;
mod figures;
mod gate;
mod named_files;
mod observer;
mod peer;
mod predictions;
mod profile_files;
mod programs;
mod records;
mod retention;
mod run_header;
mod selection;
mod study_rows;
mod targets;
mod user_data;
mod vm;

pub use error::{UsageError, is_interrupted, is_usage};
pub use gate::{Gate, Passed, Threshold};
pub use observer::Observer;
pub use programs::{Effort, ProgramRequest};
pub use retention::{Completion, Measured, Retention};
