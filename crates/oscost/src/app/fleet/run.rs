//! `oscost fleet run`: plans the visits of many nodes, and submits them or does them by ssh.

use std::path::{Path, PathBuf};

use oscost_model::definition::Extent;
use oscost_model::fleet::{FleetLauncher, FleetMeasurement, FleetPlan, FleetSides};
use oscost_model::target::Host;

use super::folder::{FleetFolder, check_new};
use super::hosts::{read_hosts, target_of};
use super::slurm::batch_script::{BatchScript, time_limit_minutes};
use super::slurm::nodes::{find_nodes, find_nodes_to_show};
use super::slurm::submission::{
    Submission, array_size_to_show, array_words, arrays, arrays_at_once, submit,
};
use super::ssh_queue::{QueueEnd, work};
use crate::app::error::UsageError;
use crate::app::measurement::run_header::{fresh_seed, timestamp};
use crate::app::observer::Observer;
use crate::app::selection::cases::select;
use crate::app::selection::effort::Effort;
use crate::app::selection::programs::ProgramRequest;
use crate::app::targets::prepare::check;
use crate::app::targets::resolve::resolve;
use oscost_model::fleet::is_fleet_name;

use crate::files::lock::FileLock;
use crate::files::own_program::own_program;
use crate::fleet::PlanRequest;
use crate::hosts::WorkerBinary;
use crate::hosts::slurm::SlurmOptions;

/// How many visits there are at one time.
const AT_ONCE_SLURM: u32 = 64;
/// The same where this machine keeps a process for each.
const AT_ONCE_SSH: u32 = 16;

/// The name of a fleet whose folder has no name that can be one.
const UNNAMED: &str = "fleet";

/// How nodes are reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// By a batch array of Slurm.
    Slurm {
        /// The options of its jobs, and the nodes.
        options: SlurmOptions,
        /// Whether a task has its node for itself.
        exclusive: bool,
        /// The path of oscost on the nodes; that of this one if there is none.
        program: Option<PathBuf>,
    },
    /// By ssh from here.
    Ssh {
        /// The file that names the hosts.
        hosts: PathBuf,
    },
}

/// What to measure where.
#[derive(Clone, Debug)]
pub struct Request {
    /// The folder, which all nodes see.
    pub folder: PathBuf,
    /// The name of the fleet; without it, that of the folder.
    pub name: Option<String>,
    /// How nodes are reached.
    pub reach: Reach,
    /// Families, ids, cases or globs; without any, the price list.
    pub selectors: Vec<String>,
    /// How precise figures are.
    pub effort: Effort,
    /// The time limit of each measurement, in seconds.
    pub budget_s: Option<f64>,
    /// The treatments of the new side, if each node is compared with itself or with others.
    pub treatments: Option<String>,
    /// The sides of that comparison.
    pub sides: FleetSides,
    /// Whether a node that another run has is waited for.
    pub respects_lock: bool,
    /// How often each node is visited.
    pub visits: u32,
    /// The least time between the planned beginnings of two visits of a node, in seconds.
    pub apart_s: f64,
    /// How many visits there are at one time; without it, 64 by Slurm and 16 by ssh.
    pub at_once: Option<u32>,
    /// The seed of the order; without it, a fresh one.
    pub seed: Option<u64>,
    /// Whether nothing is done, but shown.
    pub is_preview: bool,
}

/// What was begun.
#[derive(Clone, Debug, PartialEq)]
pub enum Started {
    /// Nothing: this would be.
    Preview(Box<Preview>),
    /// Jobs of Slurm, which go on by themselves.
    Submitted(Submission),
    /// All was done by ssh.
    Done(QueueEnd),
}

/// What would be submitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Preview {
    /// The plan.
    pub plan: FleetPlan,
    /// The batch script; none by ssh.
    pub script: Option<String>,
    /// The commands, in words.
    pub commands: Vec<Vec<String>>,
}

/// Plans, and begins.
pub fn run(request: &Request, observer: &dyn Observer) -> anyhow::Result<Started> {
    check_new(&request.folder)?;
    check_use_of_nodes(&request.reach)?;
    check_measurement(request)?;
    let path = std::path::absolute(&request.folder)?;
    let plan = plan(request, &path)?;
    check_sides(&plan)?;
    let script = script(request, &plan, &path)?;
    if request.is_preview {
        return Ok(Started::Preview(Box::new(preview(plan, script, &path, observer))));
    }
    let folder = FleetFolder::create(&path, plan, script.as_deref())?;
    let _lock = lock(&folder, observer)?;
    let tasks: Vec<u32> = (0..).take(folder.plan.tasks.len()).collect();
    begin(&folder, &tasks, observer)
}

/// Keeps other processes from beginning tasks of a fleet.
pub(super) fn lock(
    folder: &FleetFolder,
    observer: &dyn Observer,
) -> anyhow::Result<Option<FileLock>> {
    let lock = folder.lock()?;
    if lock.is_none() {
        observer.note(
            "the file system of the folder has no locks: do not begin this fleet from two places at \
             once",
        );
    }
    Ok(lock)
}

/// Submits or does tasks; the folder is locked.
pub(super) fn begin(
    folder: &FleetFolder,
    tasks: &[u32],
    observer: &dyn Observer,
) -> anyhow::Result<Started> {
    tasks.iter().for_each(|&task| folder.set_aside(task));
    Ok(match folder.plan.launcher {
        FleetLauncher::Slurm { .. } => Started::Submitted(submit(folder, tasks, observer)?),
        FleetLauncher::Ssh => Started::Done(work(folder, tasks, observer)?),
    })
}

