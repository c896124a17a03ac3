//! The survey of timers: which exist, what is documented about them, and which cases measure the
//! rest.

use super::calls::{NO_DSECND, NO_FTIME, NO_GETHRTIME};
use super::resolution::STEPS_EVERY_SECOND;
use crate::bench::SurveyEntry::{Case, Reason, Text};
use crate::bench::Timer;

const YES: crate::bench::SurveyEntry = Text("yes");
const NO: crate::bench::SurveyEntry = Text("no");

const SETS: &str = "it sets a timer and reads none: the call that reads the same timer has its own \
                    row";
const ALARM_CLOCK: &str = "it is CLOCK_REALTIME or CLOCK_BOOTTIME under another name: see that row";
const COUNTS: &str = "it returns how often a timer expired, not a time";
const REFUSED: &str = "it sets the clock or is refused: it does not return a time";

/// A timer whose quantum and precision are measured.
macro_rules! timer {
    ($name:literal, $axis:literal, $cost:expr, $resolution:expr, $slewed:expr, $back:expr) => {
        Timer {
            name: $name,
            cost: Case($cost),
            resolution: $resolution,
            quantum: Case(concat!("timer/quantum:timer=", $axis)),
            precision: Case(concat!("timer/precision:timer=", $axis, ",method=increments")),
            slewed: $slewed,
            steps_back: $back,
        }
    };
}

/// A clock of clock_gettime(2), as a program reads it.
macro_rules! clock {
    ($name:literal, $slewed:expr, $back:expr) => {
        timer!(
            $name,
            $name,
            concat!("timer/clock-gettime:clock=", $name, ",via=libc"),
            Case(concat!("timer/resolution:timer=", $name)),
            $slewed,
            $back
        )
    };
}

/// A timer of which only the cost is measured.
const fn only_cost(name: &'static str, cost: &'static str, reason: &'static str) -> Timer {
    Timer {
        name,
        cost: Case(cost),
        resolution: Reason(reason),
        quantum: Reason(reason),
        precision: Reason(reason),
        slewed: Reason(reason),
        steps_back: Reason(reason),
    }
}

/// A timer that counts seconds.
const fn of_seconds(timer: Timer) -> Timer {
    Timer { quantum: Reason(STEPS_EVERY_SECOND), precision: Reason(STEPS_EVERY_SECOND), ..timer }
}

/// "Slewed" are the clocks that adjtimex(2) adjusts: CLOCK_REALTIME, those that advance with it
/// (CLOCK_MONOTONIC and derived clocks), and the tick, which follows CLOCK_MONOTONIC. "Steps back"
/// are those that settimeofday(2) can set back.
pub(crate) const TIMERS: &[Timer] = &[
    timer!("tsc", "tsc", "timer/tsc:read=fenced-rdtsc", Text("1 tick"), NO, NO),
    clock!("realtime", YES, YES),
    clock!("monotonic", YES, NO),
    clock!("monotonic-raw", NO, NO),
    clock!("boottime", YES, NO),
    clock!("tai", YES, YES),
    clock!("realtime-coarse", YES, YES),
    clock!("monotonic-coarse", YES, NO),
    clock!("process-cputime", NO, NO),
    clock!("thread-cputime", NO, NO),
    only_cost("realtime-alarm", "timer/clock-gettime-rare:clock=realtime-alarm", ALARM_CLOCK),
    only_cost("boottime-alarm", "timer/clock-gettime-rare:clock=boottime-alarm", ALARM_CLOCK),
    timer!("gettimeofday", "gettimeofday", "timer/gettimeofday:via=libc", Text("1 us"), YES, YES),
    of_seconds(timer!("time", "time", "timer/time:via=libc", Text("1 s"), YES, YES)),
    timer!("times", "times", "timer/times", Text("10 ms"), YES, NO),
    timer!("clock", "clock", "timer/clock", Text("1 us"), NO, NO),
    timer!("getrusage", "getrusage", "timer/getrusage", Text("1 us"), NO, NO),
    timer!("getitimer", "getitimer", "timer/getitimer", Text("1 us"), YES, NO),
    timer!(
        "timer_gettime",
        "timer-gettime",
        "timer/timer-gettime",
        Case("timer/resolution:timer=monotonic"),
        YES,
        NO
    ),
    timer!(
        "timerfd_gettime",
        "timerfd-gettime",
        "timer/timerfd-gettime",
        Case("timer/resolution:timer=monotonic"),
        YES,
        NO
    ),
    of_seconds(timer!("alarm", "alarm", "timer/alarm", Text("1 s"), YES, NO)),
    timer!("adjtimex", "adjtimex", "timer/adjtimex", Text("1 us"), YES, YES),
    only_cost("setitimer", "timer/setitimer", SETS),
    only_cost("timer_settime", "timer/timer-settime", SETS),
    only_cost("timer_getoverrun", "timer/timer-getoverrun", COUNTS),
    only_cost("clock_settime", "timer/clock-settime:refused=permission", REFUSED),
    only_cost("gethrtime", "timer/gethrtime", NO_GETHRTIME),
    only_cost("dsecnd", "timer/dsecnd", NO_DSECND),
    only_cost("ftime", "timer/ftime", NO_FTIME),
];
