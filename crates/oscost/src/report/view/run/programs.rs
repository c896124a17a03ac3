//! Rows whose subject is a program: its time, how the kernel accounted for it, and its calls.

use std::collections::BTreeSet;

use oscost_model::parameter::SampledParameter;
use oscost_model::program::{CPU, FAMILY, PEAK_MEMORY, REAL, SYSTEM, USER};
use oscost_model::record::{Comparison, Metric, Row};
use oscost_stats::order;

use crate::report::figures::{Style, per_cent, rough};
use crate::report::text::plain;
use crate::report::view::document::{Block, Cell, Column, Table, TableRow};
use crate::report::view::run::row::{figure, has};

/// Of more rows than these, the details of trials are only in the record.
const MAX_DETAILED: usize = 4;
/// More sampled parameters than a command can have are in the record alone.
const MAX_SAMPLED: usize = 8;

/// Counts of events of a trial.
const COUNTS: [&str; 4] =
    ["minor-faults", "major-faults", "voluntary-switches", "involuntary-switches"];

/// The flag of a row whose peak memory is that of the process which starts the program.
const MEMORY_BOUND: &str = "MEMORY_BOUND";

/// Whether a row's subject is a program.
pub(in crate::report::view) fn is_program(row: &Row) -> bool {
    row.benchmark.split_once('/').is_some_and(|(family, _)| family == FAMILY)
}

/// The programs among measured rows: their table, and further figures of each.
pub(in crate::report::view) fn blocks(measured: &[&Row]) -> Vec<Block> {
    let rows: Vec<&Row> = measured.iter().copied().filter(|row| is_program(row)).collect();
    let of_rows = rows.iter().flat_map(|row| details(row, rows.len() <= MAX_DETAILED));
    let lines = rows.iter().find_map(|row| sampled_ranges(row)).into_iter().chain(of_rows);
    let lines = Block::list(lines.chain(on_intervals(&rows)).map(|line| plain(&line)));
    table(&rows).map(Block::Table).into_iter().chain(lines).collect()
}

/// What the intervals of programs are, and what they leave out; `None` if they have none.
fn on_intervals(rows: &[&Row]) -> Option<String> {
    let estimates = || rows.iter().filter_map(|row| row.estimate.as_ref());
    let is_between =
        |is: bool| estimates().any(|it| it.ci95.is_some() && it.between_run_ci95.is_some() == is);
    let between = "intervals of programs are between runs, by earlier runs of the same command: if \
                   these are of one boot, the next boot may lie outside";
    let alone = "intervals of programs are of this run alone: how far runs differ is not in them before \
                 the store has three of the same command. `oscost ab -- A -- B` compares two commands in \
                 turns, within one run";
    match (is_between(true), is_between(false)) {
        (true, true) => Some(format!("{between}. Some are of this run alone")),
        (true, false) => Some(between.to_owned()),
        (false, true) => Some(alone.to_owned()),
        (false, false) => None,
    }
}

/// How the trials of compared commands spread, each with its target if they are one command; `None` for
/// other rows, and for many.
pub(in crate::report::view) fn spreads(rows: &[&Row]) -> Option<Block> {
    let commands: Vec<&Row> = rows.iter().copied().filter(|row| row.command.is_some()).collect();
    if commands.len() > MAX_DETAILED {
        return None;
    }
    let is_one_case = commands.windows(2).all(|both| both[0].case == both[1].case);
    let lines = commands.iter().flat_map(|row| {
        let name = match is_one_case {
            true => format!("{} at {}", short_name(row), row.target.text),
            false => short_name(row).to_owned(),
        };
        let values = values(row);
        [spread(&name, row, &values), quantiles(&name, row, &values)]
    });
    Block::list(lines.flatten().map(|line| plain(&line)))
}

/// Which parameters of a command had a random value in each round, and what the warm-ups had
/// instead; `None` if it has none.
pub(in crate::report::view) fn sampled_ranges(row: &Row) -> Option<String> {
    let (shown, more) =
        row.sampled_parameters.split_at(row.sampled_parameters.len().min(MAX_SAMPLED));
    let ranges = shown.iter().map(|SampledParameter { name, low, high }| {
        format!("`{{{}}}` is {low}..{high}", plain(name))
    });
    let middles = shown.iter().map(|it| it.middle().to_string());
    let [ranges, middles] =
        [ranges.collect::<Vec<_>>(), middles.collect()].map(|texts| texts.join(", "));
    let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    (!shown.is_empty()).then(|| {
        format!("{ranges}{more}: a random value in each round; in warm-ups the middle, {middles}")
    })
}

