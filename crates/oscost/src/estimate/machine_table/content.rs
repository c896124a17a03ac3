//! What a table of machines is made of, and what it holds.

use oscost_model::point::Point;
use oscost_model::record::{Ratio, Record};
use oscost_model::unit::{Better, Unit};

/// The unit of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TableUnit {
    /// Each row's own: times, and rates.
    #[default]
    Own,
    /// Cycles of the core of each machine.
    Cycles,
    /// Calls of an empty function on the same machine.
    Calls,
    /// Instructions, by the counters of each processor, or by the emulator that a row was counted by.
    Instructions,
}

impl TableUnit {
    /// Its name on the command line and in documents.
    pub fn text(self) -> &'static str {
        match self {
            TableUnit::Own => "ns",
            TableUnit::Cycles => "cycles",
            TableUnit::Calls => "calls",
            TableUnit::Instructions => "insn",
        }
    }
}

/// In which modes of the processor the instructions of a line were counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedModes {
    /// In user and in kernel mode.
    Both,
    /// In user mode alone: the kernel's part is not visible on a machine of the line.
    User,
}

/// A machine with its runs.
#[derive(Clone, Debug)]
pub struct TableMachine<'a> {
    /// Its runs, at least one.
    pub runs: Vec<MachineRun<'a>>,
    /// The facts of its class as one text: its equals have the same. `None` if they are not all
    /// known.
    pub class: Option<String>,
    /// All its facts as one text: machines with the same text are one column. `None` if it is not
    /// described.
    pub facts: Option<String>,
}

/// A run, and which of its machines is meant.
#[derive(Clone, Copy, Debug)]
pub struct MachineRun<'a> {
    /// The run.
    pub record: &'a Record,
    /// The id of the machine in the record.
    pub machine: &'a str,
}

/// Machines side by side. All indices of machines are those of the machines that it was made of.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineTable {
    /// The unit.
    pub unit: TableUnit,
    /// The columns; ratios are to the first one.
    pub columns: Vec<TableColumn>,
    /// Further columns, which have no cells: a table has at most 64, of these first those in which
    /// something stands out, then those of the most machines.
    pub left_out: Vec<TableColumn>,
    /// The cases, those that differ most first.
    pub lines: Vec<CaseLine>,
    /// What stands out: first of equals, then of others, the largest difference first.
    pub findings: Vec<Finding>,
    /// How many differences were judged: of a family on a machine, or a column, each.
    pub judged: usize,
}

/// A column: a machine, or several with the same facts of which none stands out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableColumn {
    /// Its machines.
    pub machines: Vec<usize>,
}

/// A case on all machines.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseLine {
    /// The case.
    pub case: String,
    /// Its benchmark.
    pub benchmark: String,
    /// Its point.
    pub point: Point,
    /// The treatments that it was measured under, in order.
    pub treatments: Vec<String>,
    /// The unit; `None` for calls of an empty function.
    pub unit: Option<Unit>,
    /// Which direction is better.
    pub better: Better,
    /// The modes in which processors counted its figures; `None` of anything else.
    pub counted: Option<CountedModes>,
    /// A cell for each column.
    pub cells: Vec<TableCell>,
}

impl CaseLine {
    /// The family of its benchmark.
    pub fn family(&self) -> &str {
        self.benchmark.split_once('/').map_or(&self.benchmark, |(family, _)| family)
    }
}

/// A case on the machines of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum TableCell {
    /// Its figure.
    Figure(TableFigure),
    /// Why there is none.
    Missing(String),
}

impl TableCell {
    /// The figure, if there is one.
    pub fn figure(&self) -> Option<&TableFigure> {
        match self {
            TableCell::Figure(figure) => Some(figure),
            TableCell::Missing(_) => None,
        }
    }
}

/// A figure of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct TableFigure {
    /// The figure: of several machines the median over them.
    pub value: f64,
    /// Whether it is a count that each repetition on each of the machines gave, by the same
    /// emulated machine and worker as in the first column.
    pub is_exact: bool,
    /// Its interval, of one machine alone; `None` if it has none.
    pub interval: Option<[f64; 2]>,
    /// Whether the interval contains the variation between runs, or what one run leaves open.
    pub is_between_runs: bool,
    /// The lowest and the highest machine; `None` of one machine.
    pub spread: Option<[f64; 2]>,
    /// How many machines have the case.
    pub machines: u32,
    /// How many runs it is of.
    pub runs: u32,
    /// This column over the first; `None` in the first, and where that has no figure. Its interval
    /// has the variation between runs of both, except of what processors counted.
    pub ratio: Option<Ratio>,
}

/// A difference that stands out.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The machines that differ: one, or those of a column.
    pub machines: Vec<usize>,
    /// Those that they were compared with.
    pub others: Vec<usize>,
    /// Whether the others are of the same class; otherwise they are the first column.
    pub are_equals: bool,
    /// The family of benchmarks.
    pub family: String,
    /// How many of its cases were measured on both.
    pub cases: usize,
    /// How many times as slow: the median over its cases. Below 1, they are faster.
    pub slowness: f64,
    /// Its interval of 95 %; `None` if a figure has none.
    pub ci95: Option<[f64; 2]>,
    /// The p value adjusted over all differences that were judged (Benjamini-Hochberg).
    pub q: f64,
}
