//! How long runs keep their raw batches: they are most of a store, and few readers need them once a
//! run is old. Records are kept until their run is deleted.

use std::env::VarError;
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::records::assembled;
use crate::app::error::UsageError;
use crate::app::measurement::run_header::{rfc3339, timestamp};
use crate::store::{Cause, Listing, PrunedBytes, Store, StoreError};

/// Whoever measures often has a month to look into a run, and whoever measures rarely keeps the
/// last ones whatever their age.
const DEFAULT_LIMITS: RawBatchLimits =
    RawBatchLimits { runs: KeepCount::Last(50), days: KeepCount::Last(30) };
/// The variables that set other limits.
const RUNS_VARIABLE: &str = "OSCOST_KEEP_RUNS";
const DAYS_VARIABLE: &str = "OSCOST_KEEP_DAYS";

/// How many old runs without an end are left without a note: a few are still measured, or were
/// killed.
const MAX_UNENDED: usize = 20;

/// A number of runs or days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepCount {
    /// The last so many.
    Last(u64),
    /// All of them.
    All,
}

impl FromStr for KeepCount {
    type Err = String;

    /// Reads `50`, or `all`.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(KeepCount::All),
            text => match text.parse::<u32>() {
                Ok(number) => Ok(KeepCount::Last(number.into())),
                Err(_) => Err("it is neither a number up to 4294967295 nor `all`".to_owned()),
            },
        }
    }
}

/// Which runs keep their raw batches: the last ones, and those of the last days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawBatchLimits {
    /// The last runs.
    pub runs: KeepCount,
    /// The last days.
    pub days: KeepCount,
}

impl fmt::Display for RawBatchLimits {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.runs, self.days) {
            (KeepCount::Last(runs), KeepCount::Last(days)) => {
                write!(out, "{} and those of {}", last(runs, "run"), last(days, "day"))
            }
            _ => out.write_str("all runs"),
        }
    }
}

/// The last so many of a kind.
fn last(count: u64, noun: &str) -> String {
    match count {
        1 => format!("the last {noun}"),
        _ => format!("the last {count} {noun}s"),
    }
}

impl RawBatchLimits {
    /// The limits of the environment, or the default ones.
    pub(crate) fn of_environment() -> Result<Self, UsageError> {
        let runs = variable(RUNS_VARIABLE)?.unwrap_or(DEFAULT_LIMITS.runs);
        Ok(Self { runs, days: variable(DAYS_VARIABLE)?.unwrap_or(DEFAULT_LIMITS.days) })
    }

    /// The runs of a list, the newest first, whose raw batches need not be kept.
    fn prunable(self, runs: &[Listing], now: SystemTime) -> PrunableRuns {
        // A run whose start is still to come, by a clock that was set, is of the last days; of no days is
        // none.
        let began_before = |run: &Listing, days: u64| {
            let age = Duration::from_secs(days * 24 * 60 * 60);
            let then = now.checked_sub(age).filter(|then| *then >= UNIX_EPOCH);
            days == 0 || then.is_some_and(|then| run.started < rfc3339(then))
        };
        let is_beyond = |at: usize, run: &Listing| {
            let beyond_runs = matches!(self.runs, KeepCount::Last(count) if at as u64 >= count);
            let beyond_days = matches!(self.days, KeepCount::Last(days) if began_before(run, days));
            beyond_runs && beyond_days
        };
        let own = runs.iter().filter(|run| !run.imported).enumerate();
        let mut found = PrunableRuns::default();
        for (_, run) in own.filter(|(at, run)| run.has_raw_batches && is_beyond(*at, run)) {
            match run.ended {
                Some(_) => found.ids.push(run.id.clone()),
                None => found.unended += 1,
            }
        }
        found.ids.reverse();
        found
    }
}

/// The runs whose raw batches need not be kept.
#[derive(Debug, Default, PartialEq, Eq)]
struct PrunableRuns {
    /// Those that have ended, the oldest first.
    ids: Vec<String>,
    /// The number of those that have not. They keep their batches: a process may still add to them.
    unended: usize,
}

fn variable(name: &str) -> Result<Option<KeepCount>, UsageError> {
    let text = match std::env::var(name) {
        Ok(text) => text,
        Err(VarError::NotPresent) => return Ok(None),
        Err(VarError::NotUnicode(_)) => String::new(),
    };
    let invalid = |why: String| {
        UsageError::with_hint(
            &format!("{name} is {text:?}: {why}"),
            &format!("unset it, or set it as in `{name}=100`"),
        )
    };
    text.parse().map(Some).map_err(invalid)
}

