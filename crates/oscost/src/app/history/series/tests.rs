//! Series of made-up runs at several rates of the core.

use oscost_model::seed::Seed;

use super::*;
use crate::store::{Figure, Summary};

/// A run of a case of 600 cycles at this rate of the core, in time and in cycles; with a slope of 0
/// its time does not follow the rate.
fn run(day: usize, rate: f64, cycles: f64, slope: f64) -> SummarisedRun {
    let time = cycles * rate.powf(-slope);
    let figure = |unit: Unit, median: f64| Figure {
        case: "syscall/read".to_owned(),
        target: "local".to_owned(),
        machine: Some(0),
        peer: None,
        cpu: Some(1),
        rev: 1,
        unit,
        mode: None,
        subject: None,
        file: None,
        monitor: None,
        flags: Vec::new(),
        median,
        interval: Some([0.999 * median, 1.001 * median]),
        counts: None,
        metrics: Vec::new(),
    };
    let state = MachineState { machine: "m".to_owned(), ..MachineState::default() };
    let summary = Summary {
        machine_states: vec![state],
        figures: vec![figure(Unit::NsPerOp, time), figure(Unit::CyclesPerOp, time * rate)],
        ..Summary::default()
    };
    let started = format!("2026-10-{:02}T08:00:00Z", day + 1);
    SummarisedRun { id: format!("{day:02}"), started, imported: false, summary }
}

/// The history of thirty runs at half to all of the core's rate, with a step of 20 % at the middle.
fn stepped(slope: f64) -> History {
    let mut seed = Seed::new(5);
    let runs: Vec<SummarisedRun> = (0..30)
        .map(|day| {
            let rate = 1.5 + 1.5 * seed.unit();
            let noise = 1.0 + 0.01 * (seed.unit() - 0.5);
            let step = if day < 15 { 1.0 } else { 1.2 };
            run(day, rate, 600.0 * step * noise, slope)
        })
        .collect();
    let query = Query { target: "local", last: 100, named: true };
    history(&runs, &query, Vec::new())
}

#[test]
fn a_case_that_follows_the_core_has_its_verdict_in_cycles_and_its_time_beside() {
    let found = stepped(1.0);
    let [cycles, time] = &found.series[..] else { panic!("{:?}", found.series.len()) };
    assert_eq!((cycles.unit, cycles.secondary), (Unit::CyclesPerOp, false));
    assert_eq!((time.unit, time.secondary), (Unit::NsPerOp, true));
    // The core's rate hides the step in time.
    let points: Vec<usize> = cycles.changes.iter().map(|it| it.point).collect();
    assert_eq!(points, [15]);
    assert!(time.between_run_sd.unwrap() > 3.0 * cycles.between_run_sd.unwrap());
}

#[test]
fn a_case_of_memory_has_no_series_in_cycles() {
    let found = stepped(0.0);
    let [time] = &found.series[..] else { panic!("{:?}", found.series.len()) };
    assert_eq!((time.unit, time.secondary), (Unit::NsPerOp, false));
    assert_eq!(time.changes.len(), 1);
}
