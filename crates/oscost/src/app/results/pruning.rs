//! How long runs keep their raw batches: they are most of a store, and few readers need them once a
//! run is old. Records are kept until their run is deleted.

use std::env::VarError;
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::records::assembled;
use crate::app::error::UsageError;
use crate::app::measurement::run_header::{rfc3339, timestamp};
use crate::store::{Listing, PrunedBytes, Store};

/// Whoever measures often has a month to look into a run, and whoever measures rarely keeps the
/// last ones whatever their age.
const DEFAULT_LIMITS: RawBatchLimits =
    RawBatchLimits { runs: KeepCount::Last(50), days: KeepCount::Last(30) };
/// The variables that set other limits.
const RUNS_VARIABLE: &str = "OSCOST_KEEP_RUNS";
const DAYS_VARIABLE: &str = "OSCOST_KEEP_DAYS";

/// A run without an end that began within these days may still be measured.
const MAX_RUN_DAYS: u64 = 7;

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
                write!(out, "the last {runs} runs and those of the last {days} days")
            }
            _ => out.write_str("all runs"),
        }
    }
}

impl RawBatchLimits {
    /// The limits of the environment, or the default ones.
    pub(crate) fn of_environment() -> Result<Self, UsageError> {
        let runs = variable(RUNS_VARIABLE)?.unwrap_or(DEFAULT_LIMITS.runs);
        Ok(Self { runs, days: variable(DAYS_VARIABLE)?.unwrap_or(DEFAULT_LIMITS.days) })
    }