/// Who asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PruneOccasion {
    /// The user, who may need the room: the store is also changed where its disk is full.
    Requested,
    /// The limits, after a run: a full disk is then left alone, since a kill at a moment of a change
    /// without a log may damage the store.
    AfterRun,
}

/// What was pruned, or would be.
#[derive(Debug, Default)]
pub(crate) struct PrunedRuns {
    /// The number of runs.
    pub(crate) count: usize,
    /// The size of their journals before and after; of a preview both are equal.
    pub(crate) bytes: PrunedBytes,
    /// The number of runs that are old enough and keep their batches, since they have no end.
    pub(crate) unended: usize,
    /// The runs that could not be pruned, and why.
    pub(crate) failures: Vec<String>,
    /// Why the others were left: another process has locked the store.
    pub(crate) locked: Option<anyhow::Error>,
}

impl PrunedRuns {
    fn add(&mut self, bytes: PrunedBytes) {
        self.count += 1;
        self.bytes.before += bytes.before;
        self.bytes.after += bytes.after;
    }

    /// What keeps a store from staying of one size: nothing removes these but the user.
    pub(crate) fn unended_note(&self) -> Option<String> {
        (self.unended > MAX_UNENDED).then(|| {
            format!(
                "old runs without an end keep their raw batches: {}; `oscost runs list` names \
                 them, `oscost runs delete RUN` removes one that was killed",
                self.unended
            )
        })
    }
}

/// What would be pruned.
pub(crate) fn preview(store: &Store, limits: RawBatchLimits) -> anyhow::Result<PrunedRuns> {
    let PrunableRuns { ids, unended } = limits.prunable(&store.list()?, SystemTime::now());
    let mut found = PrunedRuns { unended, ..PrunedRuns::default() };
    for id in ids {
        match store.journal_bytes(&id).map_err(anyhow::Error::from) {
            Ok(bytes) => found.add(PrunedBytes { before: bytes, after: bytes }),
            Err(error) if was_pruned_by_other(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Prunes runs, the oldest first, but at most so many. A run that cannot be pruned keeps its
/// batches, and does not prevent others; at most as many are tried in vain.
pub(crate) fn prune(
    store: &mut Store,
    limits: RawBatchLimits,
    max_runs: usize,
    occasion: PruneOccasion,
) -> anyhow::Result<PrunedRuns> {
    match store.list().map_err(anyhow::Error::from) {
        Ok(runs) => {
            prune_listed(store, limits.prunable(&runs, SystemTime::now()), max_runs, occasion)
        }
        Err(error) if is_locked(&error) => {
            Ok(PrunedRuns { locked: Some(error), ..PrunedRuns::default() })
        }
        Err(error) => Err(error),
    }
}

fn prune_listed(
    store: &mut Store,
    PrunableRuns { ids, unended }: PrunableRuns,
    max_runs: usize,
    occasion: PruneOccasion,
) -> anyhow::Result<PrunedRuns> {
    let mut pruned = PrunedRuns { unended, ..PrunedRuns::default() };
    for id in ids {
        if pruned.count == max_runs || pruned.failures.len() == max_runs {
            break;
        }
        match prune_run(store, &id, occasion) {
            Ok(bytes) => pruned.add(bytes),
            Err(error) if was_pruned_by_other(&error) => {}
            Err(error) if is_locked(&error) => {
                pruned.locked = Some(error);
                break;
            }
            Err(error) => {
                pruned.failures.push(format!("run {id} is not pruned: {error:#}"));
                // The others need space as well.
                if matches!(cause(&error), Some(Cause::Full | Cause::TooLarge)) {
                    break;
                }
            }
        }
    }
    if pruned.count > 0 {
        store.return_space()?;
    }
    Ok(pruned)
}

fn prune_run(store: &mut Store, id: &str, occasion: PruneOccasion) -> anyhow::Result<PrunedBytes> {
    let record = assembled(store, id, false)?.record;
    Ok(match occasion {
        PruneOccasion::Requested => store.prune_without_space(id, &timestamp(), &record)?,
        PruneOccasion::AfterRun => store.prune(id, &timestamp(), &record)?,
    })
}

fn cause(error: &anyhow::Error) -> Option<&Cause> {
    error.downcast_ref::<StoreError>().map(|error| &error.cause)
}

/// Whether another process has pruned or deleted the run since it was listed.
fn was_pruned_by_other(error: &anyhow::Error) -> bool {
    matches!(cause(error), Some(Cause::NoRun | Cause::NoRawBatches))
}

fn is_locked(error: &anyhow::Error) -> bool {
    matches!(cause(error), Some(Cause::Locked))
}

#[cfg(test)]
mod tests;
