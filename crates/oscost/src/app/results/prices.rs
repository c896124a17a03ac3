//! The runs whose rows are prices.

use std::collections::BTreeMap;

use oscost_model::case::Case;
use oscost_model::counters::GHZ;
use oscost_model::definition::Catalog;
use oscost_model::program_calls::ProgramCalls;
use oscost_model::raw_call::RawCall;
use oscost_model::record::{Machine, Record, Row, RowOutcome, TargetInfo};
use oscost_stats::order;

use super::records::{EstimatedRun, RecordReader, estimated};
use super::user_data::existing_store;
use crate::advice::record_trust::price_doubt;
use crate::advice::trust::Trust;
use crate::app::error::UsageError;
use crate::bill::{
    Charges, CoolPrices, FunctionPrices, PriceList, PriceRatios, is_of_this_revision, is_old,
    is_void, moved_reference_case, size_axis_of,
};
use crate::plan::REFERENCE_CASES;

mod lacking_pairs;
mod outdated;
mod pair_kind;
mod pairs;
mod passed_over;
mod run_state;
mod sources;
mod unmeasured;

pub(crate) use lacking_pairs::PairSources;
pub(crate) use outdated::minute_of;
pub(crate) use pair_kind::{PairKind, PairTreatment};
pub(crate) use run_state::age;

use outdated::OutdatedRun;
use pairs::{RefusedPair, has_raw_calls, pairs_of, refused_pairs};
use run_state::{is_price, machine_of, stale_reasons, state_reasons};
use unmeasured::{UnmeasuredRow, pricing_cases};

/// Of more runs than these no pairs are taken.
const MAX_PAIR_RUNS: usize = 30;
/// More stored runs than these are not looked at. A run measures a hundred cases, or the few prices or
/// pairs that a bill lacked.
const MAX_LOOKED_AT: usize = 60;

/// Runs with prices.
pub(crate) struct PriceRuns {
    /// Where, and under exactly which treatments, a program pays these prices.
    target: TargetInfo,
    /// The records of runs whose prices are those of the machine as it is now, the first choice
    /// first.
    current: Vec<Record>,
    /// Runs that price what those do not have, the first choice first.
    outdated: Vec<OutdatedRun>,
    /// What was timed alone there, after a walk through memory or without one, and what has its raw
    /// calls in the loop or through a function, the newest run first. Under treatments there is none:
    /// what a walk or a function adds to them is not known.
    pairs: Vec<Record>,
    /// Pairs that current runs have tried in vain, the last attempt first.
    refused_pairs: Vec<RefusedPair>,
    /// Rows that current runs have tried in vain, the last attempt first.
    unmeasured: Vec<UnmeasuredRow>,
    /// What is doubtful about all prices of a run, by its id; nothing of others.
    doubts: BTreeMap<String, Trust>,
    /// Whether they are those of one run that was named, so that no other one is asked.
    is_of_named_run: bool,
}

/// The runs that price on a machine: the one that is named, or the newest of the store on that
/// machine and, for what it lacks, those before it that are as recent. Prices are rows under exactly
/// the treatments of the target, of the revisions of benchmarks that this catalog has.
pub(crate) fn price_runs(
    name: Option<&str>,
    target: &TargetInfo,
    machine: &Machine,
    catalog: &Catalog,
) -> anyhow::Result<PriceRuns> {
    let Some(name) = name else { return stored_runs(target, machine, catalog) };
    let record = named_run(name, &target.treatments)?;
    let mut runs = PriceRuns { is_of_named_run: true, ..PriceRuns::of(target) };
    runs.note_doubt(&record);
    let is_void = is_void(&record);
    runs.pairs.extend(pairs_of(&record, &target.treatments, is_void));
    runs.refused_pairs = refused_pairs(&record, &target.host, age(&record.started), is_void);
    match stale_reasons(&record, machine, &target.treatments) {
        reasons if reasons.is_empty() => runs.current.push(record),
        reasons => runs.outdated.push(OutdatedRun { record, reasons }),
    }
    Ok(runs)
}

/// The run of this name, which has prices under exactly these treatments.
pub(crate) fn named_run(name: &str, treatments: &[String]) -> anyhow::Result<Record> {
    let record = RecordReader::new("read prices of").read(name, false)?.record;
    if !record.results.iter().any(|row| is_price(row, treatments)) {
        let under = match treatments {
            [] => "without a treatment".to_owned(),
            listed => format!("under {}", listed.join("+")),
        };
        let what = format!(
            "cannot bill by run `{}`: none of its rows is a price {under}",
            name.escape_debug()
        );
        return Err(UsageError::with_hint(&what, "`oscost runs list` names others").into());
    }
    Ok(record)
}

