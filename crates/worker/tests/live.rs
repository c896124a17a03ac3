//! The clock and the batches on the machine at hand: `make test-live` (docs/explanation/METHOD.md,
//! section 10).
//!
//! They take minutes and need an idle machine; they compare clocks with each other, never with
//! figures of another machine.

#![expect(unsafe_code, reason = "the kernel's own clock conversion is read from a perf page")]
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may panic, and prints what it found"
)]

#[path = "common/live_counters.rs"]
mod counters;

use oscost_model::clock::Calibration;
use oscost_model::seed::Seed;
use oscost_model::worker::{BatchPlan, Mode, Sample};
use oscost_worker::bench::Work;
use oscost_worker::engine::calibrate::{calibrate, sync};
use oscost_worker::engine::clock::{Clock, Tsc, Vdso};
use oscost_worker::engine::clock_check::counter_problem;
use oscost_worker::engine::collect::{BatchJitter, Collector, SampleTag};
use oscost_worker::engine::covariates::KernelAccount;
use oscost_worker::engine::pilot::pilot;
use oscost_worker::kernel::cpu::black_box::{consume, opaque};
use oscost_worker::kernel::cpu::dependent_chain::{CYCLES_PER_LINK, dependent_chain};
use oscost_worker::kernel::cpu::increments::{Direction, Increments, Storage};
use oscost_worker::kernel::cpu::{affinity, procedure};
use oscost_worker::kernel::syscall;

/// Pins to the last CPU; false, with a message, if the counter is not usable.
fn ready() -> bool {
    let cpu = std::thread::available_parallelism().map_or(0, |cpus| cpus.get() as u32 - 1);
    affinity::pin(cpu).unwrap();
    let clocksource = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let clocksource = std::fs::read_to_string(clocksource).ok();
    match counter_problem(&mut Tsc, clocksource.as_deref().map(str::trim)) {
        None => true,
        Some(reason) => {
            println!("not tested: {reason}");
            false
        }
    }
}

