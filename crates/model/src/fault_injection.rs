//! Injected faults: wrong methods, for tests that show which check detects which fault.
//!
//! A fault is active only with the feature `fault-injection`, and only in the thread that runs
//! under
//! `with_fault`. Without the feature [`is_injected`] is a constant `false`, so the program contains
//! no trace of it.

/// A common mistake in benchmarking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedFault {
    /// The interval is computed over all batches of all processes, as if they were independent.
    PooledBatches,
    /// Batches last 10 ms on a machine with an interrupt every 8 ms.
    LongBatches,
    /// Negative figures are set to zero.
    ClampAtZero,
    /// The minimum is used as the estimate.
    MinimumAsEstimate,
    /// Slow batches are removed as outliers.
    OutlierRemoval,
    /// The first batch of a process is included.
    NoWarmUp,
    /// The clock's step is taken to be the smallest observed difference.
    SmallestStep,
    /// The run stops at the first narrow interval, without correcting for repeated looks.
    PeekAndStop,
    /// All repetitions of a case are measured consecutively.
    BackToBack,
    /// All runs of A come before all runs of B, and the n-th of each are treated as a pair.
    AThenB,
    /// Two separate runs are compared as if their repetitions had been interleaved.
    RunsAsInterleaved,
    /// Paired measurements are compared as if they were unpaired.
    PairingIgnored,
    /// The absence of a significant difference is reported as equivalence.
    AbsenceIsEquivalence,
    /// Many rows are tested without a correction for multiple comparisons.
    NoMultiplicityCorrection,
    /// The minimum detectable effect is stated at 50 % power.
    HalfThePower,
    /// Events whose counters could not be opened are taken to have occurred never.
    LostCountsAreZero,
    /// Events are counted in short batches, whichever ops do work for others.
    ShortCountedBatches,
}

/// The variable that puts a clock of the kernel in the place of the processor's events, with one of
/// these faults. Read only by a worker with the feature: the supervisor's survey of the counters
/// follows its own variable, and a worker's counters that of its treatments.
pub const COUNTER_FAULT: &str = "OSCOST_COUNTER_FAULT";
/// What a worker with such counters names them in its facts, so that no record of theirs is taken
/// for one of a processor.
pub const STAND_IN: &str = "stand-in";

/// The variable that limits, in milliseconds, how long a supervisor on another machine may take for
/// an answer after its hello. Read only by a tool with the feature: with the limits of real
/// sessions, a test of one that hangs takes 20 s and more.
pub const ANSWER_LIMIT_MS: &str = "OSCOST_ANSWER_LIMIT_MS";

/// What is wrong with the counters that stand in for the processor's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterFault {
    /// Nothing.
    Honest,
    /// They stay at zero.
    Zero,
    /// They rise by the same number at each read.
    Constant,
    /// They fall.
    Backwards,
    /// They begin again at zero after 48 bits.
    Wrapped,
    /// They miss half of the events.
    Halved,
    /// They counted for half of the time for which they were enabled.
    Multiplexed,
    /// They were enabled, and never counted.
    Unscheduled,
    /// They count, and were enabled for 0 ns.
    Untimed,
    /// They count, and the times for which they did move by a tick of 4 ms.
    CoarseClock,
    /// They count, and each read adds another number of events.
    UnevenReads,
    /// After a while they are no longer scheduled: the CPU of their kind was unplugged, or another
    /// user took them.
    Stopped,
    /// Now and then they begin at zero again: the guest was moved to another host.
    Restarted,
}

impl CounterFault {
    /// All of them.
    pub const ALL: [CounterFault; 13] = [
        CounterFault::Honest,
        CounterFault::Zero,
        CounterFault::Constant,
        CounterFault::Backwards,
        CounterFault::Wrapped,
        CounterFault::Halved,
        CounterFault::Multiplexed,
        CounterFault::Unscheduled,
        CounterFault::Untimed,
        CounterFault::CoarseClock,
        CounterFault::UnevenReads,
        CounterFault::Stopped,
        CounterFault::Restarted,
    ];

    /// Its name, the value of [`COUNTER_FAULT`].
    pub fn name(self) -> &'static str {
        match self {
            CounterFault::Honest => "honest",
            CounterFault::Zero => "zero",
            CounterFault::Constant => "constant",
            CounterFault::Backwards => "backwards",
            CounterFault::Wrapped => "wrapped",
            CounterFault::Halved => "halved",
            CounterFault::Multiplexed => "multiplexed",
            CounterFault::Unscheduled => "unscheduled",
            CounterFault::Untimed => "untimed",
            CounterFault::CoarseClock => "coarse-clock",
            CounterFault::UnevenReads => "uneven-reads",
            CounterFault::Stopped => "stopped",
            CounterFault::Restarted => "restarted",
        }
    }
}

#[cfg(feature = "fault-injection")]
thread_local! {
    static ACTIVE: std::cell::Cell<Option<InjectedFault>> = const { std::cell::Cell::new(None) };
}

/// Whether `fault` is active in this thread.
#[cfg(feature = "fault-injection")]
pub fn is_injected(fault: InjectedFault) -> bool {
    ACTIVE.get() == Some(fault)
}

/// Whether `fault` is active in this thread; always false without the feature.
#[cfg(not(feature = "fault-injection"))]
#[inline(always)]
pub const fn is_injected(_fault: InjectedFault) -> bool {
    false
}

/// Runs `work` with `fault` active in this thread.
#[cfg(feature = "fault-injection")]
pub fn with_fault<R>(fault: InjectedFault, work: impl FnOnce() -> R) -> R {
    struct Reset;
    impl Drop for Reset {
        fn drop(&mut self) {
            ACTIVE.set(None);
        }
    }
    let _reset = Reset;
    ACTIVE.set(Some(fault));
    work()
}
