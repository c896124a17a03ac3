//! Submits tasks: as arrays that are held, then each task is bound to its node, then released.
//!
//! sbatch(1) gives all tasks of an array the same nodes to choose from, while scontrol(1) changes each
//! task of an array that waits. A process that is killed in between leaves tasks that are held: they
//! are known by the names of their jobs, and bound and released by the next submission.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use oscost_model::fleet::FleetLauncher;

use super::jobs::{SlurmTask, SlurmTasks, job_name, queued};
use super::nodes::unavailable_nodes;
use super::programs::{refusal, run};
use super::variables::{Variable, notes, payer_arguments};
use crate::app::fleet::folder::{FleetFolder, SubmittedJob, TaskFailure};
use crate::app::measurement::run_header::timestamp;
use crate::app::observer::Observer;

/// A list of more indices may exceed the length of an argument.
const MAX_TASKS_OF_ARRAY: u32 = 10_000;
/// Slurm's default, which counts the index 0.
const USUAL_ARRAY_SIZE: u32 = 1_001;

/// What was submitted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Submission {
    /// The jobs, by their ids.
    pub jobs: Vec<String>,
    /// How many tasks wait for their nodes now.
    pub tasks: usize,
    /// Why tasks are jobs of their own, if some are.
    pub not_in_array: Option<String>,
    /// The tasks that Slurm has refused.
    pub refused: Vec<TaskFailure>,
}

/// The command that submits tasks as an array whose index 0 is the task `first`; so many `arrays` run
/// at the same time.
pub(in crate::app::fleet) fn array_words(
    folder: &FleetFolder,
    first: u32,
    tasks: &[u32],
    arrays: usize,
) -> Vec<String> {
    // Slurm's limit is one of each array.
    let arrays = u32::try_from(arrays.max(1)).unwrap_or(u32::MAX);
    let at_once = folder.plan.at_once.map(|at_once| (at_once / arrays).max(1));
    let limit = at_once.map_or(String::new(), |at_once| format!("%{at_once}"));
    let mut words = vec![
        "--hold".to_owned(),
        "--parsable".to_owned(),
        format!("--job-name={}", job_name(&folder.plan, first)),
        format!("--array={}{limit}", index_list(first, tasks)),
    ];
    words.extend(payer_arguments(job_options(folder)));
    words.extend([folder.script().display().to_string(), first.to_string()]);
    words
}

/// The options of the plan's jobs.
fn job_options(folder: &FleetFolder) -> &[String] {
    match &folder.plan.launcher {
        FleetLauncher::Slurm { options, .. } => options,
        FleetLauncher::Ssh => &[],
    }
}

/// The arrays of these tasks, which are in order: each has a first task, and as many as this Slurm
/// allows.
pub(in crate::app::fleet) fn arrays(tasks: &[u32], array_size: u32) -> BTreeMap<u32, Vec<u32>> {
    let size = array_size.clamp(1, MAX_TASKS_OF_ARRAY);
    let mut arrays = BTreeMap::<u32, Vec<u32>>::new();
    for &task in tasks {
        arrays.entry(task / size * size).or_default().push(task);
    }
    arrays
}

/// How many of these arrays have tasks that are due at the same time: those of one block, in which
/// each node is visited once, or those that are due by now.
pub(in crate::app::fleet) fn arrays_at_once(
    folder: &FleetFolder,
    arrays: &BTreeMap<u32, Vec<u32>>,
) -> usize {
    let mut blocks = BTreeMap::<Option<u32>, BTreeSet<u32>>::new();
    for (&first, tasks) in arrays {
        for &task in tasks {
            let visit = folder.plan.tasks.get(task as usize).map(|task| task.visit);
            let block = visit.filter(|_| delay_s(folder, task) > 0);
            blocks.entry(block).or_default().insert(first);
        }
    }
    blocks.values().map(BTreeSet::len).max().unwrap_or(0)
}

