//! The kernel's timer tick: where it falls, and how to begin a batch just behind it.

use crate::kernel::process::minimise_timer_slack;
use crate::kernel::time::clock::{ClockId, gettime, sleep_until};

/// What a tick does, and what it wakes, is over by then.
const AFTER_TICK_NS: u64 = 50_000;

/// When the kernel's tick comes.
pub struct TickClock {
    /// How long lies between two, in nanoseconds.
    period_ns: u64,
    /// Where in a period it comes.
    phase_ns: u64,
}

impl TickClock {
    /// Ticks that come every so many nanoseconds: waits for one, to know when. The coarse clock moves
    /// on with each; what it shows then is another matter, since it began at a moment of its own.
    pub fn synchronize(period_ns: u64) -> Self {
        let coarse = || gettime(ClockId::MONOTONIC_COARSE);
        let before = coarse();
        while coarse() == before {}
        let phase_ns = gettime(ClockId::MONOTONIC).unwrap_or(0) % period_ns;
        // A timer may be late by the slack of who sets it, to be put together with others.
        minimise_timer_slack();
        Self { period_ns, phase_ns }
    }

    /// Sleeps past the next tick but one, and wakes shortly behind it. Then the next one is as far
    /// away as it can be, and whatever was ready to run has run: each batch finds the scheduler as
    /// the others did. It takes no time, for an idle machine that counts instructions skips it.
    pub fn sleep_past(&self) {
        let now_ns = gettime(ClockId::MONOTONIC).unwrap_or(0);
        let since_ns = (now_ns + self.period_ns - self.phase_ns) % self.period_ns;
        sleep_until(now_ns - since_ns + 2 * self.period_ns + AFTER_TICK_NS);
    }
}
