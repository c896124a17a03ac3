//! `oscost fleet status`

use std::collections::BTreeMap;
use std::path::PathBuf;

use oscost_model::fleet::{FleetLauncher, FleetPlan};
use oscost_model::untrusted_text::truncate;
use serde_json::{Value, json};

use crate::app::fleet::{FleetStatus, TaskState, TaskStatus, status as find};
use crate::cli::exit::ExitStatus;
use crate::cli::output::{Output, report_line};
use crate::report::json::value;

/// The most tasks of a fleet that are listed without `--all`.
const MAX_LISTED: usize = 40;
/// A line of a terminal has this much of a reason.
const MAX_REASON_CHARS: usize = 200;

/// Which fleet to look at.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
States are: measured, running, waiting (with Slurm's reason), held (oscost was
killed before it let the task go: --retry does), failed (with the error), timed
out, out of memory, preempted, node failed, cancelled, lost (it began, and ended
without a word) and never ran. How jobs ended is known from Slurm's accounting;
without it, from the folder and from the queue, which forgets in minutes.

Examples:
  oscost fleet status /shared/lab
  oscost fleet status /shared/lab --all          every task, also the measured
  oscost fleet status /shared/lab --json | jq .counts")]
pub(super) struct Arguments {
    /// The folder of the fleet.
    folder: PathBuf,
    /// List all tasks, also those that were measured.
    #[arg(long)]
    all: bool,
    /// Print all tasks as JSON, `oscost.fleet-status/1`.
    #[arg(long, conflicts_with = "all")]
    json: bool,
}

pub(super) fn status(arguments: Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let found = find(&arguments.folder)?;
    for note in &found.states.notes {
        report_line(&format!("note: {note}"));
    }
    if arguments.json {
        output.write(&value(&document(&found))?)?;
    } else {
        output.write(&text(&found, arguments.all))?;
    }
    Ok(ExitStatus::Success)
}

/// How many tasks are in each state, by its text.
fn counts(tasks: &[TaskStatus]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for task in tasks {
        *counts.entry(task.state.text()).or_default() += 1;
    }
    counts
}

fn document(FleetStatus { plan, states }: &FleetStatus) -> Value {
    let task = |it: &TaskStatus| {
        let exit = match &it.state {
            TaskState::Failed { exit, .. } => *exit,
            _ => None,
        };
        json!({
            "task": it.task,
            "node": it.node,
            "visit": it.visit,
            "state": it.state.text(),
            "reason": it.state.reason(),
            "exit": exit,
        })
    };
    json!({
        "schema": "oscost.fleet-status/1",
        "fleet": plan.fleet,
        "plan": plan.id,
        "exclusive": exclusive(plan),
        "counts": counts(&states.tasks),
        "tasks": states.tasks.iter().map(task).collect::<Vec<Value>>(),
    })
}

/// Whether a task has its node for itself; `None` if that is not known, or nobody can say so, as by
/// ssh.
fn exclusive(plan: &FleetPlan) -> Option<bool> {
    match plan.launcher {
        FleetLauncher::Slurm { exclusive, .. } => exclusive,
        FleetLauncher::Ssh => None,
    }
}

fn text(FleetStatus { plan, states }: &FleetStatus, all: bool) -> String {
    let counts = counts(&states.tasks);
    let parts = counts.iter().map(|(state, count)| format!("{count} {state}"));
    let mut text = format!(
        "{}: {} visits of {} nodes: {}\n",
        plan.fleet,
        states.tasks.len(),
        plan.nodes.len(),
        parts.collect::<Vec<_>>().join(", ")
    );
    if exclusive(plan) == Some(false) {
        text += "  its tasks share their nodes with other jobs\n";
    }
    let is_listed = |it: &&TaskStatus| all || it.state != TaskState::Measured;
    let listed: Vec<&TaskStatus> = states.tasks.iter().filter(is_listed).collect();
    let shown = if all { listed.len() } else { listed.len().min(MAX_LISTED) };
    let width = listed.iter().take(shown).map(|it| it.node.len()).max().unwrap_or(0).max(4);
    if shown > 0 {
        text += &format!("\n  task  {:<width$}  visit  state\n", "node");
    }
    for it in listed.iter().take(shown) {
        let reason = it.state.reason();
        // The cause of an error is on its first line, the hint below it.
        let reason =
            truncate(reason.lines().next().unwrap_or_default().to_owned(), MAX_REASON_CHARS);
        let colon = if reason.is_empty() { "" } else { ": " };
        text += &format!(
            "{:>6}  {:<width$}  {:>5}  {}{colon}{reason}\n",
            it.task,
            it.node,
            it.visit,
            it.state.text()
        );
    }
    if shown < listed.len() {
        text += &format!("  and {} more: --all lists them\n", listed.len() - shown);
    }
    text
}
