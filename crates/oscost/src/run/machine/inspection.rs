//! Inspection of a machine without measuring: how disturbed each CPU is and by what, how fast its
//! core and its counter run, and whether system calls can be counted.

use std::time::Duration;

use oscost_model::case::Case;
use oscost_model::clock::{Calibration, ClockKind};
use oscost_model::point::Point;
use oscost_model::protocol::CpuProbe;
use oscost_model::record::CoreConditions;
use oscost_model::watch::SystemActivity;
use oscost_model::worker::{Subject, Task, WorkerSpec};

use super::cpu_survey::{NO_CLOCK, quietest, usable_clocks};
use crate::estimate::core_of_counts;
use crate::hosts::{HostError, Session};
use crate::run::counts::call_count::counting_spec;
use crate::run::counts::counted_events::inspection_plan;
use crate::run::error::RunError;
use crate::run::jobs::job::JobFailure;
use crate::run::jobs::workers::{PeerLocation, WatchedProbe, Workers};

/// The number of CPUs that are probed: enough to describe a large machine.
const MAX_CPUS: usize = 64;

/// The time limit of the counted worker.
const COUNT_TIMEOUT_MS: u64 = 5_000;

/// Workers that count the core's cycles: enough for the share of them that are worse than the best.
const CORE_WORKERS: usize = 20;

/// The result of an inspection.
#[derive(Clone, Debug)]
pub struct MachineInspection {
    /// Each CPU that could be probed.
    pub probe: Vec<CpuProbe>,
    /// The CPU that a run would use; `None` if a process cannot be pinned.
    pub cpu: Option<u32>,
    /// The activity of other processes meanwhile, or why it is unknown.
    pub activity: Result<SystemActivity, String>,
    /// Why system calls cannot be counted here; `None` if they can.
    pub uncountable_reason: Option<String>,
    /// The core by the processor's counters; `None` if they are not visible.
    pub core: Option<CoreConditions>,
}

/// Inspects the machine for a little longer than `spin`.
pub fn inspect_machine(
    session: &mut dyn Session,
    spin: Duration,
    excluded_pids: &[u32],
) -> Result<MachineInspection, RunError> {
    let (clock, cpus) = clock_and_cpus(session);
    let mut workers = Workers::new(session);
    let no_cpu = |failure: JobFailure| RunError::NoCpu(failure.reason);
    let mut watched = workers.watched_probe(&cpus, clock, spin, excluded_pids)?.map_err(no_cpu)?;
    let pinned = !watched.cpus.is_empty();
    if !pinned {
        // A sandbox may refuse sched_setaffinity(2).
        watched = workers.watched_probe(&[], clock, spin, excluded_pids)?.map_err(no_cpu)?;
    }
    let WatchedProbe { cpus: probe, activity } = watched;
    let quietest = quietest(&probe).map(|probe| probe.cpu);
    let Some(cpu) = quietest else { return Err(RunError::NoCpu("any CPU".to_owned())) };
    let cpu = pinned.then_some(cpu);
    // Counting the calls of any case shows whether a tracer can be attached.
    let case = Case::new("syscall/getppid", Point::none().with("via", "raw"));
    let spec = counting_spec(case, cpu, NO_CLOCK, COUNT_TIMEOUT_MS);
    let counted = workers.count(spec, PeerLocation::SameMachine)?;
    let uncountable_reason = counted.err().map(|failure| failure.reason);
    let core = inspect_core(&mut workers, clock, cpu)?;
    Ok(MachineInspection { probe, cpu, activity, uncountable_reason, core })
}

/// Counts the work of the null system call by several workers; `None` where it cannot be counted.
fn inspect_core(
    workers: &mut Workers<'_>,
    clock: ClockKind,
    cpu: Option<u32>,
) -> Result<Option<CoreConditions>, HostError> {
    let Some(plan) = inspection_plan(&workers.session().hello().facts.counters) else {
        return Ok(None);
    };
    let Ok(calibrated) = workers.calibrate(cpu, clock)? else { return Ok(None) };
    let clock = calibrated.calibration;
    let case = Case::new("syscall/getppid", Point::none().with("via", "raw"));
    let mut counts = Vec::new();
    for _ in 0..CORE_WORKERS {
        let (subject, task) = (Subject::Case(case.clone()), Task::CountEvents(plan.clone()));
        let spec = WorkerSpec { cpu, ..WorkerSpec::new(subject, task, clock, COUNT_TIMEOUT_MS) };
        // A lost worker shows nothing; a core that none can count on has no figure.
        counts.extend(workers.count_events(spec, PeerLocation::SameMachine)?.ok());
    }
    Ok(core_of_counts(&counts, &plan.batches, &clock))
}

/// How fast core and counter of a CPU run.
#[derive(Clone, Debug, Default)]
pub struct ClockInspection {
    /// A spin on the CPU; `None` if it failed.
    pub probe: Option<CpuProbe>,
    /// The calibration of its best clock; `None` if it failed.
    pub calibration: Option<Calibration>,
}

/// Inspects core and counter of the last CPU: a spin of 50 ms and a calibration.
pub fn inspect_clock(session: &mut dyn Session) -> Result<ClockInspection, HostError> {
    const SPIN: Duration = Duration::from_millis(50);
    let (clock, cpus) = clock_and_cpus(session);
    let last = cpus.last().copied();
    let mut workers = Workers::new(session);
    let probe = workers.probe(last.as_slice(), clock, SPIN)?.unwrap_or_default();
    let calibration = workers.calibrate(probe.first().and(last), clock)?.ok();
    Ok(ClockInspection {
        probe: probe.into_iter().next(),
        calibration: calibration.map(|it| it.calibration),
    })
}

/// The best clock, and the available CPUs.
fn clock_and_cpus(session: &dyn Session) -> (ClockKind, Vec<u32>) {
    let hello = session.hello();
    let clock = usable_clocks(hello).first().copied().unwrap_or(ClockKind::Syscall);
    let allowed = hello.facts.cpu.allowed_cpus.clone().filter(|cpus| !cpus.is_empty());
    let allowed = allowed.unwrap_or(vec![0]);
    (clock, allowed[allowed.len().saturating_sub(MAX_CPUS)..].to_vec())
}
