//! What a change would add to a billed program: the prediction, and its check.
//!
//! All predictions are made, told and kept before the first check.

use oscost_model::bill::{
    Amount, Bill, BillItem, BilledTrials, MeasuredIncrease, MissingWhatIf, OtherPrices, PriceRun,
    WhatIf,
};
use oscost_model::call_names::Arch;
use oscost_model::cool::{COOL, walk_text};
use oscost_model::definition::Extent;
use oscost_model::program::{CPU, REAL, SYSTEM};
use oscost_model::reach::Reach;
use oscost_model::record::Record;
use oscost_model::target::{Target, Treatment};

use super::check_time::check_seconds;
use super::further_change::{FurtherChange, names};
use super::increase::{ComparedProgram, measured_increase};
use super::other_prices::{self, OtherMachine};
use super::subject::BillSubject;
use super::trials::ModeTimes;
use crate::advice::record_trust::price_doubt;
use crate::advice::trust::Trust;
use crate::app::ab::{Request as ComparisonRequest, ab};
use crate::app::bills;
use crate::app::error::is_interrupted;
use crate::app::measurement::retention::{Completion, Retention};
use crate::app::measurement::run_header::timestamp;
use crate::app::observer::Observer;
use crate::app::results::added_costs::stored_added_costs;
use crate::app::results::prices::{PriceRuns, minute_of};
use crate::app::selection::effort::Effort;
use crate::app::selection::programs::ProgramRequest;
use crate::app::targets::connect::BusyPolicy;
use crate::app::targets::prepare::prepare;
use crate::bill::{
    AddedCosts, Change, Faults, Judgement, Prediction, PriceList, added_costs, is_known_to_judge,
    is_void, judge, predict, selectors_to_price, walk_between_calls,
};
use crate::hosts::WorkerBinary;
use crate::plan;
use crate::run::EventCounting;
use crate::treatments::KINDS;

/// What the answers need beside the bill.
pub(super) struct WhatIfContext<'a> {
    /// Where, and under which treatments, the program was billed.
    pub(super) base: &'a Target,
    pub(super) subject: &'a BillSubject,
    pub(super) worker: &'a WorkerBinary,
    /// The runs of the bill's prices.
    pub(super) prices: &'a PriceRuns,
    pub(super) cpu: Option<u32>,
    /// How the kernel knows the times of the program.
    pub(super) mode_times: ModeTimes,
    /// The time for the added costs of one change; 0 for those that are known.
    pub(super) price_seconds: u32,
    /// Whether predictions are checked.
    pub(super) is_checked: bool,
    /// Whether the bill is kept before that.
    pub(super) is_kept: bool,
    /// Whether the user has ended the runs of the program.
    pub(super) runs_interrupted: bool,
    /// Whether the user has ended the measurement of prices.
    pub(super) prices_interrupted: bool,
    pub(super) on_busy: BusyPolicy,
}

/// Why there is no answer.
struct Failure {
    reason: String,
    /// Whether the user has ended the measurement: then nothing else is measured.
    is_interrupt: bool,
}

impl From<String> for Failure {
    fn from(reason: String) -> Self {
        Self { reason, is_interrupt: false }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self { reason: format!("{error:#}"), is_interrupt: is_interrupted(&error) }
    }
}

