//! What the programs count besides calls: faults, switches and interrupts.

use oscost_model::program_calls::{
    ClockReads, FaultCounts, KernelEvents, OutsideWakes, OutsideWakesByCall, RemoteWakes,
    RemoteWakesByCall, WakesOfIdle, WakesOfIdleByCall,
};

use super::layout::{plus_each, read_u64s};

/// `struct events`: what happened on one CPU, or on all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventSum([u64; EVENTS]);

/// The numbers of a `struct events`.
const EVENTS: usize = 31 + OF_IDLE + 2 * OF_OUTSIDE;
/// Those of its `of_idle`,
const OF_IDLE: usize = 20;
/// and of a `struct outside_wakes`.
const OF_OUTSIDE: usize = 5 + OF_IDLE;

/// The functions of a C library, beside clock_gettime(2), at which clock reads are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockFunctions {
    /// gettimeofday(2).
    pub gettimeofday: bool,
    /// time(2).
    pub time: bool,
}

/// Which of the kernel's tracepoints that not every kernel has are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventSources {
    /// Those that tell the kinds of faults.
    pub fault_kinds: bool,
    /// That which tells the pages of a file that a fault maps.
    pub mapped_pages: bool,
    /// That which tells that a CPU stops its tick.
    pub ticks: bool,
    /// That of softirqs.
    pub softirqs: bool,
    /// Those of interrupts.
    pub interrupts: bool,
    /// The functions at which clock reads are counted; `None` if they are not.
    pub clock_functions: Option<ClockFunctions>,
}

/// No array of more than 32 numbers has a default.
impl Default for EventSum {
    fn default() -> Self {
        Self([0; EVENTS])
    }
}

impl EventSum {
    /// That of one CPU.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(read_u64s(bytes))
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(plus_each(self.0, other.0))
    }

    /// What was counted. Without a source a number is not known.
    pub fn events(self, sources: EventSources) -> KernelEvents {
        let [
            zero_fill,
            huge_zero_fill,
            file_minor,
            copy_on_write,
            page_reuse,
            major,
            unknown,
            voluntary_switches,
            forced_switches,
            same_cpu,
            other_cpu,
            softirqs,
            interrupts,
            to_process,
            to_thread,
            clock_gettime,
            gettimeofday,
            time,
            forks_to_other_cpu,
            starts_on_other_cpu,
            remote_wakes_after_idle,
            remote_wakes_after_switch,
            mapped_file_pages,
            tcp_after_idle,
            tcp_after_switch,
            unix_after_idle,
            unix_after_switch,
            pipe_after_idle,
            pipe_after_switch,
            futex_after_idle,
            futex_after_switch,
            rest @ ..,
        ] = self.0;
        let (of_idle, outside) = rest.split_at(OF_IDLE);
        let (of_outside, by_outside) = outside.split_at(OF_OUTSIDE);
        let wakes = |after_idle, after_switch| RemoteWakes { after_idle, after_switch };
        let clock_reads = sources.clock_functions.map(|has| {
            let gettimeofday = has.gettimeofday.then_some(gettimeofday);
            let time = has.time.then_some(time);
            // Where a library has functions of these names, as musl and glibc since 2.31, each reads
            // the clock by the library's own clock_gettime(2), whose breakpoint it meets.
            let nested = gettimeofday.unwrap_or(0).saturating_add(time.unwrap_or(0));
            ClockReads { clock_gettime, gettimeofday, time, nested }
        });
        KernelEvents {
            faults: FaultCounts {
                zero_fill,
                huge_zero_fill,
                file_minor,
                copy_on_write,
                page_reuse,
                major,
                unknown,
            },
            voluntary_switches,
            forced_switches,
            voluntary_to_process: Some(to_process),
            voluntary_to_thread: Some(to_thread),
            same_cpu,
            other_cpu,
            forks_to_other_cpu: Some(forks_to_other_cpu),
            starts_on_other_cpu: Some(starts_on_other_cpu),
            remote_wakes_after_idle: Some(remote_wakes_after_idle),
            remote_wakes_after_switch: Some(remote_wakes_after_switch),
            remote_wakes_by: Some(RemoteWakesByCall {
                tcp: wakes(tcp_after_idle, tcp_after_switch),
                unix: wakes(unix_after_idle, unix_after_switch),
                pipe: wakes(pipe_after_idle, pipe_after_switch),
                futex: wakes(futex_after_idle, futex_after_switch),
            }),
            remote_wakes_of_idle: Some(wakes_of_idle(of_idle, sources)),
            remote_wakes_of_outside: Some(outside_wakes(of_outside, sources)),
            remote_wakes_by_outside: Some(outside_wakes(by_outside, sources)),
            softirqs: sources.softirqs.then_some(softirqs),
            interrupts: sources.interrupts.then_some(interrupts),
            clock_reads,
            mapped_file_pages: sources.mapped_pages.then_some(mapped_file_pages),
        }
    }
}

/// A `struct outside_wakes`.
fn outside_wakes(numbers: &[u64], sources: EventSources) -> OutsideWakesByCall {
    let (wakes, of_idle) = numbers.split_at(5);
    let by = wakes_of_idle(of_idle, sources);
    OutsideWakesByCall {
        tcp: OutsideWakes { wakes: wakes[0], of_idle: by.tcp },
        unix: OutsideWakes { wakes: wakes[1], of_idle: by.unix },
        pipe: OutsideWakes { wakes: wakes[2], of_idle: by.pipe },
        futex: OutsideWakes { wakes: wakes[3], of_idle: by.futex },
        other: OutsideWakes { wakes: wakes[4], of_idle: by.other },
    }
}

