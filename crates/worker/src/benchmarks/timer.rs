//! Reading clocks, the timing loop itself, and the survey of all timers.

mod calls;
mod counter;
mod meter;
mod resolution;
mod staircase;
mod survey;
mod timed_wait;

use kernel::time::clock::{ClockId, gettime};
use kernel::time::vdso::ClockGettime;

use super::prelude::*;

pub(super) use survey::TIMERS;

pub(super) const FAMILY: Family = Family {
    name: "timer",
    about: "the cost of reading and setting timers, and of the measurement itself",
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
        timed_wait::WAIT,
    ],
};

const NOTHING: Bench = Bench {
    id: "timer/nothing",
    asks: "What cost does oscost report for an op that does nothing?",
    op: "no instruction. Not included: loop and clock overhead, which the slope over unroll \
         factors 1, 2, 4 and 8 removes; the raw figure is one loop iteration.",
    expected: "0 within the interval; the raw figure is one core cycle",
    source: "METHOD section 2; uops.info nanoBench",
    build: |_| Ok(Work::repeat(|| Ok(())).without_calls()),
    ..Bench::DEFAULT
};

const CLOCK_GETTIME: Bench = Bench {
    id: "timer/clock-gettime",
    asks: "What does reading a clock cost, and does it enter the kernel?",
    op: "clock_gettime(2) of one clock into a timespec, and its two fields combined into \
         nanoseconds. Not included: looking up the vDSO function.",
    expected: "20 to 30 ns through the vDSO, 5 ns for the coarse clocks, a null system call plus \
               30 ns through the kernel; CPU-time clocks always enter the kernel",
    why: "The kernel publishes its clocks in a page that every process can read: seconds and \
          nanoseconds of each clock, the counter value at the last update, and the scale from \
          ticks to time. The vDSO function that libc calls reads them between two reads of a \
          sequence counter and retries if the kernel updated the page in between, so that seconds \
          and nanoseconds are consistent. A precise clock also reads the cycle counter, fenced, \
          and multiplies; a coarse clock returns the value of the last timer tick. The CPU time \
          of a thread or process is not in any such page: the scheduler has to compute it. If \
          user code cannot read the clock source, the vDSO function falls back to a system call \
          each time.",
    calls: &[
        exactly("clock_gettime", 1).when(&[("via", "raw")]),
        exactly("clock_gettime", 1).when(&[("via", "libc"), ("clock", "process-cputime")]),
        exactly("clock_gettime", 1).when(&[("via", "libc"), ("clock", "thread-cputime")]),
        exactly("clock_gettime", 1).when(&[("via", "vdso"), ("clock", "process-cputime")]),
        exactly("clock_gettime", 1).when(&[("via", "vdso"), ("clock", "thread-cputime")]),
    ],
    floor: &[at_least(1, KERNEL_ENTRY).when(&[("via", "raw")])],
    axes: &[
        Axis {
            name: "clock",
            sets: "clock id, as in clock_gettime(2)",
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
            sets: "entry path: raw system-call instruction, C library, or the vDSO function itself",
            points: Points::Words(&["raw", "libc", "vdso"]),
            default_points: Points::WithPriceList {
                points: &Points::Words(&["raw", "libc", "vdso"]),
                price_list: &Points::Words(&["raw", "libc"]),
            },
        },
    ],
    needs: &[Need::vdso("clock_gettime").when(&[("via", "vdso")])],
    source: "METHOD section 2; uops.info nanoBench",
    build: clock_gettime,
    ..Bench::DEFAULT
};

fn clock_gettime(params: Params<'_>) -> Result<Work, Errno> {
    let clock = ClockId::by_name(params.word("clock")).ok_or(Errno::EINVAL)?;
    Ok(match params.word("via") {
        "raw" => Work::repeat(move || {
            kernel::syscall::clock_gettime(clock).map(kernel::cpu::black_box::consume)
        }),
        "libc" => Work::repeat(move || gettime(clock).map(kernel::cpu::black_box::consume)),
        _ => {
            let vdso = ClockGettime::find().ok_or(Errno::ENOENT)?;
            let read = move || vdso.call(clock).map(kernel::cpu::black_box::consume);
            Work::repeat(read).without_calls()
        }
    })
}
