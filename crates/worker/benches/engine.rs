//! What the engine adds, against loops written by hand in the same process: `make bench`.
//!
//! Bars: a bare system call within 1 % of the hand-written loop, an op of no work within 0.3 ns of
//! an empty one. Both sides take turns, in random order, with the same number of turns.

#![expect(unsafe_code, reason = "the peers are loops of bare instructions")]
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
    fn run(&mut self, turns: u64, _copies: u32) -> Result<(), OpError> {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: getppid takes no argument and touches no memory of ours.
        unsafe {
            asm!("2:", "mov eax, 110", "syscall", "dec {left}", "jnz 2b",
                 left = inout(reg) turns => _, out("rax") _, out("rcx") _, out("r11") _,
                 options(nostack));
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: getppid takes no argument and touches no memory of ours.
        unsafe {
            asm!("2:", "mov x8, 173", "svc 0", "subs {left}, {left}, 1", "b.ne 2b",
                 left = inout(reg) turns => _, out("x8") _, out("x0") _, options(nostack));
        }
        Ok(())
    }
}

/// A loop of two instructions.
struct EmptyLoop;

impl WorkBody for EmptyLoop {
    fn run(&mut self, turns: u64, _copies: u32) -> Result<(), OpError> {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: arithmetic on a register.
        unsafe {
            asm!("2:", "dec {left}", "jnz 2b", left = inout(reg) turns => _, options(nostack));
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: arithmetic on a register.
        unsafe {
            asm!("2:", "subs {left}, {left}, 1", "b.ne 2b", left = inout(reg) turns => _,
                 options(nostack));
        }
        Ok(())
    }
}

fn main() {
    let cpu = std::thread::available_parallelism().map_or(0, |cpus| cpus.get() as u32 - 1);
    let _ = kernel::cpu::affinity::pin(cpu);
    let (clock, _) = calibrate::calibrate(&mut Tsc).unwrap();
    let ns = |ticks: f64| ticks / clock.ticks_per_ns;

    let ours = Work::repeat(|| kernel::syscall::getppid().map(drop));
    let (ours, bare) = pairs(ours, Work::from_body(Shape::Repeat, BareGetppid), 400);
    let ratio = median(ours.iter().zip(&bare).map(|(ours, bare)| ours / bare).collect());
    let (ours, bare) = (ns(median(ours)), ns(median(bare)));
    println!("syscall/getppid:via=raw  {ours:.2} ns, bare loop {bare:.2} ns, ratio {ratio:.4}");
    let call_holds = (0.99..=1.01).contains(&ratio);

    let (ours, bare) =
        pairs(Work::repeat(|| Ok(())), Work::from_body(Shape::Repeat, EmptyLoop), 200_000);
    let apart = median(ours.iter().zip(&bare).map(|(ours, bare)| ns(ours - bare)).collect());
    println!(
        "timer/nothing            {:.3} ns a turn, empty loop {:.3} ns, apart {apart:.3} ns",
        ns(median(ours)),
        ns(median(bare))
    );
    let nothing_holds = apart.abs() <= 0.3;
    println!("bars: within 1 %: {call_holds}; within 0.3 ns: {nothing_holds}");
    if !(call_holds && nothing_holds) {
        std::process::exit(1);
    }
}

/// Ticks per turn of both, over many alternating clean batches of about 50 us.
fn pairs(ours: Work, bare: Work, turns: u64) -> (Vec<f64>, Vec<f64>) {
    const PAIRS: u32 = 2_001;
    let plan = BatchPlan {
        mode: Mode::B,
        iterations: turns,
        unroll_factors: vec![1],
        groups: PAIRS,
        batch_ns: 50_000.0,
        coarse_clock: false,
    };
    let mut collector = Collector::new(Tsc, KernelAccount::of_this_thread());
    let mut works = [ours, bare];
    for work in &mut works {
        collector.warm_up(work, &plan).unwrap();
    }
    let mut order = Seed::new(1);
    let mut kept = (Vec::new(), Vec::new());
    for round in 0..PAIRS {
        let mut pair = [None, None];
        let mut sides = [0, 1];
        order.shuffle(&mut sides);
        for side in sides {
            // The same cut on both sides: the same number of turns.
            let mut cut = BatchJitter::new(u64::from(round));
            let tag = SampleTag { arm: side as u8, round, batch: round };
            let mut keep = |sample: Sample| pair[side] = Some(sample);
            collector.time_group(&mut works[side], &plan, &mut cut, tag, &mut keep).unwrap();
        }
        if let [Some(ours), Some(bare)] = pair
            && ours.involuntary_switches + bare.involuntary_switches == 0
        {
            kept.0.push(ours.ticks as f64 / ours.n as f64);
            kept.1.push(bare.ticks as f64 / bare.n as f64);
        }
    }
    assert_eq!(collector.clock.kind(), oscost_model::clock::ClockKind::Tsc);
    kept
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
