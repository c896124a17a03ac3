//! The bar of a counted row: what its time on a CPU consists of.

use std::collections::BTreeMap;

use oscost_model::record::{Record, Row};

use crate::estimate::{BestOfRows, RunningParts};
use crate::report::view::document::{BarPart, Cell, Column};

/// The name of the column.
pub(super) const COLUMN: &str = "running_parts";

/// What bars are drawn against.
pub(super) struct WorkBars<'a> {
    /// The best of the rows of each machine.
    best: BTreeMap<&'a str, BestOfRows<'a>>,
}

impl<'a> WorkBars<'a> {
    pub(super) fn of(record: &'a Record) -> Self {
        let mut best: BTreeMap<&str, BestOfRows<'_>> = BTreeMap::new();
        for row in &record.results {
            let of_machine = best.entry(&row.target.machine).or_default();
            *of_machine = of_machine.with(row);
        }
        Self { best }
    }

    /// The cell of a row; empty where its cycles or its clock were not counted.
    pub(super) fn cell(&self, row: &Row) -> Cell {
        let best = self.best.get(row.target.machine.as_str());
        let Some(parts) = best.and_then(|best| best.parts(row)) else { return Cell::default() };
        let RunningParts { instructions, cycles_per_instruction, clock } = parts;
        let part = |style, share| BarPart { style, share };
        let bar = vec![
            part("work", instructions),
            part("core", cycles_per_instruction),
            part("clock", clock),
        ];
        let pct = |share: f64| format!("{:.0} %", 100.0 * share);
        let text = format!(
            "{} instructions, {} cycles per instruction, {} clock",
            pct(instructions),
            pct(cycles_per_instruction),
            pct(clock)
        );
        Cell::bar(bar, text)
    }
}

/// Its column.
pub(super) fn column() -> Column {
    let meaning = "time on a CPU: what an op's instructions take at the fewest cycles per \
                   instruction and the highest clock of all rows of this run; what more cycles per \
                   instruction add; what a lower clock adds. Waiting is not in it.";
    Column {
        name: COLUMN.to_owned(),
        meaning: Some(meaning.to_owned()),
        ..Column::text("time on a CPU")
    }
}
