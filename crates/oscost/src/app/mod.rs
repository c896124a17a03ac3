//! The use cases of oscost, one file each: a request becomes an outcome.
//!
//! What this room is for: it resolves targets, connects, selects cases, runs, and keeps results.
//! What it may not know: arguments, and how an outcome is shown. It never prints: notes and
//! progress go to an [`Observer`].
//!
//! The folders `targets`, `selection`, `measurement` and `results` hold what several use cases
//! need; none of them imports a use case.

pub mod ab;
pub mod bill;
pub mod bills;
pub mod compare;
pub mod doctor;
pub mod explain;
pub mod fleet;
pub mod history;
pub mod kernels;
pub mod list;
pub mod machine;
pub mod ph;
pub mod predict;
pub mod report;
pub mod run;
pub mod run_nodes;
pub mod runs;
pub mod self_check;
pub mod study;
pub mod study_across;
pub mod study_book;
pub mod table;
pub mod treat;
pub mod workload;

mod call_counter;
mod error;
mod interrupt;
mod measurement;
mod observer;
mod results;
mod selection;
mod targets;

pub use crate::files::output_file;
pub use crate::files::user_folder::{program_folder_note, redirection_note};
pub use crate::plan::{nearest_hint, nearest_names};
pub use crate::run::{EventCounting, RunActivity, RunProgress, SettledFigure};
pub use crate::signals::{
    exit_status as interrupt_status, outlive_file_size_limit, wait_for_children,
};
pub use crate::workloads::{CommandError, Parameter, sampled_parameter};
pub use call_counter::CounterChoice;
pub use error::{UsageError, is_interrupted, is_of_host, is_usage};
pub use measurement::retention::{CompletedRun, Completion, Retention};
pub use observer::{Observer, Omission};
pub use results::figures::SUMMARY_RULES;
pub use results::gate::{Gate, GateMetric, GatePower, GateRule, Threshold};
pub use selection::effort::Effort;
pub use selection::programs::ProgramRequest;
pub use targets::connect::BusyPolicy;
pub use targets::slurm_nodes::{NodeOutcome, NodeOutcomes, NodeTarget, node_targets};
