//! What is shown of a table of machines, and what its machines are called.

use crate::advice::machine_facts::DescribedMachine;
use crate::estimate::machine_table::{MachineTable, TableColumn};
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

impl TableContent<'_> {
    /// What a machine is called.
    pub(super) fn name(&self, machine: usize) -> String {
        let name = self.machines.get(machine).map_or("", |it| it.name.as_str());
        shorten(&plain(name), MAX_NAME).trim_end().to_owned()
    }

    /// What a column is called: its only machine, or the first and how many more it has.
    pub(super) fn column_name(&self, column: &TableColumn) -> String {
        match &column.machines[..] {
            [] => String::new(),
            [only] => self.name(*only),
            [first, others @ ..] => format!("{} +{}", self.name(*first), others.len()),
        }
    }

    /// What the first column is called, to which ratios are.
    pub(super) fn base_name(&self) -> String {
        self.table.columns.first().map_or_else(String::new, |it| self.column_name(it))
    }
}
