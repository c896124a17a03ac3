//! What became of each task, by the folder and by Slurm.

use std::collections::BTreeMap;

use oscost_model::fleet::FleetLauncher;

use super::folder::{FleetFolder, TaskFailure};
use super::slurm::batch_script::{NO_FOLDER, NO_PROGRAM};
use super::slurm::jobs::{KnownTasks, SlurmTask, SlurmTasks, known};

/// What became of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// Its record is there.
    Measured,
    /// It is being measured.
    Running,
    /// It waits for its node or its time.
    Waiting {
        /// Slurm's reason; empty if it gives none.
        reason: String,
    },
    /// It is submitted, but oscost ended before it let it go.
    Held,
    /// It failed.
    Failed {
        /// Why.
        why: String,
        /// Its exit status, if it is known.
        exit: Option<i32>,
    },
    /// It exceeded its time limit.
    TimedOut,
    /// It needed more memory than it was allowed.
    OutOfMemory,
    /// A job of higher priority took its node.
    Preempted,
    /// Its node failed.
    NodeFailed,
    /// It was cancelled.
    Cancelled,
    /// It began, and ended without a word.
    Lost,
    /// Nothing is known of it.
    NeverRan,
}

impl TaskState {
    /// The state in words.
    pub fn text(&self) -> &'static str {
        match self {
            TaskState::Measured => "measured",
            TaskState::Running => "running",
            TaskState::Waiting { .. } => "waiting",
            TaskState::Held => "held",
            TaskState::Failed { .. } => "failed",
            TaskState::TimedOut => "timed out",
            TaskState::OutOfMemory => "out of memory",
            TaskState::Preempted => "preempted",
            TaskState::NodeFailed => "node failed",
            TaskState::Cancelled => "cancelled",
            TaskState::Lost => "lost",
            TaskState::NeverRan => "never ran",
        }
    }

    /// Why it is in this state; empty if the state says all.
    pub fn reason(&self) -> String {
        match self {
            TaskState::Waiting { reason } => reason.clone(),
            TaskState::Failed { why, .. } => why.clone(),
            TaskState::Held => "`oscost fleet run FOLDER --retry` lets it go".to_owned(),
            TaskState::Lost => "it began, and ended without a record: see its output".to_owned(),
            _ => String::new(),
        }
    }

    /// Whether it still may be measured by itself.
    pub fn is_active(&self) -> bool {
        matches!(self, TaskState::Running | TaskState::Waiting { .. })
    }
}

/// A task, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskStatus {
    /// The number of the task.
    pub task: u32,
    /// The name of its node.
    pub node: String,
    /// The number of the visit of this node.
    pub visit: u32,
    /// What became of it.
    pub state: TaskState,
}

/// What became of the tasks of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskStates {
    /// All tasks, in their order.
    pub tasks: Vec<TaskStatus>,
    /// What is not known, and why.
    pub notes: Vec<String>,
}

/// Finds out what became of the tasks of a plan. Where Slurm does not answer, the folder alone tells.
pub(crate) fn task_states(folder: &FleetFolder) -> anyhow::Result<TaskStates> {
    let mut notes = Vec::new();
    let slurm = ask_slurm(folder, &mut notes);
    let recorded = folder.recorded()?;
    let mut failures = folder.failures()?;
    // A queue of ssh is at work as long as it has the lock.
    let queue_works = folder.plan.launcher == FleetLauncher::Ssh && folder.is_locked();
    let state = |task: u32, failure: Option<TaskFailure>| match slurm.get(&task) {
        _ if recorded.contains(&task) => TaskState::Measured,
        Some(found) => state_in_slurm(found, failure),
        None if queue_works && folder.has_begun(task) && failure.is_none() => TaskState::Running,
        None => match failure {
            Some(failure) => TaskState::Failed { why: failure.why, exit: failure.exit },
            None if queue_works => TaskState::Waiting { reason: String::new() },
            None if folder.has_begun(task) => TaskState::Lost,
            None => TaskState::NeverRan,
        },
    };
    let tasks = (0..).zip(&folder.plan.tasks).map(|(task, planned)| TaskStatus {
        task,
        node: folder.node(task).to_owned(),
        visit: planned.visit,
        state: state(task, failures.remove(&task)),
    });
    Ok(TaskStates { tasks: tasks.collect(), notes })
}

/// What Slurm says of tasks.
pub(crate) struct StatesInSlurm {
    /// By task; those that Slurm does not know are not in it.
    pub(crate) states: BTreeMap<u32, TaskState>,
    /// What is not known, and why.
    pub(crate) notes: Vec<String>,
}

/// Asks Slurm for the states of tasks that have no record.
pub(crate) fn states_in_slurm(folder: &FleetFolder, tasks: &[u32]) -> StatesInSlurm {
    let mut notes = Vec::new();
    let slurm = ask_slurm(folder, &mut notes);
    let state = |&task: &u32| Some((task, state_in_slurm(slurm.get(&task)?, folder.failure(task))));
    StatesInSlurm { states: tasks.iter().filter_map(state).collect(), notes }
}

/// What Slurm knows of the tasks of a plan; nothing if it has not launched them, or does not answer.
fn ask_slurm(folder: &FleetFolder, notes: &mut Vec<String>) -> SlurmTasks {
    if folder.plan.launcher == FleetLauncher::Ssh {
        return SlurmTasks::new();
    }
    match known(folder) {
        Ok(KnownTasks { tasks, unaccounted }) => {
            notes.extend(unaccounted.map(|why| {
                format!("how jobs ended some minutes ago or earlier is not known: {why}")
            }));
            tasks
        }
        Err(error) => {
            notes.push(format!("what waits or runs is not known: {error:#}"));
            SlurmTasks::new()
        }
    }
}

