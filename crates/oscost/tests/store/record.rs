//! A record with one of everything, and the stored file of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use oscost::store::{StoredRun, validate};

use oscost_model::point::Point;
use oscost_model::record::{
    AddedCost, Calls, Comparison, Conditions, DisturbanceSummary, Estimate, Floor, Metric,
    Overhead, Quantiles, Ratio, Record, ReferenceCases, Repetition, Row, RowOutcome, SCHEMA,
};
use oscost_model::unit::{Better, Unit};
use oscost_model::worker::Mode;
use serde_json::json;

use super::examples::{id, machine, plan, probe, sample, settings, target, tool};
use super::new_store;

pub(crate) fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/store").join(name)
}

/// The file is never regenerated: it represents records that users keep. Until the first release a
/// renamed key is renamed in it by hand.
#[test]
fn a_record_of_version_1_is_imported() {
    let bytes = fs::read(golden("run-1.json")).unwrap();
    assert_eq!(validate(&bytes).unwrap(), record());
    let (_folder, mut store) = new_store();
    let id = store.import(&bytes).unwrap();
    assert_eq!(store.load(&id).unwrap(), StoredRun::Imported(Box::new(record())));
}

fn estimate(median: f64, repetitions: u32) -> Estimate {
    Estimate {
        exact: false,
        median,
        ci95: Some([median - 1.0, median + 1.0]),
        between_run_ci95: None,
        levels: None,
        raw_median: median + 2.0,
        overhead: Overhead { clock: Some(0.5), loop_cost: None },
        mean: median,
        sd: Some(0.5),
        sd_within: None,
        min: median - 2.0,
        p10: median - 1.5,
        repetitions,
        samples: 40,
        ops_per_sample: 1_000,
        half_width_pct: Some(1.25),
        converged: true,
        quantiles: Some(Quantiles {
            of: "op".into(),
            n: 40,
            p50: median,
            p90: Some(median + 3.0),
            p99: None,
            p999: None,
            max: 99.5,
        }),
    }
}

fn row(case: &str) -> Row {
    let repetition = |round| Repetition {
        round,
        at_s: 0.25,
        arm: 0,
        value: Some(80.0),
        value_all: Some(80.5),
        batches: 20,
        rejected: BTreeMap::from([("preempted".into(), 1)]),
        lost_pct: Some(0.0),
        core_cycles_per_ns: None,
        reason: None,
        samples: Some(vec![sample(0), sample(1)]),
        parameters: None,
    };
    let metric = Metric { unit: Unit::Seconds, better: Better::Lower, estimate: estimate(3.0, 2) };
    Row {
        case: case.into(),
        benchmark: "syscall/getppid".into(),
        rev: 1,
        point: Point::none().with("via", "raw"),
        target: target(),
        outcome: RowOutcome::Measured,
        reason: None,
        mode: Some(Mode::U),
        unit: Unit::NsPerOp,
        better: Better::Lower,
        estimate: Some(estimate(80.0, 2)),
        metrics: BTreeMap::from([("user".into(), metric)]),
        repetitions: vec![repetition(0), repetition(1)],
        calls: Some(Calls {
            per_op: BTreeMap::from([("getppid".into(), 1.0)]),
            peer_per_op: BTreeMap::new(),
            counted_ops: 23,
            by: "ptrace".into(),
            expected: true,
            unexpected: vec![],
            vdso: None,
            instructions_per_op: None,
            tasks_per_op: None,
            faults_per_op: None,
            bytes_per_op: None,
        }),
        monitor: None,
        core_rate: None,
        floor: Some(Floor { value: None, of: vec!["1 x timer/nothing".into()] }),
        expected: "60 ns".into(),
        class: Some("light".into()),
        multiples: BTreeMap::new(),
        primary_metric: None,
        command: None,
        program: None,
        sampled_parameters: vec![],
        counters: None,
        file: None,
        channel: None,
        disturbed: DisturbanceSummary {
            lost_repetitions: 0,
            rejected_pct: Some(5.0),
            rejected: BTreeMap::new(),
            lost_pct: Some(0.0),
            median_all: Some(80.5),
            plan: Some(plan()),
        },
        study_method: None,
        flags: vec!["BELOW_FLOOR".into()],
    }
}

/// A record with one of everything.
pub(crate) fn record() -> Record {
    let skipped = Row {
        outcome: RowOutcome::Skipped,
        reason: Some("the vDSO is off".into()),
        estimate: None,
        repetitions: vec![],
        calls: None,
        ..row("syscall/getppid:via=vdso")
    };
    let clock = json!({"source": "tsc", "ticks_per_ns": 2.6, "rate_error_ppm": 0.5, "q_ns": 10.0,
        "c_in_ns": 19.0, "c_tot_ns": 34.0, "rejected_clocks": []});
    let mut machine = machine();
    machine.clock = serde_json::from_value(clock).unwrap();
    Record {
        schema: SCHEMA.into(),
        id: id(1),
        started: "2026-11-21T08:15:00Z".into(),
        ended: Some("2026-11-21T08:16:00.5Z".into()),
        complete: true,
        label: Some("a colleague's".into()),
        command: vec!["oscost".into(), "run".into()],
        tool: tool(),
        settings: settings(),
        machines: vec![machine],
        conditions: vec![Conditions {
            machine: "m0".into(),
            class: Some("quiet".into()),
            reference_cases: ReferenceCases {
                before: BTreeMap::from([("timer/nothing".into(), 0.25)]),
                after: BTreeMap::new(),
            },
            lambda_per_s: Some(30.0),
            steal_pct: None,
            lost_pct: Some(0.0),
            tracers: vec![],
            probe: vec![probe()],
            core: None,
            flags: vec![],
        }],
        results: vec![row("syscall/getppid:via=raw"), skipped],
        comparisons: vec![Comparison {
            case: "syscall/getppid:via=raw".into(),
            metric: "primary".into(),
            base: 0,
            new: 1,
            design: "pairs".into(),
            pairs: 10,
            span_s: 20.0,
            ratio: Ratio { value: 1.01, ci95: Some([0.99, 1.03]) },
            added: AddedCost { value: 0.8, ci95: None, unit: Unit::NsPerOp },
            p: 0.75,
            q: 0.75,
            verdict: "inconclusive".into(),
            mde_pct: Some(3.0),
            ties: 0,
            added_cycles: None,
            monitor_events_per_op: None,
            decomposition: None,
            control: false,
            flags: vec![],
        }],
        timers: vec![],
        curves: vec![],
        half_round_trips: vec![],
        crossings: vec![],
        steps: vec![],
        fleet: None,
    }
}
