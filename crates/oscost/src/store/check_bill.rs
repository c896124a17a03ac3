//! Checks what a valid bill must satisfy beyond its types, so that later readers need not.

use oscost_model::bill::{Bill, BilledTrials, OtherPrices, WhatIf};
use oscost_model::program::{MAX_COMMAND_BYTES, MAX_COMMAND_WORDS};

use super::check::{NOT_UTC, bad, check_text, is_utc, is_uuid, refuse_unless, text_rule};
use super::error::ImportError;
use super::inspect::{Fault, inspect};

/// A counter tells 4,096 forms by size apart at most; each is an item.
const MAX_ITEMS: usize = 20_000;

/// Ten runs have the prices of a bill.
const MAX_PRICE_RUNS: usize = 1_000;

/// A histogram of times has 24.
const MAX_BUCKETS: usize = 64;

/// A bill has eight changes at most.
const MAX_CHANGES: usize = 1_000;

/// A machine has some twenty mitigations that may differ.
const MAX_REASONS: usize = 1_000;

/// Refuses an invalid bill.
pub(super) fn check_bill(bill: &Bill) -> Result<(), ImportError> {
    refuse_unless(is_uuid(&bill.id), "id", "is not a UUID in lower case")?;
    inspect(bill, bill_text_rule).map_err(|Fault { at, why }| ImportError::Bad { at, why })?;
    refuse_unless(is_utc(&bill.started), "started", NOT_UTC)?;
    refuse_unless(is_utc(&bill.ended), "ended", NOT_UTC)?;

    let (counted, measured) = (bill.counted.as_ref(), bill.prices.measured.as_ref());
    let instructions = bill.instructions.as_ref();
    for (part, count, max) in [
        ("program", bill.program.len(), MAX_COMMAND_WORDS),
        ("items", bill.items.len(), MAX_ITEMS),
        ("counted.calls.forms", counted.map_or(0, |it| it.calls.forms.len()), MAX_ITEMS),
        ("counted.calls.in_kernel", counted.map_or(0, |it| it.calls.in_kernel.len()), MAX_ITEMS),
        ("prices.runs", bill.prices.runs.len(), MAX_PRICE_RUNS),
        ("prices.stale", bill.prices.stale.len(), MAX_REASONS),
        ("prices.doubtful", bill.prices.doubtful.len(), MAX_PRICE_RUNS),
        ("prices.missing", bill.prices.missing.len(), MAX_ITEMS),
        ("cautions", bill.cautions.len(), MAX_REASONS),
        ("treatments", bill.treatments.len(), MAX_CHANGES),
        ("what_if", bill.what_if.len(), MAX_CHANGES),
        ("missing_what_if", bill.missing_what_if.len(), MAX_CHANGES),
        ("other_prices", bill.other_prices.len(), MAX_CHANGES),
        ("alternatives", bill.alternatives.len(), MAX_ITEMS),
        ("clock_reads", bill.clock_reads.len(), MAX_CHANGES),
        ("instructions.items", instructions.map_or(0, |it| it.items.len()), MAX_ITEMS),
        ("prices.uncooled", bill.prices.uncooled.len(), MAX_ITEMS),
        ("prices.rare_uncooled", bill.prices.rare_uncooled.len(), MAX_ITEMS),
        ("prices.inlined", bill.prices.inlined.len(), MAX_ITEMS),
        ("prices.unpaired", bill.prices.unpaired.len(), MAX_ITEMS),
        ("prices.pairs", bill.prices.pairs.len(), MAX_CHANGES),
        ("prices.measured.cases", measured.map_or(0, |it| it.cases.len()), MAX_ITEMS),
    ] {
        at_most(count, max, part)?;
    }
    for (index, timed) in counted.iter().flat_map(|it| &it.calls.in_kernel).enumerate() {
        for (name, buckets) in
            [("on_cpu", &timed.on_cpu_histogram), ("off_cpu", &timed.off_cpu_histogram)]
        {
            let at = format!("counted.calls.in_kernel[{index}].{name}_histogram");
            at_most(buckets.len(), MAX_BUCKETS, &at)?;
        }
    }
    let bytes: usize = bill.program.iter().map(String::len).sum();
    let why = format!("has {bytes} bytes, the maximum is {MAX_COMMAND_BYTES}");
    refuse_unless(bytes <= MAX_COMMAND_BYTES, "program", &why)?;
    for (at, number) in of_trials(&bill.trials) {
        not_negative(number, at)?;
    }
    not_negative(bill.watched.as_ref().map(|it| it.seconds), "watched.seconds")?;
    not_negative(measured.map(|it| it.seconds), "prices.measured.seconds")?;
    not_negative(bill.stolen.as_ref().map(|it| it.ns), "stolen.ns")?;
    not_negative(bill.stolen.as_ref().map(|it| it.seconds), "stolen.seconds")?;
    not_negative(measured.map(|it| it.limit_seconds), "prices.measured.limit_seconds")?;
    for (index, run) in bill.prices.doubtful.iter().enumerate() {
        let at = format!("prices.doubtful[{index}]");
        at_most(run.reasons.len(), MAX_REASONS, &format!("{at}.reasons"))?;
        not_negative(run.charged_pct, &format!("{at}.charged_pct"))?;
    }
    for (index, pairs) in bill.prices.pairs.iter().enumerate() {
        let at = format!("prices.pairs[{index}]");
        at_most(pairs.cases.len(), MAX_ITEMS, &format!("{at}.cases"))?;
        not_negative(Some(pairs.seconds), &format!("{at}.seconds"))?;
        not_negative(Some(pairs.limit_seconds), &format!("{at}.limit_seconds"))?;
    }
    for (index, item) in bill.items.iter().enumerate() {
        not_negative(Some(item.rare_times), &format!("items[{index}].rare_times"))?;
        // A price may be a difference, and below zero by its errors; a count with a reason.
        let times = Some(item.times).filter(|_| item.below_zero.is_none());
        for (at, number) in [("times", times), ("part", Some(item.part))] {
            not_negative(number, &format!("items[{index}].{at}"))?;
        }
        for (at, count) in [
            ("rows", item.rows.len()),
            ("less", item.less.len()),
            ("plus", item.plus.len()),
            ("flags", item.flags.len()),
        ] {
            at_most(count, MAX_PRICE_RUNS, &format!("items[{index}].{at}"))?;
        }
    }
    for (index, what_if) in bill.what_if.iter().enumerate() {
        check_prediction(what_if, &format!("what_if[{index}]"))?;
    }
    for (index, other) in bill.other_prices.iter().enumerate() {
        check_other_prices(other, &format!("other_prices[{index}]"))?;
    }
    for (index, other) in bill.alternatives.iter().enumerate() {
        not_negative(Some(other.times), &format!("alternatives[{index}].times"))?;
    }
    if let Some(instructions) = instructions {
        not_negative(Some(instructions.kernel), "instructions.kernel")?;
    }
    Ok(())
}

