//! What Slurm knows of a fleet's jobs, by `squeue --json` and `sacct --json`.
//!
//! The keys differ between versions (a state is a text or a list, a number a number or an object that
//! may be unset), and both list the jobs of others. A job of a fleet is known by its name and its user
//! in the queue, where anyone may give a job any name, and in the accounting by its id.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;

use oscost_model::fleet::FleetPlan;
use oscost_model::untrusted_text::display_text;
use serde::Deserialize;
use serde_json::Value;

use super::programs::{SlurmOutput, ask, refusal};
use crate::app::fleet::folder::{FleetFolder, SubmittedJob};
use oscost_model::fleet::is_node_name;

const MAX_WORD_CHARS: usize = 200;
/// The states in which a job does not run again. Versions add states: what is not here may still
/// measure, and is not submitted a second time.
const ENDED: [&str; 12] = [
    "BOOT_FAIL",
    "CANCELLED",
    "COMPLETED",
    "DEADLINE",
    "FAILED",
    "LAUNCH_FAILED",
    "NODE_FAIL",
    "OUT_OF_MEMORY",
    "PREEMPTED",
    "RECONFIG_FAIL",
    "REVOKED",
    "TIMEOUT",
];

/// The name of a job, by which it is found even if oscost was killed before it wrote its id down.
pub(in crate::app::fleet) fn job_name(plan: &FleetPlan, first: u32) -> String {
    format!("{}-{}-{first}", plan.fleet, plan.id)
}

/// A task of a plan as Slurm knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlurmTask {
    /// The job that it is addressed by: `12_3`, or `12`.
    pub job: String,
    /// The job of which it is a part.
    pub array: u64,
    /// The state, as `PENDING`.
    pub state: String,
    /// Why it waits or failed.
    pub reason: String,
    /// The node that it runs or ran on.
    pub node: Option<String>,
    /// The nodes that it must run on.
    pub required: String,
    /// Its exit status.
    pub exit: Option<i32>,
}

impl SlurmTask {
    /// Whether it may still measure.
    pub(in crate::app::fleet) fn is_active(&self) -> bool {
        !ENDED.contains(&self.state.as_str())
    }

    pub(in crate::app::fleet) fn is_pending(&self) -> bool {
        ["PENDING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT"].contains(&self.state.as_str())
    }

    pub(in crate::app::fleet) fn is_running(&self) -> bool {
        self.is_active() && !self.is_pending()
    }

    /// Whether it waits for oscost, which has not released it.
    pub(in crate::app::fleet) fn is_held(&self) -> bool {
        self.is_pending() && self.reason == "JobHeldUser"
    }
}

/// The tasks of a plan that Slurm knows, by their numbers: of several jobs of a task the active one, or
/// the last.
pub type SlurmTasks = BTreeMap<u32, SlurmTask>;

/// Asks the queue. It also knows jobs that ended a few minutes ago.
pub(in crate::app::fleet) fn queued(folder: &FleetFolder) -> anyhow::Result<SlurmTasks> {
    const ACT: &str = "ask Slurm for its jobs";
    let owner = std::fs::metadata(folder.path()).map_err(|error| {
        anyhow::anyhow!(
            "cannot find the owner of {}: {error}\n  hint: `ls -ld` of it must work",
            folder.path().display()
        )
    })?;
    let owner = u64::from(owner.uid());
    let is_own = |job: JobIdentity| job.user == Some(owner);
    let ran = ask("squeue", &["--json".to_owned()])?;
    match ran.is_success() {
        true => slurm_tasks_in(&folder.plan, &ran.stdout, is_own).map_err(|why| refusal(ACT, &why)),
        false => Err(refusal(ACT, &ran.why())),
    }
}

/// What Slurm knows of the tasks of a plan.
pub(in crate::app::fleet) struct KnownTasks {
    pub(in crate::app::fleet) tasks: SlurmTasks,
    /// Why jobs that ended some time ago are not known; `None` if they are.
    pub(in crate::app::fleet) unaccounted: Option<String>,
}

