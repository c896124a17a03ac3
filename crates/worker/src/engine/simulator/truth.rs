//! The properties of the simulated machine, which estimates are compared with.

use super::execution::Execution;

/// A slow path that some batches take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowPath {
    /// The share of batches that take it.
    pub share: f64,
    /// How many times as long they last.
    pub factor: f64,
}

/// A cold start: a process is slower until it has run for some time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColdStart {
    /// How many times as long its batches last.
    pub factor: f64,
    /// Its end, in nanoseconds of the process's CPU time.
    pub until_ns: f64,
}

/// The properties of the simulated machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Truth {
    /// The op's cost, in nanoseconds; in mode T that of a byte.
    pub op_ns: f64,
    /// The loop overhead of an iteration, in nanoseconds.
    pub loop_ns: f64,
    /// A fixed cost of each batch, in nanoseconds, which a slope must cancel.
    pub call_ns: f64,
    /// Log standard deviation between processes.
    pub between_sd: f64,
    /// Log standard deviation between the batches of a process.
    pub within_sd: f64,
    /// The autocorrelation of the deviations of consecutive batches (AR(1) phi).
    pub autocorrelation: f64,
    /// A slow path of some batches.
    pub slow_path: Option<SlowPath>,
    /// A cold start of every process.
    pub cold_start: Option<ColdStart>,
    /// Preemptions per second of running.
    pub preemptions_per_s: f64,
    /// The mean length of a preemption, in nanoseconds.
    pub preemption_ns: f64,
    /// The share of preemptions that the kernel's counters show.
    pub preemptions_seen: f64,
    /// The share of batches that are hit by an additional preemption.
    pub contaminated: f64,
    /// Linear drift of all costs, per second.
    pub drift_per_s: f64,
    /// Ticks per nanosecond.
    pub ticks_per_ns: f64,
    /// The counter's step, in ticks.
    pub quantum_ticks: f64,
    /// c_in, in nanoseconds.
    pub inside_ns: f64,
    /// c_tot, in nanoseconds.
    pub pair_ns: f64,
    /// A defect of the counter.
    pub pathology: Option<Pathology>,
    /// What the core executes.
    pub execution: Execution,
}

impl Truth {
    /// A machine like the one the method was tried on: q 10 ns, c_in 19 ns, quiet.
    pub const QUIET: Truth = Truth {
        op_ns: 124.0,
        loop_ns: 0.25,
        call_ns: 2.0,
        between_sd: 0.02,
        within_sd: 0.01,
        autocorrelation: 0.0,
        slow_path: None,
        cold_start: None,
        preemptions_per_s: 0.0,
        preemption_ns: 4_000_000.0,
        preemptions_seen: 1.0,
        contaminated: 0.0,
        drift_per_s: 0.0,
        ticks_per_ns: 2.6,
        quantum_ticks: 26.0,
        inside_ns: 19.0,
        pair_ns: 34.0,
        pathology: None,
        execution: Execution::QUIET,
    };
}

/// Defects of a counter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pathology {
    /// It occasionally steps back.
    StepsBack,
    /// Its rate changes by so many parts in a million at this time, in nanoseconds.
    RateChanges(f64, f64),
    /// Each read is trapped and takes this long, in nanoseconds.
    Trapped(f64),
    /// One read in a thousand is off by a tick, so that differences of 1 occur.
    OneTickNoise,
}
