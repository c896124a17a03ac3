//! The record of a simulated visit.

use std::time::{Duration, UNIX_EPOCH};

use oscost_model::case::Case;
use oscost_model::fleet::FleetVisit;
use oscost_model::point::Point;
use oscost_model::record::{
    DisturbanceSummary, Estimate, Record, Repetition, Row, RowOutcome, SCHEMA, Settings,
    TargetInfo, Tool, WorkerProgram,
};
use oscost_model::seed::Seed;
use oscost_model::unit::Unit;
use oscost_model::worker::{BatchPlan, Mode};
use oscost_stats::interval::Nominal;

use super::machine::{MACHINE, conditions, machine};
use crate::app::measurement::run_header::rfc3339;
use crate::estimate::estimate_values;
use crate::fleet::{CaseFigure, FleetCase, FleetNode, NodeVisit};

/// The workers of a case; fewer have no interval.
const REPETITIONS: u32 = 6;

/// The batches of each.
const BATCHES: u32 = 21;

/// The time that a worker takes, in milliseconds.
const WORKER_MS: u32 = 30;

/// The standard deviation between workers, of a figure that says nothing of its error.
const USUAL_SD: f64 = 0.005;

/// The standard error of the median of so many normal values, in their standard deviations.
const ERROR_OF_MEDIAN: f64 = 0.5;

/// What all programs and texts of the records are called.
const SIMULATED: &str = "simulated";

/// A visit, with what its record needs besides.
pub(super) struct SimulatedVisit<'a> {
    pub(super) visit: FleetVisit,
    pub(super) seed: u64,
    pub(super) node: &'a FleetNode,
    pub(super) cases: &'a [FleetCase],
    pub(super) figures: &'a NodeVisit,
    pub(super) command: &'a [String],
}

impl SimulatedVisit<'_> {
    /// Its record.
    pub(super) fn record(self) -> anyhow::Result<Record> {
        let Self { visit, seed, node, cases, figures, command } = self;
        let word = || SIMULATED.to_owned();
        let worker = WorkerProgram { hash: word(), link: word(), libc: word(), catalog: word() };
        let mut random = Seed::new(seed ^ (u64::from(visit.task) << 20));
        let row_count = figures.figures.len() as u32;
        let rows = (0u32..).zip(&figures.figures).filter_map(|(at, figure)| {
            let case = cases.get(figure.case as usize)?;
            Some(row(case, *figure, RowPosition { at, row_count }, &mut random))
        });
        let results = rows.collect();
        let started = UNIX_EPOCH + Duration::try_from_secs_f64(figures.started_s)?;
        let duration = Duration::from_millis(u64::from(REPETITIONS * WORKER_MS * row_count));
        Ok(Record {
            schema: SCHEMA.to_owned(),
            id: run_id(figures.started_s, seed, visit.task),
            started: rfc3339(started),
            ended: Some(rfc3339(started + duration)),
            complete: true,
            label: Some(word()),
            command: command.to_vec(),
            tool: Tool {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                commit: None,
                rustc: None,
                worker,
            },
            settings: Settings {
                seed,
                profile: "quick".to_owned(),
                precision_pct: None,
                nominal: Nominal::FIXED.share(),
                budget_s: None,
                study: None,
                predictions: Vec::new(),
            },
            machines: vec![machine(node)?],
            conditions: vec![conditions(node, figures.not_claimable)],
            results,
            comparisons: Vec::new(),
            timers: Vec::new(),
            curves: Vec::new(),
            half_round_trips: Vec::new(),
            crossings: Vec::new(),
            steps: Vec::new(),
            fleet: Some(visit),
        })
    }
}

