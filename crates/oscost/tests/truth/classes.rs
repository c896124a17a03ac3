//! S18: classes and cost groups with known true values (docs/explanation/METHOD.md, section 7). The
//! costs, with noise of 2 % between processes, and the counts are synthetic; journal, estimates,
//! intervals, classes and groups are the real ones.

use std::collections::{BTreeMap, BTreeSet};

use oscost::estimate::Assembler;
use oscost::report;
use oscost::report::run::{CountedEvents, Plots};
use oscost_model::calls::{CallCount, CallRule, CallTimes, Caller};
use oscost_model::case::Case;
use oscost_model::clock::{Calibration, ClockKind, ClockSync};
use oscost_model::definition::Definition;
use oscost_model::facts::Facts;
use oscost_model::journal::{Entry, Phase, PlannedRow, RunHeader, WorkerOutcome};
use oscost_model::point::Point;
use oscost_model::record::{Machine, Record, Row, Settings, TargetInfo, Tool, WorkerProgram};
use oscost_model::seed::Seed;
use oscost_model::unit::Unit;
use oscost_model::worker::{BatchPlan, Disturbance, Mode, Sample, Usage};
use oscost_stats::groups::{Groups, MeasuredCost, group_costs};
use oscost_stats::interval::Interval;

/// The number of synthetic runs.
const RUNS: u64 = 200;
/// Repetitions of each row, as in a default run that converges early.
const WORKERS: u32 = 15;
/// The cost of the null call.
const NULL_CALL_NS: f64 = 120.0;

/// An op: its cost and its counts.
#[derive(Clone)]
struct Op {
    id: Option<&'static str>,
    ns: f64,
    entries: u64,
    count: CallCount,
    voluntary_switches: u64,
}

/// The means of 23 counted ops.
const OPS: u64 = 23;

fn op(ns: f64, entries: u64) -> Op {
    let own = if entries > 0 {
        BTreeMap::from([("call".to_owned(), entries * OPS)])
    } else {
        BTreeMap::new()
    };
    let count = CallCount {
        ops: OPS,
        own,
        by: "simulated".into(),
        tasks: Some(0),
        faults: Some(0),
        bytes: Some(0),
        vdso: Some(false),
        instructions: Some(1_000.0),
        ..CallCount::default()
    };
    Op { id: None, ns, entries, count, voluntary_switches: 0 }
}

impl Op {
    fn with_count(mut self, change: impl FnOnce(&mut CallCount)) -> Self {
        change(&mut self.count);
        self
    }

    fn definition(&self, id: &str) -> Definition {
        let rule = CallRule {
            call: "call".into(),
            times: CallTimes::Exactly(self.entries as u32),
            when: Point::none(),
            caller: Caller::Own,
            parts: None,
        };
        Definition {
            id: id.into(),
            asks: "What is the true value?".into(),
            op: String::new(),
            expected: String::new(),
            unit: Unit::NsPerOp,
            explanation: String::new(),
            calls: if self.entries > 0 { vec![rule] } else { vec![] },
            floor: vec![],
            compare_with: vec![],
            axes: vec![],
            needs: vec![],
            in_price_list: true,
            switches: self.voluntary_switches > 0,
            major_faults: false,
            bytes_axis: String::new(),
            peer_may_be_remote: false,
            setup_us: Point::none(),
            rev: 1,
            source: String::new(),
        }
    }
}

const PLAN: BatchPlan = BatchPlan {
    mode: Mode::B,
    iterations: 1_000,
    unroll_factors: Vec::new(),
    groups: 5,
    batch_ns: 50_000.0,
    coarse_clock: false,
};