/// The number of tasks of an array that this Slurm allows.
fn array_size() -> anyhow::Result<u32> {
    let words = ["show", "config"].map(str::to_owned);
    let text = run("scontrol", &words, "")?.text("read the configuration of Slurm")?;
    Ok(array_size_in(&text))
}

/// The same for a plan that is only shown: Slurm's default, with a note, if Slurm does not answer.
pub(in crate::app::fleet) fn array_size_to_show(observer: &dyn Observer) -> u32 {
    array_size().unwrap_or_else(|_| {
        observer.note(&format!(
            "Slurm does not answer here: its MaxArraySize is taken to be {USUAL_ARRAY_SIZE}, the \
             default"
        ));
        USUAL_ARRAY_SIZE
    })
}

fn array_size_in(config: &str) -> u32 {
    let value = |line: &str| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "MaxArraySize").then(|| value.trim().parse().ok())?
    };
    config.lines().find_map(value).unwrap_or(USUAL_ARRAY_SIZE)
}

/// Submits tasks that have no job, and lets all tasks of the plan that wait for oscost go.
pub(in crate::app::fleet) fn submit(
    folder: &FleetFolder,
    tasks: &[u32],
    observer: &dyn Observer,
) -> anyhow::Result<Submission> {
    let mut submission = Submission::default();
    let submitted = submit_arrays(folder, tasks, &mut submission, observer);
    // Also after an array was refused: those before it are there.
    bind_and_release(folder, &mut submission, observer)?;
    if submitted.is_err() && submission.tasks > 0 {
        observer.note(&format!(
            "{} visits were submitted before Slurm refused the others; `oscost fleet run {} \
             --retry` submits the rest",
            submission.tasks,
            folder.path().display()
        ));
    }
    submitted.map(|()| submission)
}

fn submit_arrays(
    folder: &FleetFolder,
    tasks: &[u32],
    submission: &mut Submission,
    observer: &dyn Observer,
) -> anyhow::Result<()> {
    if tasks.is_empty() {
        return Ok(());
    }
    for note in notes(job_options(folder), Variable::all()) {
        observer.note(&note);
    }
    let arrays = arrays(tasks, array_size()?);
    let count = arrays_at_once(folder, &arrays);
    if let Some(at_once) = folder.plan.at_once.filter(|&at_once| (at_once as usize) < count) {
        observer.note(&format!(
            "{count} visits may run at one time, not {at_once}: this Slurm limits each of \
             {count} arrays by itself, to one task at least"
        ));
    }
    for (first, tasks) in arrays {
        let words = array_words(folder, first, &tasks, count);
        let job = job_id(&run("sbatch", &words, "")?.text("submit the job array")?)?;
        add_job(folder, job, first, tasks, submission)?;
    }
    Ok(())
}

/// Binds the tasks that are held to their nodes and times, and releases them. What this Slurm does not
/// bind is submitted as a job of its own.
fn bind_and_release(
    folder: &FleetFolder,
    submission: &mut Submission,
    observer: &dyn Observer,
) -> anyhow::Result<()> {
    observer.working("binding tasks to their nodes");
    let waiting = held(folder)?;
    let mut updates = String::new();
    for (&task, found) in waiting.iter().filter(|(task, found)| !is_bound(folder, **task, found)) {
        let (node, delay) = (folder.node(task), delay_s(folder, task));
        updates +=
            &format!("update JobId={} ReqNodeList={node} StartTime=now+{delay}\n", found.job);
    }
    let updated = match updates.is_empty() {
        true => None,
        false => Some(run("scontrol", &[], &updates)?),
    };
    // What Slurm says of its jobs counts, not whether a command seemed to succeed.
    let (bound, unbound): (SlurmTasks, SlurmTasks) =
        held(folder)?.into_iter().partition(|(task, found)| is_bound(folder, *task, found));
    let unavailable = unavailable_nodes();
    let (blocked, bound): (SlurmTasks, SlurmTasks) =
        bound.into_iter().partition(|(task, _)| unavailable.contains(folder.node(*task)));
    // First those that are ready: what fails with the others does not hold them.
    let releases: String = bound.values().map(|it| format!("release {}\n", it.job)).collect();
    if !releases.is_empty() {
        run("scontrol", &[], &releases)?.text("release the tasks")?;
    }
    submission.tasks += bound.len();
    if !unbound.is_empty() {
        let why = updated.map(|ran| ran.message).filter(|why| !why.is_empty());
        let why = why.unwrap_or_else(|| "this Slurm does not bind tasks of arrays".to_owned());
        submit_one_by_one(folder, &unbound, submission)?;
        submission.not_in_array = Some(why);
    }
    if !blocked.is_empty() {
        // Slurm passes over the rest of an array behind a task that cannot have its node.
        submit_one_by_one(folder, &blocked, submission)?;
        let why = "their nodes are not available, and tasks of an array wait for each other";
        submission.not_in_array = Some(why.to_owned());
    }
    observer.finished();
    Ok(())
}