impl WhatIfContext<'_> {
    /// Adds to a bill what these changes would add to it; whether the user has ended a measurement
    /// of it, or one before it.
    pub(super) fn answer(
        &self,
        bill: &mut Bill,
        changes: &[FurtherChange],
        observer: &dyn Observer,
    ) -> bool {
        // The target of each prediction.
        let mut targets: Vec<&Target> = Vec::new();
        // Who has ended its runs, or the measurement of prices, waits for no other one.
        let is_over = self.runs_interrupted || self.prices_interrupted;
        let mut interrupted = is_over.then(|| INTERRUPTED.to_owned());
        for change in changes {
            let (text, found) = match change {
                FurtherChange::Prices { text, record } => {
                    let found = self.at_other_prices(bill, record);
                    (text, found.map(|found| bill.other_prices.push(found)))
                }
                FurtherChange::Elsewhere { text, target } => {
                    let found = match &interrupted {
                        Some(reason) => Err(Failure::from(reason.clone())),
                        None => self.elsewhere(bill, target, observer),
                    };
                    (text, found.map(|found| bill.other_prices.push(found)))
                }
                FurtherChange::Treatments { text, target } => {
                    let found = match &interrupted {
                        Some(reason) => Err(Failure::from(reason.clone())),
                        None => self.predicted(bill, target, observer),
                    };
                    let found = found.map(|what_if| {
                        bill.what_if.push(what_if);
                        targets.push(target);
                    });
                    (text, found)
                }
            };
            if let Err(Failure { reason, is_interrupt }) = found {
                interrupted = interrupted.or_else(|| is_interrupt.then(|| reason.clone()));
                bill.missing_what_if.push(MissingWhatIf { change: text.clone(), reason });
            }
        }
        if !self.is_checked || targets.is_empty() {
            return interrupted.is_some();
        }
        if self.is_kept {
            bill.ended = timestamp();
            bills::keep(bill, observer);
        }
        let Bill { what_if, trials, .. } = bill;
        for (what_if, target) in what_if.iter_mut().zip(targets) {
            let checked = match &interrupted {
                Some(reason) => Err(Failure::from(reason.clone())),
                None => self.check(what_if, trials, target, observer),
            };
            if let Err(Failure { reason, is_interrupt }) = checked {
                interrupted = interrupted.or_else(|| is_interrupt.then(|| reason.clone()));
                what_if.not_measured = Some(reason);
            }
        }
        interrupted.is_some()
    }

    /// The bill at the prices of another run.
    fn at_other_prices(&self, bill: &Bill, record: &Record) -> Result<OtherPrices, Failure> {
        let counted = bill.counted.as_ref().ok_or_else(not_counted)?;
        Ok(other_prices::of_run(bill, &counted.calls, record, &self.worker.catalog))
    }

    /// The bill at the prices of another machine.
    fn elsewhere(
        &self,
        bill: &Bill,
        target: &Target,
        observer: &dyn Observer,
    ) -> Result<OtherPrices, Failure> {
        let counted = bill.counted.as_ref().ok_or_else(not_counted)?;
        let (price_seconds, on_busy) = (self.price_seconds, self.on_busy);
        let machine = OtherMachine { target, worker: self.worker, price_seconds, on_busy };
        Ok(machine.prices(bill, &counted.calls, observer)?)
    }

    /// What treatments would add: the counts of the bill times added costs that were measured within
    /// a day, or are measured now, of calls in a loop and of calls after a walk.
    fn predicted(
        &self,
        bill: &Bill,
        target: &Target,
        observer: &dyn Observer,
    ) -> Result<WhatIf, Failure> {
        let counted = bill.counted.as_ref().ok_or_else(not_counted)?;
        let catalog = &self.worker.catalog;
        let warm = self.costs_between([self.base, target], bill, observer)?;
        let walk_bytes = bill.walk_bytes.map(|all_its_memory_bytes| {
            let ns_a_call = cpu_time_ns(bill) / counted.calls.calls().max(1) as f64;
            walk_between_calls(ns_a_call, all_its_memory_bytes)
        });
        let walk_bytes = walk_bytes.filter(|_| !warm.records.is_empty());
        let cool = match walk_bytes {
            Some(walk_bytes) => {
                let [base, new] = [self.base, target].map(|target| after_walk(target, walk_bytes));
                self.cool_costs_between([&base, &new], bill, observer)?
            }
            None => MeasuredCosts::default(),
        };
        let [warm_list, cool_list] =
            [&warm, &cool].map(|costs| PriceList::of_added_costs(&costs.records, catalog));
        let costs = AddedCosts { warm: &warm_list, cool: &cool_list, reach: self.reach(target) };
        let prediction = predict(&counted.calls, Faults::of(&bill.trials), costs);
        let prediction =
            prediction.ok_or_else(|| warm.refusal.clone().unwrap_or_else(no_added_cost))?;
        let sum = prediction.added();
        let Prediction { items, warm: warm_ns, cool: cool_ns, estimated, unpriced_calls } =
            prediction;
        let has_monitor = plan::has_monitor(&prepare(target, this_arch())?.side.treatments);
        let judged_by = if has_monitor { REAL } else { SYSTEM };
        let runs: Vec<Record> = warm.records.into_iter().chain(cool.records).collect();
        let new = names(&target.treatments);
        let what_if = WhatIf {
            treatments: new.into_iter().skip(bill.treatments.len()).collect(),
            predicted_at: timestamp(),
            runs: runs.iter().map(PriceRun::of).collect(),
            predicted_real_ns: sum.clone(),
            predicted_system_ns: sum,
            warm_ns: Some(warm_ns),
            walk_bytes: walk_bytes.filter(|_| cool_ns.is_some()),
            cool_ns,
            estimated_ns: estimated,
            unpriced_calls,
            items,
            doubt: doubt_of(has_monitor, &runs),
            measured: None,
            not_measured: None,
            judged_by: judged_by.to_owned(),
            ratio: None,
            judged: None,
        };
        let Amount { ns, ci95 } = &what_if.predicted_system_ns;
        let ends = ci95.map_or(String::new(), |ends| {
            let [low, high] = ends.map(|ns| ns * 1e-6);
            format!(" [{low:.3} .. {high:.3}]")
        });
        let treatments = what_if.treatments.join("+");
        let ms = ns * 1e-6;
        observer.status(&format!("predicted under {treatments}: {ms:.3} ms{ends} are added"));
        Ok(what_if)
    }

    /// Where in a program what a target has beside the base costs time.
    fn reach(&self, target: &Target) -> Reach {
        let of = |treatment: &Treatment| match treatment.name.as_str() {
            // The walk between the ops of a comparison is in both of its sides.
            COOL => None,
            name => {
                let kind = KINDS.iter().find(|kind| kind.name == name);
                Some(kind.map_or(Reach::Anything, |kind| kind.reach))
            }
        };
        let further = target.treatments.iter().skip(self.base.treatments.len());
        further.filter_map(of).max().unwrap_or(Reach::Anything)
    }

    /// The same after a walk: without it there is a prediction by calls in a loop.
    fn cool_costs_between(
        &self,
        targets: [&Target; 2],
        bill: &Bill,
        observer: &dyn Observer,
    ) -> Result<MeasuredCosts, Failure> {
        match self.costs_between(targets, bill, observer) {
            Err(Failure { reason, is_interrupt: false }) => {
                observer.status(&format!("no added costs after a walk through memory: {reason}"));
                Ok(MeasuredCosts::default())
            }
            found => found,
        }
    }

    /// What the second target adds to the ops of the items, by runs of the last day; what they lack is
    /// measured.
    fn costs_between(
        &self,
        [base, new]: [&Target; 2],
        bill: &Bill,
        observer: &dyn Observer,
    ) -> Result<MeasuredCosts, Failure> {
        let host = base.host.to_string();
        let [of_base, of_new] = [base, new].map(|target| names(&target.treatments));
        let change = Change { host: &host, base: &of_base, new: &of_new };
        let mut records = stored_added_costs(change, &bill.machine)?;
        let unmeasured: Vec<String> = {
            let known = PriceList::of_added_costs(&records, &self.worker.catalog);
            let wanted = self.cases_to_price(&bill.items, self.reach(new)).into_iter();
            wanted.filter(|case| !known.has(case)).collect()
        };
        let mut refusal = None;
        if !unmeasured.is_empty() && self.price_seconds > 0 {
            let cases = ComparisonRequest {
                selectors: unmeasured,
                // Those of calls in a loop, and those after a walk.
                budget_s: Some(f64::from(self.price_seconds) / 2.0),
                event_counting: EventCounting::InNoRound,
                ..self.comparison([base, new])
            };
            let record = compare(&cases, observer)?;
            let costs = added_costs(&record, change);
            refusal = if costs.results.is_empty() && is_void(&record) {
                Some(CONTROL_FAILED.to_owned())
            } else {
                let mut rows = record.results.iter().filter(|row| row.target.treatments == of_new);
                rows.find_map(|row| row.reason.clone())
            };
            records.insert(0, costs);
        }
        records.retain(|record| !record.results.is_empty());
        Ok(MeasuredCosts { records, refusal })
    }

    /// Measures what treatments add to the program, which had these trials, and judges the prediction.
    fn check(
        &self,
        what_if: &mut WhatIf,
        trials: &BilledTrials,
        target: &Target,
        observer: &dyn Observer,
    ) -> Result<(), Failure> {
        // No look ends it: a difference that is found may still be known too badly to judge by.
        let seconds = check_seconds(&what_if.predicted_system_ns, trials);
        let is_command = self.subject.request.has_commands();
        let programs = ComparisonRequest {
            selectors: self.subject.selectors.clone(),
            programs: ProgramRequest {
                workload_seconds: Some(seconds),
                ..self.subject.request.clone()
            },
            // It would also cut what a workload runs at least.
            budget_s: is_command.then_some(seconds),
            ..self.comparison([self.base, target])
        };
        let record = compare(&programs, observer)?;
        let (base, new) = (names(&self.base.treatments), names(&target.treatments));
        let host = self.base.host.to_string();
        let change = Change { host: &host, base: &base, new: &new };
        let (case, mode_times) = (self.subject.case.as_str(), self.mode_times);
        let program = ComparedProgram { case, change, mode_times };
        let measured = measured_increase(&record, program, PriceRun::of(&record))?;
        let is_system = what_if.judged_by == SYSTEM && self.reach(target).is_at_each_call();
        if is_system && is_known_better(&measured) {
            what_if.judged_by = CPU.to_owned();
        }
        let judged = match what_if.judged_by.as_str() {
            REAL => measured.real_ns.as_ref().map(|real| judge(&what_if.predicted_real_ns, real)),
            CPU => measured.cpu_ns.as_ref().map(|cpu| judge(&what_if.predicted_system_ns, cpu)),
            _ => Some(judge(&what_if.predicted_system_ns, &measured.system_ns)),
        };
        if let Some(Judgement { ratio, text }) = judged {
            (what_if.ratio, what_if.judged) = (ratio, Some(text));
        }
        what_if.measured = Some(measured);
        Ok(())
    }

    /// A comparison of two targets; what is compared is left open.
    fn comparison(&self, [base, new]: [&Target; 2]) -> ComparisonRequest {
        ComparisonRequest {
            base: Some(base.to_string()),
            new: vec![new.to_string()],
            selectors: Vec::new(),
            programs: ProgramRequest::default(),
            study: None,
            effort: Effort::Default,
            budget_s: None,
            event_counting: EventCounting::default(),
            cpu: self.cpu,
            numa_turn: None,
            peer_cpu: None,
            label: None,
            seed: None,
            gate: None,
            retention: Retention { keep: true, raw_samples: false },
            on_busy: self.on_busy,
        }
    }

    /// The cases whose added costs price these items: those that price them in the bill, or the most
    /// usual ones.
    fn cases_to_price(&self, items: &[BillItem], reach: Reach) -> Vec<String> {
        let catalog = &self.worker.catalog;
        let prices = self.prices.price_list(catalog);
        let mut cases: Vec<String> = Vec::new();
        for selector in selectors_to_price(items, reach) {
            let case = prices.usual_case(&selector).or_else(|| {
                let found = plan::select(catalog, &[selector], Extent::Default).ok()?;
                found.first().map(ToString::to_string)
            });
            cases.extend(case.filter(|case| !cases.contains(case)));
        }
        cases
    }
}

