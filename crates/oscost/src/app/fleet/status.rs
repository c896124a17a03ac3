//! `oscost fleet status`: what became of the tasks of a plan. `oscost fleet cancel`: ends its jobs.

use std::path::Path;

use oscost_model::fleet::{FleetLauncher, FleetPlan};

use super::folder::FleetFolder;
use super::slurm::submission;
use super::states::{TaskStates, task_states};
use crate::app::error::UsageError;

/// The plan of a fleet, and what became of its tasks.
#[derive(Clone, Debug, PartialEq)]
pub struct FleetStatus {
    /// The plan.
    pub plan: FleetPlan,
    /// Its tasks.
    pub states: TaskStates,
}

/// Finds out what became of the tasks of a fleet's folder.
pub fn status(path: &Path) -> anyhow::Result<FleetStatus> {
    let folder = FleetFolder::open(path)?;
    let states = task_states(&folder)?;
    Ok(FleetStatus { plan: folder.plan, states })
}

/// Ends the jobs of a fleet that wait or run, and returns their ids. What is measured stays.
pub fn cancel(path: &Path) -> anyhow::Result<Vec<String>> {
    let folder = FleetFolder::open(path)?;
    match folder.plan.launcher {
        FleetLauncher::Slurm { .. } => submission::cancel(&folder),
        FleetLauncher::Ssh => {
            let what = format!("cannot cancel the fleet {}: it has no jobs", path.display());
            let hint = "Ctrl-C ends `oscost fleet run` with all that it measures by ssh";
            Err(UsageError::with_hint(&what, hint).into())
        }
    }
}
