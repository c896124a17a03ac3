//! The description of a machine.

use oscost_model::clock::{Calibration, ClockVerdict};
use oscost_model::facts::Facts;
use oscost_model::protocol::{CpuProbe, WorkerBuild};

/// The description of a machine.
#[derive(Clone, Copy, Debug)]
pub struct Description<'a> {
    /// Its facts.
    pub facts: &'a Facts,
    /// Which clocks can be used there.
    pub clocks: &'a [ClockVerdict],
    /// The program that measures there.
    pub worker: &'a WorkerBuild,
    /// How fast core and counter run.
    pub rates: &'a Rates,
}

/// How fast core and counter run.
#[derive(Clone, Debug, Default)]
pub struct Rates {
    /// A spin on one CPU.
    pub probe: Option<CpuProbe>,
    /// The clock, calibrated there.
    pub calibration: Option<Calibration>,
    /// Why neither was measured.
    pub not_measured: Option<String>,
}
