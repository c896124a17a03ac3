//! `oscost runs`: the runs and bills in the store.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Context;
use oscost_model::bill::Bill;
use oscost_model::unit::Unit;

pub use super::results::pruning::{KeepCount, RawBatchLimits};
pub use super::results::records::{KeptRecord, KeptRun};
pub use crate::advice::trust::Trust;
pub use crate::store::{BillListing, Listing, PrunedBytes, StoredFleet};

use super::fleet::source::runs_of;
use super::observer::Observer;
use super::results::figures::{SUMMARY_RULES, keep_figures};
use super::results::pruning::{self, PruneOccasion, PrunedRuns};
use super::results::records::{kept, load, read_record_file, unreadable};
use super::results::user_data::{open_store, open_store_to_delete, open_store_to_read};
use crate::advice::classes::processor;
use crate::advice::trust::{Evidence, FlaggedRow, trust};
use crate::store::{RecordKind, Store, StoreError, Summary, kind_of};

/// Which visits of fleets are listed one by one, as runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListedVisits {
    /// None: each fleet is listed as a whole.
    None,
    /// All.
    All,
    /// Those of this fleet, and nothing else.
    OfFleet(String),
}

/// The runs and bills of the store.
pub struct RunList {
    /// The runs, newest first.
    pub runs: Vec<ListedRun>,
    /// The fleets whose visits are not among them.
    pub fleets: Vec<StoredFleet>,
    /// The ids of the runs that are not listed.
    pub unlisted: Vec<String>,
    /// The bills, newest first.
    pub bills: Vec<ListedBill>,
    /// The size of the store.
    pub store_bytes: u64,
}

/// A run with what its figures say of it.
pub struct ListedRun {
    /// The run.
    pub listing: Listing,
    /// The time from its start to its end; `None` while it is running, and if it was killed.
    pub duration: Option<Duration>,
    /// The processor of its first machine, if its figures are kept and name one.
    pub processor: Option<String>,
    /// How noisy its first machine was.
    pub class: Option<String>,
    /// How far it can be believed; `None` of a run without kept figures.
    pub trust: Option<Trust>,
    /// The fleet, if it is the visit of a node.
    pub fleet: Option<String>,
}

/// A bill, with the time that it took.
pub struct ListedBill {
    /// The bill.
    pub listing: BillListing,
    /// The time from its start to its end; `None` if a clock was set back.
    pub duration: Option<Duration>,
    /// How far it can be believed; `None` if it cannot be read.
    pub trust: Option<Trust>,
}

/// The runs and bills, and how much room they take. `trust_of` says how far a bill can be believed: its
/// list does not have that.
pub fn list(visits: &ListedVisits, trust_of: &dyn Fn(&Bill) -> Trust) -> anyhow::Result<RunList> {
    let store = open_store_to_read()?;
    let mut fleet_of_run = fleet_of_run(&store)?;
    if let ListedVisits::OfFleet(fleet) = visits {
        // An error names the fleets that there are.
        runs_of(&store, fleet)?;
    }
    let is_listed = |fleet: Option<&String>| match visits {
        ListedVisits::None => fleet.is_none(),
        ListedVisits::All => true,
        ListedVisits::OfFleet(wanted) => fleet == Some(wanted),
    };
    let (listed, others): (Vec<Listing>, Vec<Listing>) =
        store.list()?.into_iter().partition(|run| is_listed(fleet_of_run.get(&run.id)));
    let summarised = store.figures(SUMMARY_RULES, &|_| true)?;
    let mut summaries: HashMap<String, Summary> =
        summarised.into_iter().map(|run| (run.id, run.summary)).collect();
    let runs = listed.into_iter().map(|listing| {
        let (summary, fleet) = (summaries.remove(&listing.id), fleet_of_run.remove(&listing.id));
        ListedRun::of(listing, summary.as_ref(), fleet)
    });
    let runs = runs.collect();
    Ok(RunList {
        runs,
        fleets: if *visits == ListedVisits::None { store.fleets()? } else { Vec::new() },
        unlisted: others.into_iter().map(|run| run.id).collect(),
        bills: match visits {
            ListedVisits::OfFleet(_) => Vec::new(),
            ListedVisits::None | ListedVisits::All => bills(&store, trust_of)?,
        },
        store_bytes: store.size_bytes()?,
    })
}

