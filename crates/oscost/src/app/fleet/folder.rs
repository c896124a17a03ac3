//! The folder of a fleet, which all of its nodes see: the plan, and what became of each task.
//!
//! A record is there whole or not at all. Everything in the folder may have been put there by anyone
//! who may write there: names are numbers of tasks, sizes are bounded, links are not followed.

mod files;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::libc;
use oscost_model::fleet::FleetPlan;
use oscost_model::untrusted_text::display_text;
use serde::{Deserialize, Serialize};

use self::files::NumberedFile;
use crate::app::error::UsageError;
use crate::files::lock::{FileLock, LockError};
use crate::files::output_file;
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

/// A plan of a million tasks has 60 MB.
const MAX_PLAN_BYTES: u64 = 256 << 20;
/// A million tasks, submitted again and again.
const MAX_JOBS_BYTES: u64 = 256 << 20;
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

/// A job of Slurm that was submitted for tasks of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SubmittedJob {
    /// Its id.
    pub(crate) job: String,
    /// The number of the task whose index in the array is 0.
    pub(crate) first: u32,
    /// Its tasks.
    pub(crate) tasks: Vec<u32>,
    /// RFC 3339, UTC.
    pub(crate) submitted: String,
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
        let path = std::path::absolute(path).map_err(|error| cannot("make", path, &error))?;
        let made = make_folders(&path).and_then(|()| {
            if let Some(script) = script {
                output_file::write(&path.join(SCRIPT), script.as_bytes())?;
            }
            let json = serde_json::to_vec(&plan).map_err(io::Error::other)?;
            output_file::write(&path.join(PLAN), &json)?;
            File::open(&path)?.sync_all()
        });
        made.map_err(|error| cannot("make", &path, &error))?;
        Ok(Self { path, plan })
    }

    /// A folder that is not made.
    pub(crate) fn planned(path: &Path, plan: FleetPlan) -> Self {
        Self { path: path.to_owned(), plan }
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
            UsageError(format!("cannot use the plan {}: {why}", file.display()))
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
            let mut aside = file.clone().into_os_string();
            aside.push(".old");
            // There may have been none.
            let _ = std::fs::rename(&file, aside);
        }
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
        let file = self.path.join(JOBS);
        let bytes = match files::read(&file, MAX_JOBS_BYTES) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            read => read.map_err(|error| cannot("read", &file, &error))?,
        };
        let is_id = |job: &SubmittedJob| job.job.bytes().all(|byte| byte.is_ascii_digit());
        let lines = bytes.split(|&byte| byte == b'\n');
        let jobs = lines.filter_map(|line| serde_json::from_slice::<SubmittedJob>(line).ok());
        Ok(jobs.filter(|job| !job.job.is_empty() && is_id(job)).collect())
    }

    /// Adds a job that was submitted.
    pub(crate) fn add_job(&self, job: &SubmittedJob) -> anyhow::Result<()> {
        let file = self.path.join(JOBS);
        // A line of its own, also after one that was cut short.
        let line = format!("\n{}\n", serde_json::to_string(job)?);
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
        let added = options.open(&file).and_then(|mut jobs| {
            jobs.write_all(line.as_bytes())?;
            jobs.sync_all()
        });
        added.map_err(|error| cannot("write", &file, &error))
    }

    /// Keeps other processes from submitting tasks of this fleet.
    pub(crate) fn lock(&self) -> anyhow::Result<FileLock> {
        FileLock::acquire(&self.path.join(LOCK)).map_err(|error| match error {
            LockError::Held => anyhow::anyhow!(
                "cannot work on the fleet {}: another oscost does\n  hint: wait until it has ended",
                self.path.display()
            ),
            LockError::Io(error) => cannot("lock", &self.path.join(LOCK), &error),
        })
    }

    /// Whether another process is submitting tasks, or measures them by ssh.
    pub(crate) fn is_locked(&self) -> bool {
        matches!(FileLock::acquire(&self.path.join(LOCK)), Err(LockError::Held))
    }

    /// Keeps other processes from measuring a task.
    pub(crate) fn lock_task(&self, task: u32) -> anyhow::Result<FileLock> {
        let file = self.path.join(LOGS).join(format!("{task}.lock"));
        FileLock::acquire(&file).map_err(|error| match error {
            LockError::Held => anyhow::anyhow!(
                "cannot measure task {task}: another process does\n  hint: `oscost fleet status` \
                 shows what is missing when it has ended"
            ),
            LockError::Io(error) => cannot("lock", &file, &error),
        })
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

fn make_folders(path: &Path) -> io::Result<()> {
    let builder = || {
        let mut builder = DirBuilder::new();
        builder.mode(0o700);
        builder
    };
    builder().recursive(true).create(path)?;
    [RECORDS, FAILURES, LOGS]
        .iter()
        .try_for_each(|name| builder().recursive(true).create(path.join(name)))
}

fn cannot(act: &str, path: &Path, error: &io::Error) -> anyhow::Error {
    let hint = match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "\n  hint: name a folder that you may write, on a file system that all nodes share"
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "\n  hint: make room; `oscost fleet run FOLDER --retry` measures what is missing"
        }
        _ => "",
    };
    anyhow::anyhow!("cannot {act} {}: {error}{hint}", path.display())
}

#[cfg(test)]
mod tests;
