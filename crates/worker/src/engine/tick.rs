//! The kernel's timer tick: where it falls, and how to begin a batch just behind it.

use crate::kernel::process::minimise_timer_slack;
use crate::kernel::time::clock::{ClockId, gettime, sleep_until};

/// By then the work of a tick, and of what it wakes, is done.
const AFTER_TICK_NS: u64 = 50_000;

/// The period and phase of the kernel's tick.
pub struct TickClock {
    /// The period, in nanoseconds.
    period_ns: u64,
    /// The time of the tick within a period.
    phase_ns: u64,
}

impl TickClock {
    /// Finds the phase of ticks with this period: waits until the coarse clock advances, which it
    /// does at each tick.
    pub fn synchronize(period_ns: u64) -> Self {
        let coarse = || gettime(ClockId::MONOTONIC_COARSE);
        let before = coarse();
        while coarse() == before {}
        let phase_ns = gettime(ClockId::MONOTONIC).unwrap_or(0) % period_ns;
        // Timer slack would delay wakeups, to coalesce them with others.
        minimise_timer_slack();
        Self { period_ns, phase_ns }
    }

    /// Sleeps past the next tick but one, and wakes shortly after it. The following tick is then as
    /// far away as possible, and other runnable tasks have run: each batch finds the scheduler in
    /// the same state. It costs no time: an emulator that counts instructions skips idle time.
    pub fn sleep_past(&self) {
        let now_ns = gettime(ClockId::MONOTONIC).unwrap_or(0);
        let since_ns = (now_ns + self.period_ns - self.phase_ns) % self.period_ns;
        sleep_until(now_ns - since_ns + 2 * self.period_ns + AFTER_TICK_NS);
    }
}