/// The fleets of runs that are visits of nodes, by the ids of these runs.
fn fleet_of_run(store: &Store) -> Result<HashMap<String, String>, StoreError> {
    let mut fleet_of_run = HashMap::new();
    for fleet in store.fleets()? {
        let runs = store.runs_of_fleet(&fleet.name)?;
        fleet_of_run.extend(runs.into_iter().map(|run| (run, fleet.name.clone())));
    }
    Ok(fleet_of_run)
}

fn bills(store: &Store, trust_of: &dyn Fn(&Bill) -> Trust) -> Result<Vec<ListedBill>, StoreError> {
    let bills = store.list_bills()?.into_iter().map(|listing| ListedBill {
        duration: time_between(&listing.started, &listing.ended),
        trust: store.load_bill(&listing.id).ok().map(|bill| trust_of(&bill)),
        listing,
    });
    Ok(bills.collect())
}

impl ListedRun {
    fn of(listing: Listing, summary: Option<&Summary>, fleet: Option<String>) -> Self {
        let machine = summary.and_then(|summary| summary.machine_states.first());
        let trust = summary.and_then(|summary| trust(&evidence(&listing, summary)));
        Self {
            duration: duration(&listing),
            processor: machine.and_then(|machine| processor(&machine.machine)),
            class: machine.and_then(|machine| machine.class.clone()),
            trust,
            fleet,
            listing,
        }
    }
}

/// What is known of a run without its journal: the same as of its record, unless an older oscost
/// has stored its figures, but for intervals between runs, which are not kept with figures.
fn evidence<'a>(listing: &Listing, summary: &'a Summary) -> Evidence<'a> {
    let classes = summary.machine_states.iter().filter_map(|it| it.class.as_deref());
    let run_flags = match &summary.run_state {
        Some(state) => state.flags.iter().map(String::as_str).collect(),
        None => summary.clock_drifted.then_some("CLOCK_DRIFTED").into_iter().collect(),
    };
    Evidence {
        classes: classes.collect(),
        lost_pct: summary.run_state.as_ref().and_then(|state| state.lost_pct),
        run_flags,
        complete: listing.complete,
        rows: requested_rows(summary).collect(),
    }
}

/// The requested rows; one that follows the core's rate has a second figure, in cycles.
fn requested_rows(summary: &Summary) -> impl Iterator<Item = FlaggedRow<'_>> {
    let is_added = |flag: &String| flag == "REFERENCE" || flag == "PRIMITIVE";
    let figures = summary.figures.iter().filter(|figure| figure.unit != Unit::CyclesPerOp);
    figures
        .map(|figure| FlaggedRow { case: &figure.case, flags: &figure.flags, interval: None })
        .filter(move |row| !row.flags.iter().any(is_added))
}

/// The time from the start of a run to its end, by the clock of its machine.
fn duration(listing: &Listing) -> Option<Duration> {
    time_between(&listing.started, listing.ended.as_deref()?)
}

fn time_between(started: &str, ended: &str) -> Option<Duration> {
    let time = |text: &str| humantime::parse_rfc3339(&text.replace("+00:00", "Z")).ok();
    time(ended)?.duration_since(time(started)?).ok()
}

/// A run in the store, with its raw samples if they are wanted and were not pruned; or a bill.
pub fn export(name: &str, samples: bool) -> anyhow::Result<KeptRecord> {
    kept(&open_store_to_read()?, name, samples)
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
    /// Why the others were left: another process has locked the store.
    pub locked: Option<anyhow::Error>,
    /// The size of the store now.
    pub store_bytes: u64,
}

