//! Rows whose subject is a program: a figure, what of its time was whose, and what else was seen.

use std::fmt::Write as _;

use oscost_model::program::{FAMILY, PEAK_MEMORY, REAL, SYSTEM, USER};
use oscost_model::record::{Comparison, Metric, Row};

use crate::report::figures::{Style, per_cent, rough};
use crate::report::text::{fold, plain};
use crate::report::view::run::{Cells, Headings, figure, laid_out};

pub(super) const HEADINGS: Headings =
    ["median", "95 % interval", "spread", "user", "system", "memory"];
/// Of more rows, what each trial was is in the record alone.
const DETAILED: usize = 4;

/// Whether a row's subject is a program.
pub(super) fn is_program(row: &Row) -> bool {
    row.benchmark.split_once('/').is_some_and(|(family, _)| family == FAMILY)
}

/// The table of programs, and what stands below it; nothing where there is none.
pub(super) fn text(measured: &[&Row]) -> String {
    let rows: Vec<&Row> = measured.iter().copied().filter(|row| is_program(row)).collect();
    if rows.is_empty() {
        return String::new();
    }
    let cells: Vec<Cells> = rows.iter().map(|row| cells(row)).collect();
    let mut out = format!("\n{}", laid_out(&rows, &cells, HEADINGS));
    let lines: Vec<String> =
        rows.iter().flat_map(|row| lines(row, rows.len() <= DETAILED)).collect();
    if !lines.is_empty() {
        out.push('\n');
    }
    for line in lines {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{}", fold(&plain(&line), 78, "  "));
    }
    out
}

/// The cells of a measured row.
pub(super) fn cells(row: &Row) -> Cells {
    let Some((text, interval, size)) = figure(row) else { return Cells::default() };
    let median = |name: &str| row.metrics.get(name).map(|it| (it.estimate.median, it.unit));
    let cell = |name: &str| median(name).map(|(value, unit)| rough(value, unit));
    let sd = row.estimate.as_ref().and_then(|estimate| estimate.sd).filter(|_| size != 0.0);
    [
        text,
        interval.unwrap_or_default(),
        sd.map(|sd| per_cent(100.0 * sd / size.abs())).unwrap_or_default(),
        cell(USER).unwrap_or_default(),
        cell(SYSTEM).unwrap_or_default(),
        cell(PEAK_MEMORY).unwrap_or_default(),
    ]
}

/// What else there is to say of a program: its trials, and figures that stand in no column.
fn lines(row: &Row, detailed: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let name = row.case.split_once('/').map_or(row.case.as_str(), |(_, name)| name);
    let values: Vec<f64> = row.repetitions.iter().filter_map(|it| it.value).collect();
    let (Some(least), Some(most), true) = (
        values.iter().copied().min_by(f64::total_cmp),
        values.iter().copied().max_by(f64::total_cmp),
        detailed,
    ) else {
        return of_figures(name, row);
    };
    if let Some(estimate) = &row.estimate {
        let style = Style::of(estimate.median, row.unit);
        let sd = estimate.sd.map(|sd| format!(", standard deviation {}", style.with_unit(sd)));
        lines.push(format!(
            "{name}: {} trials from {} to {}; mean {}{}",
            values.len(),
            style.number(least),
            style.with_unit(most),
            style.with_unit(estimate.mean),
            sd.unwrap_or_default()
        ));
    }
    let times = |name: &str| row.metrics.get(name).map_or(0.0, |it| it.estimate.median);
    lines.push(format!(
        "{name}: faults {:.0}, of which {:.0} waited for a disk; switches {:.0} by itself, {:.0} \
         forced",
        times("minor-faults") + times("major-faults"),
        times("major-faults"),
        times("voluntary-switches"),
        times("involuntary-switches"),
    ));
    lines.extend(of_figures(name, row));
    lines.extend(calls(name, row));
    lines
}

/// The calls that a run of it has made, most of them by name.
fn calls(name: &str, row: &Row) -> Option<String> {
    /// The record has all of them.
    const MOST: usize = 12;
    let calls = row.calls.as_ref()?;
    let mut by_times: Vec<(&String, f64)> =
        calls.per_op.iter().map(|(call, &times)| (call, times)).collect();
    by_times.sort_by(|one, other| other.1.total_cmp(&one.1));
    let all: f64 = by_times.iter().map(|(_, times)| times).sum();
    let told = by_times.iter().take(MOST).map(|(call, times)| format!("{call} {times:.0}"));
    let told = told.collect::<Vec<_>>().join(", ");
    let more = by_times.len().saturating_sub(MOST);
    let more = if more == 0 { String::new() } else { format!(", {more} others") };
    Some(format!("{name}: {all:.0} system calls: {told}{more}"))
}

/// Figures that were read from its output, and its time where that is not the row's own figure.
fn of_figures(name: &str, row: &Row) -> Vec<String> {
    let shown = [USER, SYSTEM, PEAK_MEMORY];
    let counted = ["minor-faults", "major-faults", "voluntary-switches", "involuntary-switches"];
    let others = row.metrics.iter().filter(|(metric, _)| {
        let is_own = row.primary_metric.as_ref() == Some(metric);
        !shown.contains(&metric.as_str()) && !counted.contains(&metric.as_str()) && !is_own
    });
    let line = |(metric, it): (&String, &Metric)| {
        let style = Style::of(it.estimate.median, it.unit);
        let interval = it.estimate.ci95;
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

/// A row as its comparison by a metric shows it: that metric's own figure, and its name behind the
/// row's.
pub(super) fn of_metric(row: &Row, it: &Comparison) -> Row {
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
