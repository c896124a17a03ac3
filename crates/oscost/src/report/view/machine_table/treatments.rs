//! The runs of one machine under several treatments: cases down, treatments across. Machines without
//! a figure beside it are none of the table.

use std::collections::{BTreeMap, BTreeSet};

use super::content::TableContent;
use super::grid::{BY_NAME, cell, notes};
use crate::estimate::machine_table::CaseLine;
use crate::report::text::plain;
use crate::report::view::document::{Cell, Column, Table, TableRow};

/// The lines of a case, one for each treatment that it was measured under.
type CaseRow<'a> = Vec<Option<&'a CaseLine>>;

/// The table, a column for each treatment; `None` for several machines, and for one treatment.
pub(super) fn grid(content: &TableContent<'_>) -> Option<Table> {
    let treatments = of_one_machine(content);
    if treatments.len() < 2 {
        return None;
    }
    let column = *content.shown_columns().first()?;
    let names = treatments.iter().map(|treatments| name(treatments));
    let columns = names.map(|name| Column { title: name.clone(), ..Column::number("", &name) });
    let rows = rows(&content.lines_with_figures(), &treatments);
    let count = rows.len();
    let row = |(at, lines): (usize, &CaseRow<'_>)| {
        let first = lines.iter().flatten().next()?;
        let cells =
            lines.iter().map(|line| match line.and_then(|it| Some((it, it.cells.get(column)?))) {
                Some((line, found)) => cell(line, found),
                None => Cell::number("-", None),
            });
        Some(TableRow {
            benchmark: first.benchmark.clone(),
            priority: (count - at) as u32,
            ..TableRow::of([Cell::text(plain(&first.case))].into_iter().chain(cells).collect())
        })
    };
    Some(Table {
        id: "machine-table".to_owned(),
        caption: BY_NAME.to_owned(),
        columns: [Column::text("case")].into_iter().chain(columns).collect(),
        rows: rows.iter().enumerate().filter_map(row).collect(),
        notes: notes(content),
        interactive: true,
        ..Table::default()
    })
}

/// The treatments of the cases, none first; empty if several machines have figures.
pub(super) fn of_one_machine<'a>(content: &TableContent<'a>) -> Vec<&'a [String]> {
    if content.shown_columns().len() != 1 {
        return Vec::new();
    }
    let lines = content.lines_with_figures().into_iter();
    let all: BTreeSet<&[String]> = lines.map(|line| &line.treatments[..]).collect();
    all.into_iter().collect()
}

fn name(treatments: &[String]) -> String {
    match treatments {
        [] => "no treatment".to_owned(),
        several => plain(&several.join("+")),
    }
}

/// The cases by their names. One with its other end here and one with it elsewhere are two rows.
fn rows<'a>(lines: &[&'a CaseLine], treatments: &[&[String]]) -> Vec<CaseRow<'a>> {
    let mut by_case: BTreeMap<&str, Vec<CaseRow<'a>>> = BTreeMap::new();
    for &line in lines {
        let own = &line.treatments[..];
        let Some(at) = treatments.iter().position(|it| *it == own) else { continue };
        let rows = by_case.entry(&line.case).or_default();
        let free = match rows.iter().position(|row| row[at].is_none()) {
            Some(free) => free,
            None => {
                rows.push(vec![None; treatments.len()]);
                rows.len() - 1
            }
        };
        rows[free][at] = Some(line);
    }
    by_case.into_values().flatten().collect()
}