    /// The runs of a list, the newest first, whose raw batches need not be kept; the oldest first.
    fn prunable(self, runs: &[Listing], now: SystemTime) -> Vec<&Listing> {
        let began_before = |run: &Listing, days: u64| {
            let age = Duration::from_secs(days * 24 * 60 * 60);
            let then = now.checked_sub(age).filter(|then| *then >= UNIX_EPOCH);
            then.is_some_and(|then| run.started < rfc3339(then))
        };
        let is_beyond = |at: usize, run: &Listing| {
            let beyond_runs = matches!(self.runs, KeepCount::Last(count) if at as u64 >= count);
            let beyond_days = matches!(self.days, KeepCount::Last(days) if began_before(run, days));
            beyond_runs && beyond_days
        };
        let is_over = |run: &Listing| run.ended.is_some() || began_before(run, MAX_RUN_DAYS);
        let own = runs.iter().filter(|run| !run.imported).enumerate();
        let mut found: Vec<&Listing> = own
            .filter(|(at, run)| run.has_raw_batches && is_over(run) && is_beyond(*at, run))
            .map(|(_, run)| run)
            .collect();
        found.reverse();
        found
    }
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

/// What was pruned, or would be.
#[derive(Debug, Default)]
pub(crate) struct PrunedRuns {
    /// The number of runs.
    pub(crate) count: usize,
    /// The size of their journals before and after; of a preview both are equal.
    pub(crate) bytes: PrunedBytes,
    /// The runs that could not be pruned, and why.
    pub(crate) failures: Vec<String>,
}

impl PrunedRuns {
    fn add(&mut self, bytes: PrunedBytes) {
        self.count += 1;
        self.bytes.before += bytes.before;
        self.bytes.after += bytes.after;
    }
}

/// What would be pruned.
pub(crate) fn preview(store: &Store, limits: RawBatchLimits) -> anyhow::Result<PrunedRuns> {
    let runs = store.list()?;
    let mut found = PrunedRuns::default();
    for run in limits.prunable(&runs, SystemTime::now()) {
        let bytes = store.journal_bytes(&run.id)?;
        found.add(PrunedBytes { before: bytes, after: bytes });
    }
    Ok(found)
}

/// Prunes runs, the oldest first, but at most so many. A run that cannot be pruned keeps its
/// batches, and does not prevent others; at most as many are tried in vain.
pub(crate) fn prune(
    store: &mut Store,
    limits: RawBatchLimits,
    max_runs: usize,
) -> anyhow::Result<PrunedRuns> {
    let runs = store.list()?;
    let mut pruned = PrunedRuns::default();
    for run in limits.prunable(&runs, SystemTime::now()) {
        if pruned.count == max_runs || pruned.failures.len() == max_runs {
            break;
        }
        match prune_run(store, &run.id) {
            Ok(bytes) => pruned.add(bytes),
            Err(error) => pruned.failures.push(format!("run {} is not pruned: {error:#}", run.id)),
        }
    }
    if pruned.count > 0 {
        store.return_space()?;
    }
    Ok(pruned)
}

fn prune_run(store: &mut Store, id: &str) -> anyhow::Result<PrunedBytes> {
    let record = assembled(store, id, false)?.record;
    Ok(store.prune(id, &timestamp(), &record)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(id: &str, started: &str) -> Listing {
        Listing {
            id: id.to_owned(),
            started: started.to_owned(),
            ended: Some(started.to_owned()),
            complete: true,
            label: None,
            command: Vec::new(),
            rows_requested: Some(1),
            workers: 1,
            imported: false,
            has_raw_batches: true,
        }
    }

    /// The ids of runs that are prunable on 21 November.
    fn prunable(runs: &[Listing], limits: [KeepCount; 2]) -> Vec<&str> {
        let now = humantime::parse_rfc3339("2026-11-21T12:00:00Z").unwrap();
        let [runs_kept, days] = limits;
        let limits = RawBatchLimits { runs: runs_kept, days };
        limits.prunable(runs, now).into_iter().map(|run| run.id.as_str()).collect()
    }

    #[test]
    fn a_run_keeps_its_batches_while_it_is_young_or_among_the_last() {
        use KeepCount::{All, Last};
        let runs = [
            run("d", "2026-11-21T11:00:00.123Z"),
            run("c", "2026-11-20T11:00:00Z"),
            run("b", "2026-10-20T11:00:00Z"),
            run("a", "2026-09-20T11:00:00Z"),
        ];
        for (limits, expected) in [
            ([Last(0), Last(0)], &["a", "b", "c", "d"][..]),
            ([Last(1), Last(0)], &["a", "b", "c"]),
            ([Last(0), Last(1)], &["a", "b", "c"]),
            ([Last(0), Last(30)], &["a", "b"]),
            ([Last(3), Last(30)], &["a"]),
            ([Last(3), Last(100)], &[]),
            ([Last(4), Last(0)], &[]),
            ([All, Last(0)], &[]),
            ([Last(0), All], &[]),
        ] {
            assert_eq!(prunable(&runs, limits), expected, "{limits:?}");
        }
        let text = "the last 50 runs and those of the last 30 days";
        assert_eq!(DEFAULT_LIMITS.to_string(), text);
        assert_eq!(RawBatchLimits { days: All, ..DEFAULT_LIMITS }.to_string(), "all runs");
    }

    #[test]
    fn imported_pruned_and_running_runs_are_not_pruned() {
        let mut runs = [
            run("e", "2026-11-21T11:00:00Z"),
            run("d", "2026-11-21T10:00:00Z"),
            run("c", "2026-11-20T10:00:00Z"),
            run("b", "2026-11-01T10:00:00Z"),
            run("a", "2026-11-01T09:00:00Z"),
        ];
        runs[0].imported = true;
        runs[1].has_raw_batches = false;
        runs[2].ended = None;
        runs[3].ended = None;
        let limits = |runs| [KeepCount::Last(runs), KeepCount::Last(0)];
        assert_eq!(prunable(&runs, limits(0)), ["a", "b"], "one was killed long ago");
        assert_eq!(prunable(&runs, limits(3)), ["a"], "an imported one is not counted");
    }

    #[test]
    fn a_count_is_a_number_or_all() {
        assert_eq!("0".parse(), Ok(KeepCount::Last(0)));
        assert_eq!("all".parse(), Ok(KeepCount::All));
        for text in ["", "-1", "ALL", "1.5", "99999999999"] {
            assert!(text.parse::<KeepCount>().is_err(), "{text}");
        }
    }
}
