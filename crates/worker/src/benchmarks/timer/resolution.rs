//! The resolution that timers declare, the step by which they advance, and what they can resolve.

use kernel::cpu::increments::{Direction, Storage};
use kernel::time::clock::ClockId;
use kernel::time::timers::TimeCall;

use super::super::prelude::*;
use super::counter::code;
use super::meter::{self, TimerMeter};
use super::staircase;
use crate::bench::{ExpectedCall, up_to};

/// Why the step of timers that count seconds is not measured.
pub(super) const STEPS_EVERY_SECOND: &str = "it advances once per second: longer than an op may \
                                             take, and its documented resolution is that second";

pub(super) const RESOLUTION: Bench = Bench {
    id: "timer/resolution",
    asks: "Which resolution does the kernel declare for a clock?",
    op: "clock_getres(2) of the clock; the figure is its result, not a cost. Not included: \
         everything. For timers without clock_getres the man page states the resolution: see the \
         survey of `oscost run timer`.",
    expected: "1 ns for everything except the coarse clocks, which report the length of a timer \
               tick",
    why: "The kernel declares the unit of the result, not the step by which the clock advances: a \
          clock that declares 1 ns may well stand still for 10 ns or 40 ns, as timer/quantum \
          shows. Only the coarse clocks are as coarse as declared.",
    calls: &[exactly("clock_getres", 1)],
    axes: &[Axis {
        name: "timer",
        sets: "clock id, as in clock_getres(2)",
        points: Points::Words(CLOCKS),
        default_points: Points::Words(&["monotonic", "monotonic-coarse"]),
    }],
    in_price_list: false,
    source: "clock_getres(2)",
    needs: &[Need::time()],
    build: |params| {
        let call =
            TimeCall::clock_getres(ClockId::by_name(params.word("timer")).ok_or(Errno::EINVAL)?);
        Ok(Work::own_value(move || call.now_ns().map(|ns| 1_000 * ns)))
    },
    ..Bench::DEFAULT
};

const CLOCKS: &[&str] = &[
    "realtime",
    "monotonic",
    "monotonic-raw",
    "boottime",
    "tai",
    "realtime-coarse",
    "monotonic-coarse",
    "process-cputime",
    "thread-cputime",
];

const TIMER: Axis = Axis {
    name: "timer",
    sets: "timer: a clock of clock_gettime(2), or the call that reads it",
    points: Points::Words(meter::NAMES),
    default_points: Points::Words(&["tsc", "monotonic"]),
};

/// Readings of a timer that enters the kernel: as many as the method takes, and no other calls.
const READINGS: &[ExpectedCall] = &[
    up_to("clock_gettime", MAX_READINGS).when(&[("timer", "process-cputime")]),
    up_to("clock_gettime", MAX_READINGS).when(&[("timer", "thread-cputime")]),
    up_to("clock_gettime", MAX_READINGS).when(&[("timer", "clock")]),
    up_to("times", MAX_TIMES_CALLS).when(&[("timer", "times")]),
    up_to("getrusage", MAX_READINGS).when(&[("timer", "getrusage")]),
    up_to("getitimer", MAX_READINGS).when(&[("timer", "getitimer")]),
    up_to("timer_gettime", MAX_READINGS).when(&[("timer", "timer-gettime")]),
    up_to("timerfd_gettime", MAX_READINGS).when(&[("timer", "timerfd-gettime")]),
    up_to("adjtimex", MAX_READINGS).when(&[("timer", "adjtimex")]),
];
/// The staircase method tries about fifty step counts with eight windows each; twice if necessary.
const MAX_READINGS: u32 = 4_000;
/// It waits for two ticks of 10 ms, calling back to back.
const MAX_TIMES_CALLS: u32 = 1_000_000;

pub(super) const QUANTUM: Bench = Bench {
    id: "timer/quantum",
    asks: "By which step does a timer advance?",
    op: "the smallest step that many windows of slightly different lengths show often; if the \
         timer stands still between them, the time from one step to the next. The figure is that \
         step, not a cost. Not included: nothing is subtracted.",
    expected: "10 ns for all timers derived from the counter here (METHOD section 2), 1 us where \
               the result is in microseconds, 4 ms for the coarse clocks, 10 ms for times()",
    why: "The smallest difference of all may be a rounding error where a hypervisor scales the \
          counter; the greatest common divisor is then 1. A value shown by at least one window in \
          a hundred is real. A timer whose read takes longer than its step never shows the step \
          directly: its differences lie on a comb, and the step is the distance between the teeth.",
    calls: READINGS,
    axes: &[TIMER],
    needs: &[
        Need::time(),
        Need::counter().when(&[("timer", "tsc")]),
        Need::not_applicable(STEPS_EVERY_SECOND).when(&[("timer", "time")]),
        Need::not_applicable(STEPS_EVERY_SECOND).when(&[("timer", "alarm")]),
    ],
    in_price_list: false,
    // An interruption lengthens some windows; the method looks at the shortest and the most
    // frequent.
    switches: true,
    source: "METHOD section 2; study cse736-2019, section 2.1",
    build: |params| {
        let timer_meter = meter::for_timer(params.word("timer"), Direction::Up, Storage::Register)?;
        Ok(method_work(timer_meter, staircase::quantum))
    },
    ..Bench::DEFAULT
};

