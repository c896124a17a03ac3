//! `oscost fleet visit`: measures the node of one task, and puts its record into the fleet's folder.

use std::path::PathBuf;

use oscost_model::fleet::{FleetLauncher, FleetPlan, FleetSides, FleetVisit};
use oscost_model::record::{Record, RowOutcome};

use super::folder::{FleetFolder, TaskFailure};
use super::hosts::target_of;
use super::slurm::own_job::has_node_alone;
use crate::app::error::{UsageError, is_interrupted, is_usage};
use crate::app::measurement::retention::{CompletedRun, Completion, Retention};
use crate::app::measurement::run_header::timestamp;
use crate::app::observer::Observer;
use crate::app::selection::effort::Effort;
use crate::app::selection::programs::ProgramRequest;
use crate::app::targets::connect::BusyPolicy;
use crate::app::{ab, run};
use crate::fleet::{is_treated_side, task_seed};
use crate::hosts::HostError;
use crate::run::EventCounting;
use crate::signals;

/// The exit statuses of errors, as the command line has them.
const USAGE: i32 = 2;
const NOT_MEASURED: i32 = 3;

/// Which task to do.
#[derive(Clone, Debug)]
pub struct Request {
    /// The folder of the fleet.
    pub folder: PathBuf,
    /// The number of the task.
    pub task: u32,
}

/// What a visit did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VisitOutcome {
    /// It measured the node.
    Measured,
    /// Nothing: the folder has the record. A job that Slurm starts again does not measure again.
    MeasuredBefore,
}

/// Measures the node of a task, unless its record is there. The reason of a failure is put into the
/// folder.
pub fn visit(request: &Request, observer: &dyn Observer) -> anyhow::Result<VisitOutcome> {
    let folder = FleetFolder::open_own(&request.folder)?;
    let task = request.task;
    let count = folder.plan.tasks.len();
    if task as usize >= count {
        let what = format!("there is no task {task}: the plan has {count}, from 0");
        let hint = "`oscost fleet status FOLDER` lists the tasks";
        return Err(UsageError::with_hint(&what, hint).into());
    }
    if folder.has_record(task) {
        return Ok(VisitOutcome::MeasuredBefore);
    }
    // Slurm starts a task once at a time. A queue that was killed may have left its children.
    let _lock = match folder.plan.launcher {
        FleetLauncher::Ssh => Some(folder.lock_task(task)?),
        FleetLauncher::Slurm { .. } => None,
    };
    let added = measure(&folder.plan, task, folder.node(task), observer)
        .and_then(|record| folder.add_record(task, &serde_json::to_vec(&record)?));
    let Err(error) = added else { return Ok(VisitOutcome::Measured) };
    let failure = TaskFailure {
        task,
        node: folder.node(task).to_owned(),
        at: timestamp(),
        why: why(&error),
        exit: Some(exit_status(&error)),
    };
    if let Err(error) = folder.add_failure(&failure) {
        observer.note(&format!("{error:#}"));
    }
    Err(error)
}

/// Measures a node: the record of its visit.
fn measure(
    plan: &FleetPlan,
    task: u32,
    node: &str,
    observer: &dyn Observer,
) -> anyhow::Result<Record> {
    check_version(&plan.tool)?;
    if matches!(plan.launcher, FleetLauncher::Slurm { .. }) {
        check_node(node, &names_of_this_node())?;
    }
    // Before anything is measured.
    let exclusive = match plan.launcher {
        FleetLauncher::Slurm { .. } => exclusive_use(observer),
        FleetLauncher::Ssh => None,
    };
    let planned = plan.tasks[task as usize].clone();
    let CompletedRun { mut record, ended, .. } =
        measure_sides(plan, Visit { task, node: planned.node, visit: planned.visit }, observer)?;
    if ended? == Completion::Interrupted {
        return Err(HostError::Interrupted.into());
    }
    let mut requested = record.results.iter().filter(|row| row.is_requested());
    if requested.clone().all(|row| row.outcome != RowOutcome::Measured) {
        let why = requested.find_map(|row| row.reason.as_deref()).unwrap_or("no case was measured");
        anyhow::bail!("cannot measure node {node}: {why}");
    }
    record.fleet = Some(FleetVisit {
        fleet: plan.fleet.clone(),
        plan: plan.id.clone(),
        node: node.to_owned(),
        visit: planned.visit,
        task,
        exclusive,
    });
    Ok(record)
}

/// Whether this job has its node alone; `None` with a note if Slurm does not say so.
fn exclusive_use(observer: &dyn Observer) -> Option<bool> {
    has_node_alone()
        .inspect_err(|error| {
            let why = error.to_string();
            let why = why.lines().next().unwrap_or_default();
            observer.note(&format!("whether other jobs may use this node is not known: {why}"));
        })
        .ok()
}

/// Which visit of which node a task is.
#[derive(Clone, Copy)]
struct Visit {
    task: u32,
    /// The index of the node.
    node: u32,
    visit: u32,
}

