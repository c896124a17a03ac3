//! Counting instructions on emulated machines: each target is a machine that is booted for it.

use oscost_model::call_names::Arch;
use oscost_model::journal::{Design, Pairing, PlannedRow, RunHeader};
use oscost_model::protocol::{Event, Hello, Order};
use oscost_model::record::{Settings, TargetInfo, Vm};
use oscost_model::target::Target;
use oscost_model::treatment::TreatmentSet;
use oscost_stats::interval::Nominal;

use super::retention::{CompletedRun, Retention, observe};
use super::run_header::run_header;
use crate::app::observer::Observer;
use crate::app::selection::cases::Selection;
use crate::app::selection::effort::{CommandTrials, Effort};
use crate::app::targets::connect::{ConnectOptions, reserve_this_machine};
use crate::app::targets::prepare::{PreparedTarget, prepare};
use crate::app::targets::vm::find_kernel;
use crate::hosts::vm::{Emulator, Kernel, ScriptedVm, VmSetup, VmSpec, boot_timeout};
use crate::hosts::{HostError, Interrupt, LocalSession, Session, WorkerBinary};
use crate::plan::{self, SkippedRow};
use crate::run::{InstructionCountRequest, Machines, count_instructions, machine_id};

/// Workers of a case. Two suffice where counts repeat; where they do not, five values on each side
/// separate a difference from chance.
const REPETITIONS: u32 = 5;
const QUICK_REPETITIONS: u32 = 2;
/// More than an interval needs.
const THOROUGH_REPETITIONS: u32 = 9;

/// A target on which instructions are counted.
pub(crate) struct CountedTarget {
    pub(crate) target: Target,
    pub(crate) machine: VmSpec,
}

/// What is counted, and where.
pub(crate) struct CountRequest {
    pub(crate) label: Option<String>,
    /// The study whose rows they are, as it was requested.
    pub(crate) study: Option<String>,
    pub(crate) effort: Effort,
    pub(crate) targets: Vec<CountedTarget>,
    /// Whether all targets are compared with the first.
    pub(crate) compared: bool,
    pub(crate) retention: Retention,
}

/// Counts the instructions of the selected cases on each target.
pub(crate) fn count(
    worker: &WorkerBinary,
    selection: &Selection,
    request: CountRequest,
    options: ConnectOptions<'_, '_>,
) -> anyhow::Result<CompletedRun> {
    let ConnectOptions { interrupt, observer, .. } = options;
    let mut kernels: Vec<Kernel> = Vec::new();
    for CountedTarget { machine, .. } in &request.targets {
        let found = kernels.iter().find(|kernel| kernel.requested == machine.kernel).cloned();
        kernels.push(found.map_or_else(|| find_kernel(machine, observer), Ok)?);
    }
    let emulator = Emulator::find();
    // Booting disturbs other runs on this machine; without an emulator nothing is booted.
    let _reserved = emulator.is_ok().then(|| reserve_this_machine(options)).transpose()?;
    let hello = LocalSession::start(worker, interrupt)?.hello().clone();
    let version = emulator.as_ref().map_or("none", |emulator| &emulator.version);
    let plan = plan(selection, &request, Boot { kernels: &kernels, emulator: version }, observer)?;
    let settings = settings(request.effort, request.study.clone());
    let header = run_header(request.label.clone(), &hello, settings);
    let counted = count_request(&header, plan, request.effort);
    let mut machines = EmulatedMachines {
        worker,
        emulator,
        boots: request
            .targets
            .iter()
            .zip(&kernels)
            .map(|(CountedTarget { target, machine }, kernel)| BootSpec {
                host: target.host.to_string(),
                machine,
                kernel,
            })
            .collect(),
        booted: request.targets.iter().map(|_| None).collect(),
        interrupt,
    };
    observe(&header, request.retention, &selection.named, observer, |listener| {
        count_instructions(&mut machines, counted, listener)
    })
}

/// What the machines are booted with.
#[derive(Clone, Copy)]
struct Boot<'a> {
    kernels: &'a [Kernel],
    /// The version of the emulator.
    emulator: &'a str,
}

/// The rows to count.
struct CountPlan {
    rows: Vec<PlannedRow>,
    /// What is done to each row's process.
    treated: Vec<TreatmentSet>,
    pairs: Vec<Pairing>,
    skipped: Vec<SkippedRow>,
    machines: Vec<Vm>,
}

