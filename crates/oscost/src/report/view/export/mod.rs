//! Tables for other programs: their columns and values.
//!
//! There are five: `rows`, a line for each figure of a run, `comparisons`, a line for each pair of
//! figures that was compared, `bill-items`, a line for each item of a bill and for its totals,
//! `bill-changes`, a line for each part of what a change of it would add or save, and `fleet-cases`,
//! a line for each case on each node of a fleet. Each column is defined once, in `rows`,
//! `case_columns`, `shot_columns`, `comparisons`, `bills`, `bill_changes` or `fleet_cases`; CSV,
//! Parquet and docs/reference/EXPORTS.md are made from that.

use oscost_model::record::{Comparison, Record, Row};

pub use self::bill_changes::ChangeSheet;
pub use self::bills::BillSheet;
pub use self::fleet_cases::FleetSheet;
pub use self::reference::page;
pub use self::sheet::{Cells, Column, Heading, Kind, Sheet, Value};
use self::sheet::{Line, LineComparison, Side, spaced};
use crate::report::view::comparison::compare::ComparisonContent;

mod bill_changes;
mod bills;
mod case_columns;
mod comparisons;
mod fleet_cases;
pub mod hyperfine;
mod reference;
mod rows;
mod sheet;
mod shot_columns;

/// The columns of all tables.
pub fn headings() -> impl Iterator<Item = Heading> {
    let figures = rows::COLUMNS.iter().chain(comparisons::COLUMNS).map(Column::heading);
    let of_bills = bills::headings().chain(bill_changes::headings());
    figures.chain(of_bills).chain(fleet_cases::headings())
}

impl<'a> Sheet<'a> {
    /// The rows of a run: a line for each figure.
    pub fn rows(record: &'a Record) -> Self {
        let runs = std::slice::from_ref(record);
        let figures = record.results.iter().flat_map(|row| Side::all(runs, row));
        Self {
            schema: rows::SCHEMA,
            columns: rows::COLUMNS,
            runs: record.id.clone(),
            lines: figures.map(|new| Line { new, comparison: None }).collect(),
        }
    }

    /// What was compared within a run.
    pub fn comparisons(record: &'a Record) -> Self {
        let runs = std::slice::from_ref(record);
        Self::of((runs, runs), &record.results, &record.comparisons, record.id.clone())
    }

    /// What was compared of several runs.
    pub fn compared(shown: &ComparisonContent<'a>) -> Self {
        let all = spaced(shown.base.iter().chain(shown.new).map(|run| run.id.as_str()));
        let compared = shown.compared;
        Self::of((shown.base, shown.new), &compared.results, &compared.comparisons, all)
    }

    fn of(
        (base, new): (&'a [Record], &'a [Record]),
        results: &'a [Row],
        comparisons: &'a [Comparison],
        runs: String,
    ) -> Self {
        let line = |it: &'a Comparison| {
            let row = |index: u32| results.get(index as usize);
            let base = Side::compared(base, row(it.base)?, it);
            let new = Side::compared(new, row(it.new)?, it);
            Some(Line { new, comparison: Some(LineComparison { base, it }) })
        };
        Self {
            schema: comparisons::SCHEMA,
            columns: comparisons::COLUMNS,
            runs,
            lines: comparisons.iter().filter_map(line).collect(),
        }
    }
}

#[cfg(test)]
pub(in crate::report) mod tests;
