//! What the engine adds, against loops written by hand in the same process: `make bench`.
//!
//! Bars: a bare system call within 1 % of the hand-written loop, an op without work within 0.3 ns
//! of an empty loop. The two alternate in random order, with the same number of iterations.

#![expect(unsafe_code, reason = "the reference loops are assembler")]
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a program that is run by hand")]

use std::arch::asm;

use oscost_model::seed::Seed;
use oscost_model::worker::{BatchPlan, Mode, Sample};
use oscost_worker::bench::{OpError, Shape, Work, WorkBody};
use oscost_worker::engine::clock::Tsc;
use oscost_worker::engine::collect::{BatchJitter, Collector, SampleTag};
use oscost_worker::engine::covariates::KernelAccount;
use oscost_worker::engine::{calibrate, clock::Clock};
use oscost_worker::kernel;

/// The bare instruction in a loop of two more.
struct BareGetppid;

impl WorkBody for BareGetppid {
    fn run(&mut self, iterations: u64, _unroll: u32) -> Result<(), OpError> {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: getppid takes no argument and touches no memory of ours.
        unsafe {
            asm!("2:", "mov eax, 110", "syscall", "dec {left}", "jnz 2b",
                 left = inout(reg) iterations => _, out("rax") _, out("rcx") _, out("r11") _,
                 options(nostack));
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: getppid takes no argument and touches no memory of ours.
        unsafe {
            asm!("2:", "mov x8, 173", "svc 0", "subs {left}, {left}, 1", "b.ne 2b",
                 left = inout(reg) iterations => _, out("x8") _, out("x0") _, options(nostack));
        }
        Ok(())
    }
}

/// A loop of two instructions.
struct EmptyLoop;

impl WorkBody for EmptyLoop {
    fn run(&mut self, iterations: u64, _unroll: u32) -> Result<(), OpError> {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: arithmetic on a register.
        unsafe {
            asm!("2:", "dec {left}", "jnz 2b", left = inout(reg) iterations => _, options(nostack));
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: arithmetic on a register.
        unsafe {
            asm!("2:", "subs {left}, {left}, 1", "b.ne 2b", left = inout(reg) iterations => _,
                 options(nostack));
        }
        Ok(())
    }
}

fn main() {
    let cpu = std::thread::available_parallelism().map_or(0, |cpus| cpus.get() as u32 - 1);
    let _ = kernel::cpu::affinity::pin(cpu);
    let clock = calibrate::calibrate(&mut Tsc).unwrap().calibration;
    let ns = |ticks: f64| ticks / clock.ticks_per_ns;

    let engine = Work::repeat(|| kernel::syscall::getppid().map(drop));
    let (engine, hand_written) = pairs(engine, Work::from_body(Shape::Repeat, BareGetppid), 400);
    let ratio = median(
        engine
            .iter()
            .zip(&hand_written)
            .map(|(engine, hand_written)| engine / hand_written)
            .collect(),
    );
    let (engine, hand_written) = (ns(median(engine)), ns(median(hand_written)));
    println!(
        "syscall/getppid:via=raw  {engine:.2} ns, bare loop {hand_written:.2} ns, ratio {ratio:.4}"
    );
    let call_holds = (0.99..=1.01).contains(&ratio);

    let (engine, hand_written) =
        pairs(Work::repeat(|| Ok(())), Work::from_body(Shape::Repeat, EmptyLoop), 200_000);
    let difference = median(
        engine
            .iter()
            .zip(&hand_written)
            .map(|(engine, hand_written)| ns(engine - hand_written))
            .collect(),
    );
    println!(
        "timer/nothing            {:.3} ns an iteration, empty loop {:.3} ns, apart \
         {difference:.3} ns",
        ns(median(engine)),
        ns(median(hand_written))
    );
    let nothing_holds = difference.abs() <= 0.3;
    println!("bars: within 1 %: {call_holds}; within 0.3 ns: {nothing_holds}");
    if !(call_holds && nothing_holds) {
        std::process::exit(1);
    }
}

/// Ticks per iteration of both, over many alternating clean batches of about 50 us.
fn pairs(engine: Work, hand_written: Work, iterations: u64) -> (Vec<f64>, Vec<f64>) {
    const PAIRS: u32 = 2_001;
    let plan = BatchPlan {
        mode: Mode::B,
        iterations,
        unroll_factors: vec![1],
        groups: PAIRS,
        batch_ns: 50_000.0,
        coarse_clock: false,
    };
    let mut collector = Collector::new(Tsc, KernelAccount::of_this_thread());
    let mut works = [engine, hand_written];
    for work in &mut works {
        collector.warm_up(work, &plan).unwrap();
    }
    let mut seed = Seed::new(1);
    let mut ticks = (Vec::new(), Vec::new());
    for round in 0..PAIRS {
        let mut pair = [None, None];
        let mut order = [0, 1];
        seed.shuffle(&mut order);
        for index in order {
            // The same jitter for both: the same number of iterations.
            let mut jitter = BatchJitter::new(u64::from(round));
            let tag = SampleTag { arm: index as u8, round, batch: round };
            let mut keep = |sample: Sample| pair[index] = Some(sample);
            collector.time_group(&mut works[index], &plan, &mut jitter, tag, &mut keep).unwrap();
        }
        if let [Some(engine), Some(hand_written)] = pair
            && engine.involuntary_switches + hand_written.involuntary_switches == 0
        {
            ticks.0.push(engine.ticks as f64 / engine.n as f64);
            ticks.1.push(hand_written.ticks as f64 / hand_written.n as f64);
        }
    }
    assert_eq!(collector.clock.kind(), oscost_model::clock::ClockKind::Tsc);
    ticks
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