/// The newest runs of a machine in the store, each with its rows of that target alone. One that is
/// outdated is used if it is the newest of all, or if it is of the machine as it is now and only
/// reference cases moved in it or since: a price that is told to be stale is better than none.
fn stored_runs(
    target: &TargetInfo,
    machine: &Machine,
    catalog: &Catalog,
) -> anyhow::Result<PriceRuns> {
    let mut runs = PriceRuns::of(target);
    let Some(store) = existing_store()? else { return Ok(runs) };
    let listed = store.list()?.into_iter().filter(|it| !it.imported);
    for listing in listed.take(MAX_LOOKED_AT) {
        if !runs.is_empty() && age(&listing.started).is_some_and(is_old) {
            break; // And so are those before it.
        }
        // One that is damaged has no prices; `oscost runs show` says why.
        let Ok(run) = estimated(&store, &listing.id) else { continue };
        let EstimatedRun { mut record, is_void } = run;
        runs.note_doubt(&record);
        record.results.retain(|row| is_of_this_revision(row, catalog));
        let pairs = pairs_of(&record, &target.treatments, is_void);
        let refused = refused_pairs(&record, &target.host, age(&record.started), is_void);
        let NewRun { record, unmeasured } = NewRun::of(record, target);
        let is_of_here = machine_of(&record, &target.treatments)
            .is_some_and(|it| it.cpu.model_name == machine.cpu.model_name);
        if !is_of_here {
            continue;
        }
        if let Some(mut pairs) = pairs.filter(|_| runs.pairs.len() < MAX_PAIR_RUNS) {
            pairs.results.retain(|row| row.target.host == target.host);
            runs.pairs.iter().for_each(|newer| leave_out_moved(&mut pairs, newer));
            let is_usable = stale_reasons(&pairs, machine, &target.treatments).is_empty();
            runs.pairs.extend(Some(pairs).filter(|it| is_usable && !it.results.is_empty()));
        }
        runs.take_older(NewRun { record, unmeasured }, refused, machine);
    }
    Ok(runs)
}

/// A run with its prices of one target alone, and its rows of it that have none.
struct NewRun {
    record: Record,
    unmeasured: Vec<UnmeasuredRow>,
}

impl NewRun {
    fn of(mut record: Record, target: &TargetInfo) -> Self {
        let is_here = |row: &Row| {
            row.target.host == target.host && row.target.treatments == target.treatments
        };
        let here = record.results.iter().filter(|row| is_here(row));
        let age = age(&record.started);
        let unmeasured = here.filter_map(|row| UnmeasuredRow::of(row, age)).collect();
        record.results.retain(|row| is_price(row, &target.treatments) && is_here(row));
        Self { record, unmeasured }
    }
}

impl PriceRuns {
    /// None yet, for this target.
    fn of(target: &TargetInfo) -> Self {
        Self {
            target: target.clone(),
            current: Vec::new(),
            outdated: Vec::new(),
            pairs: Vec::new(),
            refused_pairs: Vec::new(),
            unmeasured: Vec::new(),
            doubts: BTreeMap::new(),
            is_of_named_run: false,
        }
    }

    /// Notes what is doubtful about all prices of a run, by its whole record.
    fn note_doubt(&mut self, record: &Record) {
        if let Some(doubt) = price_doubt(record) {
            self.doubts.insert(record.id.clone(), doubt);
        }
    }

