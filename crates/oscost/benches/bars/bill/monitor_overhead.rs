//! How much of a monitor's measured overhead count times added cost explains: the programs of table 3
//! of study ph-2000, with their bills.
//!
//! No bar: the rows are for docs/explanation/BILL.md. As root, with the workload kernel-build.

use anyhow::Context;
use oscost_model::bill::{Amount, Bill, BillItem, WhatIf, WhatIfItem};

use super::programs::BilledProgram;
use super::tool::Tool;
use super::what_if::milliseconds;

/// The monitor.
const MONITOR: &str = "ph";
/// The programs of the table, if no other ones are chosen.
pub(super) const PROGRAMS: [&str; 3] = ["find", "frames", "kernel-build"];
/// The items that are named.
const NAMED_ITEMS: usize = 3;

/// A program that was billed, and what the monitor adds to it.
struct Explained<'a> {
    program: &'a BilledProgram,
    bill: Bill,
    what_if: WhatIf,
}

/// Bills these programs, and predicts and measures what the monitor adds to each; whether any was
/// billed.
pub(super) fn prints(tool: &Tool, programs: &[BilledProgram]) -> anyhow::Result<bool> {
    tool.measure_price_list()?;
    let mut all = Vec::new();
    for program in programs {
        match explained(tool, program) {
            Ok(explained) => all.push(explained),
            Err(why) => println!("{}: skipped: {why:#}\n", program.name),
        }
    }
    println!("| program | system time, ms | charged, ms | largest items |");
    println!("| --- | --- | --- | --- |");
    all.iter().for_each(|it| println!("{}", bill_row(it)));
    println!("\n| program | count x added, ms | measured, ms | explained | largest parts |");
    println!("| --- | --- | --- | --- | --- |");
    all.iter().for_each(|it| println!("{}", overhead_row(it)));
    Ok(!all.is_empty())
}

/// The bill of a program, with the prediction and its check.
fn explained<'a>(tool: &Tool, program: &'a BilledProgram) -> anyhow::Result<Explained<'a>> {
    tool.prepare(program)?;
    let mut bill = tool.bill(&["--what-if", MONITOR, "--check"], program)?;
    let why = bill.missing_what_if.first().map(|missing| missing.reason.clone());
    let found = bill.what_if.pop();
    let what_if = found.with_context(|| why.unwrap_or_else(|| "there is no answer".to_owned()))?;
    Ok(Explained { program, bill, what_if })
}

fn bill_row(Explained { program, bill, .. }: &Explained<'_>) -> String {
    let charged = match (&bill.charged, &bill.charged_cool) {
        (Some(warm), Some(cool)) => format!("{} to {}", plain_ms(warm.ns), plain_ms(cool.ns)),
        (Some(warm), None) => format!("{}, no cool price", plain_ms(warm.ns)),
        (None, _) => "not counted".to_owned(),
    };
    let items = bill.items.iter().filter_map(|item| Some((item, item.amount.as_ref()?)));
    let text = |(item, amount): (&BillItem, &Amount)| {
        format!("{:.0} x {}: {}", item.times, item.name, plain_ms(amount.ns))
    };
    let largest: Vec<String> = items.take(NAMED_ITEMS).map(text).collect();
    format!(
        "| {} | {} | {charged} | {} |",
        program.name,
        milliseconds(&bill.trials.system_time),
        largest.join("; ")
    )
}

fn overhead_row(Explained { program, what_if, .. }: &Explained<'_>) -> String {
    let predicted = &what_if.predicted_system_ns;
    let measured = what_if.measured.as_ref().map(|measured| &measured.system_ns);
    let text = match measured {
        Some(measured) => milliseconds(measured),
        None => what_if.not_measured.clone().unwrap_or_else(|| "not measured".to_owned()),
    };
    let share = measured.map(|measured| explained_share(predicted, measured));
    let share = share.unwrap_or_else(|| "-".to_owned());
    let items = what_if.items.iter().filter_map(|item| Some((item, item.predicted_ns()?)));
    let part = |(item, ns): (&WhatIfItem, f64)| {
        format!("{:.0} x {}: {}", item.times, item.name, plain_ms(ns))
    };
    let largest: Vec<String> = items.take(NAMED_ITEMS).map(part).collect();
    format!(
        "| {} | {} | {text} | {share} | {} |",
        program.name,
        milliseconds(predicted),
        largest.join("; ")
    )
}

/// The predicted time as a share of the measured one, with all that both intervals allow.
fn explained_share(predicted: &Amount, measured: &Amount) -> String {
    if measured.ns <= 0.0 {
        return "nothing was added".to_owned();
    }
    let per_cent = |share: f64| format!("{:.0} %", 100.0 * share);
    let share = per_cent(predicted.ns / measured.ns);
    match predicted.ci95.zip(measured.ci95) {
        Some(([low, high], [least, most])) if least > 0.0 && low >= 0.0 => {
            format!("{share} [{} .. {}]", per_cent(low / most), per_cent(high / least))
        }
        _ => format!("{share}, no interval"),
    }
}

fn plain_ms(ns: f64) -> String {
    format!("{:.3}", ns * 1e-6)
}
