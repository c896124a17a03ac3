//! The calls that read or set a timer, one benchmark each.

use std::rc::Rc;

use kernel::cpu::black_box::consume;
use kernel::time::clock::{self, ClockId};
use kernel::time::timers::TimeCall;
use kernel::time::vdso;

use super::super::prelude::*;
use crate::bench::ExpectedCall;

/// Defaults of most benchmarks here: one call by the raw system-call instruction, not in the price
/// list. They have no floor: getppid(2) takes a lock that some of them do not take.
const CALL: Bench = Bench { in_price_list: false, ..Bench::DEFAULT };

/// Makes the call repeatedly; whatever it needs armed is rearmed before each batch.
fn repeated(call: TimeCall) -> Work {
    let call = Rc::new(call);
    let armed = Rc::clone(&call);
    Work::repeat(move || call.make().map(drop)).with_preparation(move |_| armed.arm())
}

const VIA: Axis = Axis {
    name: "via",
    sets: "entry path: raw system-call instruction, C library, or the vDSO function itself",
    points: Points::Words(&["raw", "libc", "vdso"]),
    default_points: Points::Words(&["raw", "libc", "vdso"]),
};

pub(super) const CLOCK_GETTIME_RARE: Bench = Bench {
    id: "timer/clock-gettime-rare",
    asks: "What do the less common clocks of clock_gettime(2) cost?",
    op: "clock_gettime(2) of the clock, by the raw instruction: the vDSO does not support these \
         clocks. Not included: loop overhead, one core cycle that overlaps with the call.",
    expected: "a null system call plus about 30 ns",
    why: "The alarm clocks are CLOCK_REALTIME and CLOCK_BOOTTIME for timers that wake a suspended \
          machine; they do not exist (EINVAL) without a real-time clock that can do so. The \
          auxiliary clocks of Linux 6.17 are eight more clocks that daemons steer independently of \
          system time; each is off until it is enabled.",
    calls: &[exactly("clock_gettime", 1)],
    axes: &[Axis {
        name: "clock",
        sets: "clock id, as in clock_gettime(2)",
        points: Points::Words(&["realtime-alarm", "boottime-alarm", "aux0"]),
        default_points: Points::Words(&["realtime-alarm", "boottime-alarm"]),
    }],
    needs: &[
        Need::readable(RTC).when(&[("clock", "realtime-alarm")]),
        Need::readable(RTC).when(&[("clock", "boottime-alarm")]),
        Need::readable("/sys/kernel/time/aux_clocks/0/aux_clock_enable").when(&[("clock", "aux0")]),
    ],
    source: "clock_gettime(2); kernel/time/alarmtimer.c",
    build: |params| {
        let clock = ClockId::by_name(params.word("clock")).ok_or(Errno::EINVAL)?;
        let call = TimeCall::clock_gettime(clock);
        // A clock that does not exist is not a failure of the call.
        call.make().map_err(|_| Errno::EOPNOTSUPP)?;
        Ok(repeated(call))
    },
    ..CALL
};

/// Present if the machine has a real-time clock.
const RTC: &str = "/sys/class/rtc/rtc0/name";

pub(super) const GETTIMEOFDAY: Bench = Bench {
    id: "timer/gettimeofday",
    asks: "What does gettimeofday cost, and does it enter the kernel?",
    op: "gettimeofday(2) into a timeval. Not included: looking up the vDSO function; loop \
         overhead.",
    expected: "the same as clock_gettime of CLOCK_REALTIME: 20 to 30 ns through the vDSO",
    why: "The vDSO reads the same counter and the same page of scales and offsets as for \
          clock_gettime, and then divides nanoseconds by a thousand.",
    calls: &[exactly("gettimeofday", 1).when(&[("via", "raw")])],
    floor: &[at_least(1, KERNEL_ENTRY).when(&[("via", "raw")])],
    axes: &[VIA],
    needs: &[Need::vdso("gettimeofday").when(&[("via", "vdso")])],
    source: "gettimeofday(2), vdso(7); study cs161-syscalls, option -g",
    build: |params| {
        Ok(match params.word("via") {
            "raw" => repeated(TimeCall::gettimeofday()),
            "libc" => Work::repeat(|| clock::libc_gettimeofday().map(consume)),
            _ => {
                let vdso = vdso::Gettimeofday::find().ok_or(Errno::ENOENT)?;
                Work::repeat(move || vdso.call().map(consume))
            }
        })
    },
    ..CALL
};