/// A worker in which the op costs `ns`, in clock ticks of a hundredth of a nanosecond.
fn worker(row: u32, round: u32, op: &Op, ns: f64) -> Entry {
    let samples = (0..PLAN.groups)
        .map(|batch| Sample {
            round: batch,
            batch,
            n: PLAN.iterations,
            ticks: (ns * PLAN.iterations as f64 * 100.0) as i64,
            ..Sample::default()
        })
        .collect();
    let ops = u64::from(PLAN.groups) * PLAN.iterations;
    let voluntary_switches = op.voluntary_switches * ops;
    let usage = Some(Usage { ops, voluntary_switches, ..Usage::default() });
    let disturbance = Disturbance { wall_ns: 1_000_000, usage, ..Disturbance::default() };
    let disturbance = Box::new(disturbance);
    let outcome = WorkerOutcome::Sampled {
        samples,
        disturbance,
        monitor_wakeups_per_op: None,
        speculation: None,
    };
    Entry::Worker { row, phase: Phase::Round(round), at_s: 0.0, set: 0, outcome }
}

/// An approximately standard normal number: the sum of twelve uniform ones.
fn normal(seed: &mut Seed) -> f64 {
    (0..12).map(|_| seed.unit()).sum::<f64>() - 6.0
}

/// The record of a run of the null call and these ops.
fn run(ops: &[Op], seed: u64) -> Record {
    Assembler::read(&journal(ops, seed)).record(false).unwrap()
}

fn journal(ops: &[Op], seed: u64) -> Vec<Entry> {
    let mut random = Seed::new(seed);
    let target = TargetInfo {
        text: "simulated".into(),
        host: "simulated".into(),
        treatments: vec![],
        machine: "m0".into(),
        cpu: None,
        peer: None,
    };
    let null_call = op(NULL_CALL_NS, 1);
    let all: Vec<&Op> = [&null_call].into_iter().chain(ops).collect();
    let rows = all.iter().enumerate().map(|(index, op)| {
        let (id, point) = match index {
            0 => ("syscall/getppid".to_owned(), Point::none().with("via", "raw")),
            index => {
                let id = op.id.map_or(format!("simulated/op-{index}"), str::to_owned);
                (id, Point::none())
            }
        };
        PlannedRow {
            definition: op.definition(&id),
            case: Case::new(id, point),
            target: target.clone(),
            requested: true,
            is_reference: index == 0,
            is_refinement: false,
            monitored: false,
            workload: None,
            study_method: None,
        }
    });
    let worker_program = WorkerProgram {
        hash: String::new(),
        link: String::new(),
        libc: String::new(),
        catalog: String::new(),
    };
    let settings = Settings {
        seed,
        profile: "default".into(),
        precision_pct: Some(2.0),
        nominal: 0.965,
        budget_s: None,
        study: None,
        predictions: Vec::new(),
    };
    let calibration = Calibration {
        kind: ClockKind::Tsc,
        ticks_per_ns: 100.0,
        quantum_ticks: 1.0,
        inside_ticks: 0.0,
        pair_ticks: 0.0,
    };
    let mut entries = vec![
        Entry::Started(Box::new(RunHeader {
            id: "simulated".into(),
            started_at: String::new(),
            label: None,
            command: vec![],
            tool: Tool {
                version: String::new(),
                commit: None,
                rustc: None,
                worker: worker_program,
            },
            settings,
        })),
        Entry::MachineDescribed {
            machine: Box::new(Machine::new("m0", Facts::default(), vec![])),
            tracers: vec![],
        },
        Entry::Calibrated {
            machine: "m0".into(),
            calibration,
            sync: ClockSync { ticks: 0, raw_ns: 0, width_ticks: 0 },
            rejected_clocks: vec![],
        },
        Entry::Planned { rows: rows.collect(), timers: Vec::new() },
    ];
    for (row, op) in (0..).zip(&all) {
        entries.push(Entry::Piloted { row, plan: PLAN });
        entries.push(Entry::Counted { row, count: op.count.clone() });
        for round in 0..WORKERS {
            let ns = op.ns * (0.02 * normal(&mut random)).exp();
            entries.push(worker(row, round, op, ns));
        }
    }
    entries
}

fn has(row: &Row, flag: &str) -> bool {
    row.flags.iter().any(|it| it == flag)
}

