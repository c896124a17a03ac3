//! The folder of a fleet, which all of its nodes see: the plan, and what became of each task.
//!
//! A record is there whole or not at all. Everything in the folder may have been put there by anyone
//! who may write there: names are numbers of tasks, sizes are bounded, links are not followed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::libc;
use oscost_model::fleet::{FleetPlan, MAX_TASKS};
use oscost_model::untrusted_text::display_text;
use serde::{Deserialize, Serialize};

use crate::app::error::UsageError;
use crate::files::lock::{FileLock, LockError};
use crate::files::output_file;
use crate::fleet::check_plan;

/// The plan.
const PLAN: &str = "plan.json";
/// The batch script.
const SCRIPT: &str = "visit.sbatch";
/// The jobs that were submitted, one a line.
const JOBS: &str = "jobs.jsonl";
/// One process at a time submits.
const LOCK: &str = "lock";
/// The folders in it.
const RECORDS: &str = "records";
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
        let bytes = read_bounded(&file, MAX_PLAN_BYTES).map_err(|error| match error.kind() {
            ErrorKind::NotFound => UsageError::with_hint(
                &format!("cannot open the fleet {}: it has no {PLAN}", path.display()),
                "`oscost fleet run FOLDER` makes it; each node must see the folder at this path",
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
        let file = self.path.join(RECORDS).join(format!("{task}.json"));
        file.symlink_metadata().is_ok_and(|found| found.is_file())
    }

    /// The tasks that have a record.
    pub(crate) fn recorded(&self) -> anyhow::Result<BTreeSet<u32>> {
        self.numbered(RECORDS)
    }

    /// The failures that tasks have reported.
    pub(crate) fn failures(&self) -> anyhow::Result<BTreeMap<u32, TaskFailure>> {
        let read = |task: u32| {
            let file = self.path.join(FAILURES).join(format!("{task}.json"));
            let bytes = read_bounded(&file, MAX_FAILURE_BYTES).ok()?;
            let failure: TaskFailure = serde_json::from_slice(&bytes).ok()?;
            let why = display_text(&failure.why, MAX_WHY_CHARS);
            (failure.task == task).then_some((task, TaskFailure { why, ..failure }))
        };
        Ok(self.numbered(FAILURES)?.into_iter().filter_map(read).collect())
    }

    /// Sets the output and the failure of an earlier attempt aside, before a task is done again.
    pub(crate) fn set_aside(&self, task: u32) {
        let failure = self.path.join(FAILURES).join(format!("{task}.json"));
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
        let name = format!("{task}.json");
        write_whole(&folder, &name, json)
            .map_err(|error| cannot("write", &folder.join(name), &error))
    }

    /// Says why a task gave no record.
    pub(crate) fn add_failure(&self, failure: &TaskFailure) -> anyhow::Result<()> {
        let folder = self.path.join(FAILURES);
        let name = format!("{}.json", failure.task);
        let json = serde_json::to_vec(failure)?;
        write_whole(&folder, &name, &json)
            .map_err(|error| cannot("write", &folder.join(name), &error))
    }

    /// The jobs that were submitted; a line that was cut short is none.
    pub(crate) fn jobs(&self) -> anyhow::Result<Vec<SubmittedJob>> {
        let file = self.path.join(JOBS);
        let bytes = match read_bounded(&file, MAX_JOBS_BYTES) {
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

    /// The numbers of the tasks that have a file in a folder.
    fn numbered(&self, folder: &str) -> anyhow::Result<BTreeSet<u32>> {
        let path = self.path.join(folder);
        let entries = std::fs::read_dir(&path).map_err(|error| cannot("read", &path, &error))?;
        let number = |entry: io::Result<std::fs::DirEntry>| {
            let entry = entry.ok()?;
            let task = task_number(entry.file_name().to_str()?)?;
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            (is_file && (task as usize) < self.plan.tasks.len()).then_some(task)
        };
        // Files of strangers beside them are bounded, too.
        Ok(entries.take(4 * MAX_TASKS).filter_map(number).collect())
    }
}

/// The number of a task by the name of its file; `007.json` is none.
fn task_number(name: &str) -> Option<u32> {
    let digits = name.strip_suffix(".json")?;
    let number: u32 = digits.parse().ok()?;
    (number.to_string() == digits).then_some(number)
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

/// Reads a regular file; more than `max_bytes` are an error.
pub(crate) fn read_bounded(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > max_bytes {
        true => Err(io::Error::new(ErrorKind::FileTooLarge, "it is too large")),
        false => Ok(bytes),
    }
}

/// Writes a file under another name, and renames it when it is on the disk.
fn write_whole(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    // Process ids repeat among nodes.
    let beside = folder.join(format!(".tmp-{}", uuid::Uuid::now_v7().simple()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let written = options.open(&beside).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    let renamed = written.and_then(|()| std::fs::rename(&beside, folder.join(name)));
    if renamed.is_err() {
        // The first error is the one to report.
        let _ = std::fs::remove_file(&beside);
        return renamed;
    }
    File::open(folder)?.sync_all()
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
