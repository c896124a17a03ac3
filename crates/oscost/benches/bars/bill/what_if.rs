//! How well bills predict what a change adds to the system time.
//!
//! Bar: of twelve programs eight are within 25 % of the measured increase, for each change; where half
//! of the interval of that is more than 25 % of it, the bill does not judge.

use anyhow::Context;
use oscost_model::bill::{Amount, WhatIf};

use super::programs::BilledProgram;
use super::tally::Tally;
use super::tool::Tool;

/// The changes.
const CHANGES: [&str; 3] = ["seccomp=docker", "ebpf=empty", "ph"];
/// So many predictions are within 25 % of the measured increase.
const MIN_GOOD: usize = 8;

/// Predicts and checks each change for each program; whether no bar has failed.
pub(super) fn holds(tool: &Tool, programs: &[BilledProgram]) -> anyhow::Result<bool> {
    tool.measure_price_list()?;
    println!("| program | change | predicted, ms | measured, ms | ratio | judgement |");
    println!("| --- | --- | --- | --- | --- | --- |");
    let mut tallies = [Tally::default(); CHANGES.len()];
    let mut skipped = Vec::new();
    for program in programs {
        for (change, tally) in CHANGES.into_iter().zip(&mut tallies) {
            match predicted(tool, program, change) {
                Ok(what_if) => {
                    println!("{}", row(program, change, &what_if));
                    if let Some(is_good) = is_good(&what_if) {
                        tally.add(is_good);
                    }
                }
                Err(why) => skipped.push(format!("{}, {change}: skipped: {why:#}", program.name)),
            }
        }
    }
    println!();
    skipped.iter().for_each(|line| println!("{line}"));
    println!();
    let mut holds = true;
    for (change, tally) in CHANGES.into_iter().zip(&tallies) {
        holds &= tally.print(&format!("predictions within 25 %, {change}"), MIN_GOOD);
    }
    Ok(holds)
}

/// What one change would add to a program, and does.
fn predicted(tool: &Tool, program: &BilledProgram, change: &str) -> anyhow::Result<WhatIf> {
    tool.prepare(program)?;
    // What cannot be attached here is refused before the program runs: each change has its own bill.
    let bill = tool.bill(&["--what-if", change, "--check"], program)?;
    let why = bill.missing_what_if.into_iter().next().map(|missing| missing.reason);
    let found = bill.what_if.into_iter().next();
    found.with_context(|| why.unwrap_or_else(|| "there is no answer".to_owned()))
}

/// Whether a prediction was judged, and well.
fn is_good(what_if: &WhatIf) -> Option<bool> {
    let judged = what_if.judged.as_deref()?;
    (!judged.starts_with("not judged")).then(|| judged.starts_with("within"))
}

/// The row of a prediction, in Markdown: of the time that is judged.
fn row(program: &BilledProgram, change: &str, what_if: &WhatIf) -> String {
    let is_real = what_if.judged_by == "real";
    let (predicted, measured) = match (is_real, &what_if.measured) {
        (true, measured) => (
            &what_if.predicted_real_ns,
            measured.as_ref().and_then(|measured| measured.real_ns.as_ref()),
        ),
        (false, measured) => {
            (&what_if.predicted_system_ns, measured.as_ref().map(|measured| &measured.system_ns))
        }
    };
    let measured = match measured {
        Some(measured) => milliseconds(measured),
        None => what_if.not_measured.clone().unwrap_or_else(|| "not measured".to_owned()),
    };
    let ratio = what_if.ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"));
    let judged = what_if.judged.as_deref().unwrap_or("not judged");
    format!(
        "| {} | {change} | {} | {measured} | {ratio} | {judged} |",
        program.name,
        milliseconds(predicted)
    )
}

/// Milliseconds, with the interval.
pub(super) fn milliseconds(amount: &Amount) -> String {
    let ms = |ns: f64| format!("{:.3}", ns * 1e-6);
    match amount.ci95 {
        Some([low, high]) => format!("{} [{} .. {}]", ms(amount.ns), ms(low), ms(high)),
        None => ms(amount.ns),
    }
}
