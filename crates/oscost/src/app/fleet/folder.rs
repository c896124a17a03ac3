//! The folder of a fleet, which all of its nodes see: the plan, and what became of each task.
//!
//! A record is there whole or not at all. Everything in the folder may have been put there by anyone
//! who may write there: names are numbers of tasks, sizes are bounded, links are not followed.

mod errors;
mod files;
mod jobs;
mod locks;
mod ownership;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::DirBuilder;
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use oscost_model::fleet::{FleetLauncher, FleetPlan};
use oscost_model::untrusted_text::display_text;
use serde::{Deserialize, Serialize};

use self::errors::{cannot, cannot_lock};
use self::files::NumberedFile;
pub(crate) use self::jobs::SubmittedJob;
use crate::app::error::UsageError;
use crate::files::lock::{FileLock, LockError};
use crate::fleet::check_plan;
use crate::store::MAX_IMPORT_BYTES;

/// The plan.
pub(super) const PLAN: &str = "plan.json";
/// The batch script.
const SCRIPT: &str = "visit.sbatch";
/// The jobs that were submitted, one a line.
const JOBS: &str = "jobs.jsonl";
/// One process at a time submits.
const LOCK: &str = "lock";
/// The folders in it.
pub(super) const RECORDS: &str = "records";
const FAILURES: &str = "failures";
const LOGS: &str = "logs";
/// What says which programs are started, and where they write.
const OF_THE_OWNER: [&str; 6] = [PLAN, SCRIPT, JOBS, RECORDS, FAILURES, LOGS];

/// A write that was begun this long ago goes on no more: its process was killed.
const STALE_AFTER: Duration = Duration::from_secs(24 * 3_600);

/// A plan of a million tasks has 60 MB.
const MAX_PLAN_BYTES: u64 = 256 << 20;
const MAX_FAILURE_BYTES: u64 = 64 << 10;
const MAX_WHY_CHARS: usize = 1_000;

/// Why a task gave no record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskFailure {
    /// The number of the task.
    pub task: u32,
    /// The node that was planned.
    pub node: String,
    /// RFC 3339, UTC, by the clock of the node.
    pub at: String,
    /// The error.
    pub why: String,
    /// The exit status of the task, if it is known.
    pub exit: Option<i32>,
}

/// The folder of a fleet, with its plan.
#[derive(Debug)]
pub(crate) struct FleetFolder {
    path: PathBuf,
    pub(crate) plan: FleetPlan,
}

impl FleetFolder {
    /// Makes the folder, which must be new or empty, for this user alone. The plan is written last:
    /// with it the folder is complete.
    pub(crate) fn create(
        path: &Path,
        plan: FleetPlan,
        script: Option<&str>,
    ) -> anyhow::Result<Self> {
        check_new(path)?;
        let json = plan_json(&plan)?;
        let path = std::path::absolute(path).map_err(|error| cannot("make", path, &error))?;
        folder_builder()
            .recursive(true)
            .create(&path)
            .map_err(|error| cannot("make", &path, &error))?;
        // Before anything is put there: an empty folder may be anyone's.
        ownership::check(&path, &OF_THE_OWNER)?;
        let made = make_folders_in(&path).and_then(|()| {
            if let Some(script) = script {
                files::write_whole(&path, SCRIPT, script.as_bytes())?;
            }
            files::write_whole(&path, PLAN, &json)
        });
        made.map_err(|error| cannot("make", &path, &error))?;
        Ok(Self { path, plan })
    }

    /// A folder that is not made.
    pub(crate) fn planned(path: &Path, plan: FleetPlan) -> Self {
        Self { path: path.to_owned(), plan }
    }

    /// Opens a folder whose plan is carried out, which must be this user's alone: another one who
    /// could change it would choose what is run.
    pub(crate) fn open_own(path: &Path) -> anyhow::Result<Self> {
        let absolute = std::path::absolute(path).map_err(|error| cannot("open", path, &error))?;
        ownership::check(&absolute, &OF_THE_OWNER)?;
        Self::open(path)
    }

