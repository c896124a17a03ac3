//! A simulated machine, whose true costs are known.
//!
//! It implements the same traits as the real one: calibration, pilot, warm-up, batches and
//! covariates run unchanged, in simulated time. So do counted batches: the work of an op, the cycles
//! that it takes, the clock and the time that it waits are known each.

use std::cell::RefCell;
use std::rc::Rc;

use oscost_model::clock::ClockKind;
use oscost_model::seed::Seed;

pub mod counters;
mod execution;
mod truth;

pub use execution::{AmortizedWork, CounterDefect, Execution};
pub use truth::{ColdStart, Pathology, SlowPath, Truth};

use self::execution::ExecutionCounts;
use super::clock::Clock;
use super::collect::Collector;
use super::covariates::{Covariates, Reading, SwitchWatch};
use crate::bench::{OpError, Shape, Work, WorkBody};

/// The time of a link of the dependency chain at the nominal clock, in nanoseconds.
const CHAIN_LINK_NS: f64 = 0.73;

struct State {
    truth: Truth,
    seed: Seed,
    now_ns: f64,
    process_factor: f64,
    deviation: f64,
    counted_preemptions: u64,
    cpu_ns: f64,
    waited_ns: f64,
    /// Ops so far.
    ops: f64,
    executed: ExecutionCounts,
}

/// A machine with one process on it.
#[derive(Clone)]
pub struct SimulatedMachine(Rc<RefCell<State>>);

impl SimulatedMachine {
    /// A machine with these properties; `seed` determines the process, `begin_ns` is its start
    /// time.
    pub fn new(truth: &Truth, seed: u64, begin_ns: f64) -> Self {
        let mut seed = Seed::new(seed);
        let process_factor = (truth.between_sd * normal(&mut seed)).exp();
        let deviation = normal(&mut seed);
        Self(Rc::new(RefCell::new(State {
            truth: truth.clone(),
            seed,
            now_ns: begin_ns,
            process_factor,
            deviation,
            counted_preemptions: 0,
            cpu_ns: 0.0,
            waited_ns: 0.0,
            ops: 0.0,
            executed: ExecutionCounts::default(),
        })))
    }

    /// Clock and covariates of this machine.
    pub fn collector(&self) -> Collector<SimClock, SimCovariates> {
        Collector::new(self.clock(), self.covariates())
    }

    /// Its clock.
    pub fn clock(&self) -> SimClock {
        SimClock(self.clone())
    }

    /// Its covariates.
    pub fn covariates(&self) -> SimCovariates {
        SimCovariates { machine: self.clone(), watched_from: 0 }
    }

    /// Work of this shape with the cost of [`Truth`].
    pub fn work(&self, shape: Shape) -> Work {
        Work::from_body(shape, SimBody(self.clone()))
    }

    /// The time on its clocks, in nanoseconds.
    pub fn now_ns(&self) -> f64 {
        self.0.borrow().now_ns
    }

    /// Lets time pass without work.
    pub fn idle(&self, ns: f64) {
        self.0.borrow_mut().now_ns += ns;
    }
}

impl State {
    /// The process runs for `ns`; preemptions are added.
    fn run(&mut self, ns: f64, contaminated: f64) {
        let expected = self.truth.preemptions_per_s * ns * 1e-9;
        let mut hits = poisson(&mut self.seed, expected);
        hits += u64::from(contaminated > 0.0 && self.seed.unit() < contaminated);
        for _ in 0..hits {
            let away_ns = -self.truth.preemption_ns * (1.0 - self.seed.unit()).ln();
            self.now_ns += away_ns;
            if self.seed.unit() < self.truth.preemptions_seen {
                self.counted_preemptions += 1;
                self.waited_ns += away_ns;
            } else {
                // A preemption that is not counted as waiting is counted as running.
                self.cpu_ns += away_ns;
            }
        }
        self.now_ns += ns;
        self.cpu_ns += ns;
    }

