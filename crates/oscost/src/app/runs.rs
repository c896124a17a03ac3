//! `oscost runs`: the runs in the store.

use anyhow::Context;

pub use super::results::pruning::{KeepCount, RawBatchLimits};
pub use super::results::records::KeptRun;
pub use crate::store::{Listing, PrunedBytes};

use super::observer::Observer;
use super::results::figures::keep_figures;
use super::results::pruning::{self, PrunedRuns};
use super::results::records::{assembled, load, read_file};
use super::results::user_data::{open_store, open_store_to_delete, open_store_to_read};
use crate::store::MAX_IMPORT_BYTES;

/// The runs of the store.
pub struct RunList {
    /// The runs, newest first.
    pub runs: Vec<Listing>,
    /// The size of the store.
    pub store_bytes: u64,
}

/// The runs, and how much room they take.
pub fn list() -> anyhow::Result<RunList> {
    let store = open_store_to_read()?;
    Ok(RunList { runs: store.list()?, store_bytes: store.size_bytes()? })
}

/// A run in the store, with its raw samples if they are wanted and were not pruned.
pub fn export(run: &str, samples: bool) -> anyhow::Result<KeptRun> {
    let store = open_store_to_read()?;
    assembled(&store, &store.find(run)?, samples)
}

/// Which runs keep their raw batches; by default as the environment says.
#[derive(Clone, Copy, Debug)]
pub struct PruneRequest {
    /// The last so many runs.
    pub keep_runs: Option<KeepCount>,
    /// The runs of the last so many days.
    pub keep_days: Option<KeepCount>,
    /// Whether nothing is removed.
    pub is_preview: bool,
}

/// What was pruned, or would be.
pub struct Pruning {
    /// Which runs keep their raw batches.
    pub limits: RawBatchLimits,
    /// The number of runs that were pruned.
    pub runs: usize,
    /// The size of their journals before and after; in a preview both are equal.
    pub bytes: PrunedBytes,
    /// The number of runs that are old enough and keep their batches, since they have no end.
    pub unended: usize,
    /// The runs that could not be pruned, and why.
    pub failures: Vec<String>,
    /// The size of the store now.
    pub store_bytes: u64,
}

/// Removes the raw batches of old runs.
pub fn prune(request: &PruneRequest) -> anyhow::Result<Pruning> {
    let PruneRequest { keep_runs, keep_days, is_preview } = *request;
    let mut limits = RawBatchLimits::of_environment()?;
    limits.runs = keep_runs.unwrap_or(limits.runs);
    limits.days = keep_days.unwrap_or(limits.days);
    let mut store = open_store()?;
    let PrunedRuns { count, bytes, unended, failures, locked } = match is_preview {
        true => pruning::preview(&store, limits)?,
        false => pruning::prune(&mut store, limits, usize::MAX)?,
    };
    if let Some(error) = locked {
        return Err(error.context(format!("{count} runs were pruned, the others were not")));
    }
    let store_bytes = store.size_bytes()?;
    Ok(Pruning { limits, runs: count, bytes, unended, failures, store_bytes })
}

/// Deletes a run; returns its id.
pub fn delete(run: &str) -> anyhow::Result<String> {
    let mut store = open_store_to_delete()?;
    let id = store.find(run)?;
    store.delete(&id)?;
    Ok(id)
}

/// Keeps a record from a file, or from standard input for `-`; returns the id of its run.
pub fn import(file: &str, observer: &dyn Observer) -> anyhow::Result<String> {
    let mut store = open_store()?;
    let bytes = read_file(file, MAX_IMPORT_BYTES)?;
    let id = store.import(&bytes).with_context(|| format!("cannot import {file}"))?;
    let record = load(&store, &id, false)?;
    keep_figures(&mut store, &id, &record, observer);
    Ok(id)
}
