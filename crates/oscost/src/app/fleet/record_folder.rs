//! A fleet's folder, on a file system that its nodes share: anyone who may write there may have put
//! anything into it. Names are numbers alone, links are not followed, sizes are bounded.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::fcntl::{OFlag, openat};
use nix::libc;
use nix::sys::stat::Mode;
use oscost_model::fleet::{FleetPlan, FleetTask, FleetVisit};
use oscost_model::record::Record;
use oscost_model::untrusted_text::display_text;
use serde::Deserialize;

use crate::app::error::UsageError;
use crate::fleet::check_plan;
use crate::store::{MAX_IMPORT_BYTES, validate};

/// The file of the plan.
pub(super) const PLAN: &str = "plan.json";
/// The folder of the records.
const RECORDS: &str = "records";
/// The folder of what tasks say that failed.
const FAILURES: &str = "failures";

/// A plan with the maximum number of tasks has some 50 MB.
const MAX_PLAN_BYTES: usize = 128 << 20;
/// A failure is told in a few lines.
const MAX_FAILURE_BYTES: usize = 64 << 10;
/// The longest reason that is shown.
const MAX_REASON_CHARS: usize = 200;

/// A fleet's folder.
pub(super) struct RecordFolder {
    path: PathBuf,
    plan: FleetPlan,
}

/// What a task says that failed.
#[derive(Deserialize)]
struct Failure {
    why: String,
}

impl RecordFolder {
    /// Opens the folder at a path, and reads its plan.
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let plan = read_plan(path).map_err(|why| {
            let what = format!("cannot read the plan of the fleet in {}: {why}", path.display());
            UsageError::with_hint(
                &what,
                "name a folder that `oscost fleet run` or `oscost fleet simulate` has made",
            )
        })?;
        Ok(Self { path: path.to_owned(), plan })
    }

    /// Its plan.
    pub(super) fn plan(&self) -> &FleetPlan {
        &self.plan
    }

    /// The visit that a task of the plan is; `None` if the plan has no such task.
    pub(super) fn visit(&self, task: u32) -> Option<FleetVisit> {
        let FleetTask { node, visit, .. } = self.plan.tasks.get(task as usize)?;
        Some(FleetVisit {
            fleet: self.plan.fleet.clone(),
            plan: self.plan.id.clone(),
            node: self.plan.nodes.get(*node as usize)?.clone(),
            visit: *visit,
            task,
        })
    }

    /// The tasks of which a file of a record is there, in order.
    pub(super) fn recorded_tasks(&self) -> anyhow::Result<Vec<u32>> {
        let folder = self.path.join(RECORDS);
        let named = |error: io::Error| {
            anyhow::anyhow!(
                "cannot list {}: {error}\n  hint: `ls -ld` shows who may read it",
                folder.display()
            )
        };
        let entries = match std::fs::read_dir(&folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(named)?,
        };
        let mut tasks = Vec::new();
        for entry in entries {
            let name = entry.map_err(named)?.file_name();
            tasks.extend(name.to_str().and_then(task_of_name));
        }
        tasks.sort_unstable();
        tasks.dedup();
        Ok(tasks)
    }

    /// The name of a task's record, as messages have it.
    pub(super) fn record_name(task: u32) -> String {
        format!("{RECORDS}/{task}.json")
    }

    /// The bytes of a task's record; the error says why it cannot be read.
    pub(super) fn read_record(&self, task: u32) -> Result<Vec<u8>, String> {
        read_in(&self.path.join(RECORDS), &file_name(task), MAX_IMPORT_BYTES)
            .map_err(|error| error.to_string())
    }

    /// A task's record, checked as one that is imported; the error says why it is rejected.
    pub(super) fn record(&self, task: u32) -> Result<Record, String> {
        let record = validate(&self.read_record(task)?).map_err(|error| error.to_string())?;
        self.check_visit(record.fleet.as_ref(), task)?;
        Ok(record)
    }

    /// Refuses the record of another visit than that of this task.
    pub(super) fn check_visit(&self, found: Option<&FleetVisit>, task: u32) -> Result<(), String> {
        let found = found.ok_or("it is the record of a run, and of no visit of a fleet's node")?;
        let expected = self.visit(task).ok_or("the plan has no such task")?;
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

    /// Why a task says that it failed; `None` if it does not say so.
    pub(super) fn failure(&self, task: u32) -> Option<String> {
        let bytes = read_in(&self.path.join(FAILURES), &file_name(task), MAX_FAILURE_BYTES);
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            Err(error) => return Some(format!("its failure cannot be read: {error}")),
        };
        Some(match serde_json::from_slice::<Failure>(&bytes) {
            Ok(Failure { why }) => display_text(&why, MAX_REASON_CHARS),
            Err(_) => "its failure is not the JSON that a task writes".to_owned(),
        })
    }
}

fn read_plan(folder: &Path) -> Result<FleetPlan, String> {
    let bytes =
        read_in(folder, Path::new(PLAN), MAX_PLAN_BYTES).map_err(|error| error.to_string())?;
    let plan: FleetPlan = serde_json::from_slice(&bytes)
        .map_err(|error| display_text(&error.to_string(), MAX_REASON_CHARS))?;
    check_plan(&plan).map_err(|fault| display_text(&fault, MAX_REASON_CHARS))?;
    Ok(plan)
}

fn file_name(task: u32) -> PathBuf {
    PathBuf::from(format!("{task}.json"))
}

/// The task of a file `TASK.json`, without leading zeros.
fn task_of_name(name: &str) -> Option<u32> {
    let number = name.strip_suffix(".json")?;
    let task: u32 = number.parse().ok()?;
    (task.to_string() == number).then_some(task)
}

/// Reads a regular file of a folder, of at most so many bytes. Neither it nor the folder may be a
/// link.
fn read_in(folder: &Path, name: &Path, max_bytes: usize) -> io::Result<Vec<u8>> {
    let folder = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW)
        .open(folder)?;
    let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let file = File::from(openat(&folder, name, flags | OFlag::O_CLOEXEC, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file"));
    }
    let mut bytes = Vec::new();
    file.take(max_bytes as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > max_bytes {
        let why = format!("it has more than {max_bytes} bytes");
        return Err(io::Error::new(ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

#[cfg(test)]
pub(super) mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use oscost_model::fleet::{FLEET_SCHEMA, FleetLauncher, FleetMeasurement, FleetSides};
    use tempfile::TempDir;

    use super::*;
    use crate::app::fleet::builder::tests::record;

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
        fs::create_dir(folder.path().join(FAILURES)).unwrap();
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
        assert_eq!(opened.read_record(task).unwrap_err(), "it is no regular file");
        // The folder of the records is a link.
        fs::rename(folder.path().join(RECORDS), folder.path().join("moved")).unwrap();
        symlink("moved", folder.path().join(RECORDS)).unwrap();
        opened.read_record(task).unwrap_err();
    }

    #[test]
    fn a_failure_is_told_in_its_own_words_without_control_characters() {
        let folder = folder_of(&["n1"]);
        let opened = RecordFolder::open(folder.path()).unwrap();
        let put = |text: &str| fs::write(folder.path().join("failures/3.json"), text).unwrap();
        assert_eq!(opened.failure(3), None);
        put(r#"{"task":3,"node":"n1","at":"now","why":"no room \u001b[2J","exit":4}"#);
        let why = opened.failure(3).unwrap();
        assert!(why.starts_with("no room ") && !why.contains('\u{1b}'), "{why:?}");
        put("{");
        assert!(opened.failure(3).unwrap().contains("not the JSON"));
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
