//! Simultaneous readings of a clock and of CLOCK_MONOTONIC_RAW.

use oscost_model::clock::ClockSync;

/// A reading of CLOCK_MONOTONIC_RAW between two readings of another clock.
pub struct SyncWindow {
    /// The other clock, before.
    pub opened_ticks: u64,
    /// CLOCK_MONOTONIC_RAW in nanoseconds.
    pub raw_ns: u64,
    /// The other clock, afterwards.
    pub closed_ticks: u64,
}

/// The narrowest of 50 windows.
#[inline(always)]
pub fn narrowest(mut window: impl FnMut() -> SyncWindow) -> ClockSync {
    let mut best = ClockSync { ticks: 0, raw_ns: 0, width_ticks: u64::MAX };
    for _ in 0..50 {
        let SyncWindow { opened_ticks, raw_ns, closed_ticks } = window();
        let width_ticks = closed_ticks.wrapping_sub(opened_ticks);
        if width_ticks < best.width_ticks {
            best = ClockSync { ticks: opened_ticks + width_ticks / 2, raw_ns, width_ticks };
        }
    }
    best
}