/// Its `of_idle`, and that of a `struct events`.
fn wakes_of_idle(numbers: &[u64], sources: EventSources) -> WakesOfIdleByCall {
    let of_call = |first: usize| WakesOfIdle {
        below_150_us: numbers[first],
        below_600_us: numbers[first + 1],
        longer: numbers[first + 2],
        below_150_us_tickless: sources.ticks.then_some(numbers[first + 3]),
    };
    let [tcp, unix, pipe, futex, other] = [0, 4, 8, 12, 16].map(of_call);
    WakesOfIdleByCall { tcp, unix, pipe, futex, other }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_all_cpus_are_added_and_unknown_without_their_source() {
        let of_cpu = |first: u64| {
            let numbers = (first..).take(EVENTS).flat_map(u64::to_ne_bytes);
            EventSum::from_bytes(&numbers.collect::<Vec<_>>())
        };
        let sum = of_cpu(1).plus(of_cpu(100));
        let found =
            sum.events(EventSources { softirqs: true, ticks: true, ..EventSources::default() });
        let FaultCounts {
            zero_fill,
            huge_zero_fill,
            file_minor,
            copy_on_write,
            page_reuse,
            major,
            unknown,
        } = found.faults;
        let kinds = [zero_fill, huge_zero_fill, file_minor, copy_on_write, page_reuse];
        assert_eq!((kinds, major, unknown), ([101, 103, 105, 107, 109], 111, 113));
        assert_eq!((found.voluntary_switches, found.forced_switches), (115, 117));
        assert_eq!((found.same_cpu, found.other_cpu), (119, 121));
        assert_eq!((found.softirqs, found.interrupts), (Some(123), None));
        let to_tasks = (found.voluntary_to_process, found.voluntary_to_thread);
        assert_eq!(to_tasks, (Some(127), Some(129)));
        let begun = (found.forks_to_other_cpu, found.starts_on_other_cpu);
        assert_eq!(begun, (Some(137), Some(139)));
        let woken = (found.remote_wakes_after_idle, found.remote_wakes_after_switch);
        assert_eq!(woken, (Some(141), Some(143)));
        let wakes = |after_idle| RemoteWakes { after_idle, after_switch: after_idle + 2 };
        let [tcp, unix, pipe, futex] = [147, 151, 155, 159].map(wakes);
        let by = RemoteWakesByCall { tcp, unix, pipe, futex };
        assert_eq!(found.remote_wakes_by, Some(by));
        let all = RemoteWakes { after_idle: 612, after_switch: 620 };
        assert_eq!(by.sum(), all);
        let [tcp, unix, pipe, futex, other] = [163, 171, 179, 187, 195].map(|first| WakesOfIdle {
            below_150_us: first,
            below_600_us: first + 2,
            longer: first + 4,
            below_150_us_tickless: Some(first + 6),
        });
        let of_idle = WakesOfIdleByCall { tcp, unix, pipe, futex, other };
        assert_eq!(found.remote_wakes_of_idle, Some(of_idle));
        let all = WakesOfIdle {
            below_150_us: 895,
            below_600_us: 905,
            longer: 915,
            below_150_us_tickless: Some(925),
        };
        assert_eq!(of_idle.sum(), all);
        let outside = |first: u64| {
            let of_call = |at: u64| OutsideWakes {
                wakes: first + 2 * at,
                of_idle: WakesOfIdle {
                    below_150_us: first + 10 + 8 * at,
                    below_600_us: first + 12 + 8 * at,
                    longer: first + 14 + 8 * at,
                    below_150_us_tickless: Some(first + 16 + 8 * at),
                },
            };
            let [tcp, unix, pipe, futex, other] = [0, 1, 2, 3, 4].map(of_call);
            OutsideWakesByCall { tcp, unix, pipe, futex, other }
        };
        let both = [found.remote_wakes_of_outside, found.remote_wakes_by_outside];
        assert_eq!(both, [Some(outside(203)), Some(outside(253))]);
        assert_eq!(outside(203).wakes(), 203 + 205 + 207 + 209 + 211);
        assert_eq!(found.clock_reads, None, "they were not asked for");
        assert_eq!(found.mapped_file_pages, None, "the kernel has no such tracepoint");
        let without_ticks = sum.events(EventSources::default()).remote_wakes_of_idle;
        assert_eq!(without_ticks.map(|by| by.sum().below_150_us_tickless), Some(None));
        let sources = EventSources { mapped_pages: true, ..EventSources::default() };
        assert_eq!(sum.events(sources).mapped_file_pages, Some(145));
        let functions = ClockFunctions { gettimeofday: false, time: true };
        let sources = EventSources { clock_functions: Some(functions), ..EventSources::default() };
        let (clock_gettime, time) = (131, Some(135));
        let reads = ClockReads { clock_gettime, gettimeofday: None, time, nested: 135 };
        assert_eq!(sum.events(sources).clock_reads, Some(reads));
        let functions = Some(ClockFunctions { gettimeofday: true, time: true });
        let sources = EventSources { clock_functions: functions, ..EventSources::default() };
        let reads = ClockReads { gettimeofday: Some(133), nested: 133 + 135, ..reads };
        assert_eq!(sum.events(sources).clock_reads, Some(reads));
        let functions = Some(ClockFunctions::default());
        let sources = EventSources { clock_functions: functions, ..EventSources::default() };
        let reads = ClockReads { clock_gettime, ..ClockReads::default() };
        assert_eq!(sum.events(sources).clock_reads, Some(reads), "the vDSO calls no function");
    }
}
