//! The history of cases: which figures of the store form a series, and what changed in it.

mod causes;
mod run_figure;
mod selector;
mod series;
mod updates;

use std::collections::BTreeSet;

use oscost_model::target::Target;

pub use crate::estimate::history::History;

use super::error::UsageError;
use super::observer::Observer;
use super::results::figures::{self, RunsWithoutFigures};
use super::results::user_data::open_store_to_read;

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
    let RunsWithoutFigures { mut unkept, without } = figures::complete(&mut store, observer)?;
    let mut known: BTreeSet<String> = store.cases()?.into_iter().collect();
    known.extend(unkept.iter().flat_map(|run| &run.summary.figures).map(|it| it.case.clone()));
    let known: Vec<String> = known.into_iter().collect();
    let wanted = selector::cases(&known, &selectors)?;
    unkept.iter_mut().for_each(|run| run.summary.figures.retain(|it| wanted.contains(&it.case)));
    let mut kept = store.figures(figures::SUMMARY_RULES, &|case| wanted.contains(case))?;
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
    }
    Ok(found)
}