/// Why some methods do not apply to a timer that stands still for milliseconds.
const STANDS_STILL: &str =
    "two consecutive reads of a timer that stands still for milliseconds do not differ";
/// Why the axis `code` does not apply.
const NOTHING_INSERTED: &str = "no code is inserted between the two reads that could be \
                                unoptimised";

pub(super) const PRECISION: Bench = Bench {
    id: "timer/precision",
    asks: "How small a difference in work can a timer resolve?",
    op: "`increments` and `decrements`: the step height of the staircase that the smallest \
         differences of two reads form as more and more ++ or -- are inserted between them; \
         `back-to-back`: the mean difference of consecutive reads; `minimum`: the smallest \
         non-zero one. The figure is that time, not a cost. Not included: nothing is subtracted.",
    expected: "the staircase finds the quantum; back-to-back finds the cost of a read; the minimum \
               finds either, or 1 tick",
    why: "Study cse221-2014 took the mean of two consecutive reads for the precision, but that is \
          the cost of a read and says nothing about the clock (20 ns for a clock that steps by 10, \
          25 ns for one that steps by 1000). Study cse736-2019 began with the smallest difference: \
          for a slow read that is again the cost, truncated to whole steps, and where the counter \
          is scaled it is occasionally 1 tick, which is not usable. Its second method is sound: \
          with k increments between the reads the smallest difference is a staircase in k whose \
          steps are the clock's, and the mean is a straight line whose slope is the cost of an \
          increment. Neither ++ versus -- nor optimisation makes a difference, except in how many \
          increments make a step.",
    calls: READINGS,
    axes: &[
        TIMER,
        Axis {
            name: "method",
            sets: "how the precision is found: by the staircase of study cse736-2019 with ++ or \
                   with --, or by one of the two simpler methods",
            points: Points::Words(&["increments", "decrements", "back-to-back", "minimum"]),
            default_points: Points::Words(&["increments", "decrements", "back-to-back", "minimum"]),
        },
        CODE,
    ],
    needs: &[
        Need::time(),
        Need::counter().when(&[("timer", "tsc")]),
        Need::not_applicable(STEPS_EVERY_SECOND).when(&[("timer", "time")]),
        Need::not_applicable(STEPS_EVERY_SECOND).when(&[("timer", "alarm")]),
        Need::not_applicable(STANDS_STILL)
            .when(&[("timer", "realtime-coarse"), ("method", "back-to-back")]),
        Need::not_applicable(STANDS_STILL)
            .when(&[("timer", "monotonic-coarse"), ("method", "back-to-back")]),
        Need::not_applicable(STANDS_STILL).when(&[("timer", "times"), ("method", "back-to-back")]),
        Need::not_applicable(NOTHING_INSERTED)
            .when(&[("method", "back-to-back"), ("code", "plain")]),
        Need::not_applicable(NOTHING_INSERTED).when(&[("method", "minimum"), ("code", "plain")]),
    ],
    in_price_list: false,
    // An interruption lengthens some windows; the method looks at the shortest and the most
    // frequent.
    switches: true,
    source: "study cse736-2019, section 2.1; study cse221-2014, section 3.1; METHOD section 2",
    build: |params| {
        let (direction, method): (Direction, Method) = match params.word("method") {
            "increments" => (Direction::Up, staircase::staircase),
            "decrements" => (Direction::Down, staircase::staircase),
            "back-to-back" => (Direction::Up, staircase::back_to_back),
            _ => (Direction::Up, staircase::minimum),
        };
        Ok(method_work(meter::for_timer(params.word("timer"), direction, code(params))?, method))
    },
    ..Bench::DEFAULT
};

type Method = fn(&mut dyn staircase::Meter) -> Result<f64, Errno>;

/// Work whose figure is the result of a method.
fn method_work(timer_meter: TimerMeter, method: Method) -> Work {
    let TimerMeter { mut meter, unit_ps } = timer_meter;
    Work::own_value(move || Ok((method(&mut *meter)? * unit_ps).round() as i64))
}
