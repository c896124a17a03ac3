//! The calls that tell the time or set a timer, one benchmark each.

use std::rc::Rc;

use kernel::cpu::black_box::keep;
use kernel::time::clock::{self, ClockId};
use kernel::time::timers::Call;
use kernel::time::vdso;

use super::super::prelude::*;
use crate::bench::ExpectedCall;

/// What most of these are: one call by the bare instruction, not in the price list. They have no floor:
/// getppid(2) takes a lock that some of them do without.
const CALL: Bench = Bench { in_price_list: false, ..Bench::DEFAULT };

/// The call again and again; what it needs armed is armed anew before each batch.
fn repeated(call: Call) -> Work {
    let call = Rc::new(call);
    let armed = Rc::clone(&call);
    Work::repeat(move || call.make().map(drop)).with_preparation(move |_| armed.arm())
}

const VIA: Axis = Axis {
    name: "via",
    sets: "the way in: the bare instruction, the C library, or the vDSO's own function",
    points: Points::Words(&["raw", "libc", "vdso"]),
    default_points: Points::Words(&["raw", "libc", "vdso"]),
};

pub(super) const CLOCK_GETTIME_RARE: Bench = Bench {
    id: "timer/clock-gettime-rare",
    asks: "What do the clocks of clock_gettime(2) cost that few machines have?",
    op: "clock_gettime(2) of the clock, by the bare instruction: no vDSO knows these. \
         Outside: the loop's turn, a core cycle that runs beside the call.",
    expected: "a bare system call and some 30 ns",
    why: "The alarm clocks are CLOCK_REALTIME and CLOCK_BOOTTIME for timers that wake a machine \
          from its sleep: without a real-time clock that can do so there is none (EINVAL). The \
          auxiliary clocks of Linux 6.17 are eight more clocks that daemons steer apart from the \
          system's time; each is off until it is switched on.",
    calls: &[exactly("clock_gettime", 1)],
    axes: &[Axis {
        name: "clock",
        sets: "the clock's id, as clock_gettime(2) names it",
        points: Points::Words(&["realtime-alarm", "boottime-alarm", "aux0"]),
        default_points: Points::Words(&["realtime-alarm", "boottime-alarm"]),
    }],
    needs: &[
        Need::readable(RTC).when(&[("clock", "realtime-alarm")]),
        Need::readable(RTC).when(&[("clock", "boottime-alarm")]),
        Need::readable("/sys/kernel/time/aux_clocks/0/aux_clock_enable").when(&[("clock", "aux0")]),
    ],
    source: "clock_gettime(2); kernel/time/alarmtimer.c",
    build: |at| {
        let clock = ClockId::named(at.word("clock")).ok_or(Errno::EINVAL)?;
        let call = Call::clock_gettime(clock);
        // A clock that is not there is no fault of the call.
        call.make().map_err(|_| Errno::EOPNOTSUPP)?;
        Ok(repeated(call))
    },
    ..CALL
};

/// There where the machine has a real-time clock.
const RTC: &str = "/sys/class/rtc/rtc0/name";

pub(super) const GETTIMEOFDAY: Bench = Bench {
    id: "timer/gettimeofday",
    asks: "What does the time of day cost, and does it enter the kernel?",
    op: "gettimeofday(2) into a timeval. Outside: finding the vDSO's function; the loop.",
    expected: "what clock_gettime of the same clock costs: 20 to 30 ns through the vDSO",
    why: "The vDSO reads the same counter and the same page of scales and offsets as for \
          clock_gettime, and divides nanoseconds by a thousand on top.",
    calls: &[exactly("gettimeofday", 1).when(&[("via", "raw")])],
    floor: &[at_least(1, "syscall/invalid").when(&[("via", "raw")])],
    axes: &[VIA],
    needs: &[Need::vdso("gettimeofday").when(&[("via", "vdso")])],
    source: "gettimeofday(2), vdso(7); study cs161-syscalls, option -g",
    build: |at| {
        Ok(match at.word("via") {
            "raw" => repeated(Call::gettimeofday()),
            "libc" => Work::repeat(|| clock::libc_gettimeofday().map(keep)),
            _ => {
                let vdso = vdso::Gettimeofday::find().ok_or(Errno::ENOENT)?;
                Work::repeat(move || vdso.call().map(keep))
            }
        })
    },
    ..CALL
};

pub(super) const TIME: Bench = Bench {
    id: "timer/time",
    asks: "What does the time in whole seconds cost, and does it enter the kernel?",
    op: "time(2) without a pointer. Outside: finding the vDSO's function; the loop.",
    expected: "2 ns through the vDSO, a single load; the bare system call costs the door",
    why: "The vDSO reads the seconds from the kernel's page, and neither counter nor loop stands \
          beside that: this is the cheapest time that there is, and as old as the last tick.",
    calls: TIME_CALLS,
    axes: &[VIA],
    needs: &[Need::vdso("time").when(&[("via", "vdso")])],
    source: "time(2), vdso(7); study cs161-syscalls, option -t",
    build: |at| {
        Ok(match at.word("via") {
            "raw" => repeated(Call::time()?),
            "libc" => Work::repeat(|| clock::libc_time().map(keep)),
            _ => {
                let vdso = vdso::Time::find().ok_or(Errno::ENOENT)?;
                Work::repeat(move || {
                    keep(vdso.call());
                    Ok(())
                })
            }
        })
    },
    ..CALL
};

