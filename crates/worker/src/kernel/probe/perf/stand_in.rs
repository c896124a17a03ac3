//! Counters that stand in for the processor's, and lie, in tests.
//!
//! Few machines of developers and of CI show counters, and no counter lies on request. With the
//! feature `fault-injection`, and the variable `COUNTER_FAULT`, each event of the processor is
//! opened as a clock of the kernel (`task-clock`), so that opening, groups, pages, enabling and
//! inheritance are the kernel's own on every machine; and what is read of it is falsified. Without
//! the feature nothing of this is in the program.

use oscost_model::counters::CounterEvent;

#[cfg(feature = "fault-injection")]
pub(super) use injected::StandIns;

/// What opens in the place of an event: itself, without the feature.
#[cfg(not(feature = "fault-injection"))]
pub(super) const fn opened(event: CounterEvent) -> CounterEvent {
    event
}

/// What opens in the place of an event.
#[cfg(feature = "fault-injection")]
pub(super) fn opened(event: CounterEvent) -> CounterEvent {
    let is_replaced = !event.is_software() && injected::fault().is_some();
    if is_replaced { CounterEvent::TaskClock } else { event }
}

/// Whether clocks stand in for the processor's events: never without the feature.
#[cfg(not(feature = "fault-injection"))]
pub const fn are_counters_replaced() -> bool {
    false
}

/// Whether clocks stand in for the processor's events.
#[cfg(feature = "fault-injection")]
pub fn are_counters_replaced() -> bool {
    injected::fault().is_some()
}

/// The events of a counter or a group, of which nothing is falsified without the feature.
#[cfg(not(feature = "fault-injection"))]
pub(super) struct StandIns;

#[cfg(not(feature = "fault-injection"))]
impl StandIns {
    pub(super) fn of(_events: impl Iterator<Item = CounterEvent>) -> Self {
        Self
    }

    #[inline(always)]
    pub(super) fn falsify(&self, _words: &mut [u64], _counts_at: usize) {}
}

#[cfg(feature = "fault-injection")]
mod injected {
    use std::cell::RefCell;
    use std::sync::OnceLock;

    use oscost_model::counters::CounterEvent;
    use oscost_model::fault_injection::{COUNTER_FAULT, CounterFault};

    /// Nanoseconds of the clock that are an instruction: so many that what a read takes is less than
    /// the deviation that is permitted in the loop of known length.
    const NS_PER_INSTRUCTION: u64 = 64;
    /// Nanoseconds of the clock that are a cycle.
    const NS_PER_CYCLE: u64 = 8;
    /// Nanoseconds of the clock that are an event of any other kind.
    const NS_PER_OTHER: u64 = 512;
    /// By how much a constant counter rises.
    const CONSTANT_STEP: u64 = 1_000;
    /// From where a counter falls.
    const FALLS_FROM: u64 = 1 << 62;
    /// The highest value of a counter of 48 bits.
    const LAST_OF_48_BITS: u64 = (1 << 48) - 1;
    /// After so many reads it wraps again: between the reads of a window, sooner or later, whether
    /// the first of them is the first read or not.
    const READS_PER_WRAP: u64 = 3;
    /// The same of counters that begin again, of which most windows are whole.
    const READS_PER_RESTART: u64 = 15;
    /// After so many reads counters are no longer scheduled: more than show how much reading adds.
    const READS_UNTIL_STOPPED: u64 = 30;
    /// How many events more a read adds than another: none, or up to four times this.
    const UNEVEN_STEP: u64 = 50;
    /// After so many reads these numbers repeat: an odd number, so that those after a window do too.
    const UNEVEN_READS: u64 = 5;
    /// The step of a coarse clock.
    const TICK_NS: u64 = 4_000_000;
    /// The words of both times, in a read of a counter and of a group.
    const TIMES: std::ops::Range<usize> = 1..3;
    /// More reads than the loop of known length takes, so that it ends if the clock stands still.
    const MAX_READS: u64 = 10_000_000;

    /// The fault of this process; `None` without the variable.
    pub(super) fn fault() -> Option<CounterFault> {
        static FAULT: OnceLock<Option<CounterFault>> = OnceLock::new();
        *FAULT.get_or_init(|| {
            let named = std::env::var(COUNTER_FAULT).ok()?;
            CounterFault::ALL.into_iter().find(|fault| fault.name() == named)
        })
    }

    /// The events of a counter or a group, and how far they have been falsified.
    pub(in crate::kernel::probe::perf) struct StandIns {
        fault: Option<CounterFault>,
        events: Vec<CounterEvent>,
        state: RefCell<State>,
    }