/// The tasks of the plan that wait for oscost.
fn held(folder: &FleetFolder) -> anyhow::Result<SlurmTasks> {
    Ok(queued(folder)?.into_iter().filter(|(_, found)| found.is_held()).collect())
}

fn is_bound(folder: &FleetFolder, task: u32, found: &SlurmTask) -> bool {
    found.required == folder.node(task)
}

/// Replaces tasks of arrays by jobs of their own.
fn submit_one_by_one(
    folder: &FleetFolder,
    tasks: &SlurmTasks,
    submission: &mut Submission,
) -> anyhow::Result<()> {
    for (&task, found) in tasks {
        let cancelled = run("scancel", std::slice::from_ref(&found.job), "")?;
        if !cancelled.is_success() {
            // It would be measured twice beside a job of its own.
            let why = format!("Slurm keeps its task of an array: {}", cancelled.why());
            refuse(folder, task, why, submission)?;
            continue;
        }
        let mut words = vec![
            "--parsable".to_owned(),
            format!("--job-name={}", job_name(&folder.plan, task)),
            format!("--nodelist={}", folder.node(task)),
            format!("--begin=now+{}", delay_s(folder, task)),
        ];
        words.extend(payer_arguments(job_options(folder)));
        words.extend([folder.script().display().to_string(), task.to_string()]);
        let ran = run("sbatch", &words, "")?;
        if ran.is_success() {
            let job = job_id(&ran.text("submit a job")?)?;
            add_job(folder, job, task, vec![task], submission)?;
            submission.tasks += 1;
            continue;
        }
        refuse(folder, task, format!("Slurm refused its job: {}", ran.why()), submission)?;
    }
    Ok(())
}

/// Says that Slurm has refused a task.
fn refuse(
    folder: &FleetFolder,
    task: u32,
    why: String,
    submission: &mut Submission,
) -> anyhow::Result<()> {
    let (node, at) = (folder.node(task).to_owned(), timestamp());
    let failure = TaskFailure { task, node, at, why, exit: None };
    folder.add_failure(&failure)?;
    submission.refused.push(failure);
    Ok(())
}

fn add_job(
    folder: &FleetFolder,
    job: String,
    first: u32,
    tasks: Vec<u32>,
    submission: &mut Submission,
) -> anyhow::Result<()> {
    submission.jobs.push(job.clone());
    folder.add_job(&SubmittedJob { job, first, tasks, submitted: timestamp() })
}

/// Ends the jobs of a plan that wait or run; returns the arrays and jobs that were ended.
pub(in crate::app::fleet) fn cancel(folder: &FleetFolder) -> anyhow::Result<Vec<String>> {
    let queued = queued(folder)?;
    let active = queued.values().filter(|task| task.is_active());
    let jobs: BTreeSet<u64> = active.map(|task| task.array).collect();
    let jobs: Vec<String> = jobs.iter().map(u64::to_string).collect();
    if !jobs.is_empty() {
        run("scancel", &jobs, "")?.text("cancel the jobs")?;
    }
    Ok(jobs)
}

