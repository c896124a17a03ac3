//! The timers whose step can be measured, each as a [`Meter`].

use super::staircase::Meter;
use crate::kernel::cpu::increments::{Direction, Increments, Storage};
use crate::kernel::time::clock::{self, ClockId, gettime, monotonic_raw_ns};
use crate::kernel::time::clock_sync::{self, SyncWindow};
use crate::kernel::time::timers::TimeCall;
use crate::kernel::{Errno, counter};

/// The names of the timers on the axis `timer`.
pub(super) const NAMES: &[&str] = &[
    "tsc",
    "realtime",
    "monotonic",
    "monotonic-raw",
    "boottime",
    "tai",
    "realtime-coarse",
    "monotonic-coarse",
    "process-cputime",
    "thread-cputime",
    "gettimeofday",
    "time",
    "times",
    "clock",
    "getrusage",
    "getitimer",
    "timer-gettime",
    "timerfd-gettime",
    "alarm",
    "adjtimex",
];

/// A timer and the length of its unit in picoseconds.
pub(super) struct TimerMeter {
    pub(super) meter: Box<dyn Meter>,
    pub(super) unit_ps: f64,
}

/// The timer of that name, with work of that kind between its readings.
pub(super) fn for_timer(
    timer: &str,
    direction: Direction,
    code: Storage,
) -> Result<TimerMeter, Errno> {
    /// A clock's nanoseconds, converted from another counter: rounding may make them differ by one.
    const CONVERTED: u64 = 2;
    let increments = || Increments::new(direction, code);
    let in_ns = |meter: Box<dyn Meter>| Ok(TimerMeter { meter, unit_ps: 1_000.0 });
    let by_call = |call: TimeCall, rounding: u64| {
        in_ns(Window::of(call, increments(), rounding, SLOW_WINDOWS))
    };
    match timer {
        "tsc" => {
            let unit_ps = 1_000.0 / ticks_per_ns().ok_or(Errno::ETIME)?;
            Ok(TimerMeter {
                meter: Window::of(Counter, increments(), CONVERTED, FAST_WINDOWS),
                unit_ps,
            })
        }
        "gettimeofday" => in_ns(Window::of(Gettimeofday, increments(), 0, FAST_WINDOWS)),
        "clock" => in_ns(Window::of(ClockOfLibc, increments(), 0, SLOW_WINDOWS)),
        "times" => by_call(TimeCall::times(), 0),
        "getrusage" => by_call(TimeCall::getrusage(), 0),
        "getitimer" => by_call(TimeCall::getitimer()?, 0),
        "timer-gettime" => by_call(TimeCall::timer_gettime()?, CONVERTED),
        "timerfd-gettime" => by_call(TimeCall::timerfd_gettime()?, CONVERTED),
        "adjtimex" => by_call(TimeCall::adjtimex()?, CONVERTED),
        name => {
            let clock = ClockId::by_name(name).ok_or(Errno::EINVAL)?;
            let windows = if name.ends_with("cputime") { SLOW_WINDOWS } else { FAST_WINDOWS };
            in_ns(Window::of(Clock(clock), increments(), CONVERTED, windows))
        }
    }
}

/// Windows for timers that are read in user space: a tenth of a millisecond in all.
const FAST_WINDOWS: usize = 1_000;
/// Windows for timers that enter the kernel, where each takes ten times as long, and a hundred
/// times as long when its calls are counted.
const SLOW_WINDOWS: usize = 250;

/// A clock that can be read.
trait ClockRead {
    /// Reads the clock to open a window.
    fn open(&self) -> Result<i64, Errno>;

    /// Reads the clock to close the window.
    #[inline(always)]
    fn close(&self) -> Result<i64, Errno> {
        self.open()
    }
}

/// The cycle counter, with the same fences as oscost's own windows.
struct Counter;

impl ClockRead for Counter {
    #[inline(always)]
    fn open(&self) -> Result<i64, Errno> {
        Ok(counter::start() as i64)
    }

    #[inline(always)]
    fn close(&self) -> Result<i64, Errno> {
        Ok(counter::stop() as i64)
    }
}

struct Clock(ClockId);

impl ClockRead for Clock {
    #[inline(always)]
    fn open(&self) -> Result<i64, Errno> {
        gettime(self.0).map(|ns| ns as i64)
    }
}

struct Gettimeofday;

impl ClockRead for Gettimeofday {
    #[inline(always)]
    fn open(&self) -> Result<i64, Errno> {
        clock::libc_gettimeofday().map(|us| 1_000 * us as i64)
    }
}

struct ClockOfLibc;

impl ClockRead for ClockOfLibc {
    #[inline(always)]
    fn open(&self) -> Result<i64, Errno> {
        clock::libc_clock().map(|us| 1_000 * us as i64)
    }
}

impl ClockRead for TimeCall {
    #[inline(always)]
    fn open(&self) -> Result<i64, Errno> {
        self.now_ns()
    }
}

struct Window<S> {
    clock: S,
    increments: Increments,
    rounding: u64,
    windows: usize,
}

impl<S: ClockRead + 'static> Window<S> {
    fn of(clock: S, increments: Increments, rounding: u64, windows: usize) -> Box<dyn Meter> {
        Box::new(Self { clock, increments, rounding, windows })
    }
}

impl<S: ClockRead> Meter for Window<S> {
    fn read(&mut self) -> Result<i64, Errno> {
        self.clock.open()
    }

    fn window(&mut self, increments: u64) -> Result<i64, Errno> {
        let stride = self.increments.prepare(increments);
        let opened = self.clock.open();
        self.increments.run(stride);
        let closed = self.clock.close();
        Ok(closed?.wrapping_sub(opened?))
    }

    fn idle(&mut self, increments: u64) {
        let stride = self.increments.prepare(increments);
        self.increments.run(stride);
    }

    fn now_ns(&mut self) -> u64 {
        monotonic_raw_ns()
    }

    fn rounding(&self) -> u64 {
        self.rounding
    }

    fn windows(&self) -> usize {
        self.windows
    }
}

/// The rate of the counter, accurate to about 20 ppm: the worker that runs this is not given it.
pub(super) fn ticks_per_ns() -> Option<f64> {
    const BASELINE_NS: u64 = 3_000_000;
    let sync = || {
        clock_sync::narrowest(|| SyncWindow {
            opened_ticks: counter::start(),
            raw_ns: monotonic_raw_ns(),
            closed_ticks: counter::stop(),
        })
    };
    let first = sync();
    while monotonic_raw_ns().saturating_sub(first.raw_ns) < BASELINE_NS {}
    first.ticks_per_ns(&sync())
}