/// Ops away from all boundaries, with their classes.
fn clear() -> Vec<(Op, &'static str)> {
    let waits = Op { voluntary_switches: 1, ..op(2_000.0, 2) };
    vec![
        (op(1.1, 0), "user"),
        (op(23.0, 0), "user"),
        (op(5_000.0, 0).with_count(|it| it.instructions = Some(20_000.0)), "user"),
        (op(2.5, 0).with_count(|it| it.vdso = Some(true)), "vdso"),
        (op(23.0, 0).with_count(|it| it.vdso = Some(true)), "vdso"),
        (op(130.0, 1), "light"),
        (op(130.0, 1).with_count(|it| it.vdso = Some(true)), "light"),
        (op(3.0 * NULL_CALL_NS * 0.9, 2), "light"),
        (op(3.0 * NULL_CALL_NS * 1.1, 1), "heavy"),
        (op(140.0, 1).with_count(|it| it.faults = Some(OPS)), "heavy"),
        (op(160.0, 1).with_count(|it| it.bytes = Some(OPS * 8_192)), "heavy"),
        (op(90_000.0, 4).with_count(|it| it.tasks = Some(OPS)), "heavy"),
        (waits, "blocking"),
        (
            Op { voluntary_switches: 1, ..op(150_000.0, 2) }.with_count(|it| it.tasks = Some(OPS)),
            "heavy",
        ),
    ]
}

#[test]
fn s18_classes_are_right_in_all_runs_away_from_the_boundary() {
    let (ops, expected): (Vec<Op>, Vec<&str>) = clear().into_iter().unzip();
    for seed in 0..RUNS {
        let record = run(&ops, seed);
        for (row, expected) in record.results[1..].iter().zip(&expected) {
            assert_eq!(row.class.as_deref(), Some(*expected), "seed {seed}: {row:#?}");
            assert!(!has(row, "CLASS_BORDERLINE"), "seed {seed}: {row:#?}");
            assert!(!has(row, "CLASS_UNEXPECTED"), "seed {seed}: {row:#?}");
        }
        assert_eq!(record.results[0].class.as_deref(), Some("light"), "the null call itself");
    }
}

#[test]
fn s18_three_null_calls_are_light_or_heavy_and_borderline() {
    let at_the_boundary = [op(3.0 * NULL_CALL_NS, 1)];
    let rows: Vec<Row> =
        (0..RUNS).map(|seed| run(&at_the_boundary, seed).results.remove(1)).collect();
    let found = rows.iter().filter(|row| has(row, "CLASS_BORDERLINE")).count();
    assert!(found as u64 >= RUNS * 95 / 100, "{found} of {RUNS}");
    let heavy = rows.iter().filter(|row| row.class.as_deref() == Some("heavy")).count() as u64;
    assert!((RUNS / 4..=RUNS * 3 / 4).contains(&heavy), "it is on either side: {heavy}");
}

#[test]
fn s18_contradictions_are_flagged_in_all_runs() {
    let fallen_back = Op { entries: 0, ..op(168.0, 1).with_count(|it| it.vdso = Some(true)) };
    let findings = [
        op(168.0, 0).with_count(|it| it.vdso = Some(true)),
        op(4_000.0, 0).with_count(|it| it.instructions = Some(8.0)),
        fallen_back,
    ];
    for seed in 0..RUNS / 4 {
        for (row, class) in run(&findings, seed).results[1..].iter().zip(["vdso", "user", "light"])
        {
            assert!(has(row, "CLASS_UNEXPECTED"), "seed {seed}: {row:#?}");
            assert_eq!(row.class.as_deref(), Some(class), "the class follows from the counts");
        }
    }
}