/// The table of programs; `None` if there are none.
pub(in crate::report::view) fn table(rows: &[&Row]) -> Option<Table> {
    let columns = vec![
        Column::text("case"),
        Column::number("median", "median"),
        Column::number("95 % interval", "ci95"),
        Column::number("spread", "spread_pct").in_lines_of(70),
        Column::number("user", "user").in_lines_of(76),
        Column::number("system", "system").in_lines_of(76),
        Column::number("memory", "peak_memory"),
    ];
    let rows: Vec<TableRow> = rows.iter().map(|row| TableRow::of(cells(row))).collect();
    (!rows.is_empty()).then(|| Table { columns, rows, ..Table::default() })
}

fn cells(row: &Row) -> Vec<Cell> {
    let Some(figure) = figure(row) else { return vec![Cell::case(row)] };
    let metric = |name: &str| {
        let it = row.metrics.get(name);
        Cell::text(it.map(|it| rough(it.estimate.median, it.unit)).unwrap_or_default())
    };
    let size = row.estimate.as_ref().map_or(0.0, |estimate| estimate.median.abs());
    let sd = row.estimate.as_ref().and_then(|estimate| estimate.sd).filter(|_| size != 0.0);
    vec![
        Cell::case(row),
        Cell::text(&figure.text),
        Cell::text(figure.interval_text().unwrap_or_default()),
        Cell::text(sd.map(|sd| per_cent(100.0 * sd / size)).unwrap_or_default()),
        metric(USER),
        metric(SYSTEM),
        Cell::text(peak_memory(row).unwrap_or_default()),
    ]
}

/// The peak memory of a program, or its bound.
pub(in crate::report::view) fn peak_memory(row: &Row) -> Option<String> {
    let Metric { unit, estimate, .. } = row.metrics.get(PEAK_MEMORY)?;
    let mark = if has(row, MEMORY_BOUND) { "<=" } else { "" };
    Some(format!("{mark}{}", rough(estimate.median, *unit)))
}

/// Why compared programs have no comparison of their peak memory; `None` if they may have one.
pub(in crate::report::view) fn memory_bounds(rows: &[&Row]) -> Option<String> {
    let bounded = rows.iter().filter(|row| is_program(row) && has(row, MEMORY_BOUND));
    let bound = |row: &&Row| Some(format!("{} {}", plain(&row.case), peak_memory(row)?));
    let bounds: BTreeSet<String> = bounded.filter_map(bound).collect();
    let bounds: Vec<String> = bounds.into_iter().take(MAX_DETAILED).collect();
    (!bounds.is_empty()).then(|| {
        format!(
            "{MEMORY_BOUND}: peak memory is not compared: {}. The process that starts them has as much, \
             and Linux carries its peak over the exec.",
            bounds.join(", ")
        )
    })
}

/// Further figures of a program: its trials, and figures that are in no column.
fn details(row: &Row, detailed: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let (name, values) = (short_name(row), values(row));
    if values.is_empty() || !detailed {
        return other_metrics(name, row);
    }
    lines.extend(spread(name, row, &values));
    lines.extend(quantiles(name, row, &values));
    let times = |name: &str| row.metrics.get(name).map_or(0.0, |it| it.estimate.median);
    lines.push(format!(
        "{name}: {:.0} page faults, {:.0} of them major; {:.0} voluntary and {:.0} involuntary \
         context switches",
        times("minor-faults") + times("major-faults"),
        times("major-faults"),
        times("voluntary-switches"),
        times("involuntary-switches"),
    ));
    lines.extend(below_cpu_time(name, row));
    lines.extend(counts_between_runs(name, row));
    lines.extend(other_metrics(name, row));
    lines.extend(calls(name, row));
    lines
}

/// That an interval between runs has wall times in which a program of one thread cannot do its work;
/// `None` of others.
fn below_cpu_time(name: &str, row: &Row) -> Option<String> {
    let is_wall_time = row.primary_metric.as_deref() == Some(REAL);
    let [low, _] = row.estimate.as_ref().filter(|_| is_wall_time)?.between_run_ci95?;
    let Metric { unit, estimate, .. } = row.metrics.get(CPU)?;
    // Each thread has one switch at its exit; a kernel that counts none says nothing.
    let switches = row.metrics.get("voluntary-switches")?.estimate.median;
    let has_one_thread = (0.5..=1.0).contains(&switches);
    (has_one_thread && low < estimate.median).then(|| {
        format!(
            "{name}: its interval between runs begins below its CPU time, {}, which one thread cannot: \
             earlier runs vary too much",
            rough(estimate.median, *unit)
        )
    })
}