pub(super) const TIME: Bench = Bench {
    id: "timer/time",
    asks: "What does the time in whole seconds cost, and does it enter the kernel?",
    op: "time(2) without a pointer. Not included: looking up the vDSO function; loop overhead.",
    expected: "2 ns through the vDSO, a single load; a null system call by the raw instruction",
    why: "The vDSO loads the seconds from the kernel's page; it reads no counter and needs no \
          retry loop. This is the cheapest time available, and as old as the last timer tick.",
    calls: TIME_CALLS,
    axes: &[VIA],
    needs: &[Need::vdso("time").when(&[("via", "vdso")])],
    source: "time(2), vdso(7); study cs161-syscalls, option -t",
    build: |params| {
        Ok(match params.word("via") {
            "raw" => repeated(TimeCall::time()?),
            "libc" => Work::repeat(|| clock::libc_time().map(consume)),
            _ => {
                let vdso = vdso::Time::find().ok_or(Errno::ENOENT)?;
                Work::repeat(move || {
                    consume(vdso.call());
                    Ok(())
                })
            }
        })
    },
    ..CALL
};

/// time(2) and alarm(2) exist on x86-64 only.
const TIME_CALLS: &[ExpectedCall] =
    if cfg!(target_arch = "x86_64") { &[exactly("time", 1).when(&[("via", "raw")])] } else { &[] };

pub(super) const TIMES: Bench = Bench {
    id: "timer/times",
    asks: "What does times(2) cost?",
    op: "times(2), by the raw instruction: with a null pointer, or with a struct tms that the \
         kernel fills in. Not included: loop overhead.",
    expected: "without a buffer a null system call plus a few ns; with one three to five times that",
    why: "Without a buffer the kernel only returns the number of 10 ms ticks elapsed. For a buffer \
          it adds up the user and system time of all threads and of reaped children, under the \
          lock of the process's signals. Study sunos-1999, which passed a buffer, found it five \
          times as expensive as getpid.",
    calls: &[exactly("times", 1)],
    axes: &[Axis {
        name: "buffer",
        sets: "whether the kernel fills in a struct tms",
        points: Points::Words(&["no", "yes"]),
        default_points: Points::Implied("no"),
    }],
    source: "times(2); kernel/sys.c: do_sys_times; study sunos-1999, section 3",
    build: |params| {
        let with_buffer = params.word("buffer") == "yes";
        Ok(repeated(if with_buffer { TimeCall::times_into_buffer() } else { TimeCall::times() }))
    },
    ..CALL
};

pub(super) const CLOCK: Bench = Bench {
    id: "timer/clock",
    asks: "What does clock() of the C library cost?",
    op: "clock(3), the CPU time of the process in microseconds. Not included: loop overhead.",
    expected: "the same as clock_gettime of CLOCK_PROCESS_CPUTIME_ID, which it calls: 200 to 300 \
               ns",
    why: "The vDSO cannot know the CPU time of a process: the kernel takes the run-queue lock to \
          bring the accounting of the running task up to date.",
    calls: &[exactly("clock_gettime", 1)],
    source: "clock(3)",
    build: |_| Ok(Work::repeat(|| clock::libc_clock().map(consume))),
    ..CALL
};

pub(super) const GETRUSAGE: Bench = Bench {
    id: "timer/getrusage",
    asks: "What does getrusage(2) of the own process cost?",
    op: "getrusage(2) of RUSAGE_SELF, by the raw instruction. Not included: loop overhead.",
    expected: "300 to 400 ns: the accounting of all threads, under locks, and 144 bytes copied out",
    calls: &[exactly("getrusage", 1)],
    source: "getrusage(2)",
    build: |_| Ok(repeated(TimeCall::getrusage())),
    ..CALL
};

