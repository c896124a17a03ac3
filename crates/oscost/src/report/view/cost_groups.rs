//! The cost groups of a run: which costs lie close together, and how many times as dear each is as
//! an empty function and as the kernel's bare door.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use oscost_model::record::{Record, Row};
use oscost_model::unit::Unit;

use crate::report::figures::{rough, times};
use crate::report::text::{fold, plain};
use oscost_stats::groups::{Borderline, Cost, Groups, groups};
use oscost_stats::interval::Interval;

/// With fewer costs than these a glance at the table shows as much.
const FEWEST: usize = 8;
/// More names than these are told as their number.
const MOST_NAMED: usize = 3;

/// Columns that are always shown: the range, and the classes of its rows.
const FIXED: usize = 2;

/// The block under the table; empty where too few rows have a class and a cost.
pub(super) fn text(record: &Record, measured: &[&Row]) -> String {
    let placed: Vec<(&Row, Cost)> =
        measured.iter().filter_map(|&row| Some((row, cost(row)?))).collect();
    if placed.len() < FEWEST {
        return String::new();
    }
    let costs: Vec<Cost> = placed.iter().map(|&(_, cost)| cost).collect();
    let Groups { of, count, borderline } = groups(&costs, record.settings.seed);
    let members = |group: usize| {
        let of = of.iter().zip(&placed);
        of.filter(move |(its, _)| **its == group).map(|(_, &(row, _))| row).collect::<Vec<_>>()
    };
    let bases: BTreeSet<&str> =
        placed.iter().flat_map(|(row, _)| row.multiples.keys().map(String::as_str)).collect();
    let mut lines: Vec<Vec<String>> = vec![heading(&bases)];
    lines.extend((0..count).map(|group| line(group, &members(group), &bases)));
    let shown = fitting(&lines);
    let mut out = format!("\n{}", columns(&lines, shown));
    for base in bases.iter().take(shown - FIXED) {
        let text = format!("x {}: times as dear as {}", name(base), plain(base));
        // Writing to a String cannot fail.
        let _ = writeln!(out, "  {}", fold(&text, 76, "    "));
    }
    for text in doubts(&borderline, &placed) {
        let _ = writeln!(out, "  {}", fold(&text, 76, "    "));
    }
    out
}

/// The cost of a row that has a class; what may be nothing has no place among ratios.
fn cost(row: &Row) -> Option<Cost> {
    let classed = row.class.is_some() && row.unit == Unit::NsPerOp;
    let estimate = row.estimate.as_ref().filter(|_| classed)?;
    let [lo, hi] = estimate.ci95?;
    Cost::new(estimate.median, Interval { lo, hi })
}

fn heading(bases: &BTreeSet<&str>) -> Vec<String> {
    let fixed = ["cost groups".to_owned(), "rows".to_owned()].into_iter();
    fixed.chain(bases.iter().map(|base| format!("x {}", name(base)))).collect()
}

/// What a base is called in the head of its column.
fn name(base: &str) -> String {
    let benchmark = base.split_once(':').map_or(base, |(benchmark, _)| benchmark);
    plain(benchmark.rsplit_once('/').map_or(benchmark, |(_, name)| name))
}

/// A group: its range, the classes of its rows, and how it compares with the bases.
fn line(group: usize, rows: &[&Row], bases: &BTreeSet<&str>) -> Vec<String> {
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
    let mut cells = vec![format!("  {}  {figures}", group + 1), classes.join(", ")];
    for base in bases {
        let mut ratios = rows.iter().filter_map(|row| row.multiples.get(*base).copied());
        cells.push(range(&mut ratios, &times));
    }
    cells
}

/// How wide each column must be.
fn widths(lines: &[Vec<String>]) -> Vec<usize> {
    let width = |at: usize| lines.iter().map(|line| line[at].chars().count()).max().unwrap_or(0);
    (0..lines[0].len()).map(width).collect()
}

/// How many columns fit into a terminal; a ratio that does not is left out.
fn fitting(lines: &[Vec<String>]) -> usize {
    const WIDTH: usize = 80;
    let widths = widths(lines);
    let wide = |&count: &usize| widths[..count].iter().sum::<usize>() + 2 * (count - 1) <= WIDTH;
    (FIXED..=widths.len()).rev().find(wide).unwrap_or(FIXED)
}

/// The lines, each column as wide as it must be: the first two to the left, ratios to the right.
fn columns(lines: &[Vec<String>], shown: usize) -> String {
    let mut out = String::new();
    let widths = &widths(lines)[..shown];
    for line in lines {
        let cells = line.iter().zip(widths).enumerate().map(|(at, (cell, &width))| match at {
            0 | 1 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        let text = cells.collect::<Vec<_>>().join("  ");
        let _ = writeln!(out, "{}", text.trim_end());
    }
    out
}

/// Who could as well belong to another group.
fn doubts(borderline: &[Borderline], placed: &[(&Row, Cost)]) -> Vec<String> {
    let mut between: BTreeMap<(usize, usize), Vec<&str>> = BTreeMap::new();
    for &Borderline { item, group, or } in borderline {
        // A group of its own comes behind all others.
        let other = or.unwrap_or(usize::MAX);
        between.entry((group, other)).or_default().push(&placed[item].0.case);
    }
    let text = |(&(group, other), cases): (&(usize, usize), &Vec<&str>)| {
        let named = match cases.len() {
            many if many > MOST_NAMED => format!("{many} rows"),
            _ => cases.iter().map(|case| plain(case)).collect::<Vec<_>>().join(", "),
        };
        match other {
            usize::MAX => format!("borderline {}/apart: {named}", group + 1),
            other => format!("borderline {}/{}: {named}", group + 1, other + 1),
        }
    };
    between.iter().map(text).collect()
}