fn plan(
    selection: &Selection,
    request: &CountRequest,
    boot: Boot<'_>,
    observer: &dyn Observer,
) -> anyhow::Result<CountPlan> {
    let (mut rows, mut treated, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
    for (machine, CountedTarget { target, .. }) in request.targets.iter().enumerate() {
        let PreparedTarget { side, notes } =
            prepare(target, Arch::from_uname(std::env::consts::ARCH))?;
        notes.iter().for_each(|note| observer.note(note));
        let at = TargetInfo { machine: machine_id(machine), ..side.target };
        let mut of_target = plan::rows(&selection.definitions, selection.cases.clone(), &at);
        if request.compared {
            // Parts of floors have no part in a difference.
            of_target.retain(|row| row.requested || row.is_reference);
        }
        let first = rows.len();
        let missing = selection.programs.fill(
            &mut of_target,
            &target.host,
            Effort::Default,
            CommandTrials::alone(Effort::Default, None),
        );
        skipped.extend(missing.into_iter().map(|it| SkippedRow { row: first + it.row, ..it }));
        for row in of_target {
            if let Some(reason) = unattachable_reason(&side.treatments) {
                skipped.push(SkippedRow { row: rows.len(), reason });
            }
            let monitored = plan::has_monitor(&side.treatments);
            rows.push(PlannedRow { monitored, ..plan::in_instructions(row) });
            treated.push(side.treatments.clone());
        }
    }
    let targets = request.targets.len();
    let pairs = if request.compared { pair_with_first(rows.len(), targets) } else { Vec::new() };
    let machines = request.targets.iter().zip(boot.kernels).map(|(it, kernel)| Vm {
        kernel: kernel.requested.clone(),
        image: kernel.hash.clone(),
        emulator: boot.emulator.to_owned(),
        accel: it.machine.accel.text().to_owned(),
        cpu: it.machine.cpu.clone(),
        mem_mib: it.machine.mem_mib,
        append: it.machine.append.clone(),
    });
    Ok(CountPlan { rows, treated, pairs, skipped, machines: machines.collect() })
}

fn settings(effort: Effort, study: Option<String>) -> Settings {
    Settings {
        seed: 1,
        profile: effort.text().to_owned(),
        precision_pct: None,
        nominal: Nominal::FIXED.share(),
        budget_s: None,
        study,
        predictions: Vec::new(),
    }
}

fn count_request(header: &RunHeader, plan: CountPlan, effort: Effort) -> InstructionCountRequest {
    let CountPlan { rows, treated, pairs, skipped, machines } = plan;
    InstructionCountRequest {
        header: header.clone(),
        rows,
        treatments: treated,
        pairs,
        machines,
        max_concurrent: std::thread::available_parallelism().map_or(1, Into::into),
        repetitions: match effort {
            Effort::Quick => QUICK_REPETITIONS,
            Effort::Default => REPETITIONS,
            Effort::Thorough => THOROUGH_REPETITIONS,
        },
        skipped,
    }
}

/// Why rows under these treatments cannot be measured on a machine that takes no orders while it
/// runs.
fn unattachable_reason(treated: &TreatmentSet) -> Option<String> {
    (!treated.attached.is_empty()).then(|| {
        "this treatment attaches to a running system, and an emulated machine takes no orders \
         while it runs: use `accel=kvm`, or this machine"
            .to_owned()
    })
}

/// Each row of the first target with the same row of each other target.
fn pair_with_first(rows: usize, targets: usize) -> Vec<Pairing> {
    let per_target = rows / targets.max(1);
    let pair = |(target, row): (usize, usize)| Pairing {
        base: row as u32,
        new: (target * per_target + row) as u32,
        design: Design::Boots,
        set: 0,
        looks: 1,
    };
    (1..targets)
        .flat_map(|target| (0..per_target).map(move |row| (target, row)))
        .map(pair)
        .collect()
}

/// A machine to boot.
struct BootSpec<'a> {
    host: String,
    machine: &'a VmSpec,
    kernel: &'a Kernel,
}

/// The machines of a run, each booted when it is needed.
struct EmulatedMachines<'a> {
    worker: &'a WorkerBinary,
    emulator: Result<Emulator, String>,
    boots: Vec<BootSpec<'a>>,
    booted: Vec<Option<ScriptedVm<'a>>>,
    interrupt: &'a Interrupt,
}

impl<'a> EmulatedMachines<'a> {
    fn booted(&mut self, machine: usize) -> Result<&mut ScriptedVm<'a>, HostError> {
        let gone = || HostError::SupervisorEnded("has no machine: it was not booted".to_owned());
        self.booted.get_mut(machine).and_then(Option::as_mut).ok_or_else(gone)
    }
}

impl Machines for EmulatedMachines<'_> {
    fn boot(&mut self, machine: usize, orders: &[Vec<Order>]) -> Result<(), HostError> {
        let BootSpec { host, machine: spec, kernel } = &self.boots[machine];
        let emulator = match &self.emulator {
            Ok(emulator) => emulator,
            Err(why) => return Err(Emulator::missing(host, why.clone())),
        };
        let setup = VmSetup { host, spec, kernel, emulator, worker: self.worker };
        let booted = ScriptedVm::start(&setup, orders, self.interrupt)?;
        self.booted[machine] = Some(booted);
        Ok(())
    }

    fn hello(&mut self, machine: usize) -> Result<Hello, HostError> {
        let worker = self.worker;
        self.booted(machine)?.hello(worker, boot_timeout())
    }

    fn next(&mut self, machine: usize, patience: std::time::Duration) -> Result<Event, HostError> {
        self.booted(machine)?.next(patience)
    }

    fn end(&mut self, machine: usize) {
        self.booted[machine] = None;
    }
}