/// A UUID of version 7 in which time, seed and task stand for what is random: the same simulation
/// has the same ids.
pub(super) fn run_id(started_s: f64, seed: u64, task: u32) -> String {
    let ms = ((started_s * 1e3) as u64) & 0xffff_ffff_ffff;
    let end = (((seed >> 24) & 0xffff) << 32) | u64::from(task);
    format!(
        "{:08x}-{:04x}-7{:03x}-8{:03x}-{end:012x}",
        ms >> 16,
        ms & 0xffff,
        seed & 0xfff,
        (seed >> 12) & 0xfff
    )
}

/// Where a row is in its record.
#[derive(Clone, Copy)]
struct RowPosition {
    at: u32,
    row_count: u32,
}

fn row(case: &FleetCase, figure: CaseFigure, position: RowPosition, random: &mut Seed) -> Row {
    let values = values(figure, random);
    let estimate = estimate_values(&values, Nominal::FIXED).map(|estimate| Estimate {
        samples: u64::from(REPETITIONS * BATCHES),
        ops_per_sample: 1_000,
        converged: true,
        ..estimate
    });
    let parsed = Case::parse(&case.case);
    let benchmark = case.case.split(':').next().unwrap_or_default().to_owned();
    let repetition = |(round, value): (u32, f64)| Repetition {
        round,
        at_s: f64::from((round * position.row_count + position.at) * WORKER_MS) / 1e3,
        arm: 0,
        value: Some(value),
        value_all: Some(value),
        batches: BATCHES,
        rejected: Default::default(),
        lost_pct: Some(0.0),
        core_cycles_per_ns: None,
        reason: None,
        samples: None,
        parameters: None,
    };
    Row {
        case: case.case.clone(),
        benchmark,
        rev: 1,
        point: parsed.map_or_else(Point::none, |case| case.point),
        target: target(),
        outcome: RowOutcome::Measured,
        reason: None,
        mode: Some(Mode::B),
        unit: case.unit,
        better: case.better,
        primary_metric: None,
        command: None,
        program: None,
        sampled_parameters: Vec::new(),
        metrics: Default::default(),
        counters: None,
        repetitions: (0..).zip(values).map(repetition).collect(),
        calls: None,
        monitor: None,
        core_rate: None,
        floor: None,
        expected: SIMULATED.to_owned(),
        class: None,
        multiples: Default::default(),
        file: None,
        channel: None,
        disturbed: disturbed(case.unit, estimate.as_ref().map(|estimate| estimate.median)),
        study_method: None,
        flags: Vec::new(),
        estimate,
    }
}

/// Values of workers whose median is the figure: pairs on both sides of it, in random order.
fn values(figure: CaseFigure, random: &mut Seed) -> Vec<f64> {
    let CaseFigure { median, log_error, .. } = figure;
    let sd = match log_error.is_finite() {
        true => f64::from(log_error) / ERROR_OF_MEDIAN,
        false => USUAL_SD,
    };
    let mut values = Vec::new();
    for _ in 0..REPETITIONS / 2 {
        // The sum of twelve uniform values is nearly normal.
        let normal = (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
        values.extend([(sd * normal).exp() * median, (-sd * normal).exp() * median]);
    }
    random.shuffle(&mut values);
    values
}

fn target() -> TargetInfo {
    TargetInfo {
        text: "local".to_owned(),
        host: "local".to_owned(),
        treatments: Vec::new(),
        machine: MACHINE.to_owned(),
        cpu: Some(0),
        peer: None,
    }
}

fn disturbed(unit: Unit, median: Option<f64>) -> DisturbanceSummary {
    let plan = BatchPlan {
        mode: Mode::B,
        iterations: 1_000,
        unroll_factors: vec![1],
        groups: BATCHES,
        batch_ns: 1e6,
        coarse_clock: false,
    };
    DisturbanceSummary {
        lost_repetitions: 0,
        rejected_pct: Some(0.0),
        rejected: Default::default(),
        lost_pct: Some(0.0),
        median_all: median,
        // Only times of ops are of batches.
        plan: (unit == Unit::NsPerOp).then_some(plan),
    }
}