    /// The instructions of the work that one of the next ops does for many.
    fn amortized_insn(&mut self, ops: f64) -> f64 {
        let before = self.ops;
        self.ops += ops;
        let Some(AmortizedWork { every, insn }) = self.truth.execution.amortized else {
            return 0.0;
        };
        insn * ((self.ops / every).floor() - (before / every).floor())
    }

    /// Counts what iterations execute that take `nominal_ns` at the nominal clock, with the interrupts
    /// among them, and lets the process wait; returns how long they run.
    fn execute(&mut self, iterations: f64, unroll: f64, nominal_ns: f64) -> f64 {
        let execution = self.truth.execution;
        let ops = iterations * unroll;
        self.executed.insn_user += iterations * execution.loop_insn + ops * execution.insn_user;
        self.executed.insn_kernel += ops * execution.insn_kernel;
        let expected = execution.interrupts_per_s * nominal_ns * 1e-9;
        let interrupt_insn = poisson(&mut self.seed, expected) as f64 * execution.interrupt_insn;
        let added_insn = interrupt_insn + self.amortized_insn(ops);
        let nominal_ns = nominal_ns + added_insn / execution.ghz;
        self.executed.insn_kernel += added_insn;
        self.executed.cycles += nominal_ns * execution.ghz;
        self.now_ns += ops * execution.wait_ns;
        nominal_ns / execution.clock
    }

    /// Half of a read of the counters.
    fn read_half(&mut self) {
        let [user, mut kernel] = self.truth.execution.read_insn.map(|insn| insn / 2.0);
        let spread = self.truth.execution.read_insn_spread;
        if spread > 0.0 {
            // Half of two random numbers: that of a read before the window, and of the one after.
            kernel += spread / 2.0 * self.seed.unit();
        }
        self.executed.insn_user += user;
        self.executed.insn_kernel += kernel;
        self.executed.cycles += user + kernel;
        let ns = (user + kernel) / (self.truth.execution.ghz * self.truth.execution.clock);
        self.now_ns += ns;
        self.cpu_ns += ns;
    }

    fn ticks(&mut self) -> u64 {
        let truth = &self.truth;
        let mut ticks = self.now_ns * truth.ticks_per_ns;
        match truth.pathology {
            Some(Pathology::RateChanges(ppm, from_ns)) if self.now_ns > from_ns => {
                ticks += (self.now_ns - from_ns) * truth.ticks_per_ns * ppm * 1e-6;
            }
            Some(Pathology::StepsBack) if self.seed.unit() < 1e-4 => {
                ticks -= 40.0 * truth.quantum_ticks;
            }
            _ => {}
        }
        // Rounded down: time is never negative here.
        let quantised = (ticks / truth.quantum_ticks) as u64 as f64 * truth.quantum_ticks;
        let noise = match truth.pathology {
            Some(Pathology::OneTickNoise) => u64::from(self.seed.below(1_000) == 0),
            _ => 0,
        };
        quantised as u64 + noise
    }

    /// A read: the value is that of the moment between the two costs.
    fn read(&mut self, before_ns: f64, after_ns: f64) -> u64 {
        let trap = match self.truth.pathology {
            Some(Pathology::Trapped(ns)) => ns / 2.0,
            _ => 0.0,
        };
        self.now_ns += before_ns + trap;
        let ticks = self.ticks();
        self.now_ns += after_ns + trap;
        ticks
    }
}

/// The simulated counter.
pub struct SimClock(SimulatedMachine);

impl Clock for SimClock {
    fn kind(&self) -> ClockKind {
        ClockKind::Tsc
    }

    fn start(&mut self) -> u64 {
        let mut state = self.0.0.borrow_mut();
        let (outside, inside) = state.halves();
        state.read(outside, inside)
    }

    fn stop(&mut self) -> u64 {
        let mut state = self.0.0.borrow_mut();
        let (outside, inside) = state.halves();
        state.read(inside, outside)
    }

