//! `oscost fleet run --retry`: does again what has no record and neither waits nor runs.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use oscost_model::fleet::{FleetLauncher, FleetPlan};

use super::folder::FleetFolder;
use super::record_folder::{RecordChecks, RecordFolder};
use super::run::{Started, begin, lock};
use super::slurm::jobs::queued;
use super::slurm::nodes::find_nodes;
use super::ssh_queue::QueueEnd;
use crate::app::error::UsageError;
use crate::app::observer::Observer;
use crate::hosts::slurm::SlurmOptions;

/// Does again what has no record and neither waits nor runs, of these nodes or of all.
pub fn retry(path: &Path, nodes: Option<&str>, observer: &dyn Observer) -> anyhow::Result<Started> {
    let records = RecordFolder::open_own(path)?;
    let folder = records.fleet();
    let _lock = lock(folder, observer)?;
    folder.remove_stale()?;
    let wanted = match nodes {
        None => None,
        Some(list) => Some(nodes_of_plan(&folder.plan, list)?),
    };
    let is_wanted = |node: u32| wanted.as_ref().is_none_or(|wanted| wanted.contains(&node));
    // Asked before records are looked for: what has ended by then has its record.
    let active = active_in_slurm(folder)?;
    let tasks = (0..).zip(folder.plan.tasks.iter().map(|task| task.node));
    let tasks: Vec<u32> = tasks
        .filter(|(task, node)| is_wanted(*node) && !active.contains(task))
        .map(|(task, _)| task)
        .collect();
    let tasks = unmeasured(&records, &tasks, observer)?;
    match begin(folder, &tasks.idle, observer)? {
        Started::Done(end) => {
            Ok(Started::Done(QueueEnd { still_running: tasks.running.len(), ..end }))
        }
        started => Ok(started),
    }
}

/// The tasks that wait or run as jobs of Slurm.
fn active_in_slurm(folder: &FleetFolder) -> anyhow::Result<BTreeSet<u32>> {
    match &folder.plan.launcher {
        FleetLauncher::Ssh => Ok(BTreeSet::new()),
        FleetLauncher::Slurm { options, .. } if !SlurmOptions::are_of_any_node(options) => {
            let what = "the plan has options that no job may have";
            Err(UsageError::with_hint(what, "`oscost fleet run` makes a plan in a new folder")
                .into())
        }
        FleetLauncher::Slurm { .. } => {
            let queued = queued(folder)?.into_iter();
            Ok(queued.filter(|(_, found)| found.is_active()).map(|(task, _)| task).collect())
        }
    }
}

/// Tasks without a record.
struct Unmeasured {
    /// Those that can be done.
    idle: Vec<u32>,
    /// Those that a process measures by ssh, which has outlived its queue.
    running: Vec<u32>,
}

/// Which of these tasks have no record that is accepted. One that is rejected is set aside, since a
/// task that has a record is not measured.
fn unmeasured(
    records: &RecordFolder,
    tasks: &[u32],
    observer: &dyn Observer,
) -> anyhow::Result<Unmeasured> {
    let folder = records.fleet();
    let RecordChecks { accepted, rejected } = records.check_records(tasks)?;
    let missing = tasks.iter().copied().filter(|task| !accepted.contains(task));
    let is_of_ssh = folder.plan.launcher == FleetLauncher::Ssh;
    let is_running = |task: &u32| is_of_ssh && folder.is_task_locked(*task);
    let (running, mut idle): (Vec<u32>, Vec<u32>) = missing.partition(is_running);
    for &task in &running {
        let node = folder.node(task);
        observer.note(&format!("node {node} is still running task {task}, of an earlier queue"));
    }
    if folder.plan.tool != env!("CARGO_PKG_VERSION") && !rejected.is_empty() {
        // Another version may have other records, and measures nothing for this plan.
        idle.retain(|task| !rejected.contains_key(task));
        observer.note(&format!(
            "{} records are not accepted by this oscost, and stay: retry with the version of the \
             plan, {}",
            rejected.len(),
            folder.plan.tool.escape_debug()
        ));
        return Ok(Unmeasured { idle, running });
    }
    for task in &idle {
        let Some(why) = rejected.get(task) else { continue };
        folder.set_record_aside(*task)?;
        let file = RecordFolder::record_name(*task);
        observer.note(&format!("{file} is rejected, and is now {file}.old: {why}"));
    }
    Ok(Unmeasured { idle, running })
}

/// The indices of the nodes of a list in a plan.
fn nodes_of_plan(plan: &FleetPlan, list: &str) -> anyhow::Result<BTreeSet<u32>> {
    let names = match plan.launcher {
        FleetLauncher::Slurm { .. } => {
            let mut options = SlurmOptions::default();
            options.set_nodes(list)?;
            find_nodes(&options)?
        }
        FleetLauncher::Ssh => list.split(',').map(str::to_owned).collect(),
    };
    let indices: HashMap<&str, u32> = plan.nodes.iter().map(String::as_str).zip(0..).collect();
    let index = |name: &String| {
        indices.get(name.as_str()).copied().ok_or_else(|| {
            let what = format!("`{}` is not a node of this fleet", name.escape_debug());
            let hint = "`oscost fleet status FOLDER --all` lists them";
            anyhow::Error::from(UsageError::with_hint(&what, hint))
        })
    };
    names.iter().map(index).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::app::fleet::record_folder::tests::{folder_of, put};
    use crate::app::observer::test_observers::Notes;

    #[test]
    fn a_rejected_record_is_set_aside_and_a_task_that_runs_is_left_alone() {
        let folder = folder_of(&["n1", "n2"]);
        put(&folder, "n1", 0, 1.0);
        fs::create_dir(folder.path().join("logs")).unwrap();
        let record = |task: u32| folder.path().join(RecordFolder::record_name(task));
        fs::write(record(1), "{}").unwrap();
        let mut records = RecordFolder::open_own(folder.path()).unwrap();
        let running = records.fleet().lock_task(3).unwrap();
        let notes = Notes::default();
        let found = unmeasured(&records, &[0, 1, 2, 3], &notes).unwrap();
        assert_eq!((found.idle, found.running), (vec![1, 2], vec![3]));
        assert!(record(0).exists() && !record(1).exists());
        assert!(folder.path().join("records/1.json.old").exists());
        let notes = notes.0.take();
        assert_eq!(notes[0], "node n2 is still running task 3, of an earlier queue");
        assert!(notes[1].starts_with("records/1.json is rejected, and is now "), "{notes:?}");
        drop(running);
        // What another version has written stays.
        fs::write(record(1), "{}").unwrap();
        records.set_tool("0.0.0-x");
        let found = unmeasured(&records, &[0, 1, 2, 3], &Notes::default()).unwrap();
        assert_eq!((found.idle, found.running), (vec![2, 3], Vec::new()));
        assert!(record(1).exists());
    }

    #[test]
    fn nodes_of_a_list_are_those_of_the_plan() {
        let folder = folder_of(&["n1", "n2", "n3"]);
        let plan = RecordFolder::open(folder.path()).unwrap().plan().clone();
        let found = nodes_of_plan(&plan, "n3,n1").unwrap();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [0, 2]);
        let error = nodes_of_plan(&plan, "n1,n9").unwrap_err().to_string();
        assert!(error.contains("`n9` is not a node of this fleet"), "{error}");
    }
}
