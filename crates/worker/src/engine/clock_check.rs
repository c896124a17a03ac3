//! Checks whether a clock is usable on this machine.

use super::calibrate::median;
use super::clock::{Clock, Syscall, Vdso};
use crate::kernel::cpu::black_box::consume;
use crate::kernel::time::clock::monotonic_raw_ns;

/// A pair of reads that takes longer than this is trapped or emulated (a sandbox, PR_SET_TSC, some
/// confidential virtual machines): too slow for timing.
const TRAPPED_FROM_NS: f64 = 300.0;

/// Why the counter is not usable; `None` if it is. `clocksource` is that of the kernel.
pub fn counter_problem<C: Clock>(clock: &mut C, clocksource: Option<&str>) -> Option<String> {
    if let Some(source) = clocksource {
        // The kernel has a watchdog for its counters: if it uses another clock source, it has a
        // reason.
        let trusted = ["tsc", "kvm-clock", "arch_sys_counter"].contains(&source)
            || source.starts_with("hyperv_clocksource");
        if !trusted {
            return Some(format!("the kernel uses clocksource `{source}`"));
        }
    }
    step_back(clock)
        .map(|ticks| format!("the counter stepped back by {ticks} ticks"))
        .or_else(|| trap_problem(clock))
        .or_else(|| {
            fence_error_pct(clock).map(|error_pct| {
                format!(
                    "its fences are not ordering: a chain of known latency is off by \
                         {error_pct:.1} %"
                )
            })
        })
}

/// The first backward step in a million reads.
fn step_back<C: Clock>(clock: &mut C) -> Option<u64> {
    let mut last = clock.plain();
    for _ in 0..1_000_000 {
        let now = clock.plain();
        if now < last {
            return Some(last - now);
        }
        last = now;
    }
    None
}

/// Whether the counter is trapped, by the time that reads of it take on the other clock.
fn trap_problem<C: Clock>(clock: &mut C) -> Option<String> {
    const PAIRS: u32 = 100;
    let costs = (0..51).map(|_| {
        let before = clock.raw_ns();
        for _ in 0..PAIRS {
            consume(clock.start());
            consume(clock.stop());
        }
        (clock.raw_ns() - before) as f64 / f64::from(PAIRS)
    });
    let cost = median(costs.collect());
    (cost >= TRAPPED_FROM_NS)
        .then(|| format!("a pair of reads takes {cost:.0} ns: the counter is trapped or emulated"))
}

/// By how much a chain of known latency is off, in per cent, if that is too much.
///
/// On AMD the fence serialises only when a bit of DE_CFG is set, which a guest cannot read: so its
/// effect is measured. Where a window closes before the chain inside it has ended, a link of a
/// short chain, which fits into the core's window of instructions in flight, seems to cost less
/// than a link of a long one.
fn fence_error_pct<C: Clock>(clock: &mut C) -> Option<f64> {
    const ALLOWED_PCT: f64 = 2.0;
    const SHORT: [u64; 2] = [48, 192];
    const LONG: [u64; 2] = [1_600, 3_200];
    // A core may change its frequency between the two: the best of several rounds decides.
    let best = (0..5)
        .map(|_| {
            let mut link = |[short, long]: [u64; 2]| {
                (window(clock, long) - window(clock, short)) / (long - short) as f64
            };
            100.0 * (link(SHORT) / link(LONG) - 1.0).abs()
        })
        .fold(f64::INFINITY, f64::min);
    // A counter that does not advance gives NaN, which compares false.
    if best <= ALLOWED_PCT { None } else { Some(best) }
}

/// The reading of a window around a chain: the median of short means, as for an empty one.
fn window<C: Clock>(clock: &mut C, links: u64) -> f64 {
    let means = (0..31).map(|_| {
        let total: f64 = (0..20)
            .map(|_| {
                let start = clock.start();
                clock.chain(links);
                clock.stop().wrapping_sub(start) as i64 as f64
            })
            .sum();
        total / 20.0
    });
    median(means.collect())
}

/// Why the vDSO's clock is not usable; `None` if it is.
///
/// If the kernel's clock source cannot be read from user space, the vDSO makes a system call: then
/// it is no better than the system call, and must not be recorded as such.
pub fn vdso_problem(vdso: &mut Vdso) -> Option<String> {
    let cost = |read: &mut dyn FnMut() -> u64| {
        let costs = (0..51).map(|_| {
            let before = monotonic_raw_ns();
            for _ in 0..50 {
                consume(read());
            }
            (monotonic_raw_ns() - before) as f64
        });
        median(costs.collect())
    };
    let by_vdso = cost(&mut || vdso.plain());
    let by_kernel = cost(&mut || Syscall.plain());
    (by_vdso > 0.7 * by_kernel)
        .then(|| "the vDSO's clock_gettime enters the kernel with this clocksource".to_owned())
}
