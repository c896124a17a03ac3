//! Timed waits: how late they end.

use kernel::time::sleep::Sleep;

use super::super::prelude::*;

pub(super) const WAIT: Bench = Bench {
    id: "timer/wait",
    asks: "By how much does a timed wait overshoot?",
    op: "the time elapsed on CLOCK_MONOTONIC around one wait, minus the requested time: \
         nanosleep(2); a timer descriptor, set and read; the real-time interval timer, set, and \
         its signal received by sigtimedwait(2). Negative would be too early. Not included: \
         nothing is subtracted; the two clock reads account for about 20 ns.",
    expected: "50 us plus a wake-up for nanosleep, at every duration; a wake-up (5 us, 50 us in a \
               virtual machine) for the other two",
    why: "nanosleep(2) may be late by the timer slack of the task, 50 us unless \
          prctl(PR_SET_TIMERSLACK) sets another, so that wake-ups can be coalesced; timer \
          descriptors and interval timers have no slack. The rest is the wake-up: the timer \
          interrupt, the scheduler, and an idle CPU that has to resume, in a virtual machine by \
          way of the host.",
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
            sets: "the call that waits",
            points: Points::Words(&["nanosleep", "timerfd", "setitimer"]),
            default_points: Points::Words(&["nanosleep", "timerfd", "setitimer"]),
        },
        Axis {
            name: "us",
            sets: "requested time in microseconds",
            points: Points::Numbers(&[100, 1_000, 10_000]),
            default_points: Points::Numbers(&[100, 1_000, 10_000]),
        },
    ],
    in_price_list: false,
    switches: true,
    source: "nanosleep(2), timerfd_create(2), setitimer(2), time(7)",
    needs: &[Need::time()],
    build: |params| {
        let requested_ns = 1_000 * params.number("us") as i64;
        let wait = match params.word("by") {
            "nanosleep" => Sleep::nanosleep(),
            "timerfd" => Sleep::timerfd()?,
            _ => Sleep::itimer()?,
        };
        Ok(Work::own_value(move || wait.oversleep_ns(requested_ns).map(|ns| 1_000 * ns)))
    },
    ..Bench::DEFAULT
};
