//! Counters of a program and of all that it starts.
//!
//! The process that starts the program opens them on itself. Its own work is not counted: they are
//! enabled in each descendant that inherits them when it executes a program, and from then on count
//! all that this one creates.

use oscost_model::counters::{CounterEvent, EventTotal, TreeCounts};
use oscost_model::program::TreeUsage;

use crate::engine::events::kernel_counters::visible_modes;
use crate::engine::events::refusal::open_error;
use crate::facts::Roots;
use crate::kernel::probe::perf::{Counted, Counter, GROUP_HEADER, Modes, Selection, Start};
use crate::supervisor::core_counters::open_on_cpu;

/// Processes whose counters are lost may have this share of the CPU time, which the kernel accounts
/// in another way ...
const UNCOUNTED_SHARE: f64 = 0.1;
/// ... and this time, before a program is executed and after its exit.
const UNCOUNTED_NS: u64 = 10_000_000;

/// Counters that a program inherits.
pub(super) struct TreeCounters {
    counters: Result<Vec<Counter>, String>,
    events: Vec<CounterEvent>,
    modes: Modes,
}

impl TreeCounters {
    /// Opens counters of the calling process's descendants.
    pub(super) fn open(events: &[CounterEvent], cpu: Option<u32>) -> Self {
        let opened = open_on_cpu(&Roots::machine(), cpu, |pmu| {
            let modes = visible_modes().unwrap_or(Modes::User);
            let (counted, start) = (Counted::Descendants, Start::Exec);
            let open = |&event: &CounterEvent| {
                Counter::open(&Selection { event, modes, counted, start, pmu }).map_err(|error| {
                    format!("cannot count {}: {}", error.event.perf_name(), open_error(error.errno))
                })
            };
            (events.iter().map(open).collect(), modes)
        });
        let (counters, modes) = opened.unwrap_or_else(|why| (Err(why), Modes::User));
        Self { counters, events: events.to_vec(), modes }
    }

    /// The totals of the tree, which has ended, and whose processes used this much.
    pub(super) fn totals(&self, usage: TreeUsage) -> TreeCounts {
        let kernel = self.modes == Modes::Both;
        let void =
            |reason: String| TreeCounts { kernel, void: Some(reason), ..TreeCounts::default() };
        let counters = match &self.counters {
            Ok(counters) => counters,
            Err(why) => return void(why.clone()),
        };
        let mut readings = Vec::new();
        for (counter, &event) in counters.iter().zip(&self.events) {
            let mut words = [0; GROUP_HEADER];
            if let Err(error) = counter.read(&mut words) {
                return void(format!("{} could not be read: {error}", event.perf_name()));
            }
            let [count, enabled_ns, counting_ns] = words;
            readings.push(Reading { event, count, enabled_ns, counting_ns });
        }
        match void_reason(&readings, usage.user_ns + usage.system_ns) {
            Some(reason) => void(reason),
            None => {
                let total = |it: &Reading| EventTotal { event: it.event, count: it.count };
                let counts = readings.iter().map(total).collect();
                TreeCounts { counts, kernel, ..TreeCounts::default() }
            }
        }
    }
}

/// What a counter shows at the end.
struct Reading {
    event: CounterEvent,
    count: u64,
    enabled_ns: u64,
    counting_ns: u64,
}

/// Why counts of a tree that used the CPU for so long are void; `None` if they are not.
fn void_reason(readings: &[Reading], cpu_ns: u64) -> Option<String> {
    for Reading { event, count, enabled_ns, counting_ns } in readings {
        let name = event.perf_name();
        if counting_ns > enabled_ns {
            return Some(format!("{name} was counted for longer than it was enabled"));
        }
        if *counting_ns == 0 && *enabled_ns > 0 {
            return Some(format!(
                "{name} was not scheduled: it was counted for none of {enabled_ns} ns for which it was \
                 enabled, so another user of the counters has them"
            ));
        }
        if *enabled_ns == 0 && *counting_ns == 0 && *count > 0 {
            return Some(format!(
                "{name} was counted, but the kernel says that it was enabled for 0 ns: its clock \
                 does not show whether it was multiplexed"
            ));
        }
        if counting_ns != enabled_ns {
            let share = 100.0 * *counting_ns as f64 / (*enabled_ns).max(1) as f64;
            return Some(format!(
                "{name} was multiplexed: it was counted for {share:.0} % of the time"
            ));
        }
        let uncounted_ns = cpu_ns.saturating_sub(*enabled_ns);
        if uncounted_ns > UNCOUNTED_NS && uncounted_ns as f64 > UNCOUNTED_SHARE * cpu_ns as f64 {
            return Some(format!(
                "{name} was counted for {} ms of {} ms of CPU time: a set-user-ID program, or one \
                 that another process starts, is not counted",
                enabled_ns / 1_000_000,
                cpu_ns / 1_000_000
            ));
        }
        let must_move =
            [CounterEvent::InstructionsUser, CounterEvent::Instructions, CounterEvent::Cycles];
        if *count == 0 && must_move.contains(event) {
            return Some(format!("the counter of {name} stood still"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn reading(event: CounterEvent, count: u64, enabled_ms: u64, counting_ms: u64) -> Reading {
        Reading { event, count, enabled_ns: enabled_ms * MS, counting_ns: counting_ms * MS }
    }

    #[test]
    fn complete_counts_are_valid_and_others_say_what_is_missing() {
        let whole = reading(CounterEvent::InstructionsUser, 70, 95, 95);
        let faults = reading(CounterEvent::PageFaults, 0, 95, 95);
        assert_eq!(void_reason(&[whole, faults], 100 * MS), None);
        let reason = |event, count, enabled_ms, counting_ms, cpu_ms| {
            void_reason(&[reading(event, count, enabled_ms, counting_ms)], cpu_ms * MS).unwrap()
        };
        let shared = reason(CounterEvent::Cycles, 9, 100, 40, 100);
        assert_eq!(shared, "cycles was multiplexed: it was counted for 40 % of the time");
        let never = reason(CounterEvent::Cycles, 0, 100, 0, 100);
        assert!(
            never.starts_with("cycles was not scheduled: it was counted for none of 100000000 ns")
        );
        let longer = reason(CounterEvent::Cycles, 9, 60, 100, 100);
        assert_eq!(longer, "cycles was counted for longer than it was enabled");
        let untimed = reason(CounterEvent::Cycles, 9, 0, 0, 100);
        assert!(untimed.contains("enabled for 0 ns: its clock does not show"), "{untimed}");
        let off = reason(CounterEvent::Cycles, 0, 0, 0, 100);
        assert!(off.contains("for 0 ms of 100 ms of CPU time: a set-user-ID"), "{off}");
        let partial = reason(CounterEvent::Cycles, 9, 60, 60, 100);
        assert!(partial.contains("for 60 ms of 100 ms of CPU time: a set-user-ID"), "{partial}");
        let still = reason(CounterEvent::Cycles, 0, 100, 100, 100);
        assert_eq!(still, "the counter of cycles stood still");
        // Of a program of 5 ms most may pass before it is executed.
        assert_eq!(void_reason(&[reading(CounterEvent::Cycles, 1, 1, 1)], 5 * MS), None);
    }
}
