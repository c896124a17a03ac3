//! The jobs that were submitted for a fleet, one a line of a file.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::libc;
use serde::{Deserialize, Serialize};

use super::errors::cannot;
use super::files;

/// A million tasks, submitted again and again.
const MAX_JOBS_BYTES: u64 = 256 << 20;

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

/// The jobs of a file; a line that was cut short is none.
pub(super) fn read(file: &Path) -> anyhow::Result<Vec<SubmittedJob>> {
    let bytes = match files::read(file, MAX_JOBS_BYTES) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.map_err(|error| cannot("read", file, &error))?,
    };
    let is_id = |job: &SubmittedJob| job.job.bytes().all(|byte| byte.is_ascii_digit());
    let lines = bytes.split(|&byte| byte == b'\n');
    let jobs = lines.filter_map(|line| serde_json::from_slice::<SubmittedJob>(line).ok());
    Ok(jobs.filter(|job| !job.job.is_empty() && is_id(job)).collect())
}

/// Adds a job to a file.
pub(super) fn add(file: &Path, job: &SubmittedJob) -> anyhow::Result<()> {
    // A line of its own, also after one that was cut short.
    let line = format!("\n{}\n", serde_json::to_string(job)?);
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    let added = options.open(file).and_then(|mut jobs| {
        jobs.write_all(line.as_bytes())?;
        jobs.sync_all()
    });
    added.map_err(|error| cannot("write", file, &error))
}