/// Only x86-64 has time(2) and alarm(2).
const TIME_CALLS: &[ExpectedCall] =
    if cfg!(target_arch = "x86_64") { &[exactly("time", 1).when(&[("via", "raw")])] } else { &[] };

pub(super) const TIMES: Bench = Bench {
    id: "timer/times",
    asks: "What do the CPU times of a process cost in ticks?",
    op: "times(2) without its buffer, by the bare instruction. Outside: the loop.",
    expected: "the door and a few ns",
    why: "Without a buffer the kernel only tells how many ticks of 10 ms have passed; study \
          sunos-1999, which gave it one, found it five times as dear as getpid.",
    calls: &[exactly("times", 1)],
    source: "times(2); study sunos-1999, section 3",
    build: |_| Ok(repeated(Call::times())),
    ..CALL
};

pub(super) const CLOCK: Bench = Bench {
    id: "timer/clock",
    asks: "What does the C library's clock() cost?",
    op: "clock(), the CPU time of the process in microseconds. Outside: the loop.",
    expected: "what clock_gettime of CLOCK_PROCESS_CPUTIME_ID costs, which it calls: 200 to 300 ns",
    why: "No vDSO knows what a process has used: the kernel must be asked, and takes the \
          scheduler's lock to bring the running task's account up to date.",
    calls: &[exactly("clock_gettime", 1)],
    source: "clock(3)",
    build: |_| Ok(Work::repeat(|| clock::libc_clock().map(keep))),
    ..CALL
};

pub(super) const GETRUSAGE: Bench = Bench {
    id: "timer/getrusage",
    asks: "What does it cost to ask for the CPU time that a process has used?",
    op: "getrusage(2) of RUSAGE_SELF, by the bare instruction. Outside: the loop.",
    expected: "300 to 400 ns: the accounts of all threads, under locks, and 144 bytes to copy",
    calls: &[exactly("getrusage", 1)],
    source: "getrusage(2)",
    build: |_| Ok(repeated(Call::getrusage())),
    ..CALL
};

pub(super) const GETITIMER: Bench = Bench {
    id: "timer/getitimer",
    asks: "What does it cost to ask what is left of an interval timer?",
    op: "getitimer(2) of the real-time timer, armed eleven days ahead. Outside: arming it, before \
         each batch, and disarming it in the end; the loop.",
    expected: "the door, a clock read and a lock: 180 ns",
    calls: &[exactly("getitimer", 1)],
    source: "getitimer(2)",
    build: |_| Call::getitimer().map(repeated),
    ..CALL
};

pub(super) const SETITIMER: Bench = Bench {
    id: "timer/setitimer",
    asks: "What does it cost to set an interval timer?",
    op: "setitimer(2) of the real-time timer to eleven days, asking what was left of the last one. \
         Outside: disarming it in the end; the loop.",
    expected: "twice the door: out of the tree of timers, and in again",
    why: "A timer far ahead moves no hardware: the next interrupt is that of the tick in any case.",
    calls: &[exactly("setitimer", 1)],
    source: "setitimer(2)",
    build: |_| Call::setitimer().map(repeated),
    ..CALL
};

pub(super) const ALARM: Bench = Bench {
    id: "timer/alarm",
    asks: "What does it cost to set an alarm?",
    op: "alarm(2) to eleven days ahead; its answer, what was left of the last one, is looked at. \
         Outside: disarming it in the end; the loop.",
    expected: "as much as setitimer, which it is inside",
    calls: ALARM_CALLS,
    source: "alarm(2)",
    build: |_| Call::alarm().map(repeated),
    ..CALL
};

const ALARM_CALLS: &[ExpectedCall] =
    if cfg!(target_arch = "x86_64") { &[exactly("alarm", 1)] } else { &[] };

pub(super) const TIMER_GETTIME: Bench = Bench {
    id: "timer/timer-gettime",
    asks: "What does it cost to ask what is left of a POSIX timer?",
    op: "timer_gettime(2) of a timer on CLOCK_MONOTONIC, armed eleven days ahead, that tells \
         nobody when it runs out. Outside: making and arming it; the loop.",
    expected: "the door, a look-up, a lock and a clock read: 190 ns",
    calls: &[exactly("timer_gettime", 1)],
    source: "timer_gettime(2)",
    build: |_| Call::timer_gettime().map(repeated),
    ..CALL
};

pub(super) const TIMER_SETTIME: Bench = Bench {
    id: "timer/timer-settime",
    asks: "What does it cost to set a POSIX timer?",
    op: "timer_settime(2) of such a timer to eleven days, asking what was left. Outside: making \
         it; the loop.",
    expected: "more than timer_gettime by a copy from user space: a timer that tells nobody is not \
            put among those that run",
    calls: &[exactly("timer_settime", 1)],
    source: "timer_settime(2)",
    build: |_| Call::timer_settime().map(repeated),
    ..CALL
};