    /// Opens a folder that has a plan.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let path = std::path::absolute(path).map_err(|error| cannot("open", path, &error))?;
        let file = path.join(PLAN);
        let bytes = files::read(&file, MAX_PLAN_BYTES).map_err(|error| match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => UsageError::with_hint(
                &format!("cannot open the fleet {}: it has no {PLAN}", path.display()),
                "name a folder that `oscost fleet run` or `oscost fleet simulate` has made; each \
                 node must see it at this path",
            )
            .into(),
            _ => cannot("read", &file, &error),
        })?;
        let plan = serde_json::from_slice::<FleetPlan>(&bytes)
            .map_err(|error| error.to_string())
            .and_then(|plan| check_plan(&plan).map(|()| plan));
        let plan = plan.map_err(|why| {
            let why = display_text(&why, MAX_WHY_CHARS);
            let what = format!("cannot use the plan {}: {why}", file.display());
            UsageError::with_hint(&what, "`oscost fleet run` makes a plan in a new folder")
        })?;
        Ok(Self { path, plan })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn script(&self) -> PathBuf {
        self.path.join(SCRIPT)
    }

    /// The output of a task's process.
    pub(crate) fn log(&self, task: u32) -> PathBuf {
        self.path.join(LOGS).join(format!("{task}.out"))
    }

    /// The name of the node of a task.
    pub(crate) fn node(&self, task: u32) -> &str {
        let node = self.plan.tasks.get(task as usize).map(|task| task.node as usize);
        node.and_then(|node| self.plan.nodes.get(node)).map_or("", String::as_str)
    }

    /// Whether a task has begun: its script has made its output file.
    pub(crate) fn has_begun(&self, task: u32) -> bool {
        self.log(task).symlink_metadata().is_ok()
    }

    pub(crate) fn has_record(&self, task: u32) -> bool {
        let file = self.path.join(RECORDS).join(files::name_of(task));
        file.symlink_metadata().is_ok_and(|found| found.is_file())
    }

    /// The tasks that have a record.
    pub(crate) fn recorded(&self) -> anyhow::Result<BTreeSet<u32>> {
        self.tasks_in(RECORDS)
    }

    /// The numbers that files of records have, in order; also of what is no regular file, and of
    /// tasks that the plan does not have.
    pub(crate) fn record_numbers(&self) -> anyhow::Result<BTreeSet<u32>> {
        Ok(self.numbered(RECORDS)?.into_iter().map(|file| file.task).collect())
    }

    /// The bytes of a task's record.
    pub(crate) fn read_record(&self, task: u32) -> io::Result<Vec<u8>> {
        let folder = self.path.join(RECORDS);
        files::read_in(&folder, &files::name_of(task), MAX_IMPORT_BYTES as u64)
    }

    /// The failures that tasks have reported.
    pub(crate) fn failures(&self) -> anyhow::Result<BTreeMap<u32, TaskFailure>> {
        let read = |task: u32| Some((task, self.failure(task)?));
        Ok(self.tasks_in(FAILURES)?.into_iter().filter_map(read).collect())
    }

    /// The failure that a task has reported.
    pub(crate) fn failure(&self, task: u32) -> Option<TaskFailure> {
        let folder = self.path.join(FAILURES);
        let read = match files::read_in(&folder, &files::name_of(task), MAX_FAILURE_BYTES) {
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            Err(error) => Err(format!("its failure cannot be read: {error}")),
            Ok(bytes) => match serde_json::from_slice::<TaskFailure>(&bytes) {
                Ok(failure) if failure.task == task => Ok(failure),
                Ok(_) => Err("its failure is that of another task".to_owned()),
                Err(_) => Err("its failure is not the JSON that a task writes".to_owned()),
            },
        };
        let (why, at, exit) = match read {
            Ok(failure) => (failure.why, failure.at, failure.exit),
            Err(why) => (why, String::new(), None),
        };
        let shown = |text: &str| display_text(text, MAX_WHY_CHARS);
        let node = self.node(task).to_owned();
        Some(TaskFailure { task, node, at: shown(&at), why: shown(&why), exit })
    }

    /// Sets the output and the failure of an earlier attempt aside, before a task is done again.
    pub(crate) fn set_aside(&self, task: u32) {
        let failure = self.path.join(FAILURES).join(files::name_of(task));
        for file in [self.log(task), failure] {
            // There may have been none.
            let _ = rename_to_old(&file);
        }
    }

    /// Sets a record that was rejected aside: its task can be done again.
    pub(crate) fn set_record_aside(&self, task: u32) -> anyhow::Result<()> {
        let file = self.path.join(RECORDS).join(files::name_of(task));
        rename_to_old(&file).map_err(|error| cannot("set aside", &file, &error))
    }

    /// Removes what processes that were killed while they wrote have left.
    pub(crate) fn remove_stale(&self) -> anyhow::Result<()> {
        for folder in [RECORDS, FAILURES] {
            let path = self.path.join(folder);
            files::remove_stale(&path, STALE_AFTER)
                .map_err(|error| cannot("clear", &path, &error))?;
        }
        Ok(())
    }

    /// Puts a record into the folder, whole or not at all.
    pub(crate) fn add_record(&self, task: u32, json: &[u8]) -> anyhow::Result<()> {
        let folder = self.path.join(RECORDS);
        let name = files::name_of(task);
        files::write_whole(&folder, &name, json)
            .map_err(|error| cannot("write", &folder.join(name), &error))
    }

    /// Says why a task gave no record.
    pub(crate) fn add_failure(&self, failure: &TaskFailure) -> anyhow::Result<()> {
        let folder = self.path.join(FAILURES);
        let name = files::name_of(failure.task);
        let json = serde_json::to_vec(failure)?;
        files::write_whole(&folder, &name, &json)
            .map_err(|error| cannot("write", &folder.join(name), &error))
    }

    /// The jobs that were submitted; a line that was cut short is none.
    pub(crate) fn jobs(&self) -> anyhow::Result<Vec<SubmittedJob>> {
        jobs::read(&self.path.join(JOBS))
    }

    /// Adds a job that was submitted.
    pub(crate) fn add_job(&self, job: &SubmittedJob) -> anyhow::Result<()> {
        jobs::add(&self.path.join(JOBS), job)
    }

    /// Keeps other processes from submitting tasks of this fleet. `None` where the file system has no
    /// locks and the names of Slurm's jobs alone keep tasks from being submitted twice.
    pub(crate) fn lock(&self) -> anyhow::Result<Option<FileLock>> {
        let file = self.path.join(LOCK);
        match locks::acquire(&file) {
            Ok(lock) => Ok(Some(lock)),
            Err(LockError::Held) => anyhow::bail!(
                "cannot work on the fleet {}: another oscost does\n  hint: wait until it has ended",
                self.path.display()
            ),
            Err(LockError::Io(error)) if self.is_of_slurm() && locks::are_unsupported(&error) => {
                Ok(None)
            }
            Err(LockError::Io(error)) => Err(cannot_lock(&file, &error)),
        }
    }

    fn is_of_slurm(&self) -> bool {
        matches!(self.plan.launcher, FleetLauncher::Slurm { .. })
    }

    /// Whether another process is submitting tasks, or measures them by ssh.
    pub(crate) fn is_locked(&self) -> bool {
        locks::is_held(&self.path.join(LOCK))
    }

    /// Keeps other processes from measuring a task.
    pub(crate) fn lock_task(&self, task: u32) -> anyhow::Result<FileLock> {
        let file = self.task_lock(task);
        locks::acquire(&file).map_err(|error| match error {
            LockError::Held => anyhow::anyhow!(
                "cannot measure task {task}: another process does\n  hint: `oscost fleet status` \
                 shows what is missing when it has ended"
            ),
            LockError::Io(error) => cannot_lock(&file, &error),
        })
    }

    /// Whether another process measures a task by ssh.
    pub(crate) fn is_task_locked(&self, task: u32) -> bool {
        locks::is_held(&self.task_lock(task))
    }

    fn task_lock(&self, task: u32) -> PathBuf {
        self.path.join(LOGS).join(format!("{task}.lock"))
    }

    /// The tasks of the plan that have a file in a folder.
    fn tasks_in(&self, folder: &str) -> anyhow::Result<BTreeSet<u32>> {
        let count = self.plan.tasks.len();
        let is_task = |file: &NumberedFile| file.is_regular && (file.task as usize) < count;
        Ok(self.numbered(folder)?.into_iter().filter(is_task).map(|file| file.task).collect())
    }

    fn numbered(&self, folder: &str) -> anyhow::Result<Vec<NumberedFile>> {
        let path = self.path.join(folder);
        files::numbered(&path).map_err(|error| cannot("list", &path, &error))
    }
}

