//! Prices that a bill lacks, measured beside the trials of its program: an ordinary short run.

use std::slice;
use std::time::{Duration, Instant};

use oscost_model::bill::MeasuredPrices;
use oscost_model::case::Case;
use oscost_model::definition::{Catalog, Extent};
use oscost_model::program_calls::ProgramCalls;
use oscost_model::record::{Machine, Record, RowOutcome, Settings};

use super::predictions::predictions_for;
use super::retention::{CompletedRun, Completion, Retention, observe};
use super::run_header::{fresh_seed, run_header};
use crate::app::observer::Observer;
use crate::app::results::prices::PriceRuns;
use crate::app::selection::named_rows::NamedRows;
use crate::app::selection::programs::{Effort, trial_budget};
use crate::bill::{Faults, LackingPrice, lacking_prices};
use crate::hosts::{HostError, Session};
use crate::plan::{self, ComparedTarget};
use crate::run::{self, EventCounting, Profile, RunError};

/// What a short run takes beside its rows: a probe of the CPUs, calibrations, the reference cases.
const OVERHEAD: Duration = Duration::from_secs(4);
/// What six repetitions of a row take: a hundred rows have 15 s in a quick run.
const ROW_TIME: Duration = Duration::from_millis(150);

/// Where the prices are measured that a bill needs, and under which treatments.
pub(crate) struct PricedTarget<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) side: &'a ComparedTarget,
    pub(crate) machine: &'a Machine,
}

/// When prices are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PriceStage {
    /// Between two blocks of trials of the program: nothing that would disturb them.
    BetweenTrials,
    /// After all of them.
    AfterTrials,
}

/// What came of an attempt to measure prices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PriceOutcome {
    /// Nothing was to be measured.
    NothingToMeasure,
    /// A run has measured, or failed by itself.
    RunEnded,
    /// The user interrupted it, or the session failed: nothing can be measured any more.
    SessionOver,
}

/// The measurement of prices for a bill, in the time that it has.
pub(crate) struct PriceMeasurement<'a> {
    at: PricedTarget<'a>,
    observer: &'a dyn Observer,
    runs: PriceRuns,
    limit: Duration,
    spent: Duration,
    tried: Vec<Case>,
    /// The ids of the runs so far.
    run_ids: Vec<String>,
    measured: Option<MeasuredPrices>,
    is_over: bool,
}

/// The prices of a bill.
pub(crate) struct BillPrices {
    /// The runs that have them.
    pub(crate) runs: PriceRuns,
    /// What was measured for the bill; `None` if nothing was.
    pub(crate) measured: Option<MeasuredPrices>,
}

impl<'a> PriceMeasurement<'a> {
    /// A measurement of what these runs lack; without any time, of nothing.
    pub(crate) fn new(
        at: PricedTarget<'a>,
        runs: PriceRuns,
        limit: Duration,
        observer: &'a dyn Observer,
    ) -> Self {
        Self {
            at,
            observer,
            runs,
            limit,
            spent: Duration::ZERO,
            tried: Vec::new(),
            run_ids: Vec::new(),
            measured: None,
            is_over: false,
        }
    }

    /// The prices, those that were measured first.
    pub(crate) fn into_prices(self) -> BillPrices {
        BillPrices { runs: self.runs, measured: self.measured }
    }

    /// Measures what the runs lack of the prices of a program that did this, as far as it matters
    /// and there is time, and keeps the run.
    pub(crate) fn measure(
        &mut self,
        session: &mut dyn Session,
        calls: &ProgramCalls,
        faults: Faults,
        stage: PriceStage,
    ) -> PriceOutcome {
        let left = self.limit.saturating_sub(self.spent);
        // The first run has what time there is; another one needs enough for its own overhead.
        let has_time = !left.is_zero() && (self.spent.is_zero() || left > OVERHEAD);
        if self.is_over || !has_time {
            return PriceOutcome::NothingToMeasure;
        }
        let catalog = self.at.catalog;
        let lacking = {
            let current = self.runs.current_prices(catalog);
            lacking_prices(calls, faults, &current, &self.runs.price_list(catalog), catalog)
        };
        let cases = self.cases(&lacking, stage, left);
        if cases.is_empty() {
            return PriceOutcome::NothingToMeasure;
        }
        let prices = if cases.len() == 1 { "price" } else { "prices" };
        let at_most_s = left.max(OVERHEAD).as_secs_f64().ceil();
        let activity = format!("measuring {} {prices}: at most {at_most_s} s", cases.len());
        self.observer.finished();
        self.observer.status(&activity);
        self.tried.extend(cases.iter().cloned());
        let started = Instant::now();
        let ended = price_run(session, &self.at, cases.clone(), left, self.observer);
        self.spent += started.elapsed();
        self.note(&cases, ended, stage)
    }