/// Asks the queue and the accounting.
pub(in crate::app::fleet) fn known(folder: &FleetFolder) -> anyhow::Result<KnownTasks> {
    let mut tasks = queued(folder)?;
    let submitted = folder.jobs()?;
    if submitted.is_empty() {
        return Ok(KnownTasks { tasks, unaccounted: None });
    }
    let unaccounted = match accounted(&folder.plan, &submitted) {
        Ok(ended) => {
            ended.into_iter().for_each(|(task, found)| keep_newest(&mut tasks, task, found));
            None
        }
        Err(why) => Some(why),
    };
    Ok(KnownTasks { tasks, unaccounted })
}

fn accounted(plan: &FleetPlan, submitted: &[SubmittedJob]) -> Result<SlurmTasks, String> {
    let ids: Vec<&str> = submitted.iter().map(|job| job.job.as_str()).collect();
    let words = ["--json".to_owned(), format!("--jobs={}", ids.join(","))];
    let ran: SlurmOutput = ask("sacct", &words).map_err(|error| error.to_string())?;
    // sacct 22.05 answers in JSON with all jobs, whatever it is asked for.
    let ids: BTreeSet<u64> = ids.iter().filter_map(|id| id.parse().ok()).collect();
    let is_own = |job: JobIdentity| ids.contains(&job.id);
    match ran.is_success() {
        true => slurm_tasks_in(plan, &ran.stdout, is_own),
        false => Err(ran.why()),
    }
}

fn keep_newest(tasks: &mut SlurmTasks, task: u32, found: SlurmTask) {
    let rank = |it: &SlurmTask| (it.is_active(), it.array);
    match tasks.get(&task) {
        // Of one job the queue, which was asked first, knows more than the accounting.
        Some(known) if rank(known) >= rank(&found) => {}
        _ => {
            tasks.insert(task, found);
        }
    }
}

#[derive(Deserialize)]
struct Listed {
    jobs: Option<Vec<Job>>,
    /// Without its controller squeue 22.05 lists no job, and succeeds: only this tells.
    #[serde(default)]
    errors: Vec<Value>,
}

/// The keys of both programs, in all versions; others are skipped.
#[derive(Deserialize)]
struct Job {
    #[serde(default)]
    name: Value,
    /// squeue alone has it.
    #[serde(default)]
    user_id: Value,
    #[serde(default)]
    job_id: Value,
    #[serde(default)]
    array_job_id: Value,
    #[serde(default)]
    array_task_id: Value,
    #[serde(default)]
    array_task_string: Value,
    /// sacct: `{"job_id", "task_id", "task"}`.
    #[serde(default)]
    array: Value,
    #[serde(default)]
    job_state: Value,
    #[serde(default)]
    state_reason: Value,
    /// sacct: `{"current", "reason"}`.
    #[serde(default)]
    state: Value,
    #[serde(default)]
    nodes: Value,
    #[serde(default)]
    required_nodes: Value,
    #[serde(default)]
    exit_code: Value,
}

/// Which job of a list it is, and whose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobIdentity {
    /// The number of its user; squeue alone says it.
    pub user: Option<u64>,
    /// The id of its array, or its own.
    pub id: u64,
}

/// The tasks of a plan in a list of jobs as squeue and sacct print it in JSON, of which these are its
/// own. The list is untrusted: others have jobs in it.
pub fn slurm_tasks_in(
    plan: &FleetPlan,
    json: &[u8],
    is_own: impl Fn(JobIdentity) -> bool,
) -> Result<SlurmTasks, String> {
    let listed: Listed = serde_json::from_slice(json).map_err(|error| {
        display_text(&format!("its answer is no JSON: {error}"), MAX_WORD_CHARS)
    })?;
    if let Some(error) = listed.errors.first() {
        let words = [&error["description"], &error["error"]].map(text);
        return Err(words.join(": "));
    }
    let Some(jobs) = listed.jobs else { return Err("its answer has no list of jobs".to_owned()) };
    let prefix = format!("{}-{}-", plan.fleet, plan.id);
    let count = u32::try_from(plan.tasks.len()).unwrap_or(u32::MAX);
    let mut tasks = SlurmTasks::new();
    for job in jobs.iter().filter(|job| is_own(job.identity())) {
        let first = text(&job.name).strip_prefix(&prefix).and_then(|it| it.parse::<u32>().ok());
        let Some(first) = first else { continue };
        for (index, found) in job.tasks(count.saturating_sub(first)) {
            if let Some(task) = first.checked_add(index).filter(|&task| task < count) {
                keep_newest(&mut tasks, task, found);
            }
        }
    }
    Ok(tasks)
}

