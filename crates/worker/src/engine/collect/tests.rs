use std::cell::RefCell;
use std::rc::Rc;

use oscost_model::clock::{Calibration, ClockKind};
use oscost_model::worker::Disturbance;

use super::*;
use crate::bench::{Shape, WorkBody};
use crate::engine::covariates::KernelAccount;
use crate::kernel::cpu::dependent_chain::CYCLES_PER_LINK;

/// The rate of the core below, in cycles per nanosecond.
const CORE_RATE: f64 = 3.0;

/// A clock that shows whole steps, beside a core of that rate; a tick is a nanosecond.
struct SteppedClock {
    now_ns: f64,
    step_ns: f64,
}

impl Clock for SteppedClock {
    fn kind(&self) -> ClockKind {
        ClockKind::Syscall
    }

    fn start(&mut self) -> u64 {
        self.plain()
    }

    fn stop(&mut self) -> u64 {
        self.plain()
    }

    fn plain(&mut self) -> u64 {
        self.now_ns += 20.0;
        ((self.now_ns / self.step_ns).floor() * self.step_ns) as u64
    }

    fn raw_ns(&mut self) -> u64 {
        self.plain()
    }

    fn chain(&mut self, links: u64) {
        self.now_ns += links as f64 * CYCLES_PER_LINK / CORE_RATE;
    }
}

/// The core's rate by a clock of this step.
fn core_rate(step_ns: f64) -> Option<f64> {
    let calibration = Calibration {
        kind: ClockKind::Syscall,
        ticks_per_ns: 1.0,
        quantum_ticks: step_ns,
        inside_ticks: 20.0,
        pair_ticks: 40.0,
    };
    let clock = SteppedClock { now_ns: 1e6, step_ns };
    let mut collector = Collector::new(clock, KernelAccount::of_this_thread());
    collector.with_core_rate(Disturbance::default(), &calibration).core_cycles_per_ns
}

#[test]
fn a_clock_of_coarse_steps_shows_no_rate_of_the_core() {
    for step_ns in [1.0, 10.0, 42.0] {
        let found = core_rate(step_ns).unwrap();
        assert!((found / CORE_RATE - 1.0).abs() < 0.02, "{found} by steps of {step_ns} ns");
    }
    // The timer of ACPI has steps of 279 ns; some clocks have one of a microsecond.
    assert_eq!([279.0, 1_000.0].map(core_rate), [None, None]);
}

/// What an op takes on the core below, in ticks, if the caches hold what it needs, and otherwise.
const WARM_TICKS: i64 = 100;
const COOL_TICKS: i64 = 250;

/// A core whose caches a walk cools, and its clock.
#[derive(Default)]
struct CoolableCore {
    now: u64,
    is_cool: bool,
    ops: u64,
}

type SharedCore = Rc<RefCell<CoolableCore>>;

struct CoreClock(SharedCore);

impl Clock for CoreClock {
    fn kind(&self) -> ClockKind {
        ClockKind::Tsc
    }

    fn start(&mut self) -> u64 {
        self.plain()
    }

    fn stop(&mut self) -> u64 {
        self.plain()
    }

    fn plain(&mut self) -> u64 {
        self.0.borrow().now
    }

    fn raw_ns(&mut self) -> u64 {
        self.plain()
    }
}

struct CoreBody(SharedCore);

impl WorkBody for CoreBody {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        let mut core = self.0.borrow_mut();
        for _ in 0..iterations * u64::from(unroll) {
            let is_cool = std::mem::replace(&mut core.is_cool, false);
            core.now += (if is_cool { COOL_TICKS } else { WARM_TICKS }) as u64;
            core.ops += 1;
        }
        Ok(())
    }
}

/// Nothing disturbs it.
struct Undisturbed;

impl Covariates for Undisturbed {
    fn read(&mut self) -> Reading {
        Reading::default()
    }

    fn start_switch_watch(&mut self) -> bool {
        true
    }

    fn end_switch_watch(&mut self) -> SwitchWatch {
        SwitchWatch { switched: false, cpu: 0 }
    }

    fn run_delay_ns(&mut self) -> Option<u64> {
        None
    }
}

fn alone() -> BatchPlan {
    BatchPlan {
        mode: Mode::C,
        iterations: 1,
        unroll_factors: vec![1],
        groups: 5,
        batch_ns: 100.0,
        coarse_clock: false,
    }
}

/// The ticks of ops that are timed alone, before each of which another process has cooled the caches.
fn ticks_of(core: &SharedCore, mut work: Work) -> Vec<i64> {
    let mut collector = Collector::new(CoreClock(Rc::clone(core)), Undisturbed);
    let mut jitter = BatchJitter::new(1);
    let mut ticks = Vec::new();
    for round in 0..alone().groups {
        core.borrow_mut().is_cool = true;
        let tag = SampleTag { arm: 0, round, batch: round };
        let mut sink = |sample: Sample| ticks.push(sample.ticks);
        collector.time_group(&mut work, &alone(), &mut jitter, tag, &mut sink).unwrap();
    }
    ticks
}

#[test]
fn a_walk_alone_separates_a_cooled_op_from_the_warm_ones_before_it() {
    let core = SharedCore::default();
    let work = || Work::from_body(Shape::Repeat, CoreBody(Rc::clone(&core)));
    let walked = Rc::clone(&core);
    let cool = work().cooled_by(move || walked.borrow_mut().is_cool = true);
    assert_eq!(ticks_of(&core, cool), [COOL_TICKS; 5]);
    // Without a walk the same plan times warm ops, whatever ran before.
    assert_eq!(ticks_of(&core, work().cooled_by(|| ())), [WARM_TICKS; 5]);
}

#[test]
fn cooled_work_is_warmed_up_and_cold_work_is_not() {
    let core = SharedCore::default();
    let mut collector = Collector::new(CoreClock(Rc::clone(&core)), Undisturbed);
    let work = || Work::from_body(Shape::Repeat, CoreBody(Rc::clone(&core)));
    let mut cold = work().with_eviction(|| Ok(()));
    collector.warm_up(&mut cold, &alone()).unwrap();
    assert_eq!(core.borrow().ops, 0);
    collector.warm_up(&mut work().cooled_by(|| ()), &alone()).unwrap();
    assert!(core.borrow().now >= WARM_UP_NS);
}
