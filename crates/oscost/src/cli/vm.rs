//! Kernels that are booted to be measured: `vm:KERNEL`.

use oscost_model::call_names::Arch;
use oscost_model::case::Case;
use oscost_model::definition::Catalog;
use oscost_model::journal::{Pairing, PlannedRow};
use oscost_model::protocol::{Event, Hello, Order};
use oscost_model::record::{Settings, TargetInfo, Vm};
use oscost_model::target::{Host, Target};
use oscost_model::treatment::TreatmentSet;

use super::UsageError;
use super::output::remark;
use super::programs::Programs;
use super::run::{self, Ended};
use super::target::{Patience, local, side};
use crate::hosts::vm::{Accel, Emulator, Kernel, ScriptedVm, VmSpec, boot_timeout};
use crate::hosts::{HostError, Interrupt, LocalSession, Session, WorkerBinary};
use crate::plan;
use crate::run::{InstructionCountRequest, Machines, count_instructions, machine_id};
use oscost_stats::interval::Nominal;

/// Workers of a case. Of what repeats itself two would do; five values beyond five others are no
/// accident, where it does not.
const REPETITIONS: u32 = 5;
const QUICK: u32 = 2;
/// As many as an interval takes, and more.
const THOROUGH: u32 = 9;

/// What runs where, and what can be asked for.
pub(super) struct Of<'a> {
    pub(super) program: &'a WorkerBinary,
    /// The worker's benchmarks, and programs.
    pub(super) catalog: &'a Catalog,
    pub(super) programs: &'a Programs,
}

/// What is to be counted.
pub(super) struct Counted {
    pub(super) label: Option<String>,
    pub(super) profile: &'static str,
    /// The places, and the machines that they mean.
    pub(super) targets: Vec<(Target, VmSpec)>,
    /// Whether all others are compared with the first.
    pub(super) pairs: bool,
}

/// The machine that a place means, if it is one on which instructions are counted.
pub(super) fn counts(target: &Target) -> Result<Option<VmSpec>, UsageError> {
    let Host::Vm(text) = &target.host else { return Ok(None) };
    let wanted = VmSpec::parse(text).map_err(|error| UsageError(error.to_string()))?;
    Ok((wanted.accel == Accel::Tcg).then_some(wanted))
}

/// Refuses a machine that cannot be meant, before anything is done for it.
pub(super) fn check(host: &Host) -> Result<(), UsageError> {
    let Host::Vm(text) = host else { return Ok(()) };
    let wanted = VmSpec::parse(text).map_err(|error| UsageError(error.to_string()))?;
    Kernel::find(&wanted.kernel).map(drop).map_err(|error| UsageError(error.to_string()))
}

/// Refuses options that were given and mean nothing where instructions are counted.
pub(super) fn means_nothing(given: &[(&str, bool)]) -> Result<(), UsageError> {
    match given.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => Err(UsageError(format!(
            "cannot take `{option}` where instructions are counted: nothing is sampled there, on \
             one CPU without a peer\n  hint: `accel=kvm` in the place measures time instead"
        ))),
    }
}

/// Finds the kernel of a machine, and says which one it is where that had to be chosen.
pub(super) fn kernel(wanted: &VmSpec) -> anyhow::Result<Kernel> {
    let kernel = Kernel::find(&wanted.kernel).map_err(|error| UsageError(error.to_string()))?;
    if let Some(note) = &kernel.note {
        remark(&format!("note: {note}"));
    }
    Ok(kernel)
}

/// Counts; `None` when it was stopped before there was anything to show.
pub(super) fn count(
    of: Of<'_>,
    cases: Vec<Case>,
    counted: Counted,
    to: (&Interrupt, Patience),
    kept: (bool, bool),
) -> anyhow::Result<Option<Ended>> {
    match booted(of, cases, counted, to, kept) {
        Err(error) if run::is_interrupt(&error) => Ok(None),
        other => other,
    }
}

fn booted(
    of: Of<'_>,
    cases: Vec<Case>,
    counted: Counted,
    (interrupt, patience): (&Interrupt, Patience),
    kept: (bool, bool),
) -> anyhow::Result<Option<Ended>> {
    let mut kernels: Vec<Kernel> = Vec::new();
    for (_, wanted) in &counted.targets {
        let known = kernels.iter().find(|kernel| kernel.requested == wanted.kernel).cloned();
        kernels.push(known.map_or_else(|| kernel(wanted), Ok)?);
    }
    let emulator = Emulator::find();
    // Nobody's figures are disturbed by us, unless nothing is booted at all.
    let _lock = emulator.is_ok().then(|| local(interrupt, patience)).transpose()?;
    let hello = LocalSession::start(of.program, interrupt)?.hello().clone();
    let version = emulator.as_ref().map_or("none", |emulator| &emulator.version);
    let request = request(&of, cases, &counted, (&kernels, version), &hello)?;
    let mut booth = Booth {
        of: &of,
        emulator,
        targets: counted
            .targets
            .iter()
            .zip(&kernels)
            .map(|((target, it), kernel)| (target.host.to_string(), it, kernel))
            .collect(),
        booted: counted.targets.iter().map(|_| None).collect(),
        interrupt,
    };
    let started = request.header.clone();
    run::listened_to(&started, kept, |all| count_instructions(&mut booth, request, all))
}

