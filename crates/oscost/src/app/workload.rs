//! `oscost workload`: the programs that come with oscost, and the folders that they work on.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;

use super::error::UsageError;
use super::selection::named_files::find_workload;
use crate::files::user_folder::cache_folder;
use crate::workloads::{self, CacheError, PreparationOutcome, RunEnvironment, Spec};

/// A workload that comes with oscost.
pub struct WorkloadListing {
    /// Its id.
    pub id: String,
    /// The question that it answers.
    pub asks: String,
    /// What is missing on this machine to run it.
    pub missing: Option<Missing>,
}

/// What is missing to run a workload.
pub struct Missing {
    /// Commands, packages or files.
    pub lacks: Vec<String>,
    /// How to get them.
    pub hint: Option<String>,
}

/// A folder that was prepared.
pub struct PreparedFolder {
    /// Where it is.
    pub folder: PathBuf,
    /// Whether it was made now.
    pub is_new: bool,
}

/// The workloads that come with oscost.
pub fn list() -> anyhow::Result<Vec<WorkloadListing>> {
    let environment = environment()?;
    let listed = workloads::all().iter().map(|spec| WorkloadListing {
        id: spec.id.clone(),
        asks: spec.asks.clone(),
        missing: spec
            .workload(&spec.default_point(), &environment)
            .err()
            .map(|it| Missing { hint: it.hint(), lacks: it.lacks }),
    });
    Ok(listed.collect())
}

/// Makes the folder that a workload works on; its commands write to `output`.
pub fn prepare(name: &str, output: &mut dyn Write) -> anyhow::Result<PreparedFolder> {
    let (spec, environment) = (find_workload(name)?, environment()?);
    let prepared = workloads::prepare(&spec, &environment, output);
    let prepared = prepared.map_err(|error| failed("prepare", &spec, &error))?;
    Ok(PreparedFolder {
        folder: environment.cache_of(&spec),
        is_new: prepared == PreparationOutcome::Now,
    })
}

/// Deletes the folder that was prepared for a workload; returns it if there was one.
pub fn delete(name: &str) -> anyhow::Result<Option<PathBuf>> {
    let (spec, environment) = (find_workload(name)?, environment()?);
    let deleted = workloads::clean(&spec, &environment);
    let deleted = deleted.map_err(|error| failed("delete what was prepared for", &spec, &error))?;
    Ok(deleted.then(|| environment.cache_of(&spec)))
}

fn failed(act: &str, spec: &Spec, error: &CacheError) -> anyhow::Error {
    let what = format!("cannot {act} {}: {error}", spec.id);
    let hint = match error {
        CacheError::Missing(missing) => {
            let what = format!("cannot {act} {}: there is {}", spec.id, missing.lacks.join(", "));
            return match missing.hint() {
                Some(hint) => UsageError::with_hint(&what, &hint).into(),
                None => UsageError(what).into(),
            };
        }
        CacheError::Nothing(_) => {
            let hint = format!("oscost run workload/{}", spec.name());
            return UsageError::with_hint(&what, &hint).into();
        }
        CacheError::Locked => "wait until it has ended",
        CacheError::Command { .. } | CacheError::Start(_) | CacheError::NoMarker(_) => {
            "its output is above; nothing was kept of it"
        }
        CacheError::File(..) => "check the free space and the owner of the folder",
    };
    anyhow::anyhow!("{what}\n  hint: {hint}")
}

/// The environment of workloads on this machine.
fn environment() -> anyhow::Result<RunEnvironment> {
    let cache = cache_folder().ok_or_else(|| {
        UsageError(
            "cannot find the cache: neither XDG_CACHE_HOME nor HOME names a folder".to_owned(),
        )
    })?;
    let folder = std::env::current_dir().context("cannot find the current folder")?;
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(RunEnvironment { cpus, start_folder: folder, cache, quick: false, skip_checks: false })
}
