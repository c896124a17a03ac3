//! Prices that a bill lacks, measured beside the trials of its program: an ordinary short run.

use std::slice;
use std::time::{Duration, Instant};

use oscost_model::bill::{MeasuredPairs, MeasuredPrices};
use oscost_model::case::Case;
use oscost_model::cool::LAST_LEVEL_WALK_BYTES;
use oscost_model::definition::Extent;
use oscost_model::program_calls::ProgramCalls;
use oscost_model::record::{Record, RowOutcome};

use super::price_run::{OVERHEAD, PricedCases, PricedTarget, pair_run, price_run};
use super::retention::CompletedRun;
use crate::app::observer::Observer;
use crate::app::results::prices::{PairKind, PriceRuns};
use crate::bill::{Faults, LackingPrice, lacking_prices, large_prices};
use crate::hosts::Session;
use crate::plan;

mod ended_run;

use ended_run::{EndedRun, Failure};

/// What six repetitions of a row take: a hundred rows have 15 s in a quick run.
const ROW_TIME: Duration = Duration::from_millis(150);
/// The part of the time for prices that the pairs of one kind may take beside it.
const PAIR_SHARE: f64 = 0.5;
/// What eight pairs of two rows take, with their pilots.
const PAIR_TIME: Duration = Duration::from_millis(800);
/// The same after a walk of some milliseconds.
const LONG_PAIR_TIME: Duration = Duration::from_millis(1_800);
/// What a short comparison takes beside the pairs that it is for: as a run, with pairs of the reference
/// cases, and the control.
const PAIR_OVERHEAD: Duration = Duration::from_secs(6);

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

/// A program whose prices are measured.
#[derive(Clone, Copy)]
pub(crate) struct PricedProgram<'a> {
    /// What it did.
    pub(crate) calls: &'a ProgramCalls,
    pub(crate) faults: Faults,
    /// Whether its large prices are measured beside its trials, whatever runs have them.
    pub(crate) renews_prices: bool,
}

/// A price that is to be measured.
struct WantedPrice {
    price: LackingPrice,
    /// Whether a run has it that was not measured for this bill.
    is_renewed: bool,
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
    pairs: Vec<MeasuredPairs>,
    is_over: bool,
}

/// The cases of a stage.
struct StageCases {
    cases: Vec<Case>,
    /// How many more are measured in a later stage.
    later: usize,
}

/// Pairs that the largest items of a bill lack.
pub(crate) struct WantedPairs {
    pub(crate) kind: PairKind,
    /// The bytes of a walk.
    pub(crate) walk_bytes: u64,
    /// Those of the largest item first.
    pub(crate) cases: Vec<Case>,
}

/// The prices of a bill.
pub(crate) struct BillPrices {
    /// The runs that have them.
    pub(crate) runs: PriceRuns,
    /// What was measured for the bill; `None` if nothing was.
    pub(crate) measured: Option<MeasuredPrices>,
    /// The pairs of rows that were.
    pub(crate) pairs: Vec<MeasuredPairs>,
}

