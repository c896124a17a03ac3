//! Journals of runs on simulated machines that count instructions: one boot, or two that are
//! compared.

use oscost_model::case::Case;
use oscost_model::clock::{Calibration, ClockKind, ClockSync};
use oscost_model::definition::Definition;
use oscost_model::facts::Facts;
use oscost_model::journal::{Design, Entry, Pairing, Phase, PlannedRow, RunHeader, WorkerOutcome};
use oscost_model::point::Point;
use oscost_model::record::{Machine, RowOutcome, Settings, TargetInfo, Tool, Vm, WorkerProgram};
use oscost_model::unit::Unit;
use oscost_model::worker::{BatchPlan, Disturbance, Mode, Sample, Usage};

/// A booted kernel and the instructions of its calls.
#[derive(Clone)]
pub(crate) struct Kernel {
    pub(crate) release: &'static str,
    pub(crate) append: Option<&'static str>,
    /// Instructions of an op by benchmark, for each of its workers; `None` for a lost one.
    pub(crate) costs: Vec<(&'static str, Vec<Option<i64>>)>,
}

/// Three workers that agree.
pub(crate) fn exactly(cost: i64) -> Vec<Option<i64>> {
    vec![Some(cost); 3]
}

/// A kernel of this release whose calls take exactly these numbers of instructions.
pub(crate) fn kernel(release: &'static str, costs: &[(&'static str, i64)]) -> Kernel {
    let costs = costs.iter().map(|&(case, cost)| (case, exactly(cost))).collect();
    Kernel { release, append: None, costs }
}

impl Kernel {
    fn target(&self, id: &str) -> TargetInfo {
        let append = self.append.map(|words| format!(",append={words}")).unwrap_or_default();
        let host = format!("vm:{}{append}", self.release);
        let (text, machine) = (host.clone(), id.to_owned());
        TargetInfo { text, host, treatments: vec![], machine, cpu: Some(0), peer: None }
    }

    fn machine(&self, id: &str) -> Machine {
        let mut facts = Facts::default();
        facts.os.release = Some(self.release.to_owned());
        facts.os.cmdline = Some(self.append.unwrap_or("quiet").to_owned());
        facts.cpu.model_name = Some("QEMU Virtual CPU".to_owned());
        facts.virtualization = Some("qemu".to_owned());
        let vm = Vm {
            kernel: self.release.to_owned(),
            image: "0123abcd".to_owned(),
            emulator: "QEMU 7.2.22".to_owned(),
            accel: "tcg".to_owned(),
            cpu: "max".to_owned(),
            mem_mib: 512,
            append: self.append.map(str::to_owned),
        };
        Machine { vm: Some(vm), ..Machine::new(id, facts, vec![]) }
    }

    fn row(&self, benchmark: &str, id: &str) -> PlannedRow {
        let definition = Definition {
            id: benchmark.to_owned(),
            asks: "How many instructions does it take?".to_owned(),
            op: String::new(),
            expected: String::new(),
            unit: Unit::InstructionsPerOp,
            explanation: String::new(),
            calls: vec![],
            floor: vec![],
            compare_with: vec![],
            axes: vec![],
            needs: vec![],
            in_price_list: true,
            switches: false,
            major_faults: false,
            bytes_axis: String::new(),
            peer_may_be_remote: false,
            setup_us: Point::none(),
            rev: 1,
            source: String::new(),
        };
        PlannedRow {
            case: Case::new(benchmark, Point::none()),
            definition,
            target: self.target(id),
            requested: true,
            is_reference: false,
            is_refinement: false,
            monitored: false,
            workload: None,
            study_method: None,
        }
    }
}

/// The outcome of a worker whose op takes this many instructions, its clock and loop some more.
fn worker(cost: Option<i64>) -> WorkerOutcome {
    let Some(cost) = cost else {
        let reason = "it was killed".to_owned();
        return WorkerOutcome::Lost { outcome: RowOutcome::Failed, reason };
    };
    let of_group = |round: u32| {
        [100u64, 200, 400].into_iter().enumerate().map(move |(at, n)| Sample {
            round,
            batch: 3 * round + at as u32,
            n,
            ticks: 911 + cost * n as i64,
            cpu_ns: Some(1),
            ..Sample::default()
        })
    };
    // The machine's time is derived from instructions and is not reported.
    let usage = Usage { ops: 700, user_ns: 70_000, system_ns: 7_000, ..Usage::default() };
    let disturbance = Disturbance {
        wall_ns: 1_000_000,
        cpu_ns: 400_000,
        run_delay_ns: Some(500_000),
        usage: Some(usage),
        ..Disturbance::default()
    };
    let samples = (0..7).flat_map(of_group).collect();
    WorkerOutcome::Sampled {
        samples,
        disturbance: Box::new(disturbance),
        monitor_wakeups_per_op: None,
        speculation: None,
    }
}

