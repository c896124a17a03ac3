//! One of everything that a store may hold.

use std::collections::BTreeMap;

use oscost_model::calls::{CallCount, CallRule, CallTimes, Caller};
use oscost_model::case::Case;
use oscost_model::clock::{Calibration, ClockKind, ClockSync};
use oscost_model::definition::{Axis, Definition, FloorPart, Need, Requirement};
use oscost_model::facts::{Bound, Facts, Limit};
use oscost_model::journal::{Entry, Phase, PlannedRow, RunHeader, WorkerOutcome};
use oscost_model::point::{Point, Value};
use oscost_model::protocol::CpuProbe;
use oscost_model::record::{Machine, RowOutcome, Settings, TargetInfo, Tool, WorkerProgram};
use oscost_model::unit::Unit;
use oscost_model::worker::{BatchPlan, Disturbance, Mode, Sample};

/// The id of a run; those of different numbers differ at their ends.
pub(crate) fn id(number: u32) -> String {
    format!("0190a0b1-c2d3-7e4f-8a9b-{number:012}")
}

/// How an ordinary run begins.
pub(crate) fn started() -> RunHeader {
    RunHeader {
        id: id(0),
        started_at: "2026-11-21T08:15:59.25Z".into(),
        label: Some("before the \u{4e2d} change".into()),
        command: ["oscost", "run", "--", "sh", "-c", "true\n\"x\""].map(String::from).into(),
        tool: tool(),
        settings: settings(),
    }
}

pub(crate) fn tool() -> Tool {
    Tool {
        version: "0.1.0".into(),
        commit: Some("0123abc".into()),
        rustc: None,
        worker: WorkerProgram {
            hash: "6c62272e07bb014262b821756295c58d".into(),
            link: "static-pie".into(),
            libc: "glibc 2.41".into(),
            catalog: "d228cb696f1a8caf78912b704e4a8964".into(),
        },
    }
}

pub(crate) fn settings() -> Settings {
    Settings {
        // Above 2^53: JSON readers that take every number for a float would lose its end.
        seed: u64::MAX - 1,
        profile: "default".into(),
        precision_pct: Some(2.0),
        nominal: 0.965,
        budget_s: None,
        study: None,
        predictions: Vec::new(),
    }
}

pub(crate) fn machine() -> Machine {
    let mut facts = Facts::default();
    facts.cpu.model_name = Some("Processor 3000".into());
    facts.limits.open_files = Limit { soft: Some(Bound::Max(1024)), hard: Some(Bound::UNLIMITED) };
    facts.mitigations = BTreeMap::from([("meltdown".into(), "Mitigation: PTI".into())]);
    facts.security.perf_event_paranoid = Some(-1);
    Machine::new("m0", facts, vec!["the governor is powersave".into()])
}

pub(crate) fn probe() -> CpuProbe {
    CpuProbe {
        cpu: 1,
        spin_ns: 100_000_000,
        gaps_over_1us: 12,
        gaps_over_5us: 3,
        lost_ns: 40_000,
        max_gap_ns: 9_000,
        run_delay_ns: None,
        core_cycles_per_ns: Some(3.1),
    }
}

pub(crate) fn target() -> TargetInfo {
    TargetInfo {
        text: "nice=5".into(),
        host: "local".into(),
        treatments: vec!["nice=5".into()],
        machine: "m0".into(),
        cpu: Some(1),
        peer: None,
    }
}

pub(crate) fn plan() -> BatchPlan {
    BatchPlan {
        mode: Mode::U,
        iterations: 10_000,
        unroll_factors: vec![1, 2, 4, 8],
        groups: 21,
        batch_ns: 1e6,
        coarse_clock: false,
    }
}

fn point() -> Point {
    Point::none().with("via", "raw").with("size", 4096)
}

