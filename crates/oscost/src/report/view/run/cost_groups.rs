//! The cost groups of a run: which costs are close to each other, and the ratio of each to a call of an
//! empty function and to a null system call.

use std::collections::{BTreeMap, BTreeSet};

use oscost_model::record::{Record, Row};
use oscost_model::unit::Unit;
use oscost_stats::groups::{Borderline, Groups, MeasuredCost, group_costs};
use oscost_stats::interval::Interval;

use crate::report::figures::{rough, times};
use crate::report::text::plain;
use crate::report::view::document::{Cell, Column, Table, TableRow};

/// The minimum number of costs: for fewer, the table of figures is enough.
const MIN_COSTS: usize = 8;
/// The maximum number of names in a note; of more, the number is given.
const MAX_NAMED: usize = 3;
/// The maximum number of bases, a column each. A run has two; in a foreign record each row may name
/// others.
const MAX_BASES: usize = 8;

/// The groups whose costs are close together, and that would be found again; `None` if fewer than half
/// of the costs are in one, and if too few rows have a class and a cost.
pub(in crate::report::view) fn table(record: &Record, measured: &[&Row]) -> Option<Table> {
    let costed: Vec<(&Row, MeasuredCost)> =
        measured.iter().filter_map(|&row| Some((row, cost(row)?))).collect();
    if costed.len() < MIN_COSTS {
        return None;
    }
    let (rows, costs): (Vec<&Row>, Vec<MeasuredCost>) = costed.into_iter().unzip();
    let found = group_costs(&costs, record.settings.seed);
    let shown: Vec<usize> = (0..found.count).filter(|&group| found.is_distinct(group)).collect();
    let in_groups = found.assignments.iter().filter(|group| shown.contains(group)).count();
    // Of a few costs in groups a reader learns nothing of the run.
    if shown.is_empty() || 2 * in_groups < found.assignments.len() {
        return None;
    }
    let members = |group: usize| {
        let assigned = found.assignments.iter().zip(&rows);
        assigned.filter(move |(its, _)| **its == group).map(|(_, &row)| row).collect::<Vec<_>>()
    };
    let all_bases: BTreeSet<&str> =
        rows.iter().flat_map(|row| row.multiples.keys().map(String::as_str)).collect();
    let bases: BTreeSet<&str> = all_bases.iter().copied().take(MAX_BASES).collect();
    let more = all_bases.len() - bases.len();
    let more = (more > 0).then(|| format!("{more} more: `multiples` in the record (`--json`)"));
    let titles = bases.iter().map(|base| {
        let title = format!("x {}", name(base));
        let meaning = format!("{title}: times the cost of {}", plain(base));
        Column { meaning: Some(meaning), optional: true, ..Column::number(&title, &title) }
    });
    let columns = [Column::text("Cost groups"), Column::text("rows")].into_iter().chain(titles);
    let lines = shown.iter().enumerate().map(|(at, &group)| line(at + 1, &members(group), &bases));
    let notes = borderline_notes(&found, &shown, &rows).into_iter();
    Some(Table {
        columns: columns.collect(),
        rows: lines.collect(),
        notes: notes.chain(without_group(&found, &shown)).chain(more).collect(),
        ..Table::default()
    })
}

/// The cost of a row that has a class; `None` if it may be zero, which has no ratio.
fn cost(row: &Row) -> Option<MeasuredCost> {
    let classed = row.class.is_some() && row.unit == Unit::NsPerOp;
    let estimate = row.estimate.as_ref().filter(|_| classed)?;
    let interval = |[lo, hi]: [f64; 2]| Interval { lo, hi };
    let of_run = interval(estimate.ci95?);
    let values: Vec<f64> = row.repetitions.iter().filter_map(|it| it.value).collect();
    let shown = estimate.between_run_ci95.map_or(of_run, interval);
    Some(MeasuredCost::new(estimate.median, shown)?.with_repetitions(&values, of_run))
}

/// The short name of a base, for the heading of its column.
fn name(base: &str) -> String {
    let benchmark = base.split_once(':').map_or(base, |(benchmark, _)| benchmark);
    plain(benchmark.rsplit_once('/').map_or(benchmark, |(_, name)| name))
}

/// A group: its range, the classes of its rows, and its ratios to the bases.
fn line(number: usize, rows: &[&Row], bases: &BTreeSet<&str>) -> TableRow {
    let range = |values: &mut dyn Iterator<Item = f64>, shown: &dyn Fn(f64) -> String| {
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let (low, high) = (shown(low), shown(high));
        if low == high { low } else { format!("{low} .. {high}") }
    };
    let mut medians = rows.iter().filter_map(|row| Some(row.estimate.as_ref()?.median));
    let mut classes: BTreeMap<&str, u32> = BTreeMap::new();
    for class in rows.iter().filter_map(|row| row.class.as_deref()) {
        *classes.entry(class).or_default() += 1;
    }
    let classes: Vec<String> =
        classes.iter().map(|(class, rows)| format!("{rows} {}", plain(class))).collect();
    let figures = range(&mut medians, &|ns| rough(ns, Unit::NsPerOp));
    let mut cells = vec![format!("  {number}  {figures}"), classes.join(", ")];
    for base in bases {
        let mut ratios = rows.iter().filter_map(|row| row.multiples.get(*base).copied());
        cells.push(range(&mut ratios, &times));
    }
    TableRow::of(cells.into_iter().map(Cell::text).collect())
}

/// How many rows are in no group that is shown; `None` if all are in one.
fn without_group(found: &Groups, shown: &[usize]) -> Option<String> {
    let rows = found.assignments.iter().filter(|group| !shown.contains(group)).count();
    let which = match rows {
        0 => return None,
        1 => "1 row is".to_owned(),
        _ => format!("{rows} rows are"),
    };
    Some(format!(
        "{which} in no group that resampled repetitions keep and that spans at most a decade"
    ))
}

/// The rows of groups that are shown which may as well belong to another group.
fn borderline_notes(found: &Groups, shown: &[usize], rows: &[&Row]) -> Vec<String> {
    let place = |group: usize| shown.iter().position(|&it| it == group);
    let mut between: BTreeMap<(usize, usize), Vec<&str>> = BTreeMap::new();
    for &Borderline { item, group, alternative } in &found.borderline {
        let Some(group) = place(group) else { continue };
        // A group that is not shown is listed after all others.
        let other = alternative.and_then(place).unwrap_or(usize::MAX);
        between.entry((group, other)).or_default().push(&rows[item].case);
    }
    let text = |(&(group, other), cases): (&(usize, usize), &Vec<&str>)| {
        let named = match cases.len() {
            many if many > MAX_NAMED => format!("{many} rows"),
            _ => cases.iter().map(|case| plain(case)).collect::<Vec<_>>().join(", "),
        };
        match other {
            usize::MAX => format!("borderline {}/apart: {named}", group + 1),
            other => format!("borderline {}/{}: {named}", group + 1, other + 1),
        }
    };
    between.iter().map(text).collect()
}