/// The id of a job in the answer of `sbatch --parsable`: `123` or `123;CLUSTER`.
fn job_id(answer: &str) -> anyhow::Result<String> {
    let id = answer.lines().last().unwrap_or_default().split(';').next().unwrap_or_default().trim();
    match !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()) {
        true => Ok(id.to_owned()),
        false => {
            let why = format!("`{}` is not the id of a job", answer.trim().escape_debug());
            Err(refusal("submit the job", &why))
        }
    }
}

/// How long a task waits from now on, in whole seconds: times are relative, so that the clocks of
/// this machine and of the controller may differ.
fn delay_s(folder: &FleetFolder, task: u32) -> u64 {
    let begin_s = folder.plan.tasks.get(task as usize).map_or(0.0, |task| task.begin_s);
    remaining_s(&folder.plan.created, begin_s, SystemTime::now())
}

/// How long it is until `begin_s` seconds after a time; 0 if that is over. It is no longer than
/// `begin_s`: the clock was set back if it is before that time.
pub(in crate::app::fleet) fn remaining_s(created: &str, begin_s: f64, now: SystemTime) -> u64 {
    let created = humantime::parse_rfc3339(created).unwrap_or(now);
    let begin = Duration::try_from_secs_f64(begin_s).unwrap_or_default();
    let left = created.checked_add(begin).and_then(|begin| begin.duration_since(now).ok());
    left.map_or(0, |left| left.min(begin).as_secs())
}

/// The indices of tasks in an array, as `0-3,7`.
fn index_list(first: u32, tasks: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for index in tasks.iter().map(|task| task.saturating_sub(first)) {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == index => *last = index,
            _ => ranges.push((index, index)),
        }
    }
    let text = |&(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    ranges.iter().map(text).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_become_arrays_of_the_size_that_slurm_allows() {
        let tasks: Vec<u32> = (0..5).chain([7]).collect();
        let found: Vec<(u32, Vec<u32>)> = arrays(&tasks, 4).into_iter().collect();
        assert_eq!(found, [(0, vec![0, 1, 2, 3]), (4, vec![4, 7])]);
        assert_eq!(index_list(4, &[4, 7]), "0,3");
        assert_eq!(index_list(0, &[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
        let many: Vec<u32> = (0..25_000).collect();
        assert_eq!(arrays(&many, 4_000_000).len(), 3);
    }

    #[test]
    fn the_limit_of_arrays_is_read_from_the_configuration() {
        assert_eq!(array_size_in("MaxArraySize            = 33\nMaxJobCount = 7\n"), 33);
        assert_eq!(array_size_in("MaxArraySizes = x\n"), USUAL_ARRAY_SIZE);
    }

    #[test]
    fn the_id_of_a_job_is_a_number_with_or_without_its_cluster() {
        assert_eq!(job_id("123\n").unwrap(), "123");
        assert_eq!(job_id("warning\n123;lab\n").unwrap(), "123");
        assert!(job_id("-x\n").is_err() && job_id("").is_err());
    }

    #[test]
    fn a_beginning_that_is_over_is_now() {
        let now = humantime::parse_rfc3339("2026-01-01T01:00:00Z").unwrap();
        assert_eq!(remaining_s("2026-01-01T00:00:00Z", 7_200.0, now), 3_600);
        assert_eq!(remaining_s("2026-01-01T00:00:00Z", 60.0, now), 0);
        assert_eq!(remaining_s("x", 60.0, now), 60);
        assert_eq!(remaining_s("2026-01-01T00:00:00Z", f64::MAX, now), 0);
        assert_eq!(remaining_s("2026-03-01T00:00:00Z", 60.0, now), 60, "the clock was set back");
    }
}