fn definition() -> Definition {
    Definition {
        id: "syscall/getppid".into(),
        asks: "What does the shortest system call cost?".into(),
        op: "One getppid(2). Outside: nothing.".into(),
        expected: "60 ns".into(),
        unit: Unit::NsPerOp,
        explanation: String::new(),
        calls: vec![CallRule {
            call: "getppid".into(),
            times: CallTimes::Per { calls: 1, ops: 1 },
            when: Point::none(),
            caller: Caller::Own,
            parts: None,
        }],
        floor: vec![FloorPart { case: "timer/nothing".into(), times: 2, when: point() }],
        compare_with: vec![],
        axes: vec![Axis {
            name: "via".into(),
            sets: "how it is called".into(),
            points: vec!["raw".into(), Value::Number(4096)],
            default_points: vec!["raw".into()],
            implied: None,
            price_list_points: vec![],
            thorough_points: vec![],
            range: None,
            item: String::new(),
        }],
        needs: vec![Need {
            requirement: Requirement::Readable("/proc/self/stat".into()),
            when: Point::none(),
        }],
        in_price_list: true,
        switches: false,
        major_faults: false,
        bytes_axis: String::new(),
        peer_may_be_remote: false,
        setup_us: Point::none(),
        rev: 1,
        source: "getppid(2)".into(),
    }
}

/// A sample in which no part is left at zero.
pub(crate) fn sample(batch: u32) -> Sample {
    Sample {
        arm: 1,
        round: batch / 4,
        batch,
        n: 1_000 + u64::from(batch % 7),
        ticks: if batch == 3 { -20 } else { 260_000 + i64::from(batch % 11) },
        cpu_ns: (!batch.is_multiple_of(4)).then_some(100_000),
        involuntary_switches: batch % 5,
        major_faults: batch % 2,
        migrated: batch.is_multiple_of(3),
        windows: None,
    }
}

/// A worker with this number of samples.
pub(crate) fn worker(row: u32, samples: u32) -> Entry {
    let outcome = WorkerOutcome::Sampled {
        samples: (0..samples).map(sample).collect(),
        disturbance: Box::new(Disturbance {
            wall_ns: 20_000_000,
            cpu_ns: 19_900_000,
            run_delay_ns: Some(0),
            steal_ticks: None,
            busy_ticks: None,
            throttled_periods: None,
            switches_uncounted: false,
            usage: None,
            core_cycles_per_ns: None,
            file: None,
            channel: None,
        }),
        monitor_wakeups_per_op: None,
        speculation: None,
    };
    Entry::Worker { row, phase: Phase::Round(row), at_s: f64::from(row) * 0.25, set: 0, outcome }
}

/// A journal with each kind of entry.
pub(crate) fn entries() -> Vec<Entry> {
    let count = CallCount {
        ops: 23,
        own: BTreeMap::from([("getppid".into(), 23)]),
        peer: BTreeMap::new(),
        by: "ptrace".into(),
        ..CallCount::default()
    };
    let calibration = Calibration {
        kind: ClockKind::Tsc,
        ticks_per_ns: 2.600_123,
        quantum_ticks: 26.0,
        inside_ticks: 49.5,
        pair_ticks: 88.0,
    };
    let row = PlannedRow {
        case: Case::new("syscall/getppid", point()),
        definition: definition(),
        target: target(),
        requested: true,
        is_reference: false,
        is_refinement: false,
        monitored: false,
        workload: None,
        study_method: None,
    };
    let reference_case = PlannedRow { requested: false, is_reference: true, ..row.clone() };
    let lost = WorkerOutcome::Lost {
        outcome: RowOutcome::TimedOut,
        reason: "the worker took longer than 2 s".into(),
    };
    vec![
        Entry::Started(Box::new(started())),
        Entry::MachineDescribed { machine: Box::new(machine()), tracers: vec!["perf".into()] },
        Entry::CpuChosen { machine: "m0".into(), probe: vec![probe()], cpu: Some(1) },
        Entry::Calibrated {
            machine: "m0".into(),
            calibration,
            sync: ClockSync { ticks: u64::MAX, raw_ns: 1 << 60, width_ticks: 40 },
            rejected_clocks: vec!["tsc: not invariant".into()],
        },
        Entry::Planned { rows: vec![row, reference_case], timers: vec![] },
        Entry::Piloted { row: 0, plan: plan() },
        worker(0, 40),
        Entry::Worker { row: 1, phase: Phase::After, at_s: 1.5, set: 0, outcome: lost },
        Entry::Counted { row: 0, count },
        Entry::NotCounted { row: 1, reason: "ptrace: permission denied".into() },
        Entry::Abandoned { row: 1, outcome: RowOutcome::Skipped, reason: "no vDSO".into() },
        Entry::RowFinished { row: 0, converged: true },
        Entry::Ended { at: "2026-11-21T08:16:02.5Z".into(), complete: true },
    ]
}
