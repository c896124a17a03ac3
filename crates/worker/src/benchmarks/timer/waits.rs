//! Waiting for a time to pass: by how much it is missed.

use kernel::time::sleep::Wait;

use super::super::prelude::*;

pub(super) const WAIT: Bench = Bench {
    id: "timer/wait",
    asks: "By how much does a timed wait miss the time that was asked for?",
    op: "the time that passed on CLOCK_MONOTONIC around one wait, less the time that was asked \
         for: nanosleep(2); a timer descriptor, set and read; the process's real-time timer, set, \
         and its signal taken by sigtimedwait(2). Negative would be too early. Outside: nothing \
         is subtracted; the two reads of the clock are some 20 ns of it.",
    expected: "50 us and a wake-up too late for nanosleep, whatever the time; a wake-up (5 us, 50 us \
            in a virtual machine) for the other two",
    why: "nanosleep(2) may be late by the task's timer slack, 50 us unless \
          prctl(PR_SET_TIMERSLACK) says otherwise, so that wake-ups can be put together; timer descriptors and interval \
          timers have no slack. Behind that stands the wake-up: the timer's interrupt, the \
          scheduler, and an idle CPU that has to come back, in a virtual machine from its host.",
    calls: &[
        exactly("nanosleep", 1).when(&[("by", "nanosleep")]),
        exactly("timerfd_settime", 1).when(&[("by", "timerfd")]),
        exactly("read", 1).when(&[("by", "timerfd")]),
        exactly("setitimer", 1).when(&[("by", "setitimer")]),
        exactly("rt_sigtimedwait", 1).when(&[("by", "setitimer")]),
    ],
    axes: &[
        Axis {
            name: "by",
            sets: "how it is waited",
            points: Points::Words(&["nanosleep", "timerfd", "setitimer"]),
            default_points: Points::Words(&["nanosleep", "timerfd", "setitimer"]),
        },
        Axis {
            name: "us",
            sets: "the time that is asked for, in microseconds",
            points: Points::Numbers(&[100, 1_000, 10_000]),
            default_points: Points::Numbers(&[100, 1_000, 10_000]),
        },
    ],
    in_price_list: false,
    switches: true,
    source: "nanosleep(2), timerfd_create(2), setitimer(2), time(7)",
    needs: &[Need::time()],
    build: |at| {
        let asked_ns = 1_000 * at.number("us") as i64;
        let wait = match at.word("by") {
            "nanosleep" => Wait::nanosleep(),
            "timerfd" => Wait::timerfd()?,
            _ => Wait::itimer()?,
        };
        Ok(Work::own_value(move || wait.excess_ns(asked_ns).map(|ns| 1_000 * ns)))
    },
    ..Bench::DEFAULT
};