    fn plain(&mut self) -> u64 {
        self.0.0.borrow_mut().read(3.0, 3.9)
    }

    fn raw_ns(&mut self) -> u64 {
        let mut state = self.0.0.borrow_mut();
        state.now_ns += 20.0;
        state.now_ns as u64
    }

    fn chain(&mut self, links: u64) {
        let mut state = self.0.0.borrow_mut();
        state.now_ns += links as f64 * CHAIN_LINK_NS / state.truth.execution.clock;
    }
}

impl State {
    /// The cost of half a pair of reads outside the window, and inside it.
    fn halves(&self) -> (f64, f64) {
        ((self.truth.pair_ns - self.truth.inside_ns) / 2.0, self.truth.inside_ns / 2.0)
    }
}

/// The simulated kernel's counters.
pub struct SimCovariates {
    machine: SimulatedMachine,
    watched_from: u64,
}

impl Covariates for SimCovariates {
    fn read(&mut self) -> Reading {
        let state = self.machine.0.borrow();
        Reading {
            cpu_ns: Some(state.cpu_ns as u64),
            involuntary_switches: Some(state.counted_preemptions),
            major_faults: Some(0),
            cpu: 0,
        }
    }

    fn start_switch_watch(&mut self) -> bool {
        self.watched_from = self.machine.0.borrow().counted_preemptions;
        true
    }

    fn end_switch_watch(&mut self) -> SwitchWatch {
        let switched = self.machine.0.borrow().counted_preemptions > self.watched_from;
        SwitchWatch { switched, cpu: 0 }
    }

    fn run_delay_ns(&mut self) -> Option<u64> {
        Some(self.machine.0.borrow().waited_ns as u64)
    }
}

struct SimBody(SimulatedMachine);

impl WorkBody for SimBody {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        let mut state = self.0.0.borrow_mut();
        let innovation = normal(&mut state.seed);
        let phi = state.truth.autocorrelation;
        state.deviation = phi * state.deviation + (1.0 - phi * phi).sqrt() * innovation;
        let mut slowdown = state.process_factor * (state.truth.within_sd * state.deviation).exp();
        if let Some(SlowPath { share, factor }) = state.truth.slow_path
            && state.seed.unit() < share
        {
            slowdown *= factor;
        }
        if let Some(ColdStart { factor, until_ns }) = state.truth.cold_start
            && state.cpu_ns < until_ns
        {
            slowdown *= factor;
        }
        let execution = state.truth.execution;
        if let Some((share, slower)) = execution.neighbour
            && state.seed.unit() < share
        {
            slowdown *= slower;
        }
        let drift = 1.0 + state.truth.drift_per_s * state.now_ns * 1e-9;
        let iteration_ns = state.truth.loop_ns + f64::from(unroll) * state.truth.op_ns;
        let nominal_ns = state.truth.call_ns + iterations as f64 * iteration_ns * slowdown * drift;
        let ns = state.execute(iterations as f64, f64::from(unroll), nominal_ns);
        // The short warm-up before a batch does not count as a batch.
        let is_batch = ns > 10_000.0;
        let contaminated = if is_batch { state.truth.contaminated } else { 0.0 };
        state.run(ns, contaminated);
        Ok(())
    }
}

/// A standard normal deviate (Box and Muller).
fn normal(seed: &mut Seed) -> f64 {
    let radius = (-2.0 * (1.0 - seed.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * seed.unit()).cos()
}

/// A Poisson deviate; by its definition for small means, which batches have.
fn poisson(seed: &mut Seed, mean: f64) -> u64 {
    if mean <= 0.0 {
        return 0;
    }
    if mean > 30.0 {
        return (mean + mean.sqrt() * normal(seed)).round().max(0.0) as u64;
    }
    let (limit, mut product, mut count) = ((-mean).exp(), seed.unit(), 0);
    while product > limit {
        product *= seed.unit();
        count += 1;
    }
    count
}