/// The rule for the texts of a bill: a word of its program may be a script.
fn bill_text_rule(key: &str, text: &str) -> Result<(), String> {
    match key {
        "program" => check_text(text, MAX_COMMAND_BYTES),
        _ => text_rule(key, text),
    }
}

/// Refuses a prediction whose counts are negative. What is added may be below zero.
fn check_prediction(what_if: &WhatIf, at: &str) -> Result<(), ImportError> {
    refuse_unless(is_utc(&what_if.predicted_at), &format!("{at}.predicted_at"), NOT_UTC)?;
    at_most(what_if.treatments.len(), MAX_CHANGES, &format!("{at}.treatments"))?;
    at_most(what_if.runs.len(), MAX_PRICE_RUNS, &format!("{at}.runs"))?;
    at_most(what_if.items.len(), MAX_ITEMS, &format!("{at}.items"))?;
    not_negative(Some(what_if.unpriced_calls), &format!("{at}.unpriced_calls"))?;
    Ok(())
}

/// Refuses counts that are negative.
fn check_other_prices(other: &OtherPrices, at: &str) -> Result<(), ImportError> {
    at_most(other.items.len(), MAX_ITEMS, &format!("{at}.items"))?;
    not_negative(Some(other.unpriced), &format!("{at}.unpriced"))?;
    Ok(())
}

/// Numbers of trials that are not negative.
fn of_trials(trials: &BilledTrials) -> [(&'static str, Option<f64>); 10] {
    [
        ("trials.real.median", Some(trials.real.median)),
        ("trials.user.median", Some(trials.user.median)),
        ("trials.system.median", Some(trials.system.median)),
        ("trials.system.sd", trials.system.sd),
        ("trials.system_time.ns", Some(trials.system_time.ns)),
        ("trials.clock_ticks", trials.clock_ticks),
        ("trials.minor_faults", Some(trials.minor_faults)),
        ("trials.major_faults", Some(trials.major_faults)),
        ("trials.voluntary_switches", trials.voluntary_switches),
        ("trials.involuntary_switches", trials.involuntary_switches),
    ]
}

fn at_most(count: usize, max: usize, at: &str) -> Result<(), ImportError> {
    refuse_unless(count <= max, at, &format!("has {count} entries, the maximum is {max}"))
}

fn not_negative(number: Option<f64>, at: &str) -> Result<(), ImportError> {
    match number {
        Some(number) if number < 0.0 => Err(bad(at, &format!("is {number}, below 0"))),
        _ => Ok(()),
    }
}