/// Where the memory and the counts of a program lie between runs, if earlier runs show it.
fn counts_between_runs(name: &str, row: &Row) -> Option<String> {
    let text = |metric: &str| {
        let Metric { unit, estimate, .. } = row.metrics.get(metric)?;
        let [low, high] = estimate.between_run_ci95?;
        let figure = rough(estimate.median, *unit);
        Some(match low == high {
            true => format!("{metric} {figure}, the same in every run"),
            false => format!("{metric} {figure} [{} .. {}]", rough(low, *unit), rough(high, *unit)),
        })
    };
    let known: Vec<String> = [PEAK_MEMORY].into_iter().chain(COUNTS).filter_map(text).collect();
    (!known.is_empty()).then(|| format!("{name}: between runs: {}", known.join("; ")))
}

/// The name of a program's row without its family.
fn short_name(row: &Row) -> &str {
    row.case.split_once('/').map_or(row.case.as_str(), |(_, name)| name)
}

/// The values of its trials.
fn values(row: &Row) -> Vec<f64> {
    row.repetitions.iter().filter_map(|it| it.value).collect()
}

/// How many trials there are, and how they spread.
fn spread(name: &str, row: &Row, values: &[f64]) -> Option<String> {
    let estimate = row.estimate.as_ref()?;
    let least = values.iter().copied().min_by(f64::total_cmp)?;
    let most = values.iter().copied().max_by(f64::total_cmp)?;
    let style = Style::of(estimate.median, row.unit);
    let [least, most] = [least, most].map(|value| in_own_unit(value, row));
    let sd = estimate.sd.map(|sd| format!(", standard deviation {}", style.with_unit(sd)));
    Some(format!(
        "{name}: {} trials from {least} to {most}; mean {}{}",
        values.len(),
        style.with_unit(estimate.mean),
        sd.unwrap_or_default()
    ))
}

/// A value that may be many times the median, in the unit in which it is easiest to read.
fn in_own_unit(value: f64, row: &Row) -> String {
    Style::of(value, row.unit).with_unit(value)
}

/// Quantiles of the trials, if there are enough of them.
fn quantiles(name: &str, row: &Row, values: &[f64]) -> Option<String> {
    const MIN_TRIALS: usize = 100;
    let sorted = order::sorted(values);
    let quantile = |share: f64| Some(in_own_unit(order::quantile(&sorted, share)?, row));
    let [p10, p90, p99] = [quantile(0.1)?, quantile(0.9)?, quantile(0.99)?];
    (values.len() >= MIN_TRIALS).then(|| {
        format!(
            "{name}: 10 % of them take less than {p10}, 10 % more than {p90}, 1 % more than {p99}"
        )
    })
}

/// The calls that a trial made, the most frequent by name.
fn calls(name: &str, row: &Row) -> Option<String> {
    /// The record has all of them.
    const MAX_NAMED: usize = 12;
    let calls = row.calls.as_ref()?;
    let mut by_times: Vec<(&String, f64)> =
        calls.per_op.iter().map(|(call, &times)| (call, times)).collect();
    by_times.sort_by(|one, other| other.1.total_cmp(&one.1));
    let all: f64 = by_times.iter().map(|(_, times)| times).sum();
    let named = by_times.iter().take(MAX_NAMED).map(|(call, times)| format!("{call} {times:.0}"));
    let named = named.collect::<Vec<_>>().join(", ");
    let more = by_times.len().saturating_sub(MAX_NAMED);
    let more = if more == 0 { String::new() } else { format!(", {more} others") };
    Some(format!("{name}: {all:.0} system calls: {named}{more}"))
}

/// Metrics that were read from its output, and its time where that is not the row's own figure.
fn other_metrics(name: &str, row: &Row) -> Vec<String> {
    let in_columns = [USER, SYSTEM, PEAK_MEMORY];
    let others = row.metrics.iter().filter(|(metric, _)| {
        let is_own = row.primary_metric.as_ref() == Some(metric);
        !in_columns.contains(&metric.as_str()) && !COUNTS.contains(&metric.as_str()) && !is_own
    });
    let line = |(metric, it): (&String, &Metric)| {
        let style = Style::of(it.estimate.median, it.unit);
        let interval = it.estimate.between_run_ci95.or(it.estimate.ci95);
        let interval = interval
            .map(|[low, high]| format!(" [{} .. {}]", style.number(low), style.number(high)));
        format!(
            "{name}: {metric} {}{}",
            style.with_unit(it.estimate.median),
            interval.unwrap_or_default()
        )
    };
    others.map(line).collect()
}

