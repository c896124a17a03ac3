//! Waiting for a descriptor, but no longer than so long: by how much and how often that is missed.

use super::super::prelude::*;
use super::{BY_EPOLL, BY_POLL, BY_PPOLL, BY_PSELECT, BY_SELECT, SELECT};
use crate::bench::When;
use crate::kernel::because::lacking;
use crate::kernel::event::timeout::{By, Rounding, Timeout};
use crate::kernel::syscall::prepared::{EPOLL_WAIT, POLL};
use crate::kernel::time::clock::{ClockId, gettime};
use oscost_model::unit::Unit;

const BY_PWAIT2: When = &[("method", "epoll-pwait2")];
const BY_RING: When = &[("method", "io-uring")];

const HOW: Axis = Axis {
    name: "method",
    sets: "by which call is waited: select in microseconds, poll and epoll in whole milliseconds, \
           the others in nanoseconds",
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
    sets: "the time that is asked for, in microseconds",
    points: Points::Range { min: 1, max: 20_000, points: &[100, 1_000, 5_000, 10_000] },
    default_points: Points::Numbers(&[1_000]),
};

const ROUNDING: Axis = Axis {
    name: "rounding",
    sets: "what becomes of a time that is no whole number of milliseconds, where the call knows no \
           other: the next longer one, or the next shorter one",
    points: Points::Words(&["up", "down"]),
    default_points: Points::Implied("up"),
};

/// The call that the complaint is about, and the one that it is held against.
const ACCUSED: Points = Points::Words(&["select", "epoll"]);