    /// Whether there is no price at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.current.is_empty() && self.outdated.is_empty()
    }

    /// Whether they are prices under treatments.
    pub(crate) fn are_under_treatments(&self) -> bool {
        !self.target.treatments.is_empty()
    }

    /// All of its prices: those that are outdated where there is no other.
    pub(crate) fn price_list<'a>(&'a self, catalog: &Catalog) -> PriceList<'a> {
        let outdated = self.outdated.iter().map(|it| &it.record);
        let outdated = PriceList::under(&self.target.treatments, outdated, catalog);
        self.current_prices(catalog).with_others(outdated)
    }

    /// The same in instructions of the kernel.
    pub(crate) fn instruction_list<'a>(&'a self, catalog: &Catalog) -> PriceList<'a> {
        let treatments = &self.target.treatments;
        let outdated = self.outdated.iter().map(|it| &it.record);
        let outdated = PriceList::of_kernel_instructions(treatments, outdated, catalog);
        PriceList::of_kernel_instructions(treatments, &self.current, catalog).with_others(outdated)
    }

    /// The cycles in a nanosecond of CPU time of their rows, the median; `None` where none was counted.
    pub(crate) fn cycles_per_ns(&self) -> Option<f64> {
        let rows = self.current.iter().flat_map(|record| &record.results);
        let counted = rows.filter_map(|row| row.metrics.get(GHZ));
        let mut values: Vec<f64> = counted.map(|metric| metric.estimate.median).collect();
        order::median_in_place(&mut values)
    }

    /// Those that are not outdated.
    pub(crate) fn current_prices<'a>(&'a self, catalog: &Catalog) -> PriceList<'a> {
        PriceList::under(&self.target.treatments, &self.current, catalog)
    }

    /// The cool prices beside these, by walks of about so many bytes.
    pub(crate) fn cool_prices<'a>(
        &'a self,
        catalog: &Catalog,
        list: &PriceList<'_>,
        walk_bytes: u64,
    ) -> CoolPrices<'a> {
        CoolPrices::new(&self.pairs, catalog, list, walk_bytes)
    }

    /// What a function around each call adds to these.
    pub(crate) fn function_prices<'a>(
        &'a self,
        catalog: &Catalog,
        list: &PriceList<'_>,
    ) -> FunctionPrices<'a> {
        FunctionPrices::new(&self.pairs, catalog, list)
    }

    /// Those of the current runs with these ids.
    pub(crate) fn prices_of<'a>(&'a self, ids: &[String], catalog: &Catalog) -> PriceList<'a> {
        let runs = self.current.iter().filter(|record| ids.contains(&record.id));
        PriceList::under(&self.target.treatments, runs, catalog)
    }

    /// Whether a current run has a figure of a case.
    pub(crate) fn has_measured(&self, case: &Case) -> bool {
        self.current.iter().any(|record| has_figure(record, case))
    }

    /// The same of the current runs with these ids.
    pub(crate) fn have_measured(&self, ids: &[String], case: &Case) -> bool {
        self.current.iter().any(|record| ids.contains(&record.id) && has_figure(record, case))
    }

    /// Whether a current run has shown that a case cannot be measured here. Too much disturbance is
    /// no reason not to try again later.
    pub(crate) fn is_refused(&self, case: &Case) -> bool {
        let mut tried = self.unmeasured.iter().filter(|it| it.is_final());
        !self.has_measured(case) && tried.any(|it| it.case == *case)
    }

    /// Takes a run that is older than those before it, as far as it can price.
    fn take_older(&mut self, run: NewRun, refused: Vec<RefusedPair>, machine: &Machine) {
        let NewRun { record, unmeasured } = run;
        let treatments = &self.target.treatments;
        let is_of_other_state = !state_reasons(&record, machine, treatments).is_empty();
        let mut reasons = stale_reasons(&record, machine, treatments);
        if reasons.is_empty() {
            self.unmeasured.extend(unmeasured);
            self.refused_pairs.extend(refused);
            reasons.extend(self.moved_since(&record));
        }
        if record.results.is_empty() {
            return;
        }
        if reasons.is_empty() {
            self.current.push(record);
        } else if self.is_empty() || !is_of_other_state {
            self.outdated.push(OutdatedRun { record, reasons });
        }
    }

    /// Why newer runs show that the prices of this one are not those of the machine now, if they do: any of
    /// them by its reference cases, the newest one that has enough of the same prices by these.
    fn moved_since(&self, before: &Record) -> Option<String> {
        let treatments = &self.target.treatments;
        let moved = |now| moved_reference_case(before, now, &REFERENCE_CASES, treatments);
        let again = |now| PriceRatios::of(before, now, treatments);
        self.current.iter().find_map(moved).or_else(|| {
            let newest = self.current.iter().find_map(again);
            newest.and_then(PriceRatios::why_moved)
        })
    }

    /// Adds a run that has just been measured as the first choice. Runs before it in which the reference
    /// cases, or the prices that it has as well, took another time are outdated by it, but for those of the
    /// same bill: their prices are of the minutes of its trials. Returns why it is outdated itself; nothing if
    /// it is not.
    pub(crate) fn add(
        &mut self,
        record: Record,
        machine: &Machine,
        same_bill: &[String],
    ) -> Vec<String> {
        self.note_doubt(&record);
        let treatments = &self.target.treatments;
        let NewRun { record, unmeasured } = NewRun::of(record, &self.target);
        let before = std::mem::replace(&mut self.unmeasured, unmeasured);
        self.unmeasured.extend(before);
        if record.results.is_empty() {
            return Vec::new();
        }
        let reasons = stale_reasons(&record, machine, treatments);
        if !reasons.is_empty() {
            self.outdated.insert(0, OutdatedRun { record, reasons: reasons.clone() });
            return reasons;
        }
        let earlier = std::mem::replace(&mut self.current, vec![record]);
        let (mut unmoved, mut outdated) = (Vec::new(), Vec::new());
        for before in earlier {
            match self.moved_since(&before).filter(|_| !same_bill.contains(&before.id)) {
                Some(reason) => {
                    outdated.push(OutdatedRun { record: before, reasons: vec![reason] });
                }
                None => unmoved.push(before),
            }
        }
        self.current.append(&mut unmoved);
        outdated.append(&mut self.outdated);
        self.outdated = outdated;
        Vec::new()
    }

    /// Adds a run that has just measured pairs as the first choice. Runs before it whose calls through a
    /// function took another time are left out, but for those of the same bill. Returns why its rows are not
    /// used; nothing if they are.
    pub(crate) fn add_pairs(
        &mut self,
        record: &Record,
        machine: &Machine,
        same_bill: &[String],
    ) -> Vec<String> {
        let reasons = stale_reasons(record, machine, &self.target.treatments);
        if !reasons.is_empty() {
            return reasons;
        }
        self.note_doubt(record);
        let host = &self.target.host;
        let before = std::mem::take(&mut self.refused_pairs);
        let is_void = is_void(record);
        self.refused_pairs = refused_pairs(record, host, age(&record.started), is_void);
        self.refused_pairs.extend(before);
        if let Some(pairs) = pairs_of(record, &self.target.treatments, is_void) {
            for before in self.pairs.iter_mut().filter(|it| !same_bill.contains(&it.id)) {
                leave_out_moved(before, &pairs);
            }
            self.pairs.retain(|it| !it.results.is_empty());
            self.pairs.insert(0, pairs);
        }
        Vec::new()
    }

    /// Says of items without a price why their cases could not be measured, where a run has tried
    /// one that would price these calls. Such a case is not one that a run would measure.
    pub(crate) fn explain_missing(
        &self,
        charges: &mut Charges,
        calls: &ProgramCalls,
        catalog: &Catalog,
    ) {
        for item in charges.items.iter_mut().filter(|item| item.amount.is_none()) {
            let Some(case) = item.case.as_deref() else { continue };
            let usual = pricing_cases(case, size_axis_of(item, calls), catalog);
            let mut unmeasured = self.unmeasured.iter();
            let Some(tried) = unmeasured.find(|it| usual.contains(&it.case)) else { continue };
            item.missing = Some(tried.text());
            if tried.outcome != RowOutcome::Unmeasurable {
                charges.missing.retain(|missing| missing != case);
            }
        }
    }

    /// Whether a run has a price of a case.
    fn has_price(&self, run: &Record, case: &str) -> bool {
        let treatments = &self.target.treatments;
        run.results.iter().any(|row| row.case == case && is_price(row, treatments))
    }
}

/// Leaves the pairs of functions out of a run if calls through one took another time in a newer run of such
/// pairs. What a change was compared with through a function is none.
fn leave_out_moved(before: &mut Record, now: &Record) {
    let [inline, function] = RawCall::ALL.map(|how| [how.treatment_text()]);
    let has_pairs =
        |record: &Record| record.results.iter().any(|it| it.target.treatments == inline);
    if !has_pairs(before) || !has_pairs(now) {
        return;
    }
    let again = PriceRatios::of(before, now, &function);
    if again.and_then(PriceRatios::why_moved).is_some() {
        before.results.retain(|row| !has_raw_calls(row));
    }
}

/// Whether a run has a figure of a case.
fn has_figure(record: &Record, case: &Case) -> bool {
    let mut rows = record.results.iter();
    rows.any(|row| row.benchmark == case.benchmark && row.point == case.point)
}

#[cfg(test)]
mod tests;
