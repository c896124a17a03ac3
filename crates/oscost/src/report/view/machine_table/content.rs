//! What is shown of a table of machines, and what its machines are called.

use std::collections::BTreeSet;

use super::name_list::name_list;
use crate::advice::machine_facts::DescribedMachine;
use crate::estimate::machine_table::{CaseLine, MachineTable, TableColumn};
use crate::report::text::{plain, shorten};

/// A longer name of a machine has its middle left out.
const MAX_NAME: usize = 24;

/// A table of machines, and what is known of them.
#[derive(Clone, Copy)]
pub struct TableContent<'a> {
    /// The table.
    pub table: &'a MachineTable,
    /// The machines that it was made of, by their indices.
    pub machines: &'a [DescribedMachine],
}

impl<'a> TableContent<'a> {
    /// The lines that have a figure in some column: others have no row.
    pub(super) fn lines_with_figures(&self) -> Vec<&'a CaseLine> {
        let table = self.table;
        let has_figure = |line: &&CaseLine| line.cells.iter().any(|it| it.figure().is_some());
        table.lines.iter().filter(has_figure).collect()
    }
}

impl TableContent<'_> {
    /// Whether any case has a figure in the unit of the table.
    pub fn has_figures(&self) -> bool {
        !self.lines_with_figures().is_empty()
    }

    /// What a machine is called where there is little room.
    pub(super) fn name(&self, machine: usize) -> String {
        self.names().into_iter().nth(machine).unwrap_or_default()
    }

    /// What each machine is called there: names that are equal when their middle is left out are
    /// numbered.
    fn names(&self) -> Vec<String> {
        let mut seen: BTreeSet<String> = BTreeSet::new();
        let name = |it: &DescribedMachine| {
            let first = shorten(&plain(&it.name), MAX_NAME).trim_end().to_owned();
            let mut name = first.clone();
            let mut number = 1;
            while !seen.insert(name.clone()) {
                number += 1;
                name = format!("{first} ({number})");
            }
            name
        };
        self.machines.iter().map(name).collect()
    }

    /// What a column is called: its only machine, or the first and how many more it has.
    pub(super) fn column_name(&self, column: &TableColumn) -> String {
        match &column.machines[..] {
            [] => String::new(),
            [only] => self.name(*only),
            [first, others @ ..] => format!("{} +{}", self.name(*first), others.len()),
        }
    }

    /// The whole names of all machines of a column, separated by spaces, for other programs.
    pub(super) fn machine_names(&self, column: &TableColumn) -> String {
        self.whole_names(column).join(" ")
    }

    /// The same for readers, as Slurm writes lists of nodes.
    pub(super) fn listed_names(&self, column: &TableColumn) -> String {
        name_list(&self.whole_names(column))
    }

    fn whole_names(&self, column: &TableColumn) -> Vec<String> {
        let machines = column.machines.iter().filter_map(|&at| self.machines.get(at));
        machines.map(|it| plain(&it.name)).collect()
    }

    /// The indices of the columns that have a figure; the first one, to which ratios are, in any case.
    pub(super) fn shown_columns(&self) -> Vec<usize> {
        let has_figure = |at: usize| {
            let mut cells = self.table.lines.iter().filter_map(|line| line.cells.get(at));
            cells.any(|cell| cell.figure().is_some())
        };
        (0..self.table.columns.len()).filter(|&at| at == 0 || has_figure(at)).collect()
    }

    /// What the first column is called, to which ratios are.
    pub(super) fn base_name(&self) -> String {
        self.table.columns.first().map_or_else(String::new, |it| self.column_name(it))
    }
}