impl BillPrices {
    /// Whether the user has interrupted their measurement.
    pub(crate) fn were_interrupted(&self) -> bool {
        self.measured.as_ref().is_some_and(|it| it.interrupted)
            || self.pairs.iter().any(|it| it.interrupted)
    }
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
            pairs: Vec::new(),
            is_over: false,
        }
    }

    /// The runs that have the prices so far.
    pub(crate) fn runs(&self) -> &PriceRuns {
        &self.runs
    }

    /// Where the prices are paid.
    pub(crate) fn target(&self) -> PricedTarget<'a> {
        self.at
    }

    /// The prices, those that were measured first.
    pub(crate) fn into_prices(self) -> BillPrices {
        BillPrices { runs: self.runs, measured: self.measured, pairs: self.pairs }
    }

    /// Measures what the runs lack of the prices of a program, as far as it matters, then its large prices
    /// again, as far as there is time, and keeps the run.
    pub(crate) fn measure(
        &mut self,
        session: &mut dyn Session,
        program: PricedProgram<'_>,
        stage: PriceStage,
    ) -> PriceOutcome {
        let left = self.limit.saturating_sub(self.spent);
        // The first run has what time there is; another one needs enough for its own overhead.
        let has_time = !left.is_zero() && (self.spent.is_zero() || left > OVERHEAD);
        if self.is_over || !has_time {
            return PriceOutcome::NothingToMeasure;
        }
        let StageCases { cases, later } = self.cases(&self.wanted(program, left), stage, left);
        if cases.is_empty() {
            return PriceOutcome::NothingToMeasure;
        }
        let limit = stage_time(left, cases.len(), later);
        let prices = if cases.len() == 1 { "price" } else { "prices" };
        let at_most_s = limit.max(OVERHEAD).as_secs_f64().ceil();
        let more = if self.run_ids.is_empty() { "" } else { " more" };
        let activity = format!("measuring {}{more} {prices}: at most {at_most_s} s", cases.len());
        self.observer.finished();
        self.observer.status(&activity);
        self.tried.extend(cases.iter().cloned());
        let started = Instant::now();
        // What a function adds is known of another minute, as the price was.
        let has_function = |case: &&Case| self.runs.has_pair(PairKind::Function, case, 0);
        let through_functions = cases.iter().filter(has_function).cloned().collect();
        let priced = PricedCases { cases: cases.clone(), through_functions };
        let ended = price_run(session, self.at, priced, limit, self.observer);
        self.spent += started.elapsed();
        self.note(&cases, ended, stage)
    }

    /// The prices of a program that are to be measured: those that no run has, then those that no run of this
    /// bill has.
    fn wanted(&self, program: PricedProgram<'_>, left: Duration) -> Vec<WantedPrice> {
        let PricedProgram { calls, faults, renews_prices } = program;
        let catalog = self.at.catalog;
        let known = self.runs.price_list(catalog);
        let lacking =
            lacking_prices(calls, faults, &self.runs.current_prices(catalog), &known, catalog);
        let renewed = match renews_prices && left > OVERHEAD {
            true => {
                let fresh = self.runs.prices_of(&self.run_ids, catalog);
                large_prices(calls, faults, &fresh, &known, catalog)
            }
            false => Vec::new(),
        };
        let wanted = |is_renewed| move |price: LackingPrice| WantedPrice { price, is_renewed };
        let all = lacking.into_iter().map(wanted(false));
        let mut all: Vec<WantedPrice> = all.chain(renewed.into_iter().map(wanted(true))).collect();
        if self.runs.are_under_treatments() {
            all.retain(|it| !it.price.is_of_range); // There are no cool prices.
        }
        all
    }

    /// Measures pairs of these cases, as many as there is time for, and keeps the run.
    pub(crate) fn measure_pairs(&mut self, session: &mut dyn Session, wanted: WantedPairs) {
        let limit = self.limit.mul_f64(PAIR_SHARE);
        let WantedPairs { kind, walk_bytes, mut cases } = wanted;
        if self.is_over || limit <= PAIR_OVERHEAD || cases.is_empty() {
            return;
        }
        let for_pairs = (limit - PAIR_OVERHEAD).as_secs_f64();
        let pair_time =
            if walk_bytes == LAST_LEVEL_WALK_BYTES { LONG_PAIR_TIME } else { PAIR_TIME };
        cases.truncate((for_pairs / pair_time.as_secs_f64()).ceil() as usize);
        self.sort_by_catalog(&mut cases);
        let added_by = match kind {
            PairKind::Function => "a function around each call",
            PairKind::Walk => "a walk through memory",
        };
        let count = cases.len();
        let prices = if count == 1 { "price" } else { "prices" };
        let at_most_s = limit.as_secs_f64().ceil();
        self.observer.finished();
        self.observer.status(&format!(
            "measuring what {added_by} adds to {count} {prices}: at most {at_most_s} s"
        ));
        let started = Instant::now();
        let sides = kind.sides(walk_bytes);
        let [_, with] = &sides;
        let treatment = with.text.clone();
        let ended = pair_run(session, self.at, sides, &cases, limit, self.observer);
        let EndedRun { record, interrupted, mut failure } = EndedRun::of(ended);
        if let Some(record) = record {
            let unused = self.runs.add_pairs(&record, self.at.machine, &self.run_ids);
            let why = (!unused.is_empty()).then(|| unused.join("; "));
            failure = failure.or(why.map(|text| Failure { text, is_of_session: false }));
        }
        self.is_over = interrupted || failure.as_ref().is_some_and(|it| it.is_of_session);
        cases.retain(|case| self.runs.has_pair(kind, case, walk_bytes));
        self.pairs.push(MeasuredPairs {
            treatment,
            cases: cases.iter().map(Case::to_string).collect(),
            seconds: started.elapsed().as_secs_f64(),
            limit_seconds: limit.as_secs_f64(),
            interrupted,
            failure: failure.map(|failure| failure.text),
        });
    }

    fn sort_by_catalog(&self, cases: &mut [Case]) {
        let benchmarks = &self.at.catalog.benchmarks;
        cases.sort_by_key(|case| benchmarks.iter().position(|it| it.id == case.benchmark));
    }

    /// The cases whose rows have these prices, as many as there is time for, in the order of
    /// the catalog. Those of a later stage have a place in the same order of weights.
    fn cases(&self, wanted: &[WantedPrice], stage: PriceStage, left: Duration) -> StageCases {
        let mut found: Vec<Case> = Vec::new();
        let mut of_later_stage: Vec<Case> = Vec::new();
        for WantedPrice { price, is_renewed } in wanted {
            let selectors = slice::from_ref(&price.selector);
            // A selector that the catalog does not have prices nothing, and its items say so.
            let Ok(named) = plan::select(self.at.catalog, selectors, Extent::Default) else {
                continue;
            };
            let mut cases = price.usual_cases(named, self.at.catalog);
            cases.retain(|case| !self.tried.contains(case) && !self.runs.is_refused(case));
            let is_there = |case: &Case| match is_renewed {
                true => self.runs.have_measured(&self.run_ids, case),
                false => self.runs.has_measured(case),
            };
            if cases.iter().all(is_there) {
                continue;
            }
            cases.retain(|case| !found.contains(case) && !of_later_stage.contains(case));
            let is_later = stage == PriceStage::BetweenTrials && price.writes_journal();
            let has_two_runs = match is_later {
                true => !found.is_empty(),
                false => !of_later_stage.is_empty(),
            };
            let chosen = found.len() + of_later_stage.len();
            if chosen > 0 && chosen + cases.len() > most_rows(left, has_two_runs) {
                // Without time for a second run the first one has all of it.
                if is_later {
                    continue;
                }
                break;
            }
            match is_later {
                true => of_later_stage.extend(cases),
                false => found.extend(cases),
            }
        }
        self.sort_by_catalog(&mut found);
        StageCases { cases: found, later: of_later_stage.len() }
    }

    /// Takes the rows of a run that has ended, and notes how it ended.
    fn note(
        &mut self,
        cases: &[Case],
        ended: anyhow::Result<CompletedRun>,
        stage: PriceStage,
    ) -> PriceOutcome {
        let mut found: Vec<String> = Vec::new();
        let EndedRun { record, interrupted, mut failure } = EndedRun::of(ended);
        if let Some(record) = record {
            let mut priced: Vec<&Case> =
                cases.iter().filter(|case| self.has_price(&record, case)).collect();
            let id = record.id.clone();
            // If these are stale, so are its prices.
            self.runs.add_pairs(&record, self.at.machine, &self.run_ids);
            let stale = self.runs.add(record, self.at.machine, &self.run_ids);
            if !stale.is_empty() {
                // What an earlier run has is charged by that.
                let count = priced.len();
                priced.retain(|case| !self.runs.has_measured(case));
                let why = (priced.len() < count).then(|| stale.join("; "));
                failure = failure.or(why.map(|text| Failure { text, is_of_session: false }));
            }
            found.extend(priced.into_iter().map(Case::to_string));
            self.run_ids.push(id);
        }
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

/// How many rows there is time for in one run, or in two.
fn most_rows(left: Duration, has_two_runs: bool) -> usize {
    let overhead = if has_two_runs { OVERHEAD * 2 } else { OVERHEAD };
    (left.saturating_sub(overhead).as_secs_f64() / ROW_TIME.as_secs_f64()) as usize
}

/// The time of a stage with so many rows: that of a later stage, whose rows may be heavier, is not used
/// up. All rows have the same part of what both runs leave.
fn stage_time(left: Duration, now: usize, later: usize) -> Duration {
    if later == 0 {
        return left;
    }
    let for_rows = left.saturating_sub(OVERHEAD * 2);
    OVERHEAD + for_rows.mul_f64(now as f64 / (now + later) as f64)
}

#[cfg(test)]
mod tests;
