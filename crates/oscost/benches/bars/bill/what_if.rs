//! How well bills predict what a change adds to the system time.
//!
//! Bar: of twelve programs eight are within 25 % of the measured increase, for each change; where half
//! of the interval of that is more than 25 % of it, the bill does not judge.

use anyhow::Context;
use oscost_model::bill::{Amount, Bill, WhatIf};
use oscost_model::program::REAL;

use super::programs::BilledProgram;
use super::tally::Tally;
use super::tool::Tool;

/// The changes.
const CHANGES: [&str; 3] = ["seccomp=docker", "ebpf=empty", "ph"];
/// So many predictions are within 25 % of the measured increase.
const MIN_GOOD: usize = 8;

/// Predicts and checks each change for each program, for so many seconds; whether no bar has failed.
pub(super) fn holds(
    tool: &Tool,
    programs: &[BilledProgram],
    check_seconds: Option<&str>,
) -> anyhow::Result<bool> {
    tool.measure_price_list()?;
    println!(
        "| program | change | predicted, ms | system, ms | CPU, ms | of | ratio | judgement |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    let mut tallies = [Tally::default(); CHANGES.len()];
    let mut skipped = Vec::new();
    for program in programs {
        for (Answer { change, what_if }, tally) in
            answers(tool, program, check_seconds).iter().zip(&mut tallies)
        {
            match what_if {
                Ok(what_if) => {
                    println!("{}", row(program, change, what_if));
                    if let Some(is_good) = is_good(what_if) {
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

/// What one change would add to a program, and does; or why that is not known.
struct Answer {
    change: &'static str,
    what_if: anyhow::Result<WhatIf>,
}

/// The answers of all changes, by one bill. A change that cannot be attached here is refused before the
/// program runs: then each has its own bill.
fn answers(tool: &Tool, program: &BilledProgram, check_seconds: Option<&str>) -> Vec<Answer> {
    let predicted = |changes: &[&str]| predicted(tool, program, changes, check_seconds);
    let of_one = |change| Answer {
        change,
        what_if: predicted(&[change]).and_then(|bill| answer(&bill, change)),
    };
    match predicted(&CHANGES) {
        Ok(bill) => CHANGES.map(|change| Answer { change, what_if: answer(&bill, change) }).into(),
        Err(_) => CHANGES.map(of_one).into(),
    }
}

/// A bill with what these changes would add, and do.
fn predicted(
    tool: &Tool,
    program: &BilledProgram,
    changes: &[&str],
    check_seconds: Option<&str>,
) -> anyhow::Result<Bill> {
    tool.prepare(program)?;
    let asked = changes.iter().flat_map(|change| ["--what-if", *change]);
    let options: Vec<&str> = asked
        .chain(["--check"])
        .chain(check_seconds.into_iter().flat_map(|it| ["--check-seconds", it]))
        .collect();
    tool.bill(&options, program)
}

/// The answer of a bill to a change.
fn answer(bill: &Bill, change: &str) -> anyhow::Result<WhatIf> {
    let why = bill.missing_what_if.iter().find(|missing| missing.change == change);
    let why = why.map_or("there is no answer", |missing| missing.reason.as_str());
    let found = bill.what_if.iter().find(|what_if| what_if.treatments.join("+") == change);
    found.cloned().with_context(|| why.to_owned())
}

/// Whether a prediction was judged, and well.
fn is_good(what_if: &WhatIf) -> Option<bool> {
    let judged = what_if.judged.as_deref()?;
    (!judged.starts_with("not judged")).then(|| judged.starts_with("within"))
}

/// The row of a prediction, in Markdown. The times of both modes stand beside the one that is judged.
fn row(program: &BilledProgram, change: &str, what_if: &WhatIf) -> String {
    let measured = what_if.measured.as_ref();
    let is_of_real = what_if.judged_by == REAL;
    let predicted = match is_of_real {
        true => &what_if.predicted_real_ns,
        false => &what_if.predicted_system_ns,
    };
    let system = match measured {
        Some(measured) if is_of_real => measured.real_ns.as_ref().map(milliseconds),
        Some(measured) => Some(milliseconds(&measured.system_ns)),
        None => what_if.not_measured.clone(),
    };
    let cpu = measured.and_then(|it| it.cpu_ns.as_ref()).map(milliseconds);
    let [system, cpu] = [system, cpu].map(|it| it.unwrap_or_else(|| "not measured".to_owned()));
    let ratio = what_if.ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"));
    let judged = what_if.judged.as_deref().unwrap_or("not judged");
    format!(
        "| {} | {change} | {} | {system} | {cpu} | {} | {ratio} | {judged} |",
        program.name,
        milliseconds(predicted),
        what_if.judged_by
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
