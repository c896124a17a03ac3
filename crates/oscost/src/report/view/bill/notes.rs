//! How a bill was made: what qualifies its figures, and what most readers do not need.

use oscost_model::bill::{Bill, BillItem, BilledTrials, MeasuredPrices, TrialFigure};
use oscost_model::unit::Unit;

use super::{
    below_zero, cool_prices, function_prices, instructions, pair_prices, switches, time_source,
};
use crate::report::figures::{occurrences, rough, with_thousands};
use crate::report::text::{id_beginning, minute, plain, plural};
use crate::report::view::bill_counting::{counting, events};
use crate::report::view::sections::Remarks;

/// How it was counted and priced, and what is doubtful about it.
pub(in crate::report::view) fn remarks(bill: &Bill) -> Remarks {
    Remarks { shown: qualifications(bill), method: method(bill), ..Remarks::default() }
}

/// What is missing, or estimated, or charged otherwise than it happened; and the source of the system time,
/// which all of it is compared with.
fn qualifications(bill: &Bill) -> Vec<String> {
    let counting = match (&bill.counted, &bill.not_counted) {
        (Some(counted), _) => counting(counted, bill.watched.is_some()),
        (None, why) => {
            let why = why.as_deref().unwrap_or("unknown reason");
            vec![format!(
                "missing: calls, forks, execs and signals were not counted: {}; the times and page \
                 faults of untouched trials are all there is",
                plain(why)
            )]
        }
    };
    let missing = bill.prices.measured.iter().flat_map(missing);
    let all = treatments(bill).into_iter().chain(missing).chain(counting);
    let all = all.chain(time_source::note(bill)).chain(ticks_note(&bill.trials));
    let all = all.chain(time_source::left_out(bill)).chain(switches::doubts(bill));
    let all = all.chain(fault_note(bill)).chain(below_zero::notes(bill)).chain(reuse_note(bill));
    let all = all.chain(cool_prices::doubts(bill)).chain(function_prices::notes(bill));
    all.chain(pair_prices::doubts(bill)).chain(instructions::note(bill)).collect()
}

/// Where its figures come from.
fn method(bill: &Bill) -> Vec<String> {
    let measured = bill.prices.measured.iter().map(measurement);
    let stale = bill.prices.stale.iter().map(|why| format!("stale prices: {}", plain(why)));
    let events = bill.counted.iter().flat_map(|counted| events(&counted.calls));
    let all = price_runs(bill).into_iter().chain(measured).chain(stale).chain(events);
    let all = all.chain(switches::in_a_trial(bill)).chain(share_note(bill));
    all.chain(cool_prices::sources(bill)).chain(pair_prices::measurements(bill)).collect()
}

/// The treatments that the program ran under; `None` without any.
fn treatments(bill: &Bill) -> Option<String> {
    (!bill.treatments.is_empty()).then(|| {
        let counted = bill.counted_without.as_deref();
        let counted = counted.map_or(String::new(), |why| {
            format!("; its calls were counted without them: {}", plain(why))
        });
        format!("the program ran under {}{counted}", plain(&bill.treatments.join("+")))
    })
}

/// The runs that its prices are of.
fn price_runs(bill: &Bill) -> Option<String> {
    let runs = &bill.prices.runs;
    runs.first().map(|run| {
        let others = match runs.len() - 1 {
            0 => String::new(),
            others => format!(", and of {}", plural(others as u64, "other run")),
        };
        format!("prices of run {} ({}){others}", id_beginning(&run.id), minute(&run.started))
    })
}

/// How the clock ticks of short runs or of short processes made the system time.
fn ticks_note(trials: &BilledTrials) -> Option<String> {
    match trials.clock_ticks {
        Some(ticks) => Some(format!(
            "system time: exact CPU time, divided by the clock ticks of the program's control groups \
             ({} ticks)",
            with_thousands(ticks.round())
        )),
        None => (trials.system_figure == TrialFigure::Mean.text()).then(|| {
            "few clock ticks find a run of the program in the kernel: the system time is the mean"
                .to_owned()
        }),
    }
}

/// Of which page faults the kind is not known.
fn fault_note(bill: &Bill) -> Option<String> {
    let events = bill.counted.as_ref().and_then(|counted| counted.calls.events);
    if events.is_none_or(|events| events.faults.of_known_kind() == 0) {
        let note = "the kind of page faults is not known: minor ones are charged as first touches \
                    of anonymous pages";
        return (bill.trials.minor_faults > 0.0).then(|| note.to_owned());
    }
    let mut unknown = bill.items.iter().filter(|item| item.times > 0.0);
    let unknown = unknown.find(|item| item.name == "minor page fault")?;
    Some(format!(
        "the kind of {} page faults is not known: they are charged as first touches of anonymous \
         pages",
        occurrences(unknown.times)
    ))
}

/// Why page faults are charged in no whole number beside counts that are whole.
fn share_note(bill: &Bill) -> Option<String> {
    // The median of the trials need not be whole either; a kind is counted.
    let is_of_kind = |item: &&BillItem| {
        let name = item.name.as_str();
        name.ends_with(" page fault") && !["minor page fault", "major page fault"].contains(&name)
    };
    let mut kinds = bill.items.iter().filter(is_of_kind);
    kinds.any(|item| item.times.fract() != 0.0).then(|| {
        "page faults that prices of forks and execs contain are taken off each kind in the same \
         share: the rest is no whole number"
            .to_owned()
    })
}

/// What is among the faults that reuse a page, and is not told apart.
fn reuse_note(bill: &Bill) -> Option<String> {
    let reused = bill.items.iter().find(|item| item.name == "reuse page fault")?;
    Some(format!(
        "{} reuse page faults: first writes to pages of a shared mapping that were read before are \
         among them, at the same price, as the kernel tells no difference",
        occurrences(reused.times)
    ))
}

/// Which prices were measured for the bill.
fn measurement(measured: &MeasuredPrices) -> String {
    let prices = plural(measured.cases.len() as u64, "price");
    format!("measuring {prices} took {}", rough(measured.seconds, Unit::Seconds))
}

/// What the measurement of prices left out.
fn missing(measured: &MeasuredPrices) -> Vec<String> {
    let mut lines = Vec::new();
    if measured.interrupted {
        lines.push("missing: prices whose measurement was interrupted".to_owned());
    }
    if measured.block_missing {
        lines.push("missing: the last third of the trials, which was to follow it".to_owned());
    }
    if let Some(why) = &measured.failure {
        lines.push(format!("missing: prices whose measurement failed: {}", plain(why)));
    }
    lines
}
