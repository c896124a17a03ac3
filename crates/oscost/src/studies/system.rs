//! The systems that one study measured side by side, and their figures.

use super::figures::published_figure::PublishedFigure;
use super::figures::unit::{ClockRates, TableUnit};

/// A system that a study measured.
#[derive(Clone, Debug, PartialEq)]
pub struct System {
    /// Its name in the study's tables.
    pub name: String,
    /// What it is: machine, processor, operating system.
    pub description: String,
    /// The year of the machine; `None` if only the study's is known.
    pub year: Option<u16>,
    /// The clock rates of its processor.
    pub clock_rates: ClockRates,
}

/// The systems of a study.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Systems {
    /// All of them; none if the study measured one machine.
    pub list: Vec<System>,
    /// The index of the one whose figures are compared with those of a run.
    pub reference: usize,
}

impl Systems {
    /// The system whose figures are compared with those of a run.
    pub fn reference(&self) -> Option<&System> {
        self.list.get(self.reference)
    }
}

/// The systems of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct TableSystems {
    /// Their indices among those of the study, in the order of the table as published.
    pub order: Vec<usize>,
    /// The unit of their figures.
    pub unit: TableUnit,
}

/// What was published of a row for one system.
#[derive(Clone, Debug, PartialEq)]
pub struct SystemFigure {
    /// As published.
    pub text: String,
    /// The number; `None` for a word, or a number whose meaning the study does not state.
    pub figure: Option<PublishedFigure>,
}
