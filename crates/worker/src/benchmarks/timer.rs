//! Reading clocks, the loop that everything else is timed in, and the survey of all timers.

mod calls;
mod counter;
mod meter;
mod resolution;
mod staircase;
mod survey;
mod waits;

use kernel::time::clock::{ClockId, gettime};
use kernel::time::vdso::ClockGettime;

use super::prelude::*;

pub(super) use survey::TIMERS;

pub(super) const FAMILY: Family = Family {
    name: "timer",
    about: "what it costs to ask for the time, and what the measurement itself costs",
    benches: &[
        NOTHING,
        counter::LOOP,
        counter::ADD,
        counter::TICKS_PER_CYCLE,
        counter::TSC,
        counter::ELAPSED,
        CLOCK_GETTIME,
        calls::CLOCK_GETTIME_RARE,
        calls::GETTIMEOFDAY,
        calls::TIME,
        calls::TIMES,
        calls::CLOCK,
        calls::GETRUSAGE,
        calls::GETITIMER,
        calls::SETITIMER,
        calls::ALARM,
        calls::TIMER_GETTIME,
        calls::TIMER_SETTIME,
        calls::TIMER_GETOVERRUN,
        calls::TIMERFD_GETTIME,
        calls::ADJTIMEX,
        calls::CLOCK_SETTIME,
        calls::GETHRTIME,
        calls::DSECND,
        calls::FTIME,
        resolution::RESOLUTION,
        resolution::QUANTUM,
        resolution::PRECISION,
        waits::WAIT,
    ],
};

const NOTHING: Bench = Bench {
    id: "timer/nothing",
    asks: "What does oscost charge for an op that does nothing?",
    op: "no instruction at all. \
         Outside: the loop and the clock, which the slope over 1, 2, 4 and 8 copies takes out; \
         its raw figure is the loop's own turn.",
    expected: "0 within the interval; the raw figure is one core cycle",
    source: "METHOD section 2; uops.info nanoBench",
    build: |_| Ok(Work::repeat(|| Ok(()))),
    ..Bench::DEFAULT
};

const CLOCK_GETTIME: Bench = Bench {
    id: "timer/clock-gettime",
    asks: "What does it cost to read a clock, and does it enter the kernel?",
    op: "clock_gettime(2) of one clock into a timespec, and its two words as nanoseconds. \
         Outside: finding the vDSO's function.",
    expected: "20 to 30 ns through the vDSO, coarse clocks 5 ns, a bare system call and 30 ns \
            through the kernel; CPU-time clocks always enter it",
    why: "The kernel keeps its times in a page that every process may read: seconds and \
          nanoseconds of each clock, the counter's value when it wrote them, and the scale \
          from ticks to time. The vDSO's function, which the library calls, reads them between \
          two looks at a sequence number, and begins anew where the kernel wrote meanwhile: \
          that loop keeps seconds and nanoseconds of one moment together. A precise clock \
          reads the processor's counter as well, fenced, and multiplies; a coarse one hands \
          out what the last tick left in the page. What a thread or a process has used \
          stands in no page: the scheduler is asked. With a clock source that user code cannot \
          read, the same function enters the kernel by itself, each time.",
    calls: &[
        exactly("clock_gettime", 1).when(&[("via", "raw")]),
        exactly("clock_gettime", 1).when(&[("via", "libc"), ("clock", "process-cputime")]),
        exactly("clock_gettime", 1).when(&[("via", "libc"), ("clock", "thread-cputime")]),
        exactly("clock_gettime", 1).when(&[("via", "vdso"), ("clock", "process-cputime")]),
        exactly("clock_gettime", 1).when(&[("via", "vdso"), ("clock", "thread-cputime")]),
    ],
    floor: &[at_least(1, "syscall/invalid").when(&[("via", "raw")])],
    axes: &[
        Axis {
            name: "clock",
            sets: "the clock's id, as clock_gettime(2) names it",
            points: Points::Words(&[
                "realtime",
                "monotonic",
                "monotonic-raw",
                "realtime-coarse",
                "monotonic-coarse",
                "boottime",
                "tai",
                "process-cputime",
                "thread-cputime",
            ]),
            default_points: Points::Words(&["monotonic"]),
        },
        Axis {
            name: "via",
            sets: "the way in: the bare instruction, the C library, or the vDSO's own function",
            points: Points::Words(&["raw", "libc", "vdso"]),
            default_points: Points::Words(&["raw", "libc", "vdso"]),
        },
    ],
    needs: &[Need::vdso("clock_gettime").when(&[("via", "vdso")])],
    source: "clock_gettime(2), vdso(7); lib/vdso/gettimeofday.c",
    build: clock_gettime,
    ..Bench::DEFAULT
};

fn clock_gettime(at: Params<'_>) -> Result<Work, Errno> {
    let clock = ClockId::named(at.word("clock")).ok_or(Errno::EINVAL)?;
    Ok(match at.word("via") {
        "raw" => Work::repeat(move || {
            kernel::syscall::clock_gettime(clock).map(kernel::cpu::black_box::keep)
        }),
        "libc" => Work::repeat(move || gettime(clock).map(kernel::cpu::black_box::keep)),
        _ => {
            let vdso = ClockGettime::find().ok_or(Errno::ENOENT)?;
            Work::repeat(move || vdso.call(clock).map(kernel::cpu::black_box::keep))
        }
    })
}
