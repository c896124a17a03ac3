//! The counters of the simulated machine.

use oscost_model::counters::CounterEvent;

use super::SimulatedMachine;
use super::execution::CounterDefect;
use crate::engine::collect::CounterReads;
use crate::engine::events::source::{CounterSource, WindowCounts, WindowError, increase};
use crate::kernel::Errno;
use crate::kernel::cpu::instruction_loop::LOOP_INSTRUCTIONS;
use crate::kernel::probe::perf::OpenError;

/// Misses of any kind per cycle: enough to tell their counts from zero.
const MISSES_PER_CYCLE: f64 = 0.002;

/// What a read shows.
#[derive(Clone, Debug, Default)]
struct Values {
    counts: Vec<u64>,
    running_ns: f64,
}

/// Counters of a set of events of the simulated process.
pub struct SimCounters {
    machine: SimulatedMachine,
    events: Vec<CounterEvent>,
    first: Values,
    last: Values,
}

impl SimCounters {
    /// Opens counters, which the machine may not have.
    pub fn open(machine: &SimulatedMachine, events: &[CounterEvent]) -> Result<Self, OpenError> {
        let defect = machine.0.borrow().truth.execution.defect;
        let refusal = |event: CounterEvent| match (defect, event) {
            (_, event) if event.is_software() => None,
            (Some(CounterDefect::Absent), _) => Some(Errno::ENOENT),
            (Some(CounterDefect::Taken), _) => Some(Errno::EBUSY),
            (
                Some(CounterDefect::UserOnly),
                CounterEvent::InstructionsKernel | CounterEvent::Instructions,
            ) => Some(Errno::EACCES),
            _ => None,
        };
        for &event in events {
            if let Some(errno) = refusal(event) {
                return Err(OpenError { event, errno });
            }
        }
        Ok(Self {
            machine: machine.clone(),
            events: events.to_vec(),
            first: Values::default(),
            last: Values::default(),
        })
    }

    fn defect(&self) -> Option<CounterDefect> {
        self.machine.0.borrow().truth.execution.defect
    }

    /// Half of what a read adds, the counters' values, and the other half.
    fn read(&self) -> Values {
        self.machine.0.borrow_mut().read_half();
        let state = self.machine.0.borrow();
        let (executed, defect) = (state.executed, state.truth.execution.defect);
        let count = |&event: &CounterEvent| {
            let insn_user = match defect {
                Some(CounterDefect::Loses(share)) => executed.insn_user * share,
                _ => executed.insn_user,
            };
            let exact = match event {
                CounterEvent::InstructionsUser => insn_user,
                CounterEvent::InstructionsKernel => executed.insn_kernel,
                CounterEvent::Instructions => insn_user + executed.insn_kernel,
                CounterEvent::Cycles => match defect {
                    Some(CounterDefect::Backwards) => 1e15 - executed.cycles,
                    _ => executed.cycles,
                },
                CounterEvent::TaskClock => state.cpu_ns,
                CounterEvent::PageFaults | CounterEvent::Migrations => 0.0,
                CounterEvent::ContextSwitches => state.counted_preemptions as f64,
                _ => executed.cycles * MISSES_PER_CYCLE,
            };
            match defect {
                Some(CounterDefect::StandsStill(still)) if still == event => 0,
                Some(CounterDefect::Wraps(bits)) if !event.is_software() => {
                    let range = 1_u64 << bits;
                    (range - 100_000 + exact as u64) % range
                }
                _ => exact as u64,
            }
        };
        let values =
            Values { counts: self.events.iter().map(count).collect(), running_ns: state.cpu_ns };
        drop(state);
        self.machine.0.borrow_mut().read_half();
        values
    }
}

impl CounterReads for SimCounters {
    fn makes_syscalls(&self) -> bool {
        true
    }

    fn before(&mut self) {
        self.first = self.read();
    }

    fn after(&mut self) {
        self.last = self.read();
    }
}

impl CounterSource for SimCounters {
    fn events(&self) -> &[CounterEvent] {
        &self.events
    }

    fn is_inherited(&self) -> bool {
        false
    }

    fn enable(&mut self) -> Result<(), Errno> {
        Ok(())
    }

    fn disable(&mut self) -> Result<(), Errno> {
        Ok(())
    }

    fn window(&self) -> Result<WindowCounts, WindowError> {
        let width = match self.defect() {
            Some(CounterDefect::Wraps(bits)) => Some(bits),
            _ => Some(48),
        };
        let counts = self.first.counts.iter().zip(&self.last.counts).zip(&self.events).map(
            |((&first, &last), &event)| {
                increase(first, last, width).ok_or(WindowError::Backwards(event))
            },
        );
        let enabled_ns = (self.last.running_ns - self.first.running_ns) as u64;
        let counting_ns = match self.defect() {
            Some(CounterDefect::Multiplexed(share)) => (enabled_ns as f64 * share) as u64,
            _ => enabled_ns,
        };
        Ok(WindowCounts { counts: counts.collect::<Result<_, _>>()?, enabled_ns, counting_ns })
    }

    fn run_known_loop(&mut self, iterations: u64) {
        let mut state = self.machine.0.borrow_mut();
        let insn = (iterations * LOOP_INSTRUCTIONS) as f64;
        let cycles = iterations as f64;
        let ns = cycles / (state.truth.execution.ghz * state.truth.execution.clock);
        state.executed.insn_user += insn;
        state.executed.cycles += cycles;
        state.run(ns, 0.0);
    }
}

#[cfg(test)]
mod tests;
