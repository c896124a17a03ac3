//! The records of a fleet's folder, checked: anyone who may write there may have put anything into it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::Path;

use nix::libc;
use oscost_model::fleet::{FleetPlan, FleetTask, FleetVisit};
use oscost_model::record::Record;

use super::folder::{FleetFolder, RECORDS};
use super::parallel::{for_each, thread_count};
use crate::store::validate;

/// Which tasks have a record.
pub(super) struct RecordChecks {
    /// Those whose record is accepted.
    pub(super) accepted: BTreeSet<u32>,
    /// Why the records of others are rejected.
    pub(super) rejected: BTreeMap<u32, String>,
}

/// The records of a fleet's folder.
pub(super) struct RecordFolder {
    folder: FleetFolder,
}

impl RecordFolder {
    /// Opens the folder at a path, and reads its plan.
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        Ok(Self { folder: FleetFolder::open(path)? })
    }

    /// Opens the folder at a path, which must be this user's alone, and reads its plan.
    pub(super) fn open_own(path: &Path) -> anyhow::Result<Self> {
        Ok(Self { folder: FleetFolder::open_own(path)? })
    }

    /// The folder of the fleet.
    pub(super) fn fleet(&self) -> &FleetFolder {
        &self.folder
    }

    /// Its plan.
    pub(super) fn plan(&self) -> &FleetPlan {
        &self.folder.plan
    }

    /// The visit that a task of the plan is; `None` if the plan has no such task.
    pub(super) fn visit(&self, task: u32) -> Option<FleetVisit> {
        let FleetPlan { fleet, id, nodes, tasks, .. } = self.plan();
        let FleetTask { node, visit, .. } = tasks.get(task as usize)?;
        Some(FleetVisit {
            fleet: fleet.clone(),
            plan: id.clone(),
            node: nodes.get(*node as usize)?.clone(),
            visit: *visit,
            task,
            exclusive: None,
        })
    }

    /// The tasks of which a file of a record is there, in order.
    pub(super) fn recorded_tasks(&self) -> anyhow::Result<Vec<u32>> {
        Ok(self.folder.record_numbers()?.into_iter().collect())
    }

    /// The name of a task's record, as messages have it.
    pub(super) fn record_name(task: u32) -> String {
        format!("{RECORDS}/{task}.json")
    }

    /// The bytes of a task's record; the error says why it cannot be read.
    pub(super) fn read_record(&self, task: u32) -> Result<Vec<u8>, String> {
        self.check_task(task)?;
        self.folder.read_record(task).map_err(|error| error.to_string())
    }

    /// Refuses a task that the plan does not have, before its file is read.
    fn check_task(&self, task: u32) -> Result<(), String> {
        match (task as usize) < self.plan().tasks.len() {
            true => Ok(()),
            false => Err("the plan has no such task".to_owned()),
        }
    }

    /// A task's record, checked as one that is imported; the error says why it is rejected.
    pub(super) fn record(&self, task: u32) -> Result<Record, String> {
        self.checked(task, &self.read_record(task)?)
    }

    fn checked(&self, task: u32, bytes: &[u8]) -> Result<Record, String> {
        let record = validate(bytes).map_err(|error| error.to_string())?;
        self.check_visit(record.fleet.as_ref(), task)?;
        Ok(record)
    }

    /// Reads and checks the records of these tasks. An error is one of the file system, which says
    /// nothing of the record.
    pub(super) fn check_records(&self, tasks: &[u32]) -> anyhow::Result<RecordChecks> {
        let recorded = self.folder.record_numbers()?;
        let tasks: Vec<u32> = tasks.iter().copied().filter(|it| recorded.contains(it)).collect();
        let mut checks = RecordChecks { accepted: BTreeSet::new(), rejected: BTreeMap::new() };
        let mut failed = None;
        let threads = vec![(); thread_count().min(tasks.len())];
        let check = |_: &mut (), at: usize| self.check_record(tasks[at]);
        for_each(tasks.len(), threads, &mut (), &check, &mut |at, checked| match checked {
            Ok(Ok(())) => {
                checks.accepted.insert(tasks[at]);
            }
            Ok(Err(why)) => {
                checks.rejected.insert(tasks[at], why);
            }
            // It has gone since the folder was listed.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => failed = Some((tasks[at], error)),
        });
        match failed {
            None => Ok(checks),
            Some((task, error)) => {
                anyhow::bail!(
                    "cannot read {}: {error}\n  hint: give yourself the right to read the records of \
                     this folder",
                    Self::record_name(task)
                )
            }
        }
    }

    /// The inner error says why the record is rejected.
    fn check_record(&self, task: u32) -> io::Result<Result<(), String>> {
        match self.folder.read_record(task) {
            Ok(bytes) => Ok(self.checked(task, &bytes).map(drop)),
            Err(error) if is_of_the_file(&error) => Ok(Err(error.to_string())),
            Err(error) => Err(error),
        }
    }

    /// Refuses the record of another visit than that of this task.
    pub(super) fn check_visit(&self, found: Option<&FleetVisit>, task: u32) -> Result<(), String> {
        let found = found.ok_or("it is the record of a run, and of no visit of a fleet's node")?;
        let planned = self.visit(task).ok_or("the plan has no such task")?;
        // The plan does not know it.
        let expected = FleetVisit { exclusive: found.exclusive, ..planned };
        match *found == expected {
            true => Ok(()),
            false => Err(format!(
                "it is visit {} of {} as task {} of plan {} for fleet {}, and here is visit {} of {}",
                found.visit,
                found.node,
                found.task,
                found.plan,
                found.fleet,
                expected.visit,
                expected.node
            )),
        }
    }
}