fn request(
    of: &Of<'_>,
    cases: Vec<Case>,
    counted: &Counted,
    (kernels, version): (&[Kernel], &str),
    hello: &Hello,
) -> anyhow::Result<InstructionCountRequest> {
    let (mut rows, mut treated, mut lacking) = (Vec::new(), Vec::new(), Vec::new());
    for (machine, (target, _)) in counted.targets.iter().enumerate() {
        let (side, notes) = side(target, Arch::from_uname(std::env::consts::ARCH))?;
        for note in notes {
            remark(&format!("note: {note}"));
        }
        let at = TargetInfo { machine: machine_id(machine), ..side.target };
        let mut of_target = plan::rows(of.catalog, cases.clone(), &at);
        if counted.pairs {
            // What floors are made of is no matter of what differs.
            of_target.retain(|row| row.requested || row.is_reference);
        }
        let first = rows.len();
        let missing = of.programs.fill(&mut of_target, &target.host, false);
        lacking.extend(missing.into_iter().map(|(row, why)| (first + row, why)));
        for row in of_target {
            if let Some(why) = not_there(&side.treatments) {
                lacking.push((rows.len(), why));
            }
            let monitored = plan::has_monitor(&side.treatments);
            rows.push(PlannedRow { monitored, ..plan::in_instructions(row) });
            treated.push(side.treatments.clone());
        }
    }
    let pairs = if counted.pairs { pairs(rows.len(), counted.targets.len()) } else { Vec::new() };
    let settings = Settings {
        seed: 1,
        profile: counted.profile.to_owned(),
        precision_pct: None,
        nominal: Nominal::FIXED.share(),
        budget_s: None,
        study: None,
        predictions: Vec::new(),
    };
    let machines = counted.targets.iter().zip(kernels).map(|((_, wanted), kernel)| Vm {
        kernel: kernel.requested.clone(),
        image: kernel.hash.clone(),
        emulator: version.to_owned(),
        accel: wanted.accel.text().to_owned(),
        cpu: wanted.cpu.clone(),
        mem_mib: wanted.mem_mib,
        append: wanted.append.clone(),
    });
    Ok(InstructionCountRequest {
        header: run::started(counted.label.clone(), hello, settings),
        rows,
        treatments: treated,
        pairs,
        machines: machines.collect(),
        max_concurrent: std::thread::available_parallelism().map_or(1, Into::into),
        repetitions: match counted.profile {
            "quick" => QUICK,
            "thorough" => THOROUGH,
            _ => REPETITIONS,
        },
        unmeasurable: lacking,
    })
}

/// Why rows under these treatments cannot be measured on a machine that takes no orders while it
/// runs.
fn not_there(treated: &TreatmentSet) -> Option<String> {
    (!treated.attached.is_empty()).then(|| {
        "what is attached to a whole system is attached to one that takes orders: `accel=kvm`, or \
         this machine"
            .to_owned()
    })
}

/// Each row of the first place with the same one of each other.
fn pairs(rows: usize, targets: usize) -> Vec<Pairing> {
    let each = rows / targets.max(1);
    let pair = |(target, row): (usize, usize)| Pairing {
        base: row as u32,
        new: (target * each + row) as u32,
        design: oscost_model::journal::Design::Boots,
        set: 0,
    };
    (1..targets).flat_map(|target| (0..each).map(move |row| (target, row))).map(pair).collect()
}

/// The machines of a run.
struct Booth<'a> {
    of: &'a Of<'a>,
    emulator: Result<Emulator, String>,
    targets: Vec<(String, &'a VmSpec, &'a Kernel)>,
    booted: Vec<Option<ScriptedVm<'a>>>,
    interrupt: &'a Interrupt,
}

impl<'a> Booth<'a> {
    fn at(&mut self, machine: usize) -> Result<&mut ScriptedVm<'a>, HostError> {
        let gone = || HostError::SupervisorEnded("it was never booted".to_owned());
        self.booted.get_mut(machine).and_then(Option::as_mut).ok_or_else(gone)
    }
}

impl Machines for Booth<'_> {
    fn boot(&mut self, machine: usize, orders: &[Vec<Order>]) -> Result<(), HostError> {
        let (host, wanted, kernel) = &self.targets[machine];
        let emulator = match &self.emulator {
            Ok(emulator) => emulator,
            Err(why) => return Err(Emulator::missing(host, why.clone())),
        };
        let with = (emulator, self.of.program);
        let booted = ScriptedVm::start((host, wanted, kernel), with, orders, self.interrupt)?;
        self.booted[machine] = Some(booted);
        Ok(())
    }

    fn hello(&mut self, machine: usize) -> Result<Hello, HostError> {
        let program = self.of.program;
        self.at(machine)?.hello(program, boot_timeout())
    }

    fn next(&mut self, machine: usize, patience: std::time::Duration) -> Result<Event, HostError> {
        self.at(machine)?.next(patience)
    }

    fn end(&mut self, machine: usize) {
        self.booted[machine] = None;
    }
}