    /// The cases whose rows price what is lacking, as many as there is time for, in the order of
    /// the catalog.
    fn cases(&self, lacking: &[LackingPrice], stage: PriceStage, left: Duration) -> Vec<Case> {
        let for_rows = left.saturating_sub(OVERHEAD).as_secs_f64();
        let most = (for_rows / ROW_TIME.as_secs_f64()) as usize;
        let mut found: Vec<Case> = Vec::new();
        for price in lacking {
            if stage == PriceStage::BetweenTrials && price.writes_journal() {
                continue;
            }
            let selectors = slice::from_ref(&price.selector);
            // A selector that the catalog does not have prices nothing, and its items say so.
            let Ok(named) = plan::select(self.at.catalog, selectors, Extent::Default) else {
                continue;
            };
            let mut cases = price.usual_cases(named, self.at.catalog);
            cases.retain(|case| !self.tried.contains(case) && !self.runs.is_refused(case));
            if cases.iter().all(|case| self.runs.has_measured(case)) {
                continue;
            }
            cases.retain(|case| !found.contains(case));
            if !found.is_empty() && found.len() + cases.len() > most {
                break;
            }
            found.extend(cases);
        }
        let benchmarks = &self.at.catalog.benchmarks;
        found.sort_by_key(|case| benchmarks.iter().position(|it| it.id == case.benchmark));
        found
    }

    /// Takes the rows of a run that has ended, and notes how it ended.
    fn note(
        &mut self,
        cases: &[Case],
        ended: anyhow::Result<CompletedRun>,
        stage: PriceStage,
    ) -> PriceOutcome {
        let mut found: Vec<String> = Vec::new();
        let (interrupted, failure) = match ended {
            Ok(CompletedRun { record, ended, .. }) => {
                let priced = cases.iter().filter(|case| self.has_price(&record, case));
                found.extend(priced.map(Case::to_string));
                let id = record.id.clone();
                self.runs.add(record, self.at.machine, &self.run_ids);
                self.run_ids.push(id);
                match ended {
                    Ok(Completion::Interrupted) => (true, None),
                    Ok(Completion::Complete | Completion::WithFailures) => (false, None),
                    Err(error) => of_error(&error),
                }
            }
            Err(error) => match error.downcast_ref::<RunError>() {
                Some(error) => of_error(error),
                None => (false, Some(Failure { text: format!("{error:#}"), is_of_session: false })),
            },
        };
        let is_of_session = failure.as_ref().is_some_and(|failure| failure.is_of_session);
        self.is_over = interrupted || is_of_session;
        let measured = self.measured.get_or_insert_with(|| MeasuredPrices {
            cases: Vec::new(),
            seconds: 0.0,
            limit_seconds: self.limit.as_secs_f64(),
            interrupted: false,
            block_missing: false,
            failure: None,
        });
        measured.cases.extend(found);
        measured.seconds = self.spent.as_secs_f64();
        measured.interrupted = interrupted;
        measured.block_missing = self.is_over && stage == PriceStage::BetweenTrials;
        measured.failure = failure.map(|failure| failure.text).or(measured.failure.take());
        match self.is_over {
            true => PriceOutcome::SessionOver,
            false => PriceOutcome::RunEnded,
        }
    }

    /// Whether a run has the price of a case.
    fn has_price(&self, record: &Record, case: &Case) -> bool {
        record.results.iter().any(|row| {
            row.outcome == RowOutcome::Measured
                && row.target.treatments == self.at.side.target.treatments
                && row.benchmark == case.benchmark
                && row.point == case.point
        })
    }
}

/// Why a run failed.
struct Failure {
    text: String,
    /// Whether nothing more can be measured in its session.
    is_of_session: bool,
}

/// Whether the user interrupted a run that ended with this error, or why it failed.
fn of_error(error: &RunError) -> (bool, Option<Failure>) {
    match error {
        RunError::Host(HostError::Interrupted) => (true, None),
        other => {
            let is_of_session = matches!(other, RunError::Host(_));
            (false, Some(Failure { text: other.to_string(), is_of_session }))
        }
    }
}

/// Measures cases as `oscost run --quick` does, in a session that is open, and keeps the run.
fn price_run(
    session: &mut dyn Session,
    at: &PricedTarget<'_>,
    cases: Vec<Case>,
    limit: Duration,
    observer: &dyn Observer,
) -> anyhow::Result<CompletedRun> {
    let mut rows = plan::rows(at.catalog, cases, &at.side.target);
    let monitored = plan::has_monitor(&at.side.treatments);
    rows.iter_mut().for_each(|row| row.monitored = monitored);
    let profile = Profile::Quick;
    // The reference cases and the last calibration come after the time of the rows.
    let budget = limit.saturating_sub(OVERHEAD / 2).max(limit / 2);
    let budget_s = Some(budget.as_secs_f64());
    let settings = Settings {
        seed: fresh_seed(),
        profile: profile.text().to_owned(),
        precision_pct: profile.precision_pct(),
        nominal: profile.nominal().share(),
        budget_s,
        study: None,
        predictions: predictions_for(&rows, observer),
    };
    let hello = session.hello();
    let planned = run::Request {
        header: run_header(None, hello, settings),
        machine: at.machine.clone(),
        tracers: hello.facts.tracers.clone(),
        timers: Vec::new(),
        treatments: vec![at.side.treatments.clone(); rows.len()],
        budget: Some(budget),
        rows,
        profile,
        comparison: None,
        refine: false,
        trials: trial_budget(Effort::Quick, false, budget_s),
        skipped: Vec::new(),
        event_counting: EventCounting::InFewRounds,
        requested_cpu: None,
        peer_cpu: None,
    };
    let header = planned.header.clone();
    let retention = Retention { keep: true, raw_samples: false };
    observe(&header, retention, &NamedRows::NONE, observer, |listener| {
        run::run(session, planned, listener)
    })
}
