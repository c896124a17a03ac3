//! What stands below the tables of a comparison: flags, controls, and the numbers of verdicts.

use std::collections::BTreeSet;

use oscost_model::counters::is_work;
use oscost_model::record::{AddedCost, Comparison, Record, Row, RowOutcome};

use crate::advice::words::{Kind, Severity};
use crate::report::figures::{added, per_cent};
use crate::report::text::{plain, plural};
use crate::report::view::comparison::compare::{flag_lines, is_secondary};
use crate::report::view::comparison::verdicts::{
    INCONCLUSIVE, MAY_BE_CHANCE, count_verdicts, has_detectable_effect, is_amount, may_be_chance,
    time_verdicts,
};
use crate::report::view::comparison::work;
use crate::report::view::run::flags::FlagLines;
use crate::report::view::run::row::is_requested;
use crate::report::view::run::{flags, instructions, monitor, programs};
use crate::report::view::sections::Remarks;

/// The flags with their meanings, the controls, and how many verdicts there are of each kind.
pub(in crate::report::view) fn remarks(record: &Record) -> Remarks {
    let (controls, rows): (Vec<&Comparison>, Vec<&Comparison>) =
        record.comparisons.iter().partition(|it| it.control);
    let asked = |it: &&Comparison| is_requested(&record.results[it.base as usize]);
    let rows: Vec<&Comparison> = rows.into_iter().filter(asked).collect();
    let (beside, rows): (Vec<&Comparison>, Vec<&Comparison>) =
        rows.into_iter().partition(|it| is_secondary(it));
    let FlagLines { severe: mut lines, information } = flag_lines(&rows);
    lines.extend(unusable_rows(record));
    lines.extend(memory_bounds(record));
    let mut method = Vec::new();
    let (work, rows): (Vec<&Comparison>, Vec<&Comparison>) =
        rows.into_iter().partition(|it| is_work(&it.metric));
    // What the comparisons say themselves is said once.
    let is_said = |flag: &&String| rows.iter().any(|it| it.flags.contains(flag));
    let of_run = record.conditions.iter().flat_map(|it| &it.flags).filter(|flag| !is_said(flag));
    lines.extend(of_run.map(|flag| flags::of_run(flag)));
    lines.extend(monitor::line(record.results.iter().filter(|row| is_requested(row))));
    lines.extend(controls.iter().map(|it| control(it)));
    lines.extend(rows.iter().filter_map(|it| added_in_cycles(record, it)));
    let ties: u32 = rows.iter().map(|it| it.ties).sum();
    if ties > 0 {
        lines.push(format!(
            "{} of batches did not differ: in a row with many of them, the clock's step hides \
             smaller differences.",
            plural(ties.into(), "pair")
        ));
    }
    let is_counted = |it: &&Comparison| instructions::is_counted(&record.results[it.base as usize]);
    let (counted, timed): (Vec<&Comparison>, Vec<&Comparison>) =
        rows.into_iter().partition(is_counted);
    lines.extend(count_verdicts(&counted, None));
    lines.extend(instructions::remark(record.results.iter().filter(|row| is_requested(row))));
    lines.extend(time_verdicts(&timed, None));
    let beside: Vec<&Comparison> =
        beside.into_iter().filter(|it| !is_work(&it.metric) && !is_amount(it)).collect();
    lines.extend(time_verdicts(&beside, None).map(|text| format!("Other times: {text}")));
    lines.extend(work::verdicts(&work));
    if has_detectable_effect(&timed) {
        method.push(INCONCLUSIVE.to_owned());
    }
    if timed.iter().chain(&work).any(|it| may_be_chance(it, &record.results[it.base as usize])) {
        method.push(MAY_BE_CHANCE.to_owned());
    }
    if !record.complete {
        lines.push("The run was cut short.".to_owned());
    }
    Remarks { shown: lines, information, method }
}

/// The flags by which figures should not be used, which the grade of the run counts, with their cases:
/// those of either side, but for what the comparisons say themselves.
fn unusable_rows(record: &Record) -> Vec<String> {
    let is_measured = |row: &&Row| is_requested(row) && row.outcome == RowOutcome::Measured;
    let rows: Vec<&Row> = record.results.iter().filter(is_measured).collect();
    let cases: BTreeSet<&str> = rows.iter().map(|row| row.case.as_str()).collect();
    let of_comparisons: BTreeSet<&str> =
        record.comparisons.iter().flat_map(|it| &it.flags).map(String::as_str).collect();
    let flagged = rows
        .iter()
        .flat_map(|row| row.flags.iter().map(move |flag| (flag.as_str(), row.case.as_str())))
        .filter(|(flag, _)| flags::severity(Kind::RowFlag, flag) == Severity::Unusable)
        .filter(|(flag, _)| !of_comparisons.contains(flag));
    // A case has a row on each side.
    let flagged: BTreeSet<(&str, &str)> = flagged.collect();
    flags::lines(Kind::RowFlag, flagged.into_iter(), cases.len()).severe
}

/// Which commands have a bound of their peak memory alone; `None` if none has.
fn memory_bounds(record: &Record) -> Option<String> {
    let is_side = |row: &&Row| is_requested(row) && row.command.is_some();
    programs::memory_bounds(&record.results.iter().filter(is_side).collect::<Vec<&Row>>())
}

/// What is added to a row whose base follows the core's rate: its time is that of this rate.
fn added_in_cycles(record: &Record, it: &Comparison) -> Option<String> {
    let rate = record.results.get(it.base as usize)?.core_rate.as_ref()?;
    let AddedCost { value, ci95, unit } = it.added_cycles.as_ref()?;
    let ends =
        |[low, high]: [f64; 2]| format!(" [{} .. {}]", added(low, *unit), added(high, *unit));
    let interval = ci95.map(ends);
    Some(format!(
        "{} follows the core's rate, {:.2} cycles per ns here: {}{} are added at any rate, the time \
         added is that of this rate.",
        plain(&it.case),
        rate.cycles_per_ns,
        added(*value, *unit),
        interval.unwrap_or_default(),
    ))
}

/// A control, in which both sides are the same: if it shows an effect, no verdict can be trusted.
fn control(it: &Comparison) -> String {
    let design = design(&it.design);
    let Some([low, high]) = it.ratio.ci95 else {
        let pairs = plural(it.pairs.into(), "pair");
        return format!("control ({design}): {pairs}, too few for an interval");
    };
    let (pairs, ratio) = (plural(it.pairs.into(), "pair"), it.ratio.value);
    let text = format!(
        "control, nothing differs ({design}): {pairs}, ratio {ratio:.3} [{low:.3} .. {high:.3}]"
    );
    // Pairs that the clock's step makes equal have no spread, and hide what their interval shows.
    let reach_pct = 100.0 * (low - 1.0).abs().max((high - 1.0).abs());
    let text = match it.mde_pct.filter(|&pct| reach_pct <= pct) {
        Some(pct) => format!("{text}; {} would have been detected", per_cent(pct)),
        None => text,
    };
    match it.ties {
        0 => text,
        ties => format!("{text}; {} of its batches did not differ", plural(ties.into(), "pair")),
    }
}

/// How two targets were interleaved, in words.
pub(super) fn design(text: &str) -> &str {
    match text {
        "twins" => "as fork twins",
        "toggle" => "in one process, attached and detached",
        "pairs" => "in separate processes, in random order",
        other => other,
    }
}

#[cfg(test)]
mod tests;