/// Refuses a folder that has something in it.
pub(crate) fn check_new(path: &Path) -> anyhow::Result<()> {
    let is_fleet = path.join(PLAN).symlink_metadata().is_ok();
    let mut entries = match std::fs::read_dir(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        read => read.map_err(|error| cannot("use", path, &error))?,
    };
    if entries.next().is_none() {
        return Ok(());
    }
    let (why, hint) = match is_fleet {
        true => {
            ("it has a fleet", "`--retry` measures what is missing there; or name a new folder")
        }
        false => ("it is not empty", "name a folder that is new or empty"),
    };
    Err(UsageError::with_hint(&format!("cannot use {}: {why}", path.display()), hint).into())
}

/// The plan as it is written, which must be one that can be read again.
fn plan_json(plan: &FleetPlan) -> anyhow::Result<Vec<u8>> {
    let json = serde_json::to_vec(plan)?;
    if json.len() as u64 > MAX_PLAN_BYTES {
        let what = format!("a plan of {} bytes is too large: {MAX_PLAN_BYTES} at most", json.len());
        return Err(UsageError::with_hint(&what, "plan fewer nodes or visits").into());
    }
    Ok(json)
}

fn folder_builder() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

/// Makes the folders in a fleet's; one that is there already is an error.
fn make_folders_in(path: &Path) -> io::Result<()> {
    [RECORDS, FAILURES, LOGS].iter().try_for_each(|name| folder_builder().create(path.join(name)))
}

fn rename_to_old(file: &Path) -> io::Result<()> {
    let mut aside = file.as_os_str().to_owned();
    aside.push(".old");
    std::fs::rename(file, aside)
}

#[cfg(test)]
mod tests;
