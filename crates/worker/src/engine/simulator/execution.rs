//! What the simulated core executes, which its counters count.

use oscost_model::counters::CounterEvent;

/// The properties of the core, its op and its counters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Execution {
    /// Instructions of an op in user mode.
    pub insn_user: f64,
    /// Instructions of an op in the kernel.
    pub insn_kernel: f64,
    /// Instructions of an iteration of the loop, in user mode.
    pub loop_insn: f64,
    /// Core cycles per nanosecond at the nominal clock, to which all costs refer.
    pub ghz: f64,
    /// The clock, as a factor of the nominal one: below 1 all takes longer, in as many cycles.
    pub clock: f64,
    /// The share of batches in which a neighbour uses the core or its caches, and the factor of the
    /// cycles of those.
    pub neighbour: Option<(f64, f64)>,
    /// The time that an op waits without running, in nanoseconds.
    pub wait_ns: f64,
    /// Interrupts per second of running, which no covariate shows.
    pub interrupts_per_s: f64,
    /// Instructions of an interrupt in the kernel, at one cycle each.
    pub interrupt_insn: f64,
    /// Work that one op does for many; `None` if each does its own.
    pub amortized: Option<AmortizedWork>,
    /// What reading the counters adds to each window: instructions in user mode and in the kernel,
    /// at one cycle each.
    pub read_insn: [f64; 2],
    /// Up to how many instructions in the kernel reading adds more to a window, at one cycle each:
    /// to each another number.
    pub read_insn_spread: f64,
    /// A defect of the counters.
    pub defect: Option<CounterDefect>,
}

impl Execution {
    /// 60 instructions in user mode and 240 in the kernel; nothing disturbs them.
    pub const QUIET: Execution = Execution {
        insn_user: 60.0,
        insn_kernel: 240.0,
        loop_insn: 2.0,
        ghz: 2.6,
        clock: 1.0,
        neighbour: None,
        wait_ns: 0.0,
        interrupts_per_s: 0.0,
        interrupt_insn: 5_000.0,
        amortized: None,
        read_insn: [40.0, 900.0],
        read_insn_spread: 0.0,
        defect: None,
    };
}

/// Work that one op does for many in the kernel, at one cycle an instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AmortizedWork {
    /// Of how many ops one does it.
    pub every: f64,
    /// Its instructions.
    pub insn: f64,
}

/// Defects of counters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CounterDefect {
    /// They count for this share of the time.
    Multiplexed(f64),
    /// The counter of this event never moves.
    StandsStill(CounterEvent),
    /// It counts this share of the instructions in user mode.
    Loses(f64),
    /// The counter of cycles goes backwards at each read.
    Backwards,
    /// They have so many bits, and all start just below where they wrap.
    Wraps(u32),
    /// The kernel's part is not visible.
    UserOnly,
    /// No event of the processor can be opened.
    Absent,
    /// The same, because another program has the counters.
    Taken,
}

/// Counts so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ExecutionCounts {
    pub(super) insn_user: f64,
    pub(super) insn_kernel: f64,
    pub(super) cycles: f64,
}