fn collector<C: Clock>(clock: C) -> Collector<C, KernelAccount> {
    Collector::new(clock, KernelAccount::of_this_thread())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The half width of a 95 % interval of the median of `values`, from robust statistics.
fn uncertainty(values: &[f64]) -> f64 {
    let middle = median(values.to_vec());
    let off = median(values.iter().map(|value| (value - middle).abs()).collect());
    2.0 * 1.253 * 1.4826 * off / (values.len() as f64).sqrt()
}

/// Nanoseconds per op of every clean batch, `groups` of them.
fn batches<C: Clock>(
    collector: &mut Collector<C, KernelAccount>,
    work: &mut Work,
    clock: &Calibration,
    iterations: u64,
    groups: u32,
    seed: u64,
) -> Vec<f64> {
    let copies = vec![1];
    // As for ops of 100 ns: between batches of shorter ops no system calls would be made.
    let batch_ns = 100.0 * iterations as f64;
    let plan = BatchPlan {
        mode: Mode::B,
        iterations,
        unroll_factors: copies,
        groups,
        batch_ns,
        coarse_clock: false,
    };
    let mut cut = BatchJitter::new(seed);
    let mut samples: Vec<Sample> = Vec::new();
    for round in 0..groups {
        let tag = SampleTag { arm: 0, round, batch: round };
        collector
            .time_group(work, &plan, &mut cut, tag, &mut |sample| samples.push(sample))
            .unwrap();
    }
    samples
        .iter()
        .filter(|sample| sample.involuntary_switches == 0)
        .map(|sample| clock.ns(sample.ticks as f64) / sample.n as f64)
        .collect()
}

#[test]
fn l1_the_rate_repeats_and_agrees_with_the_kernels_own() {
    if !ready() {
        return;
    }
    let mut clock = Tsc;
    let mut rate = || {
        let first = sync(&mut clock);
        while clock.raw_ns() - first.raw_ns < 300_000_000 {}
        first.ticks_per_ns(&sync(&mut clock)).unwrap()
    };
    let rates: Vec<f64> = (0..5).map(|_| rate()).collect();
    let spread = rates.iter().copied().fold(f64::MIN, f64::max)
        / rates.iter().copied().fold(f64::MAX, f64::min);
    let apart_ppm = 1e6 * (spread - 1.0);
    println!("rates {rates:?}: at most {apart_ppm:.3} ppm apart");
    assert!(apart_ppm <= 5.0);
    match kernels_rate() {
        Some(kernel) => {
            let off_ppm = 1e6 * (median(rates) / kernel - 1.0).abs();
            println!("the kernel converts with {kernel} ticks per ns: {off_ppm:.2} ppm off");
            assert!(off_ppm <= 50.0);
        }
        None => println!("the kernel's own conversion is not available here"),
    }
}

/// The kernel's conversion of the counter, in ticks per nanosecond, from a perf page
/// (perf_event_open(2): `cap_user_time`, `time_mult`, `time_shift`).
fn kernels_rate() -> Option<f64> {
    const BYTES: usize = 4_096;
    let mut attributes = [0u8; 128];
    attributes[0..4].copy_from_slice(&1u32.to_ne_bytes()); // PERF_TYPE_SOFTWARE
    attributes[4..8].copy_from_slice(&128u32.to_ne_bytes()); // size
    attributes[8..16].copy_from_slice(&9u64.to_ne_bytes()); // PERF_COUNT_SW_DUMMY
    // SAFETY: the kernel reads 128 bytes of attributes; the page is mapped for reading, and its
    // first 64 bytes are read while it is.
    unsafe {
        let fd = libc::syscall(libc::SYS_perf_event_open, attributes.as_ptr(), 0, -1, -1, 0) as i32;
        if fd < 0 {
            return None;
        }
        let page =
            libc::mmap(std::ptr::null_mut(), BYTES, libc::PROT_READ, libc::MAP_SHARED, fd, 0);
        libc::close(fd);
        if page == libc::MAP_FAILED {
            return None;
        }
        let head = std::ptr::read_volatile(page.cast::<[u8; 64]>());
        libc::munmap(page, BYTES);
        let capabilities = u64::from_ne_bytes(head[40..48].try_into().ok()?);
        let shift = u16::from_ne_bytes(head[50..52].try_into().ok()?);
        let mult = u32::from_ne_bytes(head[52..56].try_into().ok()?);
        let user_time = capabilities & (1 << 3) != 0 && mult > 0;
        user_time.then(|| (1u64 << shift) as f64 / f64::from(mult))
    }
}

#[test]
fn a_register_addition_is_not_optimised_away_and_takes_a_third_of_a_multiplication() {
    if !ready() {
        return;
    }
    let mut clock = Tsc;
    let best = |ticks: &mut dyn FnMut() -> u64| (0..201).map(|_| ticks()).min().unwrap() as f64;
    let mut steps = Increments::new(Direction::Up, Storage::Register);
    let mut additions = |count: u64| {
        let stride = steps.prepare(count);
        best(&mut || {
            let start = clock.start();
            steps.run(stride);
            clock.stop().wrapping_sub(start)
        })
    };
    let addition = (additions(12_800) - additions(6_400)) / 6_400.0;
    let mut multiplications = |count: u64| {
        best(&mut || {
            let start = clock.start();
            consume(dependent_chain(count, 3));
            clock.stop().wrapping_sub(start)
        })
    };
    let multiplication = (multiplications(6_400) - multiplications(3_200)) / 3_200.0;
    let cycles = CYCLES_PER_LINK * addition / multiplication;
    println!("an addition takes {addition:.3} ticks, {cycles:.3} cycles");
    assert!((0.95..1.05).contains(&cycles));
}

#[test]
fn l2_windows_are_linear_in_their_content() {
    if !ready() {
        return;
    }
    let mut clock = Tsc;
    let calibration = calibrate(&mut clock).unwrap().calibration;
    // The median over means: single readings are whole quanta, and only a mean is unbiased.
    let mut window = |links: u64| {
        let means = (0..101).map(|_| {
            let total: f64 = (0..40)
                .map(|_| {
                    let start = clock.start();
                    clock.chain(links);
                    clock.stop().wrapping_sub(start) as f64
                })
                .sum();
            total / 40.0
        });
        median(means.collect())
    };
    // The core's frequency may change: the best of five rounds counts.
    let lengths = [48u64, 96, 200, 400, 800];
    let worst = (0..5)
        .map(|_| {
            let seen = lengths.map(&mut window);
            let link = (seen[4] - seen[0]) / (lengths[4] - lengths[0]) as f64;
            let off = lengths.iter().zip(seen).map(|(&links, found)| {
                let line = seen[0] + link * (links - lengths[0]) as f64;
                (found - line).abs() / line
            });
            off.fold(0.0, f64::max)
        })
        .fold(f64::INFINITY, f64::min);
    println!("off the line by at most {:.2} %", 100.0 * worst);
    assert!(worst <= 0.02);

    // Proportional work must show proportional time.
    let mut collector = collector(Tsc);
    for (more, allowed) in [(1.015, 0.005), (1.02, 0.005), (1.035, 0.005)] {
        let ratios = (0..101).filter_map(|round| {
            let mut time = |links: u64| {
                let mut work = Work::repeat(move || {
                    consume(dependent_chain(links, opaque(3)));
                    Ok(())
                });
                let values = batches(&mut collector, &mut work, &calibration, 50, 3, round);
                (!values.is_empty()).then(|| median(values))
            };
            Some(time((8_000.0 * more) as u64)? / time(8_000)?)
        });
        let found = median(ratios.collect()) / more;
        println!("work of {more} takes {:.4} of that", found);
        assert!((found - 1.0).abs() <= allowed, "{found}");
    }
}

#[test]
fn l3_a_known_delay_is_measured_correctly() {
    // Added to an op without system call: after a system call the loop of the chain is predicted
    // worse (70 ns on the development machine), and the delay is no longer known.
    if !ready() {
        return;
    }
    let clock = calibrate(&mut Tsc).unwrap().calibration;
    let mut collector = collector(Tsc);
    let delays_ns = [50.0, 200.0, 1_000.0, 5_000.0, 20_000.0, 100_000.0, 1_000_000.0];
    let mut points = Vec::new();
    for delay_ns in delays_ns {
        let links = (delay_ns / 0.75 / 8.0) as u64 * 8;
        let with = move |links: u64| {
            Work::repeat(move || {
                consume(dependent_chain(links, opaque(3)));
                procedure::call::<1>();
                Ok(())
            })
        };
        let (mut delayed, mut plain) = (with(links), with(0));
        let plan = pilot(&mut collector, &mut delayed, &clock, 300.0).unwrap();
        let turns_plain = pilot(&mut collector, &mut plain, &clock, 300.0).unwrap().iterations;
        let mut chain = Work::repeat(move || {
            consume(dependent_chain(links, opaque(3)));
            Ok(())
        });
        let long = (2_000_000.0_f64 / delay_ns).max(1.0) as u64;
        let mut seed = Seed::new(links);
        let (mut measured, mut injected) = (Vec::new(), Vec::new());
        for _ in 0..61 {
            let added =
                batches(&mut collector, &mut delayed, &clock, plan.iterations, 3, seed.bits());
            let base = batches(&mut collector, &mut plain, &clock, turns_plain, 3, seed.bits());
            // The reference: the same chain alone, in batches so long that clock and loop are
            // negligible.
            let truth = batches(&mut collector, &mut chain, &clock, long, 3, seed.bits());
            if !(added.is_empty() || base.is_empty() || truth.is_empty()) {
                measured.push(median(added) - median(base));
                injected.push(median(truth));
            }
        }
        let apart: Vec<f64> =
            measured.iter().zip(&injected).map(|(found, truth)| found / truth).collect();
        let (ratio, u) = (median(apart.clone()), uncertainty(&apart));
        println!("{delay_ns:>9} ns injected: measured {ratio:.4} of it, +- {u:.4}");
        if delay_ns >= 200.0 {
            assert!((ratio - 1.0).abs() <= 0.01 + u, "{delay_ns}: {ratio}");
        }
        points.push((median(injected), median(measured)));
    }
    // measured = intercept + slope x injected, each point weighted by one over its delay: the line
    // of measured / injected over 1 / injected.
    let count = points.len() as f64;
    let shares: Vec<(f64, f64)> = points.iter().map(|(x, y)| (1.0 / x, y / x)).collect();
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| shares.iter().map(of).sum::<f64>() / count;
    let (middle_u, middle_v) = (mean(&|(u, _)| *u), mean(&|(_, v)| *v));
    let intercept_ns = mean(&|(u, v)| (u - middle_u) * (v - middle_v))
        / mean(&|(u, _)| (u - middle_u) * (u - middle_u));
    let slope = middle_v - intercept_ns * middle_u;
    println!("measured = {intercept_ns:.2} ns + {slope:.4} x injected");
    assert!((slope - 1.0).abs() <= 0.01);
    // A misprediction at the end of the chain's loop is some 15 core cycles.
    assert!(intercept_ns.abs() <= 5.0);
}

#[test]
fn l14_two_clocks_give_the_same_figure() {
    let (true, Ok(mut vdso)) = (ready(), Vdso::find()) else {
        println!("not tested: only one of the clocks can be used here");
        return;
    };
    let tsc = calibrate(&mut Tsc).unwrap().calibration;
    let other = calibrate(&mut vdso).unwrap().calibration;
    let mut by_tsc = collector(Tsc);
    let mut by_vdso = collector(vdso);
    let mut work = Work::repeat(|| syscall::getppid().map(drop));
    let mut ratios = Vec::new();
    for round in 0..201 {
        let one = batches(&mut by_tsc, &mut work, &tsc, 800, 3, round);
        let two = batches(&mut by_vdso, &mut work, &other, 800, 3, round);
        if !(one.is_empty() || two.is_empty()) {
            ratios.push(median(two) / median(one));
        }
    }
    let (ratio, u) = (median(ratios.clone()), uncertainty(&ratios));
    println!("by the vDSO {ratio:.5} of what the counter shows, +- {u:.5}");
    assert!((ratio - 1.0).abs() <= 0.002 + u);
}
