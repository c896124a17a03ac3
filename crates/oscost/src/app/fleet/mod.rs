//! Fleets: many machines, each measured by a task of a plan (docs/explanation/FLEET.md).

mod folder;
mod hosts;
mod run;
mod slurm;
mod ssh_queue;
mod states;
mod status;
#[cfg(test)]
mod test_plan;
mod visit;

pub use folder::TaskFailure;
pub use run::{Preview, Reach, Request as RunRequest, Started, retry, run};
pub use slurm::options::SlurmOptions;
pub use slurm::submission::Submission;
pub use ssh_queue::QueueEnd;
pub use states::{TaskState, TaskStates, TaskStatus};
pub use status::{FleetStatus, cancel, status};
pub use visit::{Request as VisitRequest, VisitOutcome, visit};
