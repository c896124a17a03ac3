//! Timed waits for a descriptor: how late and how early they end.

use super::super::prelude::*;
use super::axes::{BY_EPOLL, BY_POLL, BY_PPOLL, BY_PSELECT, BY_SELECT, SELECT};
use super::interruption::repeat_if_interrupted;
use crate::bench::PointFilter;
use crate::kernel::event::timeout::{Rounding, Timeout, TimeoutCall};
use crate::kernel::syscall::prepared::{EPOLL_WAIT, POLL};
use crate::kernel::time::clock::{ClockId, gettime};

const BY_PWAIT2: PointFilter = &[("method", "epoll-pwait2")];
const BY_RING: PointFilter = &[("method", "io-uring")];

const METHOD: Axis = Axis {
    name: "method",
    sets: "the call that waits: select in microseconds, poll and epoll in whole milliseconds, the \
           others in nanoseconds",
    points: Points::Words(&[
        "select",
        "pselect",
        "poll",
        "ppoll",
        "epoll",
        "epoll-pwait2",
        "io-uring",
    ]),
    default_points: Points::Words(&["select", "epoll", "epoll-pwait2"]),
};

const US: Axis = Axis {
    name: "us",
    sets: "requested timeout in microseconds",
    points: Points::Range { min: 1, max: 20_000, points: &[100, 1_000, 5_000, 10_000] },
    default_points: Points::Numbers(&[1_000]),
};

const ROUNDING: Axis = Axis {
    name: "rounding",
    sets: "how a timeout that is not a whole number of milliseconds is rounded, if the call counts \
           in milliseconds: up or down",
    points: Points::Words(&["up", "down"]),
    default_points: Points::Implied("up"),
};

/// The call that the complaint is about, and the one that it is compared with.
const COMPARED: Points = Points::Words(&["select", "epoll"]);

/// The calls of an op that waits `times` times.
const fn wait_calls(times: u32) -> [ExpectedCall; 7] {
    [
        exactly(SELECT, times).when(BY_SELECT),
        exactly("pselect6", times).when(BY_PSELECT),
        exactly(POLL, times).when(BY_POLL),
        exactly("ppoll", times).when(BY_PPOLL),
        exactly(EPOLL_WAIT, times).when(BY_EPOLL),
        exactly("epoll_pwait2", times).when(BY_PWAIT2),
        exactly("io_uring_enter", times).when(BY_RING),
    ]
}

/// Why most calls do not round.
const NO_ROUNDING: &str = "only poll(2) and epoll_wait(2) count in milliseconds: no rounding here";
/// The defaults of the benchmarks here.
const DEFAULTS: Bench = Bench {
    axes: &[METHOD, US, ROUNDING],
    needs: &[
        Need::time(),
        Need::io_uring().when(BY_RING),
        Need::not_applicable(NO_ROUNDING).when(&[("method", "select"), ("rounding", "down")]),
        Need::not_applicable(NO_ROUNDING).when(&[("method", "pselect"), ("rounding", "down")]),
        Need::not_applicable(NO_ROUNDING).when(&[("method", "ppoll"), ("rounding", "down")]),
        Need::not_applicable(NO_ROUNDING).when(&[("method", "epoll-pwait2"), ("rounding", "down")]),
        Need::not_applicable(NO_ROUNDING).when(&[("method", "io-uring"), ("rounding", "down")]),
    ],
    in_price_list: false,
    switches: true,
    source: "study cs161-syscalls, The C10K problem; libev's manual; select(2), poll(2), \
             epoll_wait(2), io_uring_enter(2); fs/select.c: select_estimate_accuracy",
    ..Bench::DEFAULT
};

pub(super) const ERROR: Bench = Bench {
    id: "event/timeout",
    asks: "By how much does a timed wait for a descriptor miss its timeout?",
    op: "the time elapsed on CLOCK_MONOTONIC around one call that waits for an empty pipe, minus \
         the requested timeout: negative is too early. Timeouts that poll(2) and epoll_wait(2) \
         cannot express, since they count in milliseconds, are rounded by their caller, and the \
         rounding is part of the error. Not included: creating the pipe and the set, and a wait that \
         is interrupted (EINTR), which is made again; nothing is subtracted, the two clock reads \
         account for about 40 ns.",
    expected: "60 us too late for all of them, of which 50 are timer slack, and 5 us for io_uring; \
               with poll and epoll_wait 0.1 ms becomes 1 ms, 0.96 ms too late; none is too early",
    why: "All of them sleep on a high-resolution timer, and may be late by the timer slack of the \
          task: 50 us (PR_SET_TIMERSLACK), or for select, poll and epoll a thousandth of the \
          timeout if that is more. The accuracies of 0.1 ms for select and 5 ms for epoll that the \
          study quotes were those of kernels whose timers ran on the tick. What remains is the \
          unit: a call that counts in milliseconds cannot express less. epoll_pwait2(2) can.",
    calls: &wait_calls(1),
    build: |params| or_unavailable(timeout_work(params, error)),
    ..DEFAULTS
};

/// Waits per op: few enough that 10 ms each stay well below a second.
const WAITS_PER_OP: u32 = 5;