fn measure_sides(
    plan: &FleetPlan,
    Visit { task, node, visit }: Visit,
    observer: &dyn Observer,
) -> anyhow::Result<CompletedRun> {
    let measurement = &plan.measurement;
    let host = match &plan.launcher {
        FleetLauncher::Slurm { .. } => "local".to_owned(),
        FleetLauncher::Ssh => target_of(&plan.nodes[node as usize]),
    };
    let effort = match measurement.effort.as_str() {
        "quick" => Effort::Quick,
        "thorough" => Effort::Thorough,
        _ => Effort::Default,
    };
    let on_busy = if measurement.respects_lock { BusyPolicy::Wait } else { BusyPolicy::NoLock };
    // The store of each node is its own: records go to the folder alone.
    let retention = Retention { keep: false, raw_samples: false };
    let seed = Some(task_seed(plan, task));
    let treatments = measurement.treatments.as_deref();
    match (measurement.sides, treatments) {
        (FleetSides::Both, Some(treatments)) => {
            let new = match host.as_str() {
                "local" => treatments.to_owned(),
                host => format!("{treatments}@{host}"),
            };
            let request = ab::Request {
                base: Some(host),
                new: vec![new],
                selectors: measurement.selectors.clone(),
                programs: ProgramRequest::default(),
                study: None,
                effort,
                budget_s: measurement.budget_s,
                event_counting: EventCounting::default(),
                cpu: None,
                numa_turn: Some(visit),
                peer_cpu: None,
                label: None,
                seed,
                gate: None,
                retention,
                on_busy,
            };
            Ok(ab::ab(&request, observer)?.measured)
        }
        (sides, treatments) => {
            let is_treated = sides == FleetSides::Split && is_treated_side(plan, node);
            let request = run::Request {
                selectors: measurement.selectors.clone(),
                programs: ProgramRequest::default(),
                study: None,
                effort,
                precision_pct: None,
                refine: false,
                budget_s: measurement.budget_s,
                treatments: treatments.filter(|_| is_treated).map(str::to_owned),
                at: host,
                event_counting: EventCounting::default(),
                cpu: None,
                numa_turn: Some(visit),
                peer: None,
                peer_cpu: None,
                label: None,
                seed,
                retention,
                on_busy,
            };
            run::run(&request, observer)
        }
    }
}

fn check_version(planned: &str) -> anyhow::Result<()> {
    let own = env!("CARGO_PKG_VERSION");
    anyhow::ensure!(
        planned == own,
        "cannot measure for a plan of oscost {}: the oscost of this node is {own}\n  hint: all nodes \
         need the version that wrote the plan, or figures are not of one method",
        planned.escape_debug()
    );
    Ok(())
}

/// The name that Slurm gives this node, or else its host name, whole and without its domain.
fn names_of_this_node() -> Vec<String> {
    if let Ok(name) = std::env::var("SLURMD_NODENAME") {
        return vec![name];
    }
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = host.trim();
    vec![host.to_owned(), host.split('.').next().unwrap_or_default().to_owned()]
}

fn check_node(planned: &str, names: &[String]) -> anyhow::Result<()> {
    let own = names.first().map_or("", String::as_str);
    anyhow::ensure!(
        names.iter().any(|name| name == planned),
        "cannot measure node {planned}: this is `{}`\n  hint: start the task on {planned}; \
         `oscost fleet run FOLDER --retry` submits it again",
        own.escape_debug()
    );
    Ok(())
}

/// The error in words for those who see the folder.
fn why(error: &anyhow::Error) -> String {
    match is_interrupted(error) {
        true => "a signal ended it before its record was complete: its time limit, a cancellation \
                 or a preemption"
            .to_owned(),
        false => format!("{error:#}"),
    }
}

fn exit_status(error: &anyhow::Error) -> i32 {
    match error {
        error if is_interrupted(error) => i32::from(signals::exit_status()),
        error if is_usage(error) => USAGE,
        _ => NOT_MEASURED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_the_planned_one_by_any_of_its_names() {
        let names = ["n1.lab".to_owned(), "n1".to_owned()];
        check_node("n1", &names).unwrap();
        check_node("n1.lab", &names).unwrap();
        let error = check_node("n2", &names).unwrap_err().to_string();
        assert!(error.starts_with("cannot measure node n2: this is `n1.lab`\n  hint: "), "{error}");
        assert!(!names_of_this_node().is_empty());
    }

    #[test]
    fn a_plan_of_another_version_is_refused() {
        check_version(env!("CARGO_PKG_VERSION")).unwrap();
        let error = check_version("0.0.0-x").unwrap_err().to_string();
        assert!(error.contains("for a plan of oscost 0.0.0-x"), "{error}");
    }

    #[test]
    fn a_failure_says_how_its_process_ended() {
        let usage = anyhow::Error::from(UsageError("x".to_owned()));
        let interrupted = anyhow::Error::from(HostError::Interrupted);
        assert_eq!(exit_status(&usage), 2);
        assert_eq!(exit_status(&anyhow::anyhow!("x")), 3);
        assert!(exit_status(&interrupted) > 128);
        assert!(why(&interrupted).starts_with("a signal ended it"));
        assert_eq!(why(&anyhow::anyhow!("x").context("y")), "y: x");
    }
}
