//! The history of cases: which figures of the store form a series, and what changed in it.

mod causes;
mod run_figure;
mod selector;
mod series;
mod updates;

use std::collections::{BTreeMap, BTreeSet};

use oscost_model::counters::CORE_CYCLES;
use oscost_model::record::Record;
use oscost_model::target::Target;
use oscost_model::unit::Unit;

pub use crate::estimate::history::History;

use super::error::UsageError;
use super::observer::Observer;
use super::results::figures::SUMMARY_RULES;
use super::results::missing_figures::{RunsWithoutFigures, complete};
use super::results::records::load;
use super::results::user_data::open_store_to_read;
use crate::store::Store;

/// The maximum number of records that are read: of more series none is shown in full.
const MAX_RECORDS: usize = 10;

/// Which cases, and how far back.
#[derive(Clone, Debug)]
pub struct Request {
    /// Selectors, of the cases that the store has; without any: what changed.
    pub cases: Vec<String>,
    /// How many of the newest runs of a series.
    pub last: usize,
    /// The target that was measured.
    pub at: String,
}

/// The history of the requested cases.
pub fn history(request: &Request, observer: &dyn Observer) -> anyhow::Result<History> {
    let target = Target::parse(&request.at).map_err(|error| UsageError(error.to_string()))?;
    let selectors = selector::parse(&request.cases)?;
    let mut store = open_store_to_read()?;
    let RunsWithoutFigures { mut unkept, without } = complete(&mut store, observer)?;
    let mut known: BTreeSet<String> = store.cases()?.into_iter().collect();
    known.extend(unkept.iter().flat_map(|run| &run.summary.figures).map(|it| it.case.clone()));
    let known: Vec<String> = known.into_iter().collect();
    let wanted = selector::cases(&known, &selectors)?;
    unkept.iter_mut().for_each(|run| run.summary.figures.retain(|it| wanted.contains(&it.case)));
    let mut kept = store.figures_with_counts(SUMMARY_RULES, &|case| wanted.contains(case))?;
    kept.append(&mut unkept);
    kept.sort_by(|one, other| (&one.started, &one.id).cmp(&(&other.started, &other.id)));
    let query = series::Query {
        target: &target.to_string(),
        last: request.last,
        named: !selectors.is_empty(),
    };
    let mut found = series::history(&kept, &query, without);
    if found.named {
        causes::add_causes(&store, &mut found.series);
        set_newest_intervals(&store, &mut found, observer);
    }
    Ok(found)
}

/// Sets the interval between runs of the newest run of those series whose runs are too few to show
/// how far they vary: its record has one, by the class of the case.
fn set_newest_intervals(store: &Store, found: &mut History, observer: &dyn Observer) {
    let mut records: BTreeMap<String, Option<Record>> = BTreeMap::new();
    for series in found.series.iter_mut().filter(|it| it.between_run_sd.is_none()) {
        let Some(newest) = series.points.last_mut() else { continue };
        if !records.contains_key(&newest.run) {
            if records.len() == MAX_RECORDS {
                return;
            }
            let record = load(store, &newest.run, false).map_err(|error| {
                observer.note(&format!("its interval between runs is not shown: {error:#}"));
            });
            records.insert(newest.run.clone(), record.ok());
        }
        let record = records.get(&newest.run).and_then(Option::as_ref);
        let row = record.and_then(|it| {
            it.results.iter().find(|row| {
                row.case == series.case
                    && row.target.text == series.target
                    && row.target.peer.is_some() == series.peer
            })
        });
        let estimate = row.and_then(|row| match series.unit {
            Unit::CyclesPerOp => row.metrics.get(CORE_CYCLES).map(|metric| &metric.estimate),
            _ => row.estimate.as_ref(),
        });
        let interval = estimate.and_then(|it| it.between_run_ci95);
        // An imported record may contain anything.
        newest.between_run_ci95 = interval.filter(|[low, high]| {
            [low, high].into_iter().all(|end| series::PLAUSIBLE.contains(end))
                && (*low..=*high).contains(&newest.median)
        });
    }
}