pub(super) const EARLY: Bench = Bench {
    id: "event/timeout-early",
    asks: "How often does a timed wait for a descriptor return before its timeout?",
    op: "the share of five waits for an empty pipe that returned before the requested timeout had \
         elapsed on CLOCK_MONOTONIC, read before and after the call. Not included: creating the \
         pipe and the set.",
    expected: "none; all of them if the caller rounds down",
    why: "The complaint that the study quotes: a call returns too early, and its caller has to \
          wait once more. It was true while timeouts were kept in ticks and a tick that had begun \
          counted as a whole one. A high-resolution timer never fires before its time.",
    calls: &wait_calls(WAITS_PER_OP),
    unit: Unit::TimesPerOp,
    axes: &[Axis { default_points: COMPARED, ..METHOD }, US, ROUNDING],
    build: |params| or_unavailable(timeout_work(params, early)),
    ..DEFAULTS
};

pub(super) const CALL_COUNT: Bench = Bench {
    id: "event/timeout-turns",
    asks: "How many calls does it take to wait until a given moment?",
    op: "the calls that a loop makes until a moment has passed: it reads CLOCK_MONOTONIC, and \
         waits for the remaining time; rounding=down passes poll(2) and epoll_wait(2) only the \
         whole milliseconds of it. Not included: creating the pipe and the set.",
    expected: "one; if the remaining time is rounded down, thousands that wait for 0 ms",
    why: "An event loop that rounds down spins for the rest of the last millisecond, and one that \
          rounds up is late by as much. poll(2) and epoll_wait(2) leave that choice; the others \
          need none.",
    calls: &[
        up_to(SELECT, MAX_CALLS).when(BY_SELECT),
        up_to("pselect6", MAX_CALLS).when(BY_PSELECT),
        up_to(POLL, MAX_CALLS).when(BY_POLL),
        up_to("ppoll", MAX_CALLS).when(BY_PPOLL),
        up_to(EPOLL_WAIT, MAX_CALLS).when(BY_EPOLL),
        up_to("epoll_pwait2", MAX_CALLS).when(BY_PWAIT2),
        up_to("io_uring_enter", MAX_CALLS).when(BY_RING),
        // Only where reading a clock takes a system call.
        up_to("clock_gettime", MAX_CALLS),
    ],
    unit: Unit::TimesPerOp,
    axes: &[Axis { default_points: COMPARED, ..METHOD }, US, ROUNDING],
    build: |params| or_unavailable(timeout_work(params, call_count)),
    ..DEFAULTS
};

/// More iterations than fit into a millisecond.
const MAX_CALLS: u32 = 100_000;

/// The figure of an op for a requested time and its rounding, in thousandths.
type Figure = fn(&mut Timeout, u64, Rounding) -> Result<i64, Errno>;

fn timeout_work(params: Params<'_>, figure: Figure) -> Result<Work, Errno> {
    let call = match params.word("method") {
        "select" => TimeoutCall::Select,
        "pselect" => TimeoutCall::Pselect,
        "poll" => TimeoutCall::Poll,
        "ppoll" => TimeoutCall::Ppoll,
        "epoll" => TimeoutCall::Epoll,
        "epoll-pwait2" => TimeoutCall::EpollPwait2,
        _ => TimeoutCall::Ring,
    };
    let rounding = if params.word("rounding") == "down" { Rounding::Down } else { Rounding::Up };
    let requested_ns = 1_000 * params.number("us");
    let mut timeout = Timeout::new(call)?;
    match first_wait(&mut timeout) {
        Err(Errno::ENOSYS | Errno::EINVAL)
            if matches!(call, TimeoutCall::EpollPwait2 | TimeoutCall::Ring) =>
        {
            return Err(Errno::unavailable(
                "this kernel lacks the call (added in Linux 5.11): select method=epoll".to_owned(),
            ));
        }
        done => done?,
    }
    Ok(Work::own_value(move || figure(&mut timeout, requested_ns, rounding)))
}

/// One wait, to see whether the kernel has the call.
fn first_wait(timeout: &mut Timeout) -> Result<(), Errno> {
    repeat_if_interrupted(|| timeout.wait(1_000, Rounding::Up))
}

/// The overshoot of one wait.
fn overshoot_ns(
    timeout: &mut Timeout,
    requested_ns: u64,
    rounding: Rounding,
) -> Result<i64, Errno> {
    repeat_if_interrupted(|| {
        let before = gettime(ClockId::MONOTONIC)?;
        timeout.wait(requested_ns, rounding)?;
        let after = gettime(ClockId::MONOTONIC)?;
        Ok(after as i64 - before as i64 - requested_ns as i64)
    })
}

fn error(timeout: &mut Timeout, requested_ns: u64, rounding: Rounding) -> Result<i64, Errno> {
    overshoot_ns(timeout, requested_ns, rounding).map(|ns| 1_000 * ns)
}

fn early(timeout: &mut Timeout, requested_ns: u64, rounding: Rounding) -> Result<i64, Errno> {
    let mut early = 0;
    for _ in 0..WAITS_PER_OP {
        early += i64::from(overshoot_ns(timeout, requested_ns, rounding)? < 0);
    }
    Ok(1_000 * early / i64::from(WAITS_PER_OP))
}

fn call_count(timeout: &mut Timeout, requested_ns: u64, rounding: Rounding) -> Result<i64, Errno> {
    repeat_if_interrupted(|| {
        let until = gettime(ClockId::MONOTONIC)? + requested_ns;
        let mut calls = 0;
        loop {
            let now = gettime(ClockId::MONOTONIC)?;
            if now >= until {
                return Ok(1_000 * calls);
            }
            timeout.wait(until - now, rounding)?;
            calls += 1;
        }
    })
}

#[cfg(test)]
mod tests;