pub(super) const TIMER_GETOVERRUN: Bench = Bench {
    id: "timer/timer-getoverrun",
    asks: "What does it cost to ask how often a POSIX timer ran out unnoticed?",
    op: "timer_getoverrun(2) of a timer that never ran out. Outside: making it; the loop.",
    expected: "the door, a look-up and a lock: 150 ns",
    calls: &[exactly("timer_getoverrun", 1)],
    source: "timer_getoverrun(2)",
    build: |_| Call::timer_getoverrun().map(repeated),
    ..CALL
};

pub(super) const TIMERFD_GETTIME: Bench = Bench {
    id: "timer/timerfd-gettime",
    asks: "What does it cost to ask what is left of a timer descriptor?",
    op: "timerfd_gettime(2) of a descriptor on CLOCK_MONOTONIC, armed eleven days ahead. Outside: \
         making and arming it; the loop.",
    expected: "as timer_gettime, with a look-up of a descriptor: 190 ns",
    calls: &[exactly("timerfd_gettime", 1)],
    source: "timerfd_create(2)",
    build: |_| Call::timerfd_gettime().map(repeated),
    ..CALL
};

pub(super) const ADJTIMEX: Bench = Bench {
    id: "timer/adjtimex",
    asks: "What does it cost to ask how the clock is steered?",
    op: "adjtimex(2) that changes nothing (modes 0), by the bare instruction. Outside: the loop.",
    expected: "300 ns: 208 bytes in and out, and the lock of the kernel's time",
    calls: &[exactly("adjtimex", 1)],
    source: "adjtimex(2)",
    build: |_| Call::adjtimex().map(repeated),
    ..CALL
};

pub(super) const CLOCK_SETTIME: Bench = Bench {
    id: "timer/clock-settime",
    asks: "What does it cost to be refused to set the clock?",
    op: "clock_settime(2) of CLOCK_REALTIME that is refused: `permission` by EPERM, since the worker \
         gives up CAP_SYS_TIME before (root's, too: no benchmark of oscost sets a clock); \
         `argument` by EINVAL, since a billion nanoseconds are no part of a second, which is asked \
         first. An op that is not refused fails. Outside: giving up the right; the loop.",
    expected: "the door and a copy; who may is asked last, of the security modules too: 30 ns more",
    calls: &[exactly("clock_settime", 1)],
    axes: &[Axis {
        name: "refused",
        sets: "for what it is refused: a time that is none, or for want of the right",
        points: Points::Words(&["argument", "permission"]),
        default_points: Points::Words(&["argument", "permission"]),
    }],
    source: "clock_settime(2); kernel/time/time.c",
    build: |at| {
        Ok(repeated(match at.word("refused") {
            "argument" => Call::clock_settime_of_no_time(),
            _ => Call::clock_settime_without_right()?,
        }))
    },
    ..CALL
};

/// What became of Solaris' clock.
pub(super) const GETHRTIME_IS_GONE: &str = "gethrtime is Solaris': a trap of its own that read the \
     processor's counter as nanoseconds; on Linux clock_gettime of CLOCK_MONOTONIC does that, and \
     in the program itself";
/// What became of Sun's Fortran clock.
pub(super) const DSECND_IS_GONE: &str = "dsecnd is no system's: a Fortran library's (Sun's, today \
     Intel's MKL) seconds as a double, which it takes from one of the clocks above";
/// What became of BSD's clock.
pub(super) const FTIME_IS_GONE: &str = "ftime is gone: POSIX removed it in 2008, glibc in 2.31; it \
     told milliseconds, and clock_gettime of CLOCK_REALTIME_COARSE costs less and tells more";

/// A timer of study sunos-1999 that Linux does not have.
const GONE: Bench = Bench {
    expected: "nothing to guess",
    in_price_list: false,
    source: "study sunos-1999, section 2",
    build: |_| Err(Errno::ENOSYS),
    ..Bench::DEFAULT
};

pub(super) const GETHRTIME: Bench = Bench {
    id: "timer/gethrtime",
    asks: "What became of the clock that study sunos-1999 chose?",
    op: "nothing: there is no gethrtime. Outside: everything.",
    needs: &[Need::not_applicable(GETHRTIME_IS_GONE)],
    ..GONE
};

pub(super) const DSECND: Bench = Bench {
    id: "timer/dsecnd",
    asks: "What became of Fortran's clock in study sunos-1999?",
    op: "nothing: there is no dsecnd. Outside: everything.",
    needs: &[Need::not_applicable(DSECND_IS_GONE)],
    ..GONE
};

pub(super) const FTIME: Bench = Bench {
    id: "timer/ftime",
    asks: "What became of the clock of milliseconds?",
    op: "nothing: there is no ftime. Outside: everything.",
    needs: &[Need::not_applicable(FTIME_IS_GONE)],
    ..GONE
};