/// The cost of a row, as reports take it.
fn cost(row: &Row) -> MeasuredCost {
    let estimate = row.estimate.as_ref().unwrap();
    let interval = |[lo, hi]: [f64; 2]| Interval { lo, hi };
    let values: Vec<f64> = row.repetitions.iter().filter_map(|it| it.value).collect();
    let between_runs = interval(estimate.between_run_ci95.unwrap());
    let cost = MeasuredCost::new(estimate.median, between_runs).unwrap();
    cost.with_repetitions(&values, interval(estimate.ci95.unwrap()))
}

/// The cost groups of the rows of a run, including the null call.
fn grouped(record: &Record) -> Groups {
    let costs: Vec<MeasuredCost> = record.results.iter().map(cost).collect();
    group_costs(&costs, record.settings.seed)
}

#[test]
fn s18_cost_groups_are_right_in_all_runs_away_from_boundaries() {
    let ns = [1.1, 1.3, 23.0, 24.0, 130.0, 165.0, 1_000.0, 1_100.0, 2_400.0, 60_000.0];
    let ops: Vec<Op> = ns.iter().map(|&ns| op(ns, 1)).collect();
    // The null call of 120 ns comes first.
    let expected = [2, 0, 0, 1, 1, 2, 2, 3, 3, 4, 5];
    for seed in 0..RUNS / 4 {
        let found = grouped(&run(&ops, seed));
        assert!((0..6).all(|group| found.is_distinct(group)), "seed {seed}: {found:?}");
        let Groups { assignments: of, borderline, .. } = found;
        assert_eq!((of.as_slice(), borderline), (&expected[..], vec![]), "seed {seed}");
    }
}

#[test]
fn s18_a_cost_at_a_boundary_of_groups_is_borderline() {
    // A gap of 1.5 to eight equal costs, the largest of which is measured 1 % too high.
    let ops: Vec<Op> =
        [NULL_CALL_NS; 7].into_iter().chain([1.515 * NULL_CALL_NS]).map(|ns| op(ns, 1)).collect();
    let found = (0..RUNS / 4).filter(|&seed| {
        let Groups { borderline, .. } = grouped(&run(&ops, seed));
        borderline.iter().any(|it| it.item == 8)
    });
    let found = found.count() as u64;
    assert!(found >= RUNS / 4 * 90 / 100, "{found} of {}", RUNS / 4);
}

#[test]
fn s18_groups_that_another_run_would_not_find_are_not_shown() {
    // Thirty equal costs, and costs that lie at equal ratios: where these are cut is chance.
    let ops = equal_costs_and_a_chain(30);
    let records: Vec<Record> = (0..RUNS / 10).map(|seed| run(&ops, seed)).collect();
    let screens: Vec<String> = records.iter().map(cost_groups).collect();
    let groups: BTreeSet<Vec<usize>> =
        records.iter().map(|record| grouped(record).assignments).collect();
    assert!(groups.len() > 1, "runs of the same costs find different groups");
    let first_lines: BTreeSet<&str> =
        screens.iter().map(|text| text.lines().nth(1).unwrap_or_default()).collect();
    assert!(
        first_lines.iter().all(|line| line.starts_with("  1  1.") && line.contains(" 30 light")),
        "{first_lines:?}"
    );
    for (record, screen) in records.iter().zip(&screens) {
        let found = grouped(record);
        let shown = (0..found.count).filter(|&group| found.is_distinct(group)).count();
        let lines = screen.lines().skip(1).take_while(|line| !line.is_empty());
        assert_eq!(lines.filter(|line| is_group(line)).count(), shown, "{screen}");
        assert!(shown < found.count, "{found:?}");
        assert!(screen.contains("rows are in no group"), "{screen}");
    }
}

/// So many equal costs, and a chain of others without a gap.
fn equal_costs_and_a_chain(equal: usize) -> Vec<Op> {
    let chain = (0..24).map(|at| 100.0 * 1.5f64.powi(at));
    std::iter::repeat_n(1.1, equal).chain(chain).map(|ns| op(ns, 1)).collect()
}