/// The state of a task that Slurm knows and that has no record.
fn state_in_slurm(found: &SlurmTask, failure: Option<TaskFailure>) -> TaskState {
    if found.is_held() {
        return TaskState::Held;
    }
    if found.is_pending() {
        return TaskState::Waiting { reason: found.reason.clone() };
    }
    if found.is_running() {
        return TaskState::Running;
    }
    match found.state.as_str() {
        "TIMEOUT" | "DEADLINE" => TaskState::TimedOut,
        "OUT_OF_MEMORY" => TaskState::OutOfMemory,
        "PREEMPTED" => TaskState::Preempted,
        "NODE_FAIL" | "BOOT_FAIL" => TaskState::NodeFailed,
        "CANCELLED" => match failure {
            // Its task of an array was replaced by a job, which Slurm has refused: a task that was
            // cancelled has left its exit status.
            Some(TaskFailure { why, exit: None, .. }) => TaskState::Failed { why, exit: None },
            _ => TaskState::Cancelled,
        },
        _ => match failure {
            Some(failure) => TaskState::Failed { why: failure.why, exit: failure.exit },
            None => TaskState::Failed { why: why_without_word(found), exit: found.exit },
        },
    }
}

/// Why a task that ended said nothing in the folder.
fn why_without_word(found: &SlurmTask) -> String {
    let node = found.node.as_deref().unwrap_or("its node");
    match (found.exit, found.state.as_str()) {
        (Some(NO_FOLDER), _) => format!(
            "{node} does not see the folder, or may not write there: it must be on a file system \
             that all nodes share, at the same path"
        ),
        (Some(NO_PROGRAM), _) => format!(
            "{node} has no oscost at the path of this one: install it there, or name it by \
             `--program`"
        ),
        (_, "COMPLETED") => format!(
            "it ended without an error, but its record is not in the folder: {node} may see \
             another file system at this path"
        ),
        (Some(exit), _) if exit != 0 => format!("it ended with status {exit} on {node}"),
        (_, state) => format!("Slurm says {} on {node}", state.to_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::fleet::test_plan::plan;

    fn found(state: &str, exit: Option<i32>) -> SlurmTask {
        let node = Some("n1".to_owned());
        SlurmTask { state: state.to_owned(), node, exit, ..SlurmTask::default() }
    }

    #[test]
    fn slurm_says_how_a_task_without_a_record_ended() {
        let text = |state| state_in_slurm(&found(state, Some(0)), None).text();
        for (state, words) in [
            ("PENDING", "waiting"),
            ("COMPLETING", "running"),
            ("TIMEOUT", "timed out"),
            ("NODE_FAIL", "node failed"),
            ("PREEMPTED", "preempted"),
            ("CANCELLED", "cancelled"),
            ("OUT_OF_MEMORY", "out of memory"),
            ("FAILED", "failed"),
            ("COMPLETED", "failed"),
        ] {
            assert_eq!(text(state), words);
        }
        let held = SlurmTask { reason: "JobHeldUser".to_owned(), ..found("PENDING", None) };
        assert_eq!(state_in_slurm(&held, None), TaskState::Held);
    }

    #[test]
    fn the_reason_of_a_failure_is_the_tasks_own_or_follows_from_its_status() {
        let why = |exit| state_in_slurm(&found("FAILED", Some(exit)), None).reason();
        assert!(why(NO_FOLDER).contains("n1 does not see the folder"));
        assert!(why(NO_PROGRAM).contains("n1 has no oscost"));
        assert_eq!(why(137), "it ended with status 137 on n1");
        let own = TaskFailure {
            task: 0,
            node: "n1".to_owned(),
            at: String::new(),
            why: "no clock".to_owned(),
            exit: Some(3),
        };
        assert_eq!(state_in_slurm(&found("FAILED", Some(3)), Some(own)).reason(), "no clock");
    }

    #[test]
    fn a_task_whose_job_was_refused_is_not_called_cancelled() {
        let failure = |why: &str, exit: Option<i32>| TaskFailure {
            task: 0,
            node: "n1".to_owned(),
            at: String::new(),
            why: why.to_owned(),
            exit,
        };
        let state = |failure| state_in_slurm(&found("CANCELLED", None), Some(failure));
        let refused = state(failure("Slurm refused its job: Job violates accounting policy", None));
        assert_eq!((refused.text(), refused.is_active()), ("failed", false));
        assert!(refused.reason().ends_with("accounting policy"), "{refused:?}");
        assert_eq!(state(failure("a signal ended it", Some(143))), TaskState::Cancelled);
    }

    #[test]
    fn without_slurm_the_folder_tells() {
        let above = tempfile::tempdir().unwrap();
        let folder =
            FleetFolder::create(&above.path().join("f"), plan(4, 1, FleetLauncher::Ssh), None);
        let folder = folder.unwrap();
        folder.add_record(0, b"{}").unwrap();
        std::fs::write(folder.log(1), "").unwrap();
        folder
            .add_failure(&TaskFailure {
                task: 2,
                node: folder.node(2).to_owned(),
                at: String::new(),
                why: "x".to_owned(),
                exit: None,
            })
            .unwrap();
        let states = || -> Vec<&str> {
            let found = task_states(&folder).unwrap();
            found.tasks.iter().map(|it| it.state.text()).collect()
        };
        assert_eq!(states(), ["measured", "lost", "failed", "never ran"]);
        let _lock = folder.lock().unwrap();
        assert_eq!(states(), ["measured", "running", "failed", "waiting"]);
    }
}