/// The journal of a run in which these kernels were booted; two of them are compared.
pub(crate) fn journal(number: u32, kernels: &[Kernel]) -> Vec<Entry> {
    let worker_program = WorkerProgram {
        hash: "feed".to_owned(),
        link: "static-pie".to_owned(),
        libc: "musl".to_owned(),
        catalog: "cafe".to_owned(),
    };
    let started = RunHeader {
        id: format!("0190a0b1-c2d3-7e4f-8a9b-0c1d2e3f{number:04x}"),
        started_at: format!("2026-11-21T08:{:02}:00Z", number % 60),
        label: None,
        command: vec!["oscost".to_owned()],
        tool: Tool {
            version: "0.1.0".to_owned(),
            commit: None,
            rustc: None,
            worker: worker_program,
        },
        settings: Settings {
            seed: 1,
            profile: "default".to_owned(),
            precision_pct: None,
            nominal: 0.95,
            budget_s: None,
            study: None,
            predictions: vec![],
        },
    };
    let mut entries = vec![Entry::Started(Box::new(started))];
    let ids: Vec<String> = (0..kernels.len()).map(|at| format!("m{at}")).collect();
    for (kernel, id) in kernels.iter().zip(&ids) {
        let machine = Box::new(kernel.machine(id));
        entries.push(Entry::MachineDescribed { machine, tracers: vec![] });
    }
    // Calibrated at the start and at the end: the time in between gives no rate.
    for (kernel, id) in (0i64..).zip(&ids).cycle().take(2 * ids.len()) {
        let calibration = Calibration {
            kind: ClockKind::Instructions,
            ticks_per_ns: 1.0,
            quantum_ticks: 1.0,
            inside_ticks: 20.0 + kernel as f64,
            pair_ticks: 60.0,
        };
        let (now, machine) = (entries.len() as u64, id.clone());
        let sync = ClockSync { ticks: 1_000 * now, raw_ns: 999 * now + 5, width_ticks: 40 };
        entries.push(Entry::Calibrated { machine, calibration, sync, rejected_clocks: vec![] });
    }
    let each = || kernels.iter().zip(&ids);
    let rows: Vec<(PlannedRow, &Vec<Option<i64>>)> = each()
        .flat_map(|(kernel, id)| {
            kernel.costs.iter().map(move |(case, workers)| (kernel.row(case, id), workers))
        })
        .collect();
    let planned = rows.iter().map(|(row, _)| row.clone()).collect();
    entries.push(Entry::Planned { rows: planned, timers: vec![] });
    if kernels.len() == 2 {
        let count = kernels[0].costs.len() as u32;
        let pairs = (0..count).map(|base| Pairing {
            base,
            new: base + count,
            design: Design::Boots,
            set: base,
            looks: 1,
        });
        entries.push(Entry::Paired { pairs: pairs.collect() });
    }
    for (row, (_, workers)) in (0u32..).zip(&rows) {
        let plan = BatchPlan {
            mode: Mode::U,
            iterations: 100,
            unroll_factors: vec![1, 2, 4],
            groups: 7,
            batch_ns: 1e5,
            coarse_clock: false,
        };
        entries.push(Entry::Piloted { row, plan });
        for (round, cost) in (0u32..).zip(workers.iter()) {
            let (phase, at_s) = (Phase::Round(round), f64::from(3 * row + round));
            let outcome = worker(*cost);
            entries.push(Entry::Worker { row, phase, at_s, set: row, outcome });
        }
        entries.push(Entry::RowFinished { row, converged: true });
    }
    let at = format!("2026-11-21T08:{:02}:20Z", number % 60);
    entries.push(Entry::Ended { at, complete: true });
    entries
}
