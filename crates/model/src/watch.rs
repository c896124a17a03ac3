//! Activity of other processes on a machine during an interval.
//!
//! The worker collects it, the tool judges it. Null means "could not be read". It is shown but not
//! stored in records, since names of processes are private.

use serde::{Deserialize, Serialize};

/// System activity between `ready` and `stop`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SystemActivity {
    /// The length of the interval, in nanoseconds of CLOCK_MONOTONIC_RAW.
    pub wall_ns: u64,
    /// The CPUs that the worker may use.
    pub cpus: Vec<CpuActivity>,
    /// Processes by CPU time, descending, without the tool, the supervisor and its jobs.
    pub processes: Vec<ProcessActivity>,
    /// Why `processes` may be incomplete.
    pub processes_unread: Option<String>,
    /// CPU time on all CPUs that is attributed to no process, in nanoseconds: of processes that
    /// started and exited in between, or that are hidden. The kernel samples the total at its tick,
    /// so it may be off by some ticks, and negative.
    pub unattributed_cpu_ns: Option<i64>,
    /// Running programs that are known to disturb, to set clocks or to start work.
    pub daemons: Vec<String>,
    /// Interrupt sources: all devices, and other sources that had interrupts.
    pub interrupts: Vec<InterruptActivity>,
    /// Pressure stall information before the interval.
    pub pressure: Pressure,
    /// Load average of one minute before the interval.
    pub load_1min: Option<f64>,
    /// Throttled periods of its own and parent cgroups.
    pub throttled_periods: Option<u64>,
    /// Rate of CLOCK_MONOTONIC relative to CLOCK_MONOTONIC_RAW, in parts per million.
    pub monotonic_rate_offset_ppm: Option<f64>,
    /// The kernel's clock discipline.
    pub discipline: Option<ClockDiscipline>,
    /// Whether the audit system is on: 0 no, 1 yes, 2 yes and locked.
    pub audit: Option<u32>,
    /// Why `audit` is unknown.
    pub audit_unread: Option<String>,
}

/// Activity of one CPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuActivity {
    /// The CPU.
    pub cpu: u32,
    /// Stolen time, in 1/100 s.
    pub steal_ticks: Option<u64>,
    /// Total time including idle and stolen time, in 1/100 s.
    pub total_ticks: Option<u64>,
    /// Interrupts.
    pub interrupts: Option<u64>,
}

impl CpuActivity {
    /// Stolen time in per cent.
    pub fn steal_pct(&self) -> Option<f64> {
        let total = self.total_ticks.filter(|&total| total > 0)?;
        Some(100.0 * self.steal_ticks? as f64 / total as f64)
    }
}

/// Processes with the same name that used CPU time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessActivity {
    /// The kernel's name (`comm`), without control characters.
    pub name: String,
    /// The kind of process.
    pub kind: ProcessKind,
    /// Some of their pids; for `children` the parent's.
    pub pids: Vec<u32>,
    /// The number of processes.
    pub count: u32,
    /// Their CPU time, in nanoseconds.
    pub cpu_ns: u64,
}

/// The kind of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessKind {
    /// A program.
    #[default]
    Program,
    /// A kernel thread.
    Kernel,
    /// Children of the program that exited meanwhile.
    Children,
}

/// An interrupt source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InterruptActivity {
    /// Its number, or the kernel's abbreviation (`LOC` is the local timer).
    pub irq: String,
    /// The device or handler as named by the kernel, without anything that looks like an address.
    pub name: Option<String>,
    /// The number of interrupts on each of `cpus`, in their order.
    pub counts: Vec<u64>,
    /// The allowed CPUs (`smp_affinity_list`); null for interrupts without a number.
    pub allowed: Option<Vec<u32>>,
    /// The effective CPUs (`effective_affinity_list`).
    pub effective: Option<Vec<u32>>,
}

/// Share of the last 10 s in which some task waited, in % (`some avg10` of `/proc/pressure/*`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pressure {
    /// Waiting for a CPU.
    pub cpu_pct: Option<f64>,
    /// Waiting for memory.
    pub memory_pct: Option<f64>,
    /// Waiting for I/O.
    pub io_pct: Option<f64>,
}

/// The kernel's discipline of CLOCK_REALTIME and CLOCK_MONOTONIC (read by adjtimex(2)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockDiscipline {
    /// Whether the clock is marked as synchronized (`STA_UNSYNC` is clear).
    pub synchronized: bool,
    /// Whether the phase-locked loop is enabled (`STA_PLL`).
    pub pll: bool,
    /// Whether the frequency-locked loop is enabled (`STA_FLL`).
    pub fll: bool,
    /// The remaining offset, in nanoseconds.
    pub offset_ns: i64,
    /// The frequency correction, in parts per million.
    pub freq_ppm: f64,
    /// Length of a tick in microseconds: 10000 unless a daemon adjusts it.
    pub tick_us: i64,
    /// The remaining correction of an adjtime(3), in microseconds.
    pub adjtime_us: Option<i64>,
}