#[test]
fn s18_groups_that_hold_fewer_than_half_of_the_costs_are_not_shown() {
    let ops = equal_costs_and_a_chain(5);
    let mut left_out = 0;
    for seed in 0..RUNS / 10 {
        let record = run(&ops, seed);
        let found = grouped(&record);
        let held = found.assignments.iter().filter(|group| found.is_distinct(**group)).count();
        let is_shown = !cost_groups(&record).is_empty();
        assert_eq!(is_shown, 2 * held >= found.assignments.len(), "{held}: {found:?}");
        left_out += u64::from(!is_shown && held > 0);
    }
    assert!(left_out > 0, "groups of few costs are found, and not shown");
}

#[test]
fn s18_no_table_of_groups_is_shown_without_a_stable_one() {
    let chain: Vec<Op> = (0..30).map(|at| op(10.0 * 1.45f64.powi(at), 1)).collect();
    let screens: Vec<String> = (0..RUNS / 10).map(|seed| report_of(&run(&chain, seed))).collect();
    let shown = screens.iter().filter(|screen| screen.contains("Cost groups")).count();
    assert_eq!(shown, 0, "{}", screens[0]);
}

/// Whether a line of the table is a group, with its number, and not a note.
fn is_group(line: &str) -> bool {
    let number = line.trim_start().split_once("  ").map(|(number, _)| number.parse::<u32>());
    number.is_some_and(|number| number.is_ok())
}

/// What a screen shows of a run.
fn report_of(record: &Record) -> String {
    report::terminal(&report::run::view(record, Plots::None, CountedEvents::default()))
}

/// The table of cost groups of a run, from its heading.
fn cost_groups(record: &Record) -> String {
    let screen = report_of(record);
    let table = screen.split_once("Cost groups").map(|(_, table)| table.to_owned());
    table.unwrap_or_default()
}

#[test]
fn s18_control_costs_alone_do_not_distinguish_the_vdso_from_a_function() {
    let ops = [op(23.0, 0), op(23.0, 0).with_count(|it| it.vdso = Some(true))];
    let record = run(&ops, 1);
    let Groups { assignments: of, .. } = grouped(&record);
    assert_eq!(of[1], of[2], "their costs are equal");
    assert_ne!(record.results[1].class, record.results[2].class, "their counts differ");
}

#[test]
fn a_row_whose_calls_were_not_counted_has_no_class() {
    let record = run(&[op(23.0, 0).with_count(|it| it.vdso = None)], 1);
    assert_eq!(record.results[1].class, None, "user or vdso: unknown");
    let mut entries = journal(&[op(23.0, 0), op(130.0, 1)], 1);
    entries.retain(|entry| !matches!(entry, Entry::Counted { .. }));
    let record = Assembler::read(&entries).record(false).unwrap();
    assert!(record.results.iter().all(|row| row.class.is_none()));
}

#[test]
fn costs_are_multiples_of_an_empty_function_and_of_a_null_call_or_its_replacement() {
    let pair = op(2_040.0, 2);
    let function = Op { id: Some("syscall/function"), ..op(2.0, 0) };
    let invalid = Op { id: Some("syscall/invalid"), ..op(102.0, 1) };
    let record = run(&[pair.clone(), function, invalid], 1);
    let found = &record.results[1].multiples;
    assert_eq!(found.keys().collect::<Vec<_>>(), ["syscall/function", "syscall/invalid"]);
    assert!((980.0..1_060.0).contains(&found["syscall/function"]), "{found:?}");
    assert!((19.0..21.0).contains(&found["syscall/invalid"]), "{found:?}");
    assert_eq!(record.results[3].multiples["syscall/invalid"], 1.0, "its own multiple");
    // Neither was measured: the null call replaces one of them, and nothing the other.
    let found = &run(&[pair], 1).results[1].multiples;
    assert_eq!(found.keys().collect::<Vec<_>>(), ["syscall/getppid:via=raw"]);
    assert!((16.0..18.0).contains(&found["syscall/getppid:via=raw"]), "{found:?}");
}