/// Removes the raw batches of old runs.
pub fn prune(request: &PruneRequest) -> anyhow::Result<Pruning> {
    let PruneRequest { keep_runs, keep_days, is_preview } = *request;
    let mut limits = RawBatchLimits::of_environment()?;
    limits.runs = keep_runs.unwrap_or(limits.runs);
    limits.days = keep_days.unwrap_or(limits.days);
    let mut store = match is_preview {
        true => open_store_to_read()?,
        false => open_store_to_delete()?,
    };
    let PrunedRuns { count, bytes, unended, failures, locked } = match is_preview {
        true => pruning::preview(&store, limits)?,
        false => pruning::prune(&mut store, limits, usize::MAX, PruneOccasion::Requested)?,
    };
    let store_bytes = store.size_bytes()?;
    Ok(Pruning { limits, runs: count, bytes, unended, failures, locked, store_bytes })
}

/// Deletes a run or a bill; returns its id.
pub fn delete(name: &str) -> anyhow::Result<String> {
    let mut store = open_store_to_delete()?;
    let id = store.find_record(name)?.id;
    store.delete(&id)?;
    Ok(id)
}

/// Deletes all visits of a fleet; returns how many there were.
pub fn delete_fleet(name: &str) -> anyhow::Result<usize> {
    let mut store = open_store_to_delete()?;
    // An error names the fleets that there are.
    runs_of(&store, name)?;
    Ok(store.delete_fleet(name)?)
}

/// Keeps a run or a bill from a file, which gzip(1) may have packed, or from standard input for `-`;
/// returns its id.
pub fn import(file: &str, observer: &dyn Observer) -> anyhow::Result<String> {
    let mut store = open_store()?;
    let bytes = read_record_file(file)?;
    if kind_of(&bytes) == Some(RecordKind::Bill) {
        return store.import_bill(&bytes).with_context(|| unreadable("import", file));
    }
    let id = store.import(&bytes).with_context(|| unreadable("import", file))?;
    let record = load(&store, &id, false)?;
    // A visit of a fleet's node is no point of this machine's history.
    if record.fleet.is_none() {
        keep_figures(&mut store, &id, &record, observer);
    }
    Ok(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::RunState;

    fn listing() -> Listing {
        Listing {
            id: "0197".to_owned(),
            started: "2026-11-21T08:00:00.000Z".to_owned(),
            ended: None,
            complete: false,
            label: None,
            command: Vec::new(),
            rows_requested: None,
            workers: 0,
            imported: false,
            has_raw_batches: false,
        }
    }

    #[test]
    fn the_flags_of_a_run_are_those_of_its_record_or_what_an_older_oscost_kept_of_them() {
        let flags = ["REFERENCE_DRIFT", "UNPINNED"].map(str::to_owned).to_vec();
        let state = RunState { flags, lost_pct: Some(6.3) };
        let kept = Summary { run_state: Some(state), ..Summary::default() };
        let known = evidence(&listing(), &kept);
        assert_eq!(known.run_flags, ["REFERENCE_DRIFT", "UNPINNED"]);
        assert_eq!(known.lost_pct, Some(6.3));
        let older = Summary { clock_drifted: true, ..Summary::default() };
        let known = evidence(&listing(), &older);
        assert_eq!((known.run_flags, known.lost_pct), (vec!["CLOCK_DRIFTED"], None));
    }

    #[test]
    fn the_duration_of_a_run_is_unknown_until_it_has_ended() {
        let mut listing = listing();
        assert_eq!(duration(&listing), None);
        listing.ended = Some("2026-11-21T08:01:05.500+00:00".to_owned());
        assert_eq!(duration(&listing), Some(Duration::from_millis(65_500)));
        listing.ended = Some("2026-11-21T07:00:00.000Z".to_owned());
        assert_eq!(duration(&listing), None, "the clock was set back");
    }
}
