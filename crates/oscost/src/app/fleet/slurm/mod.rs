//! Slurm, by its own programs: a batch array, whose tasks are bound to their nodes.
//!
//! Nothing of Slurm is linked: its library has no stable interface, and its programs are wherever jobs
//! are submitted.

pub(super) mod batch_script;
pub(super) mod jobs;
pub(super) mod nodes;
pub(super) mod own_job;
pub(super) mod programs;
pub(super) mod submission;
mod variables;