/// Added costs, and what measured none of them.
#[derive(Default)]
struct MeasuredCosts {
    /// The newest first; each has some.
    records: Vec<Record>,
    /// Why the last comparison has none; `None` if it has.
    refusal: Option<String>,
}

/// The target with a walk of so many bytes before each op.
fn after_walk(target: &Target, walk_bytes: u64) -> Target {
    let mut treatments = target.treatments.clone();
    treatments.push(Treatment { name: COOL.to_owned(), value: Some(walk_text(walk_bytes)) });
    Target { treatments, ..target.clone() }
}

/// Whether the added system time is not known well enough to judge by, and the added CPU time is. A change
/// that does something at each call adds nothing to the user time but what colder caches cost it; the clock
/// ticks, which divide the CPU time, may hide a small increase of the system time. Where the interval of that
/// excludes the increase of CPU time, a part of it is user time.
fn is_known_better(measured: &MeasuredIncrease) -> bool {
    let Some(cpu) = measured.cpu_ns.as_ref().filter(|it| is_known_to_judge(it)) else {
        return false;
    };
    let ends = measured.system_ns.ci95;
    let agrees = ends.is_none_or(|[low, high]| (low..=high).contains(&cpu.ns));
    agrees && !is_known_to_judge(&measured.system_ns)
}

