//! A core that runs at another rate in each run: the real pipeline on a simulated machine
//! (docs/explanation/METHOD.md, section 11).

use oscost::estimate::between_runs::{SystemRuns, variations};
use oscost::estimate::core_rate::cycles_estimate;
use oscost::run::Profile;
use oscost_model::counters::CORE_CYCLES;
use oscost_model::record::{Estimate, Row};
use oscost_stats::between_runs::RunMedian;
use oscost_stats::core_rate::RatedRun;
use oscost_stats::interval::{Interval, Nominal};
use oscost_worker::engine::simulator::{Execution, Truth};

use crate::sim::{SimulatedSubject, measure, measure_with_variation};

/// The clocks of the earlier runs, as factors of the core's own.
const CLOCKS: [f64; 12] = [1.0, 0.5, 0.8, 0.65, 0.95, 0.55, 0.7, 0.9, 0.6, 0.85, 0.75, 0.5];

/// An op of the core, and one that waits for memory, which has a clock of its own.
fn subjects(clock: f64) -> [SimulatedSubject; 2] {
    let execution = Execution { clock, ..Execution::QUIET };
    let core = Truth { execution, ..Truth::QUIET };
    let memory = Truth { op_ns: Truth::QUIET.op_ns * clock, ..core.clone() };
    [core, memory].map(SimulatedSubject::op)
}

/// A figure as the store keeps it.
fn stored(estimate: &Estimate) -> RunMedian {
    let [lo, hi] = estimate.ci95.unwrap().map(f64::ln);
    RunMedian::from_interval(estimate.median.ln(), Interval { lo, hi })
}

#[test]
fn a_core_of_another_rate_in_each_run_moves_times_and_not_cycles() {
    let mut earlier = SystemRuns::default();
    let rate = |row: &Row| row.core_rate.as_ref().unwrap().cycles_per_ns;
    let mut rates = Vec::new();
    for (seed, clock) in (1..).zip(CLOCKS) {
        let rows = measure(&subjects(clock), Profile::Quick, seed).results;
        rates.push(rate(&rows[0]));
        for row in &rows {
            let time = stored(row.estimate.as_ref().unwrap());
            let cycles = stored(&cycles_estimate(row, Nominal::FIXED).unwrap());
            let boot = format!("boot {seed}");
            let run = RatedRun { time, cycles };
            earlier.insert_rated(&row.target.text, &row.case, Some(&boot), run);
        }
    }
    for (found, clock) in rates.iter().zip(CLOCKS) {
        assert!((found / rates[0] / clock - 1.0).abs() < 0.01, "{found} at {clock}");
    }
    let known = |rows: &[Row]| variations(rows, &earlier);
    let rows = measure_with_variation(&subjects(0.62), known, 99).results;
    let [core, memory] = &rows[..] else { panic!("{rows:?}") };
    assert!(core.core_rate.as_ref().unwrap().follows, "{:?}", core.core_rate);
    let width = |estimate: &Estimate| {
        let [low, high] = estimate.between_run_ci95.unwrap();
        (high / low).ln()
    };
    let cycles = &core.metrics[CORE_CYCLES].estimate;
    let [low, high] = cycles.between_run_ci95.unwrap();
    let truth = (Truth::QUIET.op_ns + Truth::QUIET.loop_ns) * rates[0];
    assert!((low..=high).contains(&truth), "{truth} in {low} .. {high}");
    let (in_cycles, in_time) = (width(cycles), width(core.estimate.as_ref().unwrap()));
    assert!(in_cycles < 0.7 * in_time, "{in_cycles} {in_time}");
    assert!(!memory.core_rate.as_ref().unwrap().follows, "{:?}", memory.core_rate);
    assert!(!memory.metrics.contains_key(CORE_CYCLES));
    // Without earlier runs, the one rate of a run shows nothing.
    let alone = &measure(&subjects(0.62), Profile::Quick, 99).results;
    assert!(alone.iter().all(|row| !row.core_rate.as_ref().unwrap().follows), "{alone:?}");
}
