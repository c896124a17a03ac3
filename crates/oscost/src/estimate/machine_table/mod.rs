//! Machines side by side: the figures of each case on each machine, ratios to one of them, and what
//! stands out (docs/explanation/METHOD.md, section 11).
//!
//! `join` says which rows stand in one line, `figures` what several runs of a machine say together,
//! `counts` what its counters say, `standing` which machine differs from its equals by more than they
//! vary.

mod columns;
mod content;
mod counts;
mod figures;
mod join;
mod lines;
mod standing;
mod table;
#[cfg(test)]
mod tests;

pub use self::content::{
    CaseLine, CountedModes, Finding, MachineRun, MachineTable, TableCell, TableColumn, TableFigure,
    TableMachine, TableUnit,
};
pub use self::table::machine_table;
