//! What changes add to the cases that price a bill: by runs of the last day, or measured now.

use oscost_model::bill::{Bill, BillItem};
use oscost_model::case::Case;
use oscost_model::cool::{COOL, walk_text};
use oscost_model::definition::Extent;
use oscost_model::raw_call::{CALL, RawCall};
use oscost_model::reach::Reach;
use oscost_model::record::Record;
use oscost_model::target::{Target, Treatment};

use super::further_change::names;
use super::what_if_context::{Failure, WhatIfContext, compare};
use crate::advice::record_trust::price_doubt;
use crate::advice::trust::Trust;
use crate::app::ab::Request as ComparisonRequest;
use crate::app::observer::Observer;
use crate::app::results::added_costs::stored_added_costs;
use crate::app::results::prices::{PairKind, minute_of};
use crate::bill::{Change, PriceList, added_costs, is_void, selectors_to_price};
use crate::plan;
use crate::run::EventCounting;

/// Why a comparison has no added costs although its rows were measured.
const CONTROL_FAILED: &str = "the control of the comparison failed: measure again";
/// What a monitor in another process means for the system time of a program.
const MONITOR_DOUBT: &str = "the calls wait for a monitor, which is another process: of this time, \
                             only the part of the program itself is its system time";

/// Added costs, and what measured none of them.
#[derive(Default)]
pub(super) struct MeasuredCosts {
    /// The newest first; each has some.
    pub(super) records: Vec<Record>,
    /// Why the last comparison has none; `None` if it has.
    pub(super) refusal: Option<String>,
}

/// The cases of a program that one comparison has.
struct ComparedCases {
    /// The selectors of all, also of those that are known.
    cases: Vec<String>,
    targets: [Target; 2],
}

impl MeasuredCosts {
    /// These, and others that count less where both have a case.
    fn with(mut self, others: Self) -> Self {
        self.records.extend(others.records);
        self.refusal = self.refusal.or(others.refusal);
        self
    }
}

impl WhatIfContext<'_> {
    /// What the second target adds to the ops of the items, by runs of the last day; what they lack is
    /// measured. Raw calls are made through a function on both sides, as programs make them: whether the
    /// kernel's returns are slow in an inlined loop is up to its process, and differs by more than a filter
    /// adds.
    pub(super) fn costs_between(
        &self,
        targets: [&Target; 2],
        bill: &Bill,
        observer: &dyn Observer,
    ) -> Result<MeasuredCosts, Failure> {
        let wanted = self.cases_to_price(&bill.items, self.reach(targets[1])).into_iter();
        let (raw, others): (Vec<String>, Vec<String>) =
            wanted.partition(|case| self.has_function_loop(case));
        let raw = ComparedCases { cases: raw, targets: targets.map(through_function) };
        let others = ComparedCases { cases: others, targets: targets.map(Target::clone) };
        // What one comparison has stays if the other one fails.
        let found = |compared| match self.costs_of(compared, bill, observer) {
            Err(Failure { reason, is_interrupt: false }) => {
                Ok(MeasuredCosts { records: Vec::new(), refusal: Some(reason) })
            }
            found => found,
        };
        Ok(found(raw)?.with(found(others)?))
    }

    /// Whether a case has a loop with a function around each of its calls: the bill has measured it.
    fn has_function_loop(&self, case: &str) -> bool {
        let case = Case::parse(case);
        case.is_some_and(|case| self.prices.has_pair(PairKind::Function, &case, 0))
    }

    /// The added costs of these cases.
    fn costs_of(
        &self,
        compared: ComparedCases,
        bill: &Bill,
        observer: &dyn Observer,
    ) -> Result<MeasuredCosts, Failure> {
        let ComparedCases { cases, targets } = compared;
        if cases.is_empty() {
            return Ok(MeasuredCosts::default());
        }
        let [base, new] = &targets;
        let host = base.host.to_string();
        let [of_base, of_new] = [base, new].map(|target| names(&target.treatments));
        let change = Change { host: &host, base: &of_base, new: &of_new };
        let mut records = stored_added_costs(change, &bill.machine)?;
        let unmeasured: Vec<String> = {
            let known = PriceList::of_added_costs(&records, &self.worker.catalog);
            cases.into_iter().filter(|case| !known.has(case)).collect()
        };
        let mut refusal = None;
        if !unmeasured.is_empty() && self.price_seconds > 0 {
            let cases = ComparisonRequest {
                selectors: unmeasured,
                // Calls in a loop and calls after a walk, through a function and others.
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

    /// The same after a walk: without it there is a prediction by calls in a loop.
    pub(super) fn cool_costs_between(
        &self,
        targets: [&Target; 2],
        bill: &Bill,
        observer: &dyn Observer,
    ) -> Result<MeasuredCosts, Failure> {
        let found = self.costs_between(targets, bill, observer)?;
        if let (true, Some(reason)) = (found.records.is_empty(), &found.refusal) {
            observer.status(&format!("no added costs after a walk through memory: {reason}"));
        }
        Ok(found)
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

/// The target with a walk of so many bytes before each op.
pub(super) fn after_walk(target: &Target, walk_bytes: u64) -> Target {
    under(target, COOL, walk_text(walk_bytes))
}

/// The target with a function around each raw call.
fn through_function(target: &Target) -> Target {
    under(target, CALL, RawCall::Function.text().to_owned())
}

/// The target with one more treatment.
fn under(target: &Target, name: &str, value: String) -> Target {
    let mut treatments = target.treatments.clone();
    treatments.push(Treatment { name: name.to_owned(), value: Some(value) });
    Target { treatments, ..target.clone() }
}

/// What is doubtful about a prediction by these added costs: a monitor, and what disturbed the worst of the
/// runs that measured them; `None` if nothing is.
pub(super) fn doubt_of(has_monitor: bool, added: &[Record]) -> Option<String> {
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