/// The CPU time of an untouched trial of a program, in nanoseconds.
fn cpu_time_ns(bill: &Bill) -> f64 {
    let BilledTrials { user, system, .. } = &bill.trials;
    1e9 * (user.mean + system.mean)
}

/// Why nothing is measured after Ctrl-C.
const INTERRUPTED: &str = "it was interrupted";
/// Why a comparison has no added costs although its rows were measured.
const CONTROL_FAILED: &str = "the control of the comparison failed: measure again";
/// What a monitor in another process means for the system time of a program.
const MONITOR_DOUBT: &str = "the calls wait for a monitor, which is another process: of this time, \
                             only the part of the program itself is its system time";

/// What is doubtful about a prediction by these added costs: a monitor, and what disturbed the worst of the
/// runs that measured them; `None` if nothing is.
fn doubt_of(has_monitor: bool, added: &[Record]) -> Option<String> {
    let of_monitor = has_monitor.then(|| MONITOR_DOUBT.to_owned());
    let doubtful = added.iter().filter_map(|run| Some((run, price_doubt(run)?)));
    let worst = doubtful.max_by_key(|(_, doubt)| doubt.grade);
    let of_runs = worst.map(|(run, Trust { grade, reasons })| {
        format!(
            "a run that measured added costs ({}) is graded {}: {}",
            minute_of(&run.started),
            grade.text(),
            reasons.join(", ")
        )
    });
    let doubts: Vec<String> = [of_monitor, of_runs].into_iter().flatten().collect();
    (!doubts.is_empty()).then(|| doubts.join("; "))
}

