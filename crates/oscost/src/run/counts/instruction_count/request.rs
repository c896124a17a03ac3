//! The machines of a run that counts instructions, and what is counted there.

use std::time::Duration;

use oscost_model::journal::{Pairing, PlannedRow, RunHeader};
use oscost_model::protocol::{Event, Hello, Order};
use oscost_model::record::Vm;
use oscost_model::treatment::TreatmentSet;

use crate::hosts::HostError;
use crate::plan::SkippedRow;

/// Machines that can be booted, by number.
pub trait Machines {
    /// Boots a machine with all its orders.
    fn boot(&mut self, machine: usize, orders: &[Vec<Order>]) -> Result<(), HostError>;

    /// Waits for the hello of its supervisor.
    fn hello(&mut self, machine: usize) -> Result<Hello, HostError>;

    /// Sleeps until its next event.
    fn next(&mut self, machine: usize, patience: Duration) -> Result<Event, HostError>;

    /// Ends a machine.
    fn end(&mut self, machine: usize);
}

/// The parameters of a run that counts instructions.
#[derive(Clone, Debug)]
pub struct InstructionCountRequest {
    /// The first entry of the journal.
    pub header: RunHeader,
    /// The rows, machine by machine.
    pub rows: Vec<PlannedRow>,
    /// The treatments of each row.
    pub treatments: Vec<TreatmentSet>,
    /// What is compared with what.
    pub pairs: Vec<Pairing>,
    /// The machines; each row names its own as `m` and its number.
    pub machines: Vec<Vm>,
    /// The maximum number of machines that run at a time.
    pub max_concurrent: usize,
    /// Workers of each case.
    pub repetitions: u32,
    /// Rows that cannot be measured there.
    pub skipped: Vec<SkippedRow>,
}
