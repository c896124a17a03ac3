use super::*;
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