fn no_added_cost() -> String {
    "no added cost of its calls is known: `--price-seconds N` gives more time to measure them"
        .to_owned()
}

fn not_counted() -> Failure {
    Failure::from("its calls were not counted".to_owned())
}

fn this_arch() -> Option<Arch> {
    Arch::from_uname(std::env::consts::ARCH)
}

/// Measures a comparison, which is kept as a run of its own.
fn compare(request: &ComparisonRequest, observer: &dyn Observer) -> Result<Record, Failure> {
    let measured = ab(request, observer)?.measured;
    match measured.ended {
        Ok(Completion::Interrupted) => {
            Err(Failure { reason: INTERRUPTED.to_owned(), is_interrupt: true })
        }
        // What was measured before a failure counts.
        _ => Ok(measured.record),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prediction_by_a_disturbed_run_says_so_beside_the_doubt_of_a_monitor() {
        let text = include_str!("../../../tests/store/run-1.json");
        let of_class = |class: &str| {
            let mut record: Record = serde_json::from_str(text).unwrap();
            record.results.truncate(1);
            record.results[0].flags.clear();
            let conditions = &mut record.conditions[0];
            (conditions.class, conditions.lost_pct) = (Some(class.to_owned()), Some(12.0));
            record
        };
        let quiet = of_class("quiet");
        assert_eq!(doubt_of(false, std::slice::from_ref(&quiet)), None);
        assert_eq!(doubt_of(true, &[]).as_deref(), Some(MONITOR_DOUBT));
        let disturbed =
            doubt_of(true, &[quiet, of_class("noisy"), of_class("very-noisy")]).unwrap();
        assert!(disturbed.starts_with(MONITOR_DOUBT), "{disturbed}");
        let end = "is graded poor: 12 % of the time was lost: the machine was very noisy";
        assert!(disturbed.ends_with(end), "{disturbed}");
    }
}
