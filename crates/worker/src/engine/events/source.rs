//! Where counts come from: the kernel's counters, a script in a test, the simulator.

use std::fmt;

use oscost_model::counters::{CounterEvent, CounterRead};

use crate::engine::collect::CounterReads;
use crate::kernel::Errno;
use crate::kernel::cpu::instruction_loop;

/// The counts of a window, between the two reads around it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WindowCounts {
    /// The count of each event.
    pub counts: Vec<u64>,
    /// How long the counters were enabled, in nanoseconds.
    pub enabled_ns: u64,
    /// How long they counted: if less, they were multiplexed.
    pub counting_ns: u64,
}

/// For how long counters have been enabled, and have counted, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterTimes {
    /// How long they have been enabled.
    pub enabled_ns: u64,
    /// How long they have counted.
    pub counting_ns: u64,
}

impl CounterTimes {
    /// The times since an earlier reading; `None` if one went backwards.
    pub fn since(self, earlier: Self) -> Option<Self> {
        Some(Self {
            enabled_ns: self.enabled_ns.checked_sub(earlier.enabled_ns)?,
            counting_ns: self.counting_ns.checked_sub(earlier.counting_ns)?,
        })
    }
}

/// Why a window has no counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowError {
    /// A counter could not be read.
    Unread(Errno),
    /// An event was not on a counter of the processor when it was read.
    OffProcessor(CounterEvent),
    /// A counter went backwards.
    Backwards(CounterEvent),
    /// A read returned counts of another number of events.
    OtherGroup {
        /// How many it returned.
        counts: u64,
        /// How many events there are.
        events: usize,
    },
}

impl fmt::Display for WindowError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WindowError::Unread(error) => write!(out, "the counters could not be read: {error}"),
            WindowError::OffProcessor(event) => write!(
                out,
                "{} was not on a counter of the processor: another user of the counters has it",
                event.perf_name()
            ),
            WindowError::Backwards(event) => {
                write!(out, "the counter of {} went backwards", event.perf_name())
            }
            WindowError::OtherGroup { counts, events } => {
                write!(out, "a read returned {counts} counts for a group of {events} events")
            }
        }
    }
}

/// Counters of a set of events.
pub trait CounterSource: CounterReads {
    /// The events, in the order of the counts.
    fn events(&self) -> &[CounterEvent];

    /// Whether events of other tasks are included.
    fn is_inherited(&self) -> bool;

    /// Starts counting.
    fn enable(&mut self) -> Result<(), Errno>;

    /// Stops counting.
    fn disable(&mut self) -> Result<(), Errno>;

    /// The counts of the last window.
    fn window(&self) -> Result<WindowCounts, WindowError>;

    /// The times since the counters were opened: of the one that missed most, and else of the one
    /// that was enabled least. `None` if they cannot be read.
    fn times(&self) -> Option<CounterTimes> {
        None
    }

    /// How they are read.
    fn read_by(&self) -> CounterRead {
        CounterRead::Read
    }

    /// The width of the processor's counters in bits; `None` where the kernel does not say.
    fn width_bits(&self) -> Option<u32> {
        None
    }

    /// Runs a loop of [`instruction_loop::LOOP_INSTRUCTIONS`] an iteration.
    fn run_known_loop(&mut self, iterations: u64) {
        instruction_loop::run(iterations);
    }
}

/// By how much a counter has increased; `None` if it went backwards. A counter of `width_bits` bits
/// may have wrapped once: then it fell by more than half of its range. One that rose by more than
/// that fell, and wrapped.
pub fn increase(before: u64, after: u64, width_bits: Option<u32>) -> Option<u64> {
    let range = width_bits.filter(|&bits| bits < 64).map(|bits| 1_u64 << bits);
    let increase = match after.checked_sub(before) {
        Some(forward) => forward,
        None => range?.checked_sub(before - after)?,
    };
    range.is_none_or(|range| increase < range / 2).then_some(increase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_wraps_at_its_width_has_increased() {
        let last = (1 << 48) - 1;
        assert_eq!(increase(last - 10, 89, Some(48)), Some(100));
        assert_eq!(increase(5, 5, Some(48)), Some(0));
        assert_eq!(increase(0, u64::MAX, None), Some(u64::MAX));
    }

    #[test]
    fn times_since_an_earlier_reading_are_unknown_if_one_went_backwards() {
        let at = |enabled_ns, counting_ns| CounterTimes { enabled_ns, counting_ns };
        assert_eq!(at(90, 70).since(at(50, 60)), Some(at(40, 10)));
        assert_eq!(at(90, 70).since(at(50, 71)), None);
        assert_eq!(at(90, 70).since(at(91, 70)), None);
    }

    #[test]
    fn a_counter_that_goes_backwards_has_no_increase() {
        assert_eq!(increase(100, 99, Some(48)), None, "a fall by one is no wrap");
        assert_eq!(increase(100, 99, None), None);
        assert_eq!(increase(1 << 47, 0, Some(48)), None, "half of its range");
        assert_eq!(increase(1 << 50, 0, Some(48)), None, "more than its range");
        assert_eq!(increase(5, (1 << 48) - 3, Some(48)), None, "below 0, where it wraps");
        assert_eq!(increase(0, u64::MAX, Some(48)), None);
        assert_eq!(increase(u64::MAX, 0, Some(48)), None);
        assert_eq!(increase(u64::MAX, 0, Some(0)), None, "of no width");
    }
}
