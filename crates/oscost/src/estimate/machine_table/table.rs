//! A table of machines, from the runs of each.

use super::columns::{ShownColumns, case_lines, shown_columns};
use super::content::{Finding, MachineTable, TableMachine, TableUnit};
use super::lines::machine_lines;
use super::standing::{Standing, standing};

/// These machines side by side; `base` is the one that ratios are to.
pub fn machine_table(machines: &[TableMachine<'_>], unit: TableUnit, base: usize) -> MachineTable {
    let lines = machine_lines(machines, unit, base);
    let Standing { columns, mut findings, judged } = standing(&lines, machines, base);
    let size = |it: &Finding| it.slowness.ln().abs();
    findings.sort_by(|one, other| {
        let order = other.are_equals.cmp(&one.are_equals);
        order.then(size(other).total_cmp(&size(one)))
    });
    let ShownColumns { shown: columns, left_out } = shown_columns(columns, &findings);
    let lines = case_lines(&lines, &columns, unit);
    MachineTable { unit, columns, left_out, lines, findings, judged }
}