/// A row as a comparison of one of its metrics shows it: with that metric's figure, and its name
/// after the row's.
pub(in crate::report::view) fn of_metric(row: &Row, it: &Comparison) -> Row {
    if !is_program(row) {
        return row.clone();
    }
    let name = match it.metric.as_str() {
        "primary" => row.primary_metric.as_deref().unwrap_or(REAL),
        name => name,
    };
    let mut shown = row.clone();
    if let Some(metric) = row.metrics.get(name) {
        shown.unit = metric.unit;
        shown.estimate = Some(metric.estimate.clone());
    }
    shown.point = shown.point.with("metric", name);
    let colon = if shown.case.contains(':') { ',' } else { ':' };
    shown.case = format!("{}{colon}metric={name}", shown.case);
    shown
}

#[cfg(test)]
mod tests {
    use oscost_model::record::{Estimate, Record};
    use oscost_model::unit::Unit;

    use super::*;

    #[test]
    fn counts_that_no_run_changed_are_told_from_those_with_an_interval() {
        let text = include_str!("../../../../tests/store/run-1.json");
        let record: Record = serde_json::from_str(text).unwrap();
        let mut row = record.results.into_iter().find(|row| row.estimate.is_some()).unwrap();
        assert_eq!(counts_between_runs("true", &row), None);
        let mut metric = |name: &str, median: f64, between_run_ci95: Option<[f64; 2]>| {
            let estimate = row.estimate.clone().unwrap();
            let estimate = Estimate { median, between_run_ci95, ..estimate };
            let unit = Unit::TimesPerOp;
            let metric = Metric { unit, better: unit.better(), estimate };
            row.metrics.insert(name.to_owned(), metric);
        };
        metric("minor-faults", 60.0, Some([60.0; 2]));
        metric("voluntary-switches", 3.0, Some([2.0, 4.0]));
        metric("involuntary-switches", 1.0, None);
        let line = counts_between_runs("true", &row).unwrap();
        assert!(line.starts_with("true: between runs: minor-faults 60"), "{line}");
        assert!(line.contains(", the same in every run; voluntary-switches 3"), "{line}");
        assert!(line.contains(" [2") && !line.contains("involuntary"), "{line}");
    }

    #[test]
    fn an_interval_of_wall_time_that_begins_below_cpu_time_is_told_of_one_thread() {
        let text = include_str!("../../../../tests/store/run-1.json");
        let record: Record = serde_json::from_str(text).unwrap();
        let row = record.results.into_iter().find(|row| row.estimate.is_some()).unwrap();
        let told = |low: f64, switches: f64| {
            let mut row = row.clone();
            row.primary_metric = Some(REAL.to_owned());
            let estimate = row.estimate.clone().unwrap();
            let metric = |median: f64, unit: Unit| {
                let estimate = Estimate { median, ..estimate.clone() };
                Metric { unit, better: unit.better(), estimate }
            };
            let of_cpu = metric(0.000_955, Unit::Seconds);
            row.metrics.insert(CPU.to_owned(), of_cpu);
            row.metrics.insert("voluntary-switches".to_owned(), metric(switches, Unit::TimesPerOp));
            row.estimate.as_mut().unwrap().between_run_ci95 = Some([low, 0.013]);
            below_cpu_time("sp", &row)
        };
        let line = told(0.000_096, 1.0).unwrap();
        assert!(line.contains("begins below its CPU time, 955 us, which"), "{line}");
        assert_eq!([told(0.000_96, 1.0), told(0.000_096, 3.0)], [None, None]);
    }

    #[test]
    fn a_peak_that_the_starter_has_too_is_shown_as_a_bound() {
        let text = include_str!("../../../../tests/store/run-1.json");
        let record: Record = serde_json::from_str(text).unwrap();
        let mut row = record.results.into_iter().find(|row| row.estimate.is_some()).unwrap();
        let mut estimate = row.estimate.clone().unwrap();
        estimate.median = 4e6;
        let metric = Metric { unit: Unit::Bytes, better: Unit::Bytes.better(), estimate };
        row.metrics.insert(PEAK_MEMORY.to_owned(), metric);
        (row.case, row.benchmark) = ("workload/true".to_owned(), "workload/true".to_owned());
        let own = peak_memory(&row).unwrap();
        assert!(own.starts_with('4') && memory_bounds(&[&row]).is_none(), "{own}");
        row.flags.push(MEMORY_BOUND.to_owned());
        assert_eq!(peak_memory(&row), Some(format!("<={own}")));
        let line = memory_bounds(&[&row, &row]).unwrap();
        assert!(line.contains(&format!("compared: workload/true <={own}. ")), "{line}");
    }
}
