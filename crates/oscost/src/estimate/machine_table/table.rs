//! A table of machines, from the runs of each.

use super::columns::{case_lines, columns};
use super::content::{Finding, MachineTable, TableMachine, TableUnit};
use super::lines::machine_lines;
use super::standing::{against_first, among_equals};

/// These machines side by side; `base` is the one that ratios are to.
pub fn machine_table(machines: &[TableMachine<'_>], unit: TableUnit, base: usize) -> MachineTable {
    let lines = machine_lines(machines, unit, base);
    let of_equals = among_equals(&lines, machines);
    let columns = columns(machines, &of_equals.findings, base);
    let of_others = against_first(&lines, machines, &columns);
    let judged = of_equals.count + of_others.count;
    let mut findings = of_equals.findings;
    // Of two equals that differ, one is slower: the other one says the same.
    findings.retain(|it| it.others.len() > 1 || it.slowness > 1.0);
    findings.extend(of_others.findings);
    let size = |it: &Finding| it.slowness.ln().abs();
    findings.sort_by(|one, other| {
        let order = other.are_equals.cmp(&one.are_equals);
        order.then(size(other).total_cmp(&size(one)))
    });
    MachineTable { unit, lines: case_lines(&lines, &columns, unit), columns, findings, judged }
}
