//! What was counted by the processor's counters: of a row, and of the core over a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

record! {
    /// How the events of a row were counted; the figures are among its metrics.
    pub struct RowCounters {
        /// Workers (of programs, trials) that counted; they are no repetitions of the row.
        pub workers: u32,
        /// `rdpmc` or `read`; null for programs, and if no worker counted.
        pub read_by: Option<String>,
        /// Whether the kernel's instructions were counted too.
        pub kernel: bool,
        /// Whether the events of processes and threads that the op creates or wakes are included.
        pub inherited: bool,
        /// Standard deviation of the instructions between workers, in per cent; null below two.
        pub insn_sd_pct: Option<f64>,
        /// Whether the instructions repeat: that deviation is at most 0.2 %. Null below two
        /// workers.
        pub repeats: Option<bool>,
        /// The time per op of the counted ops over the row's figure: what counting added. Null if
        /// either is unknown.
        pub counted_time_ratio: Option<f64>,
        /// Time per op on a CPU by the kernel's accounting, of all tasks that were counted; null if
        /// unknown.
        pub running_ns: Option<f64>,
        /// The rest of the time per op in the counted ops; negative if counted tasks run at the
        /// same time on two CPUs. Null if unknown.
        pub waiting_ns: Option<f64>,
        /// How many times longer counted batches would have to be for what counting adds to be told
        /// apart from what their ops add, the median over workers; null if they are long enough, and
        /// of single ops and transfers.
        #[serde(default)]
        pub short_by: Option<f64>,
        /// Whether a worker saw that one op does work for many (it refills a list, a cache, a store of
        /// random numbers) or leaves some to later (the kernel frees memory at a tick): then the figures
        /// of all of them are means over batches, interrupts included. False also where it could not be
        /// seen; what is left to later is looked for with `--counters` alone.
        #[serde(default)]
        pub amortized: bool,
        /// Whether batches of long ops were counted over so many ticks of the kernel that means over them
        /// have what it leaves to later: with `--counters` alone.
        #[serde(default)]
        pub over_ticks: bool,
        /// Why workers or sets of events have no counts.
        pub void: Vec<String>,
        /// One entry for each worker that counted.
        pub repetitions: Vec<CountedRepetition>,
    }

    /// A worker that counted.
    pub struct CountedRepetition {
        /// Its round.
        pub round: u32,
        /// Seconds since the start of the run.
        pub at_s: f64,
        /// Its figures, by the names of the metrics.
        pub figures: BTreeMap<String, f64>,
        /// The time per op of its counted ops, in ns; null if unknown.
        pub time_ns: Option<f64>,
        /// Its part on a CPU, in ns; null if unknown.
        pub running_ns: Option<f64>,
    }

    /// The core over the run, by the counted workers of the reference cases.
    pub struct CoreConditions {
        /// Cycles per nanosecond on a CPU, of all reference cases; the best is the highest.
        pub ghz: Option<CoreFigure>,
        /// Cycles per instruction of a loop in user mode; the best is the lowest.
        pub cpi_of_loop: Option<CoreFigure>,
        /// Cycles per instruction of a system call; the best is the lowest.
        pub cpi_of_kernel_op: Option<CoreFigure>,
    }

    /// A figure of the core over the run.
    pub struct CoreFigure {
        /// The case that it was counted on; null if it is of several.
        pub case: Option<String>,
        /// Workers that counted it, over the run.
        pub workers: u32,
        /// The best value of a worker.
        pub best: f64,
        /// The median over workers.
        pub median: f64,
        /// Workers that were worse than 1.1 times the best, in per cent.
        pub worse_pct: f64,
        /// The median over those, as a multiple of the best; null if there are none.
        pub worse_by: Option<f64>,
    }
}

/// What the counting workers of a row found, as medians over them, per op: what is kept of a run for
/// histories. A quantity that is unknown is `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CountedMedians {
    /// Whether the events of processes and threads that the op creates or wakes are included.
    pub inherited: bool,
    /// Instructions in both modes; `None` where the kernel's are not visible.
    pub insn: Option<CountedMedian>,
    /// Instructions in user mode.
    pub insn_user: Option<CountedMedian>,
    /// Instructions in kernel mode.
    pub insn_kernel: Option<CountedMedian>,
    /// Cycles per instruction.
    pub cpi: Option<CountedMedian>,
    /// Cycles per nanosecond on a CPU.
    pub ghz: Option<CountedMedian>,
    /// The time of the counted ops, in ns.
    pub time_ns: Option<f64>,
    /// Its part on a CPU, in ns.
    pub running_ns: Option<f64>,
    /// The time of the counted ops over the row's figure.
    pub counted_time_ratio: Option<f64>,
}

/// A median over counting workers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CountedMedian {
    /// The median.
    pub median: f64,
    /// Its interval; `None` with fewer than six workers.
    pub interval: Option<[f64; 2]>,
}
