//! Deliberate faults, for tests that show which test of the method sees which fault.
//!
//! Only with the feature `fault-injection`, and only in the thread that commits one; without the feature
//! [`is_injected`] is a constant `false`, and nothing of it is in the program.

/// A way to measure wrongly that others have been seen to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedFault {
    /// The interval is taken over all batches of all processes, as if they were independent.
    PooledBatches,
    /// Batches of 10 ms, on a machine that interrupts every 8 ms.
    LongBatches,
    /// A figure below zero becomes zero.
    ClampAtZero,
    /// The headline is the smallest value.
    MinimumAsEstimate,
    /// Batches are deleted for being slow.
    OutlierRemoval,
    /// The first batch of a process counts.
    NoWarmUp,
    /// The clock's step is the smallest difference that was ever seen.
    SmallestStep,
    /// The run stops at the first look that pleases, and pays nothing for it.
    PeekAndStop,
    /// All repetitions of a case are measured in a row.
    BackToBack,
    /// First all runs of one side, then all of the other, and the n-th of each are called a pair.
    AThenB,
    /// Two runs are compared as if their repetitions had taken turns.
    RunsAsInterleaved,
    /// What was measured in pairs is compared as if it were not.
    PairingIgnored,
    /// What is not seen to differ is called equivalent.
    AbsenceIsEquivalence,
    /// Each of many rows is judged as if it were the only one.
    NoMultiplicityCorrection,
    /// What would show in every second comparison is called the smallest that could be seen.
    HalfThePower,
}

#[cfg(feature = "fault-injection")]
thread_local! {
    static NOW: std::cell::Cell<Option<InjectedFault>> = const { std::cell::Cell::new(None) };
}

/// Whether this thread commits `sin` now.
#[cfg(feature = "fault-injection")]
pub fn is_injected(sin: InjectedFault) -> bool {
    NOW.get() == Some(sin)
}

/// Whether this thread commits `sin` now: never, without the feature.
#[cfg(not(feature = "fault-injection"))]
#[inline(always)]
pub const fn is_injected(_sin: InjectedFault) -> bool {
    false
}

/// Runs `work` while this thread commits `sin`.
#[cfg(feature = "fault-injection")]
pub fn with_fault<R>(sin: InjectedFault, work: impl FnOnce() -> R) -> R {
    struct Repent;
    impl Drop for Repent {
        fn drop(&mut self) {
            NOW.set(None);
        }
    }
    let _repent = Repent;
    NOW.set(Some(sin));
    work()
}