/// The calls of an op of so many waits.
const fn waits(times: u32) -> [ExpectedCall; 7] {
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

/// Why most calls are not rounded.
const FINE: &str = "only poll(2) and epoll_wait(2) count in milliseconds: nothing is rounded here";
/// What the benchmarks here are unless they say otherwise.
const TIMED: Bench = Bench {
    axes: &[HOW, US, ROUNDING],
    needs: &[
        Need::time(),
        Need::io_uring().when(BY_RING),
        Need::not_applicable(FINE).when(&[("method", "select"), ("rounding", "down")]),
        Need::not_applicable(FINE).when(&[("method", "pselect"), ("rounding", "down")]),
        Need::not_applicable(FINE).when(&[("method", "ppoll"), ("rounding", "down")]),
        Need::not_applicable(FINE).when(&[("method", "epoll-pwait2"), ("rounding", "down")]),
        Need::not_applicable(FINE).when(&[("method", "io-uring"), ("rounding", "down")]),
    ],
    in_price_list: false,
    switches: true,
    source: "study cs161-syscalls, The C10K problem; libev's manual; select(2), poll(2), \
             epoll_wait(2), io_uring_enter(2); fs/select.c: select_estimate_accuracy",
    ..Bench::DEFAULT
};

pub(super) const ERROR: Bench = Bench {
    id: "event/timeout",
    asks: "By how much does waiting for a descriptor miss the time after which it is to give up?",
    op: "the time that passed on CLOCK_MONOTONIC around one call that waits for an empty pipe, \
         less the time that was asked for: negative is too early. What poll(2) and epoll_wait(2) \
         cannot say, since they count in milliseconds, is rounded by their caller, and the \
         rounding is part of the error. Outside: making pipe and set; nothing is subtracted, two \
         reads of the clock are some 40 ns of it.",
    expected: "60 us too late for all of them, 50 of them slack, and 5 us for io_uring; 0.1 ms by \
            poll and epoll_wait is 1 ms and so 0.96 ms too late; none is too early",
    why: "All of them sleep by a timer of high resolution, and may be late by the task's slack: \
          50 us (PR_SET_TIMERSLACK), or for select, poll and epoll a part in a thousand of the \
          time if that is more. Accuracy of 0.1 ms for select and 5 ms for epoll, as the study \
          quotes, was that of kernels whose timers went by the tick. What is left of it is the unit: a call \
          that counts in milliseconds cannot be asked for less. epoll_pwait2(2) can.",
    calls: &waits(1),
    build: |at| or_refused(found(at, error)),
    ..TIMED
};

/// Waits of which a share is told: few enough that 10 ms each are no second.
const MANY: u32 = 5;

pub(super) const EARLY: Bench = Bench {
    id: "event/timeout-early",
    asks: "How often does waiting for a descriptor come back before its time is up?",
    op: "the share of five waits for an empty pipe that came back before the time that was asked \
         for had passed on CLOCK_MONOTONIC, read before the call and after it. Outside: making \
         pipe and set.",
    expected: "none; all of them where the caller rounds down",
    why: "The complaint that the study quotes: a call comes back too early, and its caller must \
          wait once more. It was true while time was kept in ticks and a tick that had begun \
          counted as one. A timer of high resolution fires after its moment and never before.",
    calls: &waits(MANY),
    unit: Unit::TimesPerOp,
    axes: &[Axis { default_points: ACCUSED, ..HOW }, US, ROUNDING],
    build: |at| or_refused(found(at, early)),
    ..TIMED
};

pub(super) const TURNS: Bench = Bench {
    id: "event/timeout-turns",
    asks: "How many calls does it take until a moment has come?",
    op: "the calls that a loop makes until a moment is past: it reads CLOCK_MONOTONIC, and waits \
         for what is left; rounding=down gives poll(2) and epoll_wait(2) the whole milliseconds of \
         it alone. Outside: making pipe and set.",
    expected: "one; where what is left is rounded down, thousands that wait for 0 ms",
    why: "An event loop that rounds down turns on the spot for the rest of the last millisecond, \
          and one that rounds up is late by as much. That is the choice of poll(2) and \
          epoll_wait(2); the others need none.",
    calls: &[
        up_to(SELECT, MOST_TURNS).when(BY_SELECT),
        up_to("pselect6", MOST_TURNS).when(BY_PSELECT),
        up_to(POLL, MOST_TURNS).when(BY_POLL),
        up_to("ppoll", MOST_TURNS).when(BY_PPOLL),
        up_to(EPOLL_WAIT, MOST_TURNS).when(BY_EPOLL),
        up_to("epoll_pwait2", MOST_TURNS).when(BY_PWAIT2),
        up_to("io_uring_enter", MOST_TURNS).when(BY_RING),
        // Where no clock can be read without.
        up_to("clock_gettime", MOST_TURNS),
    ],
    unit: Unit::TimesPerOp,
    axes: &[Axis { default_points: ACCUSED, ..HOW }, US, ROUNDING],
    build: |at| or_refused(found(at, turns)),
    ..TIMED
};

/// More turns than a millisecond has room for.
const MOST_TURNS: u32 = 100_000;

/// What an op brings, of a time that is asked for and its rounding: thousandths.
type Figure = fn(&mut Timeout, u64, Rounding) -> Result<i64, Errno>;

fn found(at: Params<'_>, figure: Figure) -> Result<Work, Errno> {
    let by = match at.word("method") {
        "select" => By::Select,
        "pselect" => By::Pselect,
        "poll" => By::Poll,
        "ppoll" => By::Ppoll,
        "epoll" => By::Epoll,
        "epoll-pwait2" => By::EpollPwait2,
        _ => By::Ring,
    };
    let rounding = if at.word("rounding") == "down" { Rounding::Down } else { Rounding::Up };
    let asked_ns = 1_000 * at.number("us");
    let mut timeout = Timeout::new(by)?;
    match timeout.wait(1_000, Rounding::Up) {
        Err(Errno::ENOSYS | Errno::EINVAL) if matches!(by, By::EpollPwait2 | By::Ring) => {
            return Err(lacking(
                "this kernel cannot wait so (Linux 5.11 and later can): ask for method=epoll"
                    .to_owned(),
            ));
        }
        done => done?,
    }
    Ok(Work::own_value(move || figure(&mut timeout, asked_ns, rounding)))
}

/// How long one wait took more than was asked for.
fn excess_ns(timeout: &mut Timeout, asked_ns: u64, rounding: Rounding) -> Result<i64, Errno> {
    let before = gettime(ClockId::MONOTONIC)?;
    timeout.wait(asked_ns, rounding)?;
    let after = gettime(ClockId::MONOTONIC)?;
    Ok(after as i64 - before as i64 - asked_ns as i64)
}

fn error(timeout: &mut Timeout, asked_ns: u64, rounding: Rounding) -> Result<i64, Errno> {
    excess_ns(timeout, asked_ns, rounding).map(|ns| 1_000 * ns)
}

fn early(timeout: &mut Timeout, asked_ns: u64, rounding: Rounding) -> Result<i64, Errno> {
    let mut early = 0;
    for _ in 0..MANY {
        early += i64::from(excess_ns(timeout, asked_ns, rounding)? < 0);
    }
    Ok(1_000 * early / i64::from(MANY))
}

fn turns(timeout: &mut Timeout, asked_ns: u64, rounding: Rounding) -> Result<i64, Errno> {
    let until = gettime(ClockId::MONOTONIC)? + asked_ns;
    let mut turns = 0;
    loop {
        let now = gettime(ClockId::MONOTONIC)?;
        if now >= until {
            return Ok(1_000 * turns);
        }
        timeout.wait(until - now, rounding)?;
        turns += 1;
    }
}

#[cfg(test)]
mod tests;