/// Refuses to share nodes that the options of the jobs ask for alone.
fn check_use_of_nodes(reach: &Reach) -> Result<(), UsageError> {
    match reach {
        Reach::Slurm { options, exclusive: false, .. } if options.has("exclusive") => {
            let what = "cannot share nodes with other jobs: `--slurm` has `exclusive`";
            let hint = "`exclusive` is the default: leave it or `--shared` out";
            Err(UsageError::with_hint(what, hint))
        }
        _ => Ok(()),
    }
}

/// Refuses here what each of a thousand nodes would refuse.
fn check_measurement(request: &Request) -> anyhow::Result<()> {
    let extent = match request.effort {
        Effort::Thorough => Extent::Thorough,
        _ => Extent::Default,
    };
    let worker = WorkerBinary::find()?;
    select(&worker, &request.selectors, &ProgramRequest::default(), None, extent)?;
    let Some(treatments) = &request.treatments else { return Ok(()) };
    let target = resolve(treatments, None)?;
    if target.treatments.is_empty() {
        let what = format!("`{}` is not a treatment", treatments.escape_debug());
        return Err(UsageError::with_hint(&what, "`oscost treat list` lists treatments").into());
    }
    if target.host != Host::Local {
        let what = format!("`{}` names a host", treatments.escape_debug());
        return Err(UsageError::with_hint(&what, "the nodes are those of the fleet").into());
    }
    check(&target)
}

/// Refuses treatments and sides that the nodes of a plan cannot be measured with.
fn check_sides(plan: &FleetPlan) -> anyhow::Result<()> {
    if plan.measurement.sides == FleetSides::Split && plan.nodes.len() < 2 {
        let what = "cannot measure each side on other nodes: there is one node";
        return Err(UsageError::with_hint(what, "`--sides both` measures both on it").into());
    }
    match (&plan.launcher, &plan.measurement.treatments) {
        // Some treatments start programs of this machine only.
        (FleetLauncher::Ssh, Some(treatments)) => plan
            .nodes
            .iter()
            .try_for_each(|node| resolve(&target_of(node), Some(treatments.as_str())).map(drop)),
        _ => Ok(()),
    }
}

fn plan(request: &Request, path: &Path) -> anyhow::Result<FleetPlan> {
    let (launcher, nodes, at_once) = match &request.reach {
        Reach::Slurm { options, exclusive, .. } => {
            let (exclusive, options_of_node) = (Some(*exclusive), options.of_any_node());
            let launcher = FleetLauncher::Slurm { options: options_of_node, exclusive };
            let nodes = match request.is_preview {
                true => find_nodes_to_show(options)?,
                false => find_nodes(options)?,
            };
            (launcher, nodes, AT_ONCE_SLURM)
        }
        Reach::Ssh { hosts } => (FleetLauncher::Ssh, read_hosts(hosts)?, AT_ONCE_SSH),
    };
    let of_folder = path.file_name().and_then(|name| name.to_str());
    let of_folder = of_folder.filter(|name| is_fleet_name(name)).unwrap_or(UNNAMED);
    let planned = PlanRequest {
        id: uuid::Uuid::now_v7().to_string(),
        fleet: request.name.clone().unwrap_or_else(|| of_folder.to_owned()),
        created: timestamp(),
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        seed: request.seed.unwrap_or_else(fresh_seed),
        measurement: FleetMeasurement {
            selectors: request.selectors.clone(),
            effort: request.effort.text().to_owned(),
            budget_s: request.budget_s,
            treatments: request.treatments.clone(),
            sides: request.sides,
            respects_lock: request.respects_lock,
        },
        launcher,
        nodes,
        visits: request.visits,
        apart_s: request.apart_s,
        at_once: Some(request.at_once.unwrap_or(at_once)),
        task_s: task_s(request),
    };
    planned.plan().map_err(|why| {
        let hint = "`--repeat`, `--apart` and the nodes decide how many visits there are, and when";
        UsageError::with_hint(&format!("cannot plan the visits: {why}"), hint).into()
    })
}

fn script(request: &Request, plan: &FleetPlan, path: &Path) -> anyhow::Result<Option<String>> {
    let Reach::Slurm { exclusive, program, .. } = &request.reach else { return Ok(None) };
    let program = match program {
        Some(program) => std::path::absolute(program)?,
        None => own_program()?,
    };
    let script = BatchScript {
        plan,
        folder: path,
        program: &program,
        exclusive: *exclusive,
        minutes: time_limit_minutes(task_s(request)),
    };
    script.text().map(Some)
}

fn preview(
    plan: FleetPlan,
    script: Option<String>,
    path: &Path,
    observer: &dyn Observer,
) -> Preview {
    if script.is_none() {
        return Preview { plan, script, commands: Vec::new() };
    }
    let tasks: Vec<u32> = (0..).take(plan.tasks.len()).collect();
    let arrays = arrays(&tasks, array_size_to_show(observer));
    let folder = FleetFolder::planned(path, plan);
    let at_once = arrays_at_once(&folder, &arrays);
    let commands = arrays.iter().map(|(&first, tasks)| {
        let words = array_words(&folder, first, tasks, at_once);
        std::iter::once("sbatch".to_owned()).chain(words).collect::<Vec<String>>()
    });
    let commands = commands.collect();
    Preview { plan: folder.plan, script, commands }
}

/// How long a task is expected to take, with its pilots, in seconds.
fn task_s(request: &Request) -> f64 {
    const AROUND_S: f64 = 30.0;
    let measured_s = match (request.effort, request.sides) {
        (Effort::Quick, _) => 30.0,
        (Effort::Default, FleetSides::Both) => 180.0,
        (Effort::Default, _) => 60.0,
        (Effort::Thorough, _) => 900.0,
    };
    request.budget_s.unwrap_or(measured_s) + AROUND_S
}