pub(super) const GETITIMER: Bench = Bench {
    id: "timer/getitimer",
    asks: "What does reading an interval timer cost?",
    op: "getitimer(2) of the real-time timer, armed eleven days ahead. Not included: arming it \
         before each batch and disarming it at the end; loop overhead.",
    expected: "a null system call plus a clock read and a lock: 180 ns",
    calls: &[exactly("getitimer", 1)],
    source: "getitimer(2)",
    build: |_| TimeCall::getitimer().map(repeated),
    ..CALL
};

pub(super) const SETITIMER: Bench = Bench {
    id: "timer/setitimer",
    asks: "What does setting an interval timer cost?",
    op: "setitimer(2) of the real-time timer to eleven days, returning the remaining time of the \
         previous setting. Not included: disarming it at the end; loop overhead.",
    expected: "twice a null system call: the timer is removed from the timer queue and inserted \
               again",
    why: "A timer far in the future does not reprogram the hardware: the next interrupt is the \
          timer tick anyway.",
    calls: &[exactly("setitimer", 1)],
    source: "setitimer(2)",
    build: |_| TimeCall::setitimer().map(repeated),
    ..CALL
};

pub(super) const ALARM: Bench = Bench {
    id: "timer/alarm",
    asks: "What does setting an alarm cost?",
    op: "alarm(2) eleven days ahead; its result, the remaining time of the previous alarm, is \
         checked. Not included: disarming it at the end; loop overhead.",
    expected: "the same as setitimer, which implements it",
    calls: ALARM_CALLS,
    source: "alarm(2)",
    build: |_| TimeCall::alarm().map(repeated),
    ..CALL
};

const ALARM_CALLS: &[ExpectedCall] =
    if cfg!(target_arch = "x86_64") { &[exactly("alarm", 1)] } else { &[] };

pub(super) const TIMER_GETTIME: Bench = Bench {
    id: "timer/timer-gettime",
    asks: "What does reading a POSIX timer cost?",
    op: "timer_gettime(2) of a CLOCK_MONOTONIC timer with SIGEV_NONE, armed eleven days ahead. Not \
         included: creating and arming it; loop overhead.",
    expected: "a null system call plus a lookup, a lock and a clock read: 190 ns",
    calls: &[exactly("timer_gettime", 1)],
    source: "timer_gettime(2)",
    build: |_| TimeCall::timer_gettime().map(repeated),
    ..CALL
};

pub(super) const TIMER_SETTIME: Bench = Bench {
    id: "timer/timer-settime",
    asks: "What does setting a POSIX timer cost?",
    op: "timer_settime(2) of a CLOCK_MONOTONIC timer with SIGEV_NONE to eleven days, returning the \
         remaining time. Not included: creating it; loop overhead.",
    expected: "timer_gettime plus a copy from user space: a SIGEV_NONE timer is never enqueued",
    calls: &[exactly("timer_settime", 1)],
    source: "timer_settime(2)",
    build: |_| TimeCall::timer_settime().map(repeated),
    ..CALL
};

pub(super) const TIMER_GETOVERRUN: Bench = Bench {
    id: "timer/timer-getoverrun",
    asks: "What does reading the overrun count of a POSIX timer cost?",
    op: "timer_getoverrun(2) of a timer that never expired. Not included: creating it; loop \
         overhead.",
    expected: "a null system call plus a lookup and a lock: 150 ns",
    calls: &[exactly("timer_getoverrun", 1)],
    source: "timer_getoverrun(2)",
    build: |_| TimeCall::timer_getoverrun().map(repeated),
    ..CALL
};

pub(super) const TIMERFD_GETTIME: Bench = Bench {
    id: "timer/timerfd-gettime",
    asks: "What does reading a timer file descriptor cost?",
    op: "timerfd_gettime(2) of a CLOCK_MONOTONIC descriptor, armed eleven days ahead. Not \
         included: creating and arming it; loop overhead.",
    expected: "the same as timer_gettime, with a descriptor lookup: 190 ns",
    calls: &[exactly("timerfd_gettime", 1)],
    source: "timerfd_create(2)",
    build: |_| TimeCall::timerfd_gettime().map(repeated),
    ..CALL
};

