//! What timers promise, the step in which they move, and what can be told apart with them.

use kernel::cpu::increments::{Code, Way};
use kernel::time::clock::ClockId;
use kernel::time::timers::Call;

use super::super::prelude::*;
use super::counter::code;
use super::meter::{self, Measured};
use super::staircase;
use crate::bench::{ExpectedCall, up_to};

/// Why timers of a second have no step that is looked for.
pub(super) const EVERY_SECOND: &str =
    "it moves once in a second: longer than an op may take, and what it promises is that second";

pub(super) const RESOLUTION: Bench = Bench {
    id: "timer/resolution",
    asks: "Which resolution does the kernel declare for a clock?",
    op: "clock_getres(2) of the clock; the figure is its answer, and no cost. Outside: everything. \
         What has no clock_getres promises what its man page says: see the survey of `oscost run \
         timer`.",
    expected: "1 ns for everything but the coarse clocks, which say how long a tick is",
    why: "The kernel declares the unit in which it answers, not the step in which the clock moves: \
          a clock that promises 1 ns may well stand still for 10 ns or 40 ns, as timer/quantum \
          shows. Only the coarse clocks are as coarse as they say.",
    calls: &[exactly("clock_getres", 1)],
    axes: &[Axis {
        name: "timer",
        sets: "the clock, as clock_getres(2) names it",
        points: Points::Words(CLOCKS),
        default_points: Points::Words(&["monotonic", "monotonic-coarse"]),
    }],
    in_price_list: false,
    source: "clock_getres(2)",
    needs: &[Need::time()],
    build: |at| {
        let call = Call::clock_getres(ClockId::named(at.word("timer")).ok_or(Errno::EINVAL)?);
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
    sets: "the timer: a clock of clock_gettime(2), or the call that asks it",
    points: Points::Words(meter::NAMES),
    default_points: Points::Words(&["tsc", "monotonic"]),
};

/// Readings of a timer that enters the kernel: as many as the method takes, and no other calls.
const READINGS: &[ExpectedCall] = &[
    up_to("clock_gettime", MOST).when(&[("timer", "process-cputime")]),
    up_to("clock_gettime", MOST).when(&[("timer", "thread-cputime")]),
    up_to("clock_gettime", MOST).when(&[("timer", "clock")]),
    up_to("times", MOST_OF_TIMES).when(&[("timer", "times")]),
    up_to("getrusage", MOST).when(&[("timer", "getrusage")]),
    up_to("getitimer", MOST).when(&[("timer", "getitimer")]),
    up_to("timer_gettime", MOST).when(&[("timer", "timer-gettime")]),
    up_to("timerfd_gettime", MOST).when(&[("timer", "timerfd-gettime")]),
    up_to("adjtimex", MOST).when(&[("timer", "adjtimex")]),
];
/// A staircase looks at some fifty numbers of steps, eight windows each; twice if it must.
const MOST: u32 = 4_000;
/// A tick of 10 ms is waited for twice, with a call in the time of a call.
const MOST_OF_TIMES: u32 = 1_000_000;

pub(super) const QUANTUM: Bench = Bench {
    id: "timer/quantum",
    asks: "In which step does a timer move on?",
    op: "the smallest step that many windows of slightly different lengths show often; where the \
         timer stands still between them, the time from one of its steps to the next. The figure \
         is that step, and no cost. Outside: nothing is subtracted.",
    expected: "10 ns for all that come from the counter here (METHOD section 2), 1 us where the \
            answer is in microseconds, 4 ms for the coarse ones, 10 ms for times()",
    why: "Not the smallest difference of all, which may be one of rounding where a hypervisor \
          scales the counter; not a greatest common divisor, which is then 1. What at least one \
          window in a hundred shows is real. A timer that is read in more than a step shows no \
          step by itself: its differences lie on a comb, and the step is the distance between the \
          teeth.",
    calls: READINGS,
    axes: &[TIMER],
    needs: &[
        Need::time(),
        Need::counter().when(&[("timer", "tsc")]),
        Need::not_applicable(EVERY_SECOND).when(&[("timer", "time")]),
        Need::not_applicable(EVERY_SECOND).when(&[("timer", "alarm")]),
    ],
    in_price_list: false,
    // An interruption lengthens some windows; what is looked at are the shortest and the most
    // frequent ones.
    switches: true,
    source: "METHOD section 2; study cse736-2019, section 2.1",
    build: |at| {
        let measured = meter::of(at.word("timer"), Way::Up, Code::Optimised)?;
        Ok(found(measured, staircase::quantum))
    },
    ..Bench::DEFAULT
};

/// Why some methods say nothing of a timer that stands still for milliseconds.
const STANDS_STILL: &str =
    "two reads in a row of a timer that stands still for milliseconds differ by nothing";
/// Why there are no two kinds of code.
const NOTHING_INSERTED: &str = "nothing is put between the two reads that could be plain";

pub(super) const PRECISION: Bench = Bench {
    id: "timer/precision",
    asks: "How small a difference in work does a timer show?",
    op: "`increments` and `decrements`: the height of a step of the staircase that the smallest \
         differences of two reads climb as more and more ++ or -- are put between them; \
         `back-to-back`: the mean difference of reads in a row; `minimum`: the smallest one that \
         is not zero. The figure is that time, and no cost. Outside: nothing is subtracted.",
    expected: "the staircase finds the quantum; back-to-back finds what a read costs; the minimum \
            finds either, or 1 tick",
    why: "Study cse221-2014 took the mean of two reads in a row for the precision: but that is the \
          cost of a read, and says nothing of the clock (20 ns for one that steps by 10, 25 ns for \
          one that steps by 1000). Study cse736-2019 began with the smallest one: of a slow read \
          that is again the cost, cut to whole steps, and where the counter is scaled it is now \
          and then 1 tick, which nobody can use. Its second method is sound: with k increments \
          between the reads the smallest difference is a staircase in k, whose steps are the \
          clock's own, and the mean is a straight line, whose slope is what an increment costs. \
          Whether ++ or -- makes no difference, and neither does optimisation: only how many of \
          them make a step.",
    calls: READINGS,
    axes: &[
        TIMER,
        Axis {
            name: "method",
            sets: "how the precision is found: by the staircase of study cse736-2019 with ++ or \
                   with --, or by one of the two simpler ways",
            points: Points::Words(&["increments", "decrements", "back-to-back", "minimum"]),
            default_points: Points::Words(&["increments", "decrements", "back-to-back", "minimum"]),
        },
        CODE,
    ],
    needs: &[
        Need::time(),
        Need::counter().when(&[("timer", "tsc")]),
        Need::not_applicable(EVERY_SECOND).when(&[("timer", "time")]),
        Need::not_applicable(EVERY_SECOND).when(&[("timer", "alarm")]),
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
    // An interruption lengthens some windows; what is looked at are the shortest and the most
    // frequent ones.
    switches: true,
    source: "study cse736-2019, section 2.1; study cse221-2014, section 3.1; METHOD section 2",
    build: |at| {
        let (way, method): (Way, Method) = match at.word("method") {
            "increments" => (Way::Up, staircase::staircase),
            "decrements" => (Way::Down, staircase::staircase),
            "back-to-back" => (Way::Up, staircase::back_to_back),
            _ => (Way::Up, staircase::minimum),
        };
        Ok(found(meter::of(at.word("timer"), way, code(at))?, method))
    },
    ..Bench::DEFAULT
};

type Method = fn(&mut dyn staircase::Meter) -> Result<f64, Errno>;

/// Work whose figure is what a method finds.
fn found(measured: Measured, method: Method) -> Work {
    let Measured { mut meter, unit_ps } = measured;
    Work::own_value(move || Ok((method(&mut *meter)? * unit_ps).round() as i64))
}
