//! Fleets: many machines measured by one plan, each several times (docs/explanation/FLEET.md).
//!
//! `run` makes the plan and reaches the nodes, `visit` measures one. A fleet's records are collected
//! from its folder into the store. What is analysed is a [`Fleet`]: a few numbers for each case of
//! each visit, read from the store, from the folder, or from a data set.
//!
//! [`Fleet`]: crate::fleet::Fleet

pub mod ab;
pub mod check;
pub mod collect;
pub mod data_set;
pub mod links;
pub mod report;
pub mod simulate;
pub mod source;

mod builder;
mod folder;
mod hosts;
mod parallel;
mod record_folder;
mod retry;
mod revisions;
mod run;
mod slurm;
mod ssh_queue;
mod states;
mod status;
pub(crate) mod table_records;
#[cfg(test)]
mod test_plan;
mod usable_figure;
mod visit;
mod visit_record;

pub use crate::hosts::slurm::SlurmOptions;
pub use folder::TaskFailure;
pub use retry::retry;
pub use run::{Preview, Reach, Request as RunRequest, Started, run};
pub use slurm::jobs::{JobIdentity, SlurmTask, SlurmTasks, slurm_tasks_in};
pub use slurm::submission::Submission;
pub use source::RejectedRecord;
pub use ssh_queue::QueueEnd;
pub use states::{TaskState, TaskStates, TaskStatus};
pub use status::{FleetStatus, cancel, status};
pub use visit::{Request as VisitRequest, VisitOutcome, visit};