pub(super) const ADJTIMEX: Bench = Bench {
    id: "timer/adjtimex",
    asks: "What does reading the clock adjustment state cost?",
    op: "adjtimex(2) with modes 0, which changes nothing, by the raw instruction. Not included: \
         loop overhead.",
    expected: "300 ns: 208 bytes copied in and out, and the timekeeping lock",
    calls: &[exactly("adjtimex", 1)],
    source: "adjtimex(2)",
    build: |_| TimeCall::adjtimex().map(repeated),
    ..CALL
};

pub(super) const CLOCK_SETTIME: Bench = Bench {
    id: "timer/clock-settime",
    asks: "What does a refused clock_settime(2) cost?",
    op: "clock_settime(2) of CLOCK_REALTIME that is refused: `permission` with EPERM, because the \
         worker drops CAP_SYS_TIME first (also as root: no benchmark of oscost sets a clock); \
         `argument` with EINVAL, because tv_nsec is a billion, which is checked first. An op that \
         is not refused fails. Not included: dropping the capability; loop overhead.",
    expected: "a null system call plus a copy; permission is checked last, also by the security \
               modules: 30 ns more",
    calls: &[exactly("clock_settime", 1)],
    axes: &[Axis {
        name: "refused",
        sets: "why it is refused: an invalid time, or a missing capability",
        points: Points::Words(&["argument", "permission"]),
        default_points: Points::Words(&["argument", "permission"]),
    }],
    source: "clock_settime(2); kernel/time/time.c",
    build: |params| {
        Ok(repeated(match params.word("refused") {
            "argument" => TimeCall::clock_settime_invalid(),
            _ => TimeCall::clock_settime_unprivileged()?,
        }))
    },
    ..CALL
};

/// Why Solaris's clock is not measured.
pub(super) const NO_GETHRTIME: &str = "gethrtime is specific to Solaris: a trap of its own that \
                                       returned the processor's counter in nanoseconds; on Linux \
                                       clock_gettime of CLOCK_MONOTONIC does that, without \
                                       entering the kernel";
/// Why Sun's Fortran clock is not measured.
pub(super) const NO_DSECND: &str = "dsecnd is not a system call: a function of a Fortran library \
                                    (Sun's, today Intel's MKL) that returns one of the clocks \
                                    above as seconds in a double";
/// Why BSD's clock is not measured.
pub(super) const NO_FTIME: &str = "ftime no longer exists: POSIX removed it in 2008, glibc in \
                                   2.33; it returned milliseconds, and clock_gettime of \
                                   CLOCK_REALTIME_COARSE is cheaper and finer";

/// A timer of study sunos-1999 that Linux does not have.
const REMOVED: Bench = Bench {
    expected: "not measured",
    in_price_list: false,
    source: "study sunos-1999, section 2",
    build: |_| Err(Errno::ENOSYS),
    ..Bench::DEFAULT
};

pub(super) const GETHRTIME: Bench = Bench {
    id: "timer/gethrtime",
    asks: "What replaced gethrtime, the clock of study sunos-1999?",
    op: "nothing: Linux has no gethrtime. Not included: everything.",
    needs: &[Need::not_applicable(NO_GETHRTIME)],
    ..REMOVED
};

pub(super) const DSECND: Bench = Bench {
    id: "timer/dsecnd",
    asks: "What replaced dsecnd, the Fortran clock of study sunos-1999?",
    op: "nothing: Linux has no dsecnd. Not included: everything.",
    needs: &[Need::not_applicable(NO_DSECND)],
    ..REMOVED
};

pub(super) const FTIME: Bench = Bench {
    id: "timer/ftime",
    asks: "What replaced ftime, the millisecond clock?",
    op: "nothing: there is no ftime. Not included: everything.",
    needs: &[Need::not_applicable(NO_FTIME)],
    ..REMOVED
};
