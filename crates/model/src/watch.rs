//! What a watch saw: who else used the machine between two moments.
//!
//! The worker fills it, the tool judges it. Null means "could not be read". It travels and is shown,
//! and is kept in no record: names of processes are nobody else's business.

use serde::{Deserialize, Serialize};

/// What went on between `ready` and `stop`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SystemActivity {
    /// How long it looked, in nanoseconds of CLOCK_MONOTONIC_RAW.
    pub wall_ns: u64,
    /// The CPUs that the watcher may use.
    pub cpus: Vec<CpuActivity>,
    /// Who took CPU time, most first; the tool, the supervisor and its jobs are left out.
    pub processes: Vec<ProcessActivity>,
    /// Why others may have taken CPU time that do not show in `processes`.
    pub processes_unread: Option<String>,
    /// CPU time on all CPUs that no process, ours included, accounts for, in nanoseconds: of
    /// processes that began and ended in between, or that are hidden. The kernel samples the sum
    /// at its tick, so it may be some ticks off, below zero too.
    pub unattributed_cpu_ns: Option<i64>,
    /// Programs that run here and are known to disturb, set clocks or start work by themselves.
    pub daemons: Vec<String>,
    /// Sources of interrupts: those of devices, and of the others those that came.
    pub interrupts: Vec<InterruptActivity>,
    /// How much tasks had to wait for what, before the watch began.
    pub pressure: Pressure,
    /// Tasks that ran or waited to run before the watch, mean of about one minute.
    pub load_1min: Option<f64>,
    /// Periods in which the own control group or one above it ran out of quota meanwhile.
    pub throttled_periods: Option<u64>,
    /// By how much CLOCK_MONOTONIC ran faster than CLOCK_MONOTONIC_RAW, in parts per million.
    pub monotonic_rate_offset_ppm: Option<f64>,
    /// How the kernel steers its clock.
    pub discipline: Option<ClockDiscipline>,
    /// Whether the audit system is on: 0 no, 1 yes, 2 yes and locked.
    pub audit: Option<u32>,
    /// Why `audit` is not known.
    pub audit_unread: Option<String>,
}

/// One CPU during a watch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuActivity {
    /// Which one.
    pub cpu: u32,
    /// Time the hypervisor gave to others, in 1/100 s.
    pub steal_ticks: Option<u64>,
    /// All its time, idle and stolen time included, in 1/100 s.
    pub total_ticks: Option<u64>,
    /// Interrupts that it took.
    pub interrupts: Option<u64>,
}

impl CpuActivity {
    /// Stolen time in per cent.
    pub fn steal_pct(&self) -> Option<f64> {
        let total = self.total_ticks.filter(|&total| total > 0)?;
        Some(100.0 * self.steal_ticks? as f64 / total as f64)
    }
}

/// Processes of one name that took CPU time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessActivity {
    /// What the kernel calls it (`comm`), without control characters.
    pub name: String,
    /// What it is.
    pub kind: ProcessKind,
    /// Some of its processes; of `children` the parent.
    pub pids: Vec<u32>,
    /// How many they are.
    pub count: u32,
    /// What they took, in nanoseconds.
    pub cpu_ns: u64,
}

/// What took the time of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessKind {
    /// A program.
    #[default]
    Program,
    /// A thread of the kernel.
    Kernel,
    /// Children of that program which ended meanwhile.
    Children,
}

/// A source of interrupts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InterruptActivity {
    /// Its number, or the kernel's three letters (`LOC` is the timer).
    pub irq: String,
    /// Who it is for, as the kernel says; without anything that looks like an address.
    pub name: Option<String>,
    /// How often it came to each of the watch's `cpus`, in their order.
    pub counts: Vec<u64>,
    /// The CPUs that it may come to (`smp_affinity_list`); the kernel's own have none.
    pub allowed: Option<Vec<u32>>,
    /// The CPUs that it goes to now (`effective_affinity_list`).
    pub effective: Option<Vec<u32>>,
}

/// Share of the last 10 s in which some task waited, in % (`some avg10` of `/proc/pressure/*`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pressure {
    /// For a CPU.
    pub cpu_pct: Option<f64>,
    /// For memory to be freed.
    pub memory_pct: Option<f64>,
    /// For a disk.
    pub io_pct: Option<f64>,
}

/// How the kernel steers CLOCK_REALTIME and CLOCK_MONOTONIC (adjtimex(2), nothing set).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockDiscipline {
    /// Whether somebody has told the kernel that its clock is right (`STA_UNSYNC` is clear).
    pub synchronized: bool,
    /// Whether the kernel's phase loop is on (`STA_PLL`).
    pub pll: bool,
    /// Whether its frequency loop is (`STA_FLL`).
    pub fll: bool,
    /// What it still has to correct, in nanoseconds.
    pub offset_ns: i64,
    /// The lasting correction of its rate, in parts per million.
    pub freq_ppm: f64,
    /// Length of a tick in microseconds: 10000, unless a daemon bends it.
    pub tick_us: i64,
    /// What an adjtime(3) still has to correct, in microseconds.
    pub adjtime_us: Option<i64>,
}