    /// What the next reads depend on.
    #[derive(Default)]
    struct State {
        reads: u64,
        /// What is added to each count so that it wraps, or by the reads so far; or where it began
        /// again, or stopped.
        offsets: Vec<u64>,
        /// For how long they had counted when they stopped.
        stopped_at_ns: u64,
    }

    impl StandIns {
        pub(in crate::kernel::probe::perf) fn of(
            events: impl Iterator<Item = CounterEvent>,
        ) -> Self {
            Self::with_fault(fault(), events)
        }

        pub(super) fn with_fault(
            fault: Option<CounterFault>,
            events: impl Iterator<Item = CounterEvent>,
        ) -> Self {
            let events: Vec<CounterEvent> = events.collect();
            let offsets = vec![0; events.len()];
            Self { fault, events, state: RefCell::new(State { offsets, ..State::default() }) }
        }

        /// Makes of what the kernel has written what the fault makes of it. The counts begin at this
        /// word; the times are before or behind.
        pub(in crate::kernel::probe::perf) fn falsify(&self, words: &mut [u64], counts_at: usize) {
            let Some(fault) = self.fault else { return };
            if self.events.iter().all(|event| event.is_software()) {
                return;
            }
            let mut state = self.state.borrow_mut();
            let counts = words.get_mut(counts_at..).unwrap_or_default();
            for (at, (event, count)) in self.events.iter().zip(counts).enumerate() {
                if !event.is_software() {
                    *count = state.falsified(fault, at, *count / ns_per(*event));
                }
            }
            state.reads += 1;
            let [enabled_ns, counting_ns] = words.get_mut(TIMES).unwrap_or_default() else {
                return;
            };
            match fault {
                CounterFault::Multiplexed => *counting_ns = *enabled_ns / 2,
                CounterFault::Unscheduled => *counting_ns = 0,
                CounterFault::Stopped if state.reads > READS_UNTIL_STOPPED => {
                    *counting_ns = state.stopped_at_ns;
                }
                CounterFault::Stopped => state.stopped_at_ns = *counting_ns,
                CounterFault::Untimed => (*enabled_ns, *counting_ns) = (0, 0),
                CounterFault::CoarseClock => {
                    *enabled_ns -= *enabled_ns % TICK_NS;
                    *counting_ns -= *counting_ns % TICK_NS;
                }
                _ => {}
            }
        }

        /// Lets the clock run for as long as a loop of so many instructions takes by it; `false`
        /// if no clock stands in. `true_ns` reads it as the kernel does.
        pub(in crate::kernel::probe::perf) fn run_loop(
            &self,
            instructions: u64,
            mut true_ns: impl FnMut() -> Option<u64>,
        ) -> bool {
            let is_replaced = self.events.first().is_some_and(|event| !event.is_software());
            if self.fault.is_none() || !is_replaced {
                return false;
            }
            let Some(begun) = true_ns() else { return true };
            let ends = begun + NS_PER_INSTRUCTION * instructions;
            let _ = (0..MAX_READS).find(|_| true_ns().is_none_or(|now| now >= ends));
            true
        }
    }

    impl State {
        /// What a read shows of this count.
        fn falsified(&mut self, fault: CounterFault, at: usize, count: u64) -> u64 {
            match fault {
                CounterFault::Zero | CounterFault::Unscheduled => 0,
                CounterFault::Constant => CONSTANT_STEP * self.reads,
                CounterFault::Backwards => FALLS_FROM - count,
                CounterFault::Halved => count / 2,
                CounterFault::Wrapped => {
                    if self.reads.is_multiple_of(READS_PER_WRAP) {
                        self.offsets[at] = LAST_OF_48_BITS - count;
                    }
                    (count + self.offsets[at]) & LAST_OF_48_BITS
                }
                CounterFault::UnevenReads => {
                    self.offsets[at] += UNEVEN_STEP * (self.reads % UNEVEN_READS);
                    count + self.offsets[at]
                }
                CounterFault::Stopped => {
                    if self.reads < READS_UNTIL_STOPPED {
                        self.offsets[at] = count;
                    }
                    self.offsets[at]
                }
                CounterFault::Restarted => {
                    if self.reads.is_multiple_of(READS_PER_RESTART) {
                        self.offsets[at] = count;
                    }
                    count - self.offsets[at]
                }
                CounterFault::Honest
                | CounterFault::Multiplexed
                | CounterFault::Untimed
                | CounterFault::CoarseClock => count,
            }
        }
    }

