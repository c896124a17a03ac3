//! The names of rows: cases are named below their family and benchmark.

use std::collections::BTreeSet;

use crate::report::render::terminal::layout::short_names;
use crate::report::render::terminal::paint::width;
use crate::report::text::plain;
use crate::report::view::document::{CaseName, Cell, TableRow};

pub(super) fn cell(row: &TableRow, index: usize) -> &str {
    row.cells.get(index).map_or("", |cell| cell.text.as_str())
}

/// A line of a table: a row with its name, or a title above rows.
pub(super) struct Line<'a> {
    pub(super) name: String,
    pub(super) row: Option<&'a TableRow>,
}

/// The rows with their names; cases by family and benchmark.
pub(super) fn lines(rows: &[TableRow], left: usize) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    for of_family in rows.chunk_by(|one, other| family(one) == family(other)) {
        let Some(family) = family(&of_family[0]) else {
            lines.extend(
                of_family.iter().map(|row| Line { name: cell(row, 0).to_owned(), row: Some(row) }),
            );
            continue;
        };
        lines.push(Line { name: plain(family), row: None });
        for of_benchmark in of_family.chunk_by(|one, other| benchmark(one) == benchmark(other)) {
            lines.extend(of_one_benchmark(of_benchmark, left));
        }
    }
    lines
}

/// The case that a row is named by.
fn case(row: &TableRow) -> Option<&CaseName> {
    row.cells.first()?.case.as_ref()
}

fn family(row: &TableRow) -> Option<&str> {
    case(row).map(CaseName::family)
}

fn benchmark(row: &TableRow) -> Option<&str> {
    case(row).map(|case| case.benchmark.as_str())
}

/// The axes on which all cases have the value of the first, found once: if each row asked for them,
/// each would be compared with all others. If some leave an axis out, a shared title could leave
/// the others without a name, so they agree on none.
struct SharedAxes<'a> {
    /// Whether all have the same axes.
    all_named: bool,
    agreed: BTreeSet<&'a str>,
}

impl<'a> SharedAxes<'a> {
    fn of(first: &'a CaseName, others: &[&CaseName]) -> Self {
        let axes = |case: &'a CaseName| case.point.iter().map(|(axis, _)| axis);
        let has_axes = |case: &&CaseName| case.point.iter().map(|(axis, _)| axis).eq(axes(first));
        let all_named = others.iter().all(has_axes);
        let is_agreed =
            |axis: &&str| others.iter().all(|it| it.point.get(axis) == first.point.get(axis));
        let agreed = axes(first).filter(|axis| all_named && is_agreed(axis)).collect();
        Self { all_named, agreed }
    }
}

/// The rows of a benchmark. If there are several, a title names the axes on which they agree, and each
/// row the others. If those do not fit, the title names these axes too, and a row only its values.
fn of_one_benchmark(rows: &[TableRow], left: usize) -> Vec<Line<'_>> {
    let cases: Vec<(&TableRow, &CaseName)> =
        rows.iter().filter_map(|row| Some((row, case(row)?))).collect();
    let [(row, first), rest @ ..] = &cases[..] else { return Vec::new() };
    if rest.is_empty() {
        let name = row.cells.first().map_or("", |Cell { text, .. }| without_family(text));
        return vec![Line { name: plain(&format!(" {name}")), row: Some(row) }];
    }
    let others: Vec<&CaseName> = rest.iter().map(|&(_, case)| case).collect();
    let SharedAxes { all_named, agreed } = SharedAxes::of(first, &others);
    let agreed = |axis: &str| agreed.contains(axis);
    let joined = |parts: &mut dyn Iterator<Item = String>| parts.collect::<Vec<_>>().join(",");
    let full = |case: &CaseName| {
        let axes = case.point.iter().filter(|(axis, _)| !agreed(axis));
        joined(&mut axes.map(|(axis, value)| format!("{axis}={value}")))
    };
    let values = |case: &CaseName| {
        let axes = case.point.iter().filter(|(axis, _)| !agreed(axis));
        joined(&mut axes.map(|(_, value)| value.to_string()))
    };
    let fits = !all_named || cases.iter().all(|(_, case)| width(&full(case)) + 2 <= left);
    let axes = first.point.iter().filter_map(|(axis, value)| match (agreed(axis), fits) {
        (true, _) => Some(format!("{axis}={value}")),
        (false, true) => None,
        (false, false) => Some(axis.to_owned()),
    });
    let axes = joined(&mut { axes });
    let colon = if axes.is_empty() { "" } else { ":" };
    let title = plain(&format!(" {}{colon}{axes}", without_family(&first.benchmark)));
    let of_rows = cases.iter().map(|(row, case)| {
        let name = if fits { full(case) } else { values(case) };
        Line { name: plain(&format!("  {name}")), row: Some(row) }
    });
    [Line { name: title, row: None }].into_iter().chain(of_rows).collect()
}

/// An id or a case without its family, which is above it.
fn without_family(id: &str) -> &str {
    id.split_once('/').map_or(id, |(_, name)| name)
}

/// The columns of names that leave room for a scale, if most names fit into them: the others have
/// lines of their own, as on a narrower screen.
pub(super) fn names_beside_bars(rows: &[TableRow], left: usize, scale: usize) -> Option<usize> {
    let names = left.checked_sub(scale)?;
    let lines = lines(rows, names);
    let is_fitting = |line: &&Line<'_>| line.row.is_some() && width(&line.name) <= names;
    (4 * lines.iter().filter(is_fitting).count() >= 3 * rows.len()).then_some(names)
}

/// Shortens the names of rows that do not fit beside the columns; those below one title stay
/// different.
pub(super) fn shorten_names(lines: &mut [Line<'_>], columns: usize) {
    for below_title in lines.split_mut(|line| line.row.is_none()) {
        let names: Vec<&str> = below_title.iter().map(|line| line.name.as_str()).collect();
        let short = short_names(&names, columns);
        below_title.iter_mut().zip(short).for_each(|(line, name)| line.name = name);
    }
}