impl Job {
    fn id(&self) -> u64 {
        number(&self.job_id).unwrap_or(0)
    }

    fn identity(&self) -> JobIdentity {
        let id = self.array_id().unwrap_or_else(|| self.id());
        JobIdentity { user: number(&self.user_id), id }
    }

    /// The id of its array; `None` of a job of its own.
    fn array_id(&self) -> Option<u64> {
        let array = number(&self.array_job_id).or_else(|| number(&self.array["job_id"]));
        array.filter(|&id| id != 0)
    }

    /// Its tasks, by their indices in the array, which are less than `count`. Tasks that wait in one
    /// array are one job.
    fn tasks(&self, count: u32) -> Vec<(u32, SlurmTask)> {
        let (own, array) = (self.id(), self.array_id());
        let index = number(&self.array_task_id).or_else(|| number(&self.array["task_id"]));
        // As long as it is: the list of a thousand tasks is no word.
        let waiting = [&self.array_task_string, &self.array["task"]].map(Value::as_str);
        let waiting = waiting.into_iter().flatten().find(|list| !list.is_empty());
        let indices = match (array, index) {
            (None, _) => vec![None],
            (Some(_), Some(index)) => vec![u32::try_from(index).ok()],
            (Some(_), None) => {
                indices(waiting.unwrap_or_default(), count).into_iter().map(Some).collect()
            }
        };
        let state = [&self.job_state, &self.state["current"]].map(text);
        let reason = [&self.state_reason, &self.state["reason"]].map(text);
        let known = |texts: [String; 2]| texts.into_iter().find(|it| !it.is_empty());
        let (state, reason) =
            (known(state).unwrap_or_default(), known(reason).filter(|it| it != "None"));
        let task = |index: Option<u32>| SlurmTask {
            job: match (array, index) {
                (Some(array), Some(index)) => format!("{array}_{index}"),
                _ => own.to_string(),
            },
            array: array.unwrap_or(own),
            state: state.clone(),
            reason: reason.clone().unwrap_or_default(),
            node: Some(text(&self.nodes)).filter(|node| is_node_name(node)),
            required: text(&self.required_nodes),
            exit: exit_status(&self.exit_code),
        };
        indices.into_iter().map(|index| (index.unwrap_or(0), task(index))).collect()
    }
}

/// The indices of a list like `0-7:2,9%3` that are less than `count`, and no more than so many.
fn indices(list: &str, count: u32) -> Vec<u32> {
    let list = list.split('%').next().unwrap_or_default();
    let mut found = Vec::new();
    for part in list.split(',') {
        let (range, step) = part.split_once(':').unwrap_or((part, "1"));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        if let (Ok(first), Ok(last), Ok(step)) =
            (first.parse::<u32>(), last.parse::<u32>(), step.parse::<usize>())
            && step > 0
        {
            let room = (count as usize).saturating_sub(found.len());
            let end = last.saturating_add(1).min(count);
            found.extend((first..end).step_by(step).take(room));
        }
    }
    found
}

/// A text, or the first of several, in one line.
fn text(value: &Value) -> String {
    let value = value.as_array().and_then(|values| values.first()).unwrap_or(value);
    display_text(value.as_str().unwrap_or_default(), MAX_WORD_CHARS)
}

/// A number, as it is, as a text, or as `{"set", "number"}`.
fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Object(_) if value["set"] == false => None,
        Value::Object(_) => value["number"].as_u64(),
        Value::String(text) => text.parse().ok(),
        other => other.as_u64(),
    }
}

/// The exit status: a wait status as wait(2) has it, or `{"return_code"}`.
fn exit_status(value: &Value) -> Option<i32> {
    match value {
        Value::Object(_) => i32::try_from(number(&value["return_code"])?).ok(),
        other => i32::try_from(other.as_u64()?).ok().map(|status| status >> 8),
    }
}

#[cfg(test)]
mod tests;