    /// Nanoseconds of the clock that are one event.
    fn ns_per(event: CounterEvent) -> u64 {
        match event {
            CounterEvent::InstructionsUser
            | CounterEvent::InstructionsKernel
            | CounterEvent::Instructions => NS_PER_INSTRUCTION,
            CounterEvent::Cycles => NS_PER_CYCLE,
            _ => NS_PER_OTHER,
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        /// What reads of a group of instructions and the task clock show.
        fn reads(fault: CounterFault, ns: &[u64]) -> Vec<[u64; 5]> {
            let events = [CounterEvent::InstructionsUser, CounterEvent::TaskClock];
            let group = StandIns::with_fault(Some(fault), events.into_iter());
            let read = |&ns: &u64| {
                let mut words = [2, ns, ns, ns, ns];
                group.falsify(&mut words, 3);
                words
            };
            ns.iter().map(read).collect()
        }

        #[test]
        fn a_clock_of_the_kernel_is_read_as_it_is_and_one_that_stands_in_as_the_fault_says() {
            const NS: [u64; 4] = [6_400, 12_800, 19_200, 25_600];
            let counts = |fault| reads(fault, &NS).iter().map(|words| words[3]).collect::<Vec<_>>();
            assert_eq!(counts(CounterFault::Honest), [100, 200, 300, 400]);
            assert_eq!(counts(CounterFault::Zero), [0; 4]);
            assert_eq!(counts(CounterFault::Constant), [0, 1_000, 2_000, 3_000]);
            assert_eq!(counts(CounterFault::Halved), [50, 100, 150, 200]);
            assert_eq!(counts(CounterFault::UnevenReads), [100, 250, 450, 700]);
            assert_eq!(counts(CounterFault::Restarted), [0, 100, 200, 300]);
            assert_eq!(counts(CounterFault::Stopped), [100, 200, 300, 400]);
            let falling = counts(CounterFault::Backwards);
            assert!(falling.is_sorted_by(|one, next| one > next), "{falling:?}");
            let wrapped = [LAST_OF_48_BITS, 99, 199, LAST_OF_48_BITS];
            assert_eq!(counts(CounterFault::Wrapped), wrapped);
            for fault in CounterFault::ALL {
                assert!(reads(fault, &NS).iter().zip(NS).all(|(words, ns)| words[4] == ns));
            }
        }

        #[test]
        fn the_times_of_a_group_with_a_stand_in_are_falsified() {
            let times = |fault| {
                let words = reads(fault, &[9_000_000])[0];
                (words[1], words[2])
            };
            assert_eq!(times(CounterFault::Honest), (9_000_000, 9_000_000));
            assert_eq!(times(CounterFault::Multiplexed), (9_000_000, 4_500_000));
            assert_eq!(times(CounterFault::Unscheduled), (9_000_000, 0));
            assert_eq!(times(CounterFault::Untimed), (0, 0));
            assert_eq!(times(CounterFault::CoarseClock), (8_000_000, 8_000_000));
        }

        #[test]
        fn counters_that_stop_or_begin_again_do_so_after_some_reads() {
            let ns: Vec<u64> = (1..=40).map(|read| 6_400 * read).collect();
            let stopped = reads(CounterFault::Stopped, &ns);
            assert!(stopped[..30].iter().zip(&ns).all(|(words, ns)| words[2] == *ns));
            let last = [40, 30].map(|read| read * 6_400);
            assert_eq!([stopped[39][1], stopped[39][2]], last, "enabled, and not counting");
            assert_eq!((stopped[29][3], stopped[39][3]), (3_000, 3_000));
            let restarted = reads(CounterFault::Restarted, &ns);
            let counts: Vec<u64> = restarted.iter().map(|words| words[3]).collect();
            assert_eq!((counts[14], counts[15], counts[16]), (1_400, 0, 100));
            assert!(restarted.iter().all(|words| words[1] == words[2]));
        }

        #[test]
        fn nothing_is_falsified_without_a_fault_or_without_an_event_of_the_processor() {
            let own = [CounterEvent::TaskClock, CounterEvent::PageFaults];
            let untouched = [2, 70, 70, 7, 9];
            for (fault, events) in
                [(None, CounterEvent::WORK[..2].to_vec()), (Some(CounterFault::Zero), own.to_vec())]
            {
                let group = StandIns::with_fault(fault, events.into_iter());
                let mut words = untouched;
                group.falsify(&mut words, 3);
                assert_eq!(words, untouched);
                assert!(!group.run_loop(1, || unreachable!("no clock stands in")));
            }
        }

        #[test]
        fn the_loop_of_known_length_takes_as_long_as_its_instructions_by_the_clock() {
            let events = [CounterEvent::Cycles].into_iter();
            let group = StandIns::with_fault(Some(CounterFault::Zero), events);
            let mut now = 0;
            let is_run = group.run_loop(10, || {
                now += 100;
                Some(now)
            });
            // From 100 on, 640 ns.
            assert_eq!((is_run, now), (true, 800));
            assert!(group.run_loop(10, || None), "it cannot be read");
        }
    }
}