/// Whether a file is none that can be a record: no regular file, a link, a socket, or too large.
fn is_of_the_file(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::FileTooLarge)
        || matches!(error.raw_os_error(), Some(libc::ELOOP | libc::ENXIO))
}

#[cfg(test)]
pub(super) mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use nix::sys::stat::Mode;
    use oscost_model::fleet::{FLEET_SCHEMA, FleetLauncher, FleetMeasurement, FleetSides};
    use tempfile::TempDir;

    use super::*;
    use crate::app::error::UsageError;
    use crate::app::fleet::builder::tests::record;
    use crate::app::fleet::folder::PLAN;

    /// A fleet's folder with two visits of each of these nodes, `n1`, `n2`, ..., and no record yet.
    pub(in crate::app::fleet) fn folder_of(nodes: &[&str]) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        let task = |number: u32| FleetTask { node: number / 2, visit: number % 2, begin_s: 0.0 };
        let tasks = (0..2 * nodes.len() as u32).map(task).collect();
        let plan = FleetPlan {
            schema: FLEET_SCHEMA.to_owned(),
            id: "0190a0b1-c2d3-7e4f-8a9b-000000000000".to_owned(),
            fleet: "monday".to_owned(),
            created: "2026-11-21T08:00:00Z".to_owned(),
            tool: "0.1.0".to_owned(),
            seed: 1,
            measurement: FleetMeasurement {
                selectors: Vec::new(),
                effort: "quick".to_owned(),
                budget_s: None,
                treatments: None,
                sides: FleetSides::Alone,
                respects_lock: true,
            },
            launcher: FleetLauncher::Ssh,
            nodes: nodes.iter().map(|&node| node.to_owned()).collect(),
            visits: 2,
            apart_s: 0.0,
            at_once: None,
            tasks,
        };
        fs::write(folder.path().join(PLAN), serde_json::to_vec(&plan).unwrap()).unwrap();
        fs::create_dir(folder.path().join(RECORDS)).unwrap();
        fs::create_dir(folder.path().join("failures")).unwrap();
        folder
    }

    /// Puts the record of a visit there; returns its task.
    pub(in crate::app::fleet) fn put(folder: &TempDir, node: &str, visit: u32, factor: f64) -> u32 {
        let record = record(node, visit, factor);
        let task = record.fleet.as_ref().unwrap().task;
        let path = folder.path().join(RecordFolder::record_name(task));
        fs::write(path, serde_json::to_vec(&record).unwrap()).unwrap();
        task
    }

    #[test]
    fn records_are_those_of_their_tasks() {
        let folder = folder_of(&["n1", "n2"]);
        let first = put(&folder, "n1", 0, 1.0);
        let second = put(&folder, "n2", 1, 1.0);
        for name in ["07.json", "-1.json", "x.json", "7.json.tmp", ".tmp-7", "4294967296.json"] {
            fs::write(folder.path().join(RECORDS).join(name), "{}").unwrap();
        }
        let opened = RecordFolder::open(folder.path()).unwrap();
        assert_eq!(opened.recorded_tasks().unwrap(), [first, second]);
        assert_eq!(opened.record(first).unwrap(), record("n1", 0, 1.0));
        assert_eq!(opened.visit(first), record("n1", 0, 1.0).fleet);
        // The record of one task in the place of another.
        let moved = folder.path().join(RecordFolder::record_name(second));
        fs::copy(folder.path().join(RecordFolder::record_name(first)), moved).unwrap();
        let error = opened.record(second).unwrap_err();
        assert!(error.starts_with("it is visit 0 of n1 as task "), "{error}");
        assert!(error.ends_with(", and here is visit 1 of n2"), "{error}");
    }

    impl RecordFolder {
        /// Has the plan be one of another version.
        pub(in crate::app::fleet) fn set_tool(&mut self, tool: &str) {
            self.folder.plan.tool = tool.to_owned();
        }
    }

    #[test]
    fn what_is_no_record_is_rejected_and_what_is_absent_is_neither() {
        let folder = folder_of(&["n1", "n2", "n3"]);
        let first = put(&folder, "n1", 0, 1.0);
        let path = |task: u32| folder.path().join(RecordFolder::record_name(task));
        fs::write(path(1), "{}").unwrap();
        fs::copy(path(first), path(2)).unwrap();
        symlink("0.json", path(3)).unwrap();
        fs::create_dir(path(4)).unwrap();
        let opened = RecordFolder::open(folder.path()).unwrap();
        let found = opened.check_records(&[0, 1, 2, 3, 4, 5]).unwrap();
        assert_eq!(found.accepted.into_iter().collect::<Vec<_>>(), [first]);
        assert_eq!(found.rejected.keys().copied().collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert!(found.rejected[&2].starts_with("it is visit 0 of n1 "), "{:?}", found.rejected);
        assert_eq!(opened.check_records(&[5]).unwrap().rejected.len(), 0);
        // A file that the plan has no task for is not read.
        fs::create_dir(path(6)).unwrap();
        assert_eq!(opened.read_record(6).unwrap_err(), "the plan has no such task");
    }

    #[test]
    fn links_and_what_is_no_file_are_not_read() {
        let folder = folder_of(&["n1"]);
        let task = put(&folder, "n1", 0, 1.0);
        let path = folder.path().join(RecordFolder::record_name(task));
        fs::rename(&path, folder.path().join("elsewhere")).unwrap();
        symlink(folder.path().join("elsewhere"), &path).unwrap();
        let opened = RecordFolder::open(folder.path()).unwrap();
        opened.read_record(task).unwrap_err();
        fs::remove_file(&path).unwrap();
        nix::unistd::mkfifo(&path, Mode::S_IRWXU).unwrap();
        assert_eq!(opened.read_record(task).unwrap_err(), "it is not a regular file");
        // The folder of the records is a link.
        fs::rename(folder.path().join(RECORDS), folder.path().join("moved")).unwrap();
        symlink("moved", folder.path().join(RECORDS)).unwrap();
        opened.read_record(task).unwrap_err();
    }

    #[test]
    fn a_plan_that_is_not_valid_is_refused_with_the_reason() {
        let folder = folder_of(&["n1"]);
        let path = folder.path().join(PLAN);
        let plan: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        for (pointer, value, words) in [
            ("/schema", serde_json::json!("oscost.fleet/9"), "its schema is not oscost.fleet/1"),
            ("/fleet", serde_json::json!("../x"), "is not a name of a fleet"),
            ("/nodes/0", serde_json::json!("a b"), "is not a name of a node"),
            ("/tasks/0/node", serde_json::json!(7), "its tasks are not one for each visit"),
            ("/seed", serde_json::json!(-1), "invalid value"),
        ] {
            let mut changed = plan.clone();
            *changed.pointer_mut(pointer).unwrap() = value;
            fs::write(&path, changed.to_string()).unwrap();
            let Err(error) = RecordFolder::open(folder.path()) else { panic!("{pointer}") };
            assert!(error.to_string().contains(words), "{error}");
        }
        fs::remove_file(&path).unwrap();
        let Err(error) = RecordFolder::open(folder.path()) else { panic!("it has no plan") };
        assert!(error.is::<UsageError>() && error.to_string().contains("\n  hint: "), "{error}");
    }
}
