//! What a change would add to a billed program: the prediction, and its check.
//!
//! All predictions are made, told and kept before the first check.

use oscost_model::bill::{
    Amount, Bill, BilledTrials, MeasuredIncrease, MissingWhatIf, OtherPrices, PriceRun, WhatIf,
};
use oscost_model::call_names::Arch;
use oscost_model::program::{CPU, REAL, SYSTEM};
use oscost_model::record::Record;
use oscost_model::target::Target;

use super::added_costs::{MeasuredCosts, after_walk, doubt_of};
use super::check_time::{check_seconds, pair_seconds};
use super::further_change::{FurtherChange, names};
use super::increase::{ComparedProgram, measured_increase};
use super::other_prices::{self, OtherMachine};
use super::what_if_context::{Failure, INTERRUPTED, WhatIfContext, compare};
use crate::app::ab::Request as ComparisonRequest;
use crate::app::bills;
use crate::app::measurement::run_header::timestamp;
use crate::app::observer::Observer;
use crate::app::selection::programs::ProgramRequest;
use crate::app::targets::prepare::prepare;
use crate::bill::{
    AddedCosts, Change, Faults, Judgement, Prediction, PriceList, is_known_to_judge, judge,
    predict, times_longer_to_judge, walk_between_calls,
};
use crate::plan;

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
            let ns_a_call = bill.trials.cpu_ns() / counted.calls.calls().max(1) as f64;
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
            check_to_judge_s: None,
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

    /// Measures what treatments add to the program, which had these trials, and judges the prediction.
    fn check(
        &self,
        what_if: &mut WhatIf,
        trials: &BilledTrials,
        target: &Target,
        observer: &dyn Observer,
    ) -> Result<(), Failure> {
        // No look ends it: a difference that is found may still be known too badly to judge by.
        let needed = || check_seconds(what_if, trials);
        let seconds = self.check_seconds.map_or_else(needed, f64::from);
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
        let by_cpu = measured.cpu_ns.as_ref().filter(|cpu| is_system && agrees(cpu, &measured));
        if by_cpu.is_some_and(|cpu| is_known_better(cpu, &measured.system_ns)) {
            what_if.judged_by = CPU.to_owned();
        }
        let (predicted, increase) = match what_if.judged_by.as_str() {
            REAL => (&what_if.predicted_real_ns, measured.real_ns.as_ref()),
            CPU => (&what_if.predicted_system_ns, measured.cpu_ns.as_ref()),
            _ => (&what_if.predicted_system_ns, Some(&measured.system_ns)),
        };
        if let Some(increase) = increase {
            let Judgement { ratio, text } = judge(predicted, increase);
            (what_if.ratio, what_if.judged) = (ratio, Some(text));
            let is_judged = is_known_to_judge(increase);
            let known_sooner = [Some(increase), by_cpu].into_iter().flatten();
            let times_longer = known_sooner.filter_map(times_longer_to_judge).reduce(f64::min);
            let of_pairs = f64::from(measured.pairs) * pair_seconds(what_if, trials);
            what_if.check_to_judge_s =
                times_longer.filter(|_| !is_judged).map(|times| times * of_pairs);
        }
        what_if.measured = Some(measured);
        Ok(())
    }
}

/// Whether the interval of the added system time holds the added CPU time. A change that does something at each
/// call adds nothing to the user time but what colder caches cost it; where the interval excludes the increase of
/// CPU time, a part of that is user time.
fn agrees(cpu: &Amount, measured: &MeasuredIncrease) -> bool {
    measured.system_ns.ci95.is_none_or(|[low, high]| (low..=high).contains(&cpu.ns))
}

/// Whether the added CPU time is known well enough to judge by, and better than the added system time: the clock
/// ticks, which divide the CPU time, may hide a small increase of that.
fn is_known_better(cpu: &Amount, system: &Amount) -> bool {
    let width = |amount: &Amount| amount.ci95.map(|[low, high]| high - low);
    let is_narrower = width(system).is_none_or(|wide| width(cpu).is_some_and(|it| it < wide));
    is_known_to_judge(cpu) && (is_narrower || !is_known_to_judge(system))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(ns: f64, half_ns: f64) -> Amount {
        Amount { ns, ci95: Some([ns - half_ns, ns + half_ns]) }
    }

    #[test]
    fn the_cpu_time_judges_where_it_is_known_better_than_the_system_time() {
        for (cpu, system, is_better) in [
            (amount(100.0, 10.0), amount(90.0, 80.0), true),
            (amount(100.0, 10.0), amount(90.0, 20.0), true),
            (amount(100.0, 10.0), Amount { ns: 90.0, ci95: None }, true),
            (amount(100.0, 10.0), amount(90.0, 5.0), false),
            (amount(100.0, 40.0), amount(90.0, 80.0), false),
            (Amount { ns: 100.0, ci95: None }, amount(90.0, 20.0), false),
        ] {
            assert_eq!(is_known_better(&cpu, &system), is_better, "{cpu:?} {system:?}");
        }
    }
}
