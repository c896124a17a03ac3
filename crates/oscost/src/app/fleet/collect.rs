//! `oscost fleet collect`: the records of a fleet's folder go to the store, as often as one likes.
//!
//! A task whose record is in the store is not read again. Two collectors at once store each record
//! once, since the store knows the run.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use super::folder::FleetFolder;
use super::parallel::{for_each, thread_count};
use super::record_folder::RecordFolder;
use super::source::RejectedRecord;
use super::states::{StatesInSlurm, TaskState, states_in_slurm};
use crate::app::observer::Observer;
use crate::app::results::user_data::open_store;
use crate::store::{CheckedRecord, ImportOutcome, Store, StoreError};

/// How many records are stored in one transaction: a kill loses the work of about a second, and
/// another process waits no longer than that.
const RECORDS_OF_A_TRANSACTION: usize = 256;

/// The same by the bytes of the packed records, which bounds the memory that they take.
const BYTES_OF_A_TRANSACTION: usize = 64 << 20;

/// The time between two reports of how far it is.
const REPORT_EVERY: Duration = Duration::from_secs(5);

/// What became of a fleet's tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectOutcome {
    /// The name of the fleet.
    pub fleet: String,
    /// How many nodes the plan has.
    pub nodes: usize,
    /// How many tasks the plan has.
    pub tasks: usize,
    /// How many records were stored now.
    pub imported: usize,
    /// How many were stored before.
    pub known: usize,
    /// The records that were rejected, in the order of their tasks.
    pub rejected: Vec<RejectedRecord>,
    /// The tasks without a record in the store, in order.
    pub missing: Vec<MissingTask>,
}

/// A task without a record in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingTask {
    /// Its number.
    pub task: u32,
    /// Its node.
    pub node: String,
    /// The number of the visit of this node.
    pub visit: u32,
    /// Why there is none.
    pub why: MissingReason,
}

/// Why a task has no record in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MissingReason {
    /// It failed: in its own words, or in those that follow from how Slurm says that it ended.
    Failed(String),
    /// Slurm says this of it.
    InSlurm(TaskState),
    /// Its record was rejected.
    Rejected,
    /// It has left neither a record nor a failure, and nothing else is known of it.
    NoRecord,
}

/// Stores the records of a fleet's folder that are not stored yet.
pub fn collect(folder: &Path, observer: &dyn Observer) -> anyhow::Result<CollectOutcome> {
    collect_into(open_store()?, &RecordFolder::open(folder)?, observer)
}

fn collect_into(
    mut store: Store,
    folder: &RecordFolder,
    observer: &dyn Observer,
) -> anyhow::Result<CollectOutcome> {
    let plan = folder.plan();
    let mut states = vec![State::Missing; plan.tasks.len()];
    for visit in store.visits_of_plan(&plan.fleet, &plan.id)? {
        if let Some(state) = states.get_mut(visit.task as usize) {
            *state = State::Known;
        }
    }
    let is_unread =
        |task: &u32| states.get(*task as usize).is_none_or(|state| *state == State::Missing);
    let tasks: Vec<u32> = folder.recorded_tasks()?.into_iter().filter(is_unread).collect();
    let mut importer = Importer::new(&mut store, &mut states, tasks.len(), observer);
    let read = |_: &mut (), at: usize| read(folder, tasks[at]);
    let threads = vec![(); thread_count().min(tasks.len())];
    for_each(tasks.len(), threads, &mut (), &read, &mut |at, read| match read {
        Ok(record) => importer.add(tasks[at], record),
        Err(why) => importer.reject(tasks[at], why),
    });
    let rejected = importer.finish()?;
    Ok(outcome(folder, &states, rejected, observer))
}

/// Reads and checks the record of a task; the error says why it is rejected.
fn read(folder: &RecordFolder, task: u32) -> Result<CheckedRecord, String> {
    let bytes = folder.read_record(task)?;
    let record = CheckedRecord::of(&bytes).map_err(|error| error.to_string())?;
    folder.check_visit(record.fleet(), task)?;
    Ok(record)
}

/// What is known of a task.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Missing,
    Known,
    Imported,
}

/// Stores records as they are read, many in one transaction.
struct Importer<'a> {
    store: &'a mut Store,
    states: &'a mut [State],
    observer: &'a dyn Observer,
    waiting: Vec<TaskRecord>,
    waiting_bytes: usize,
    rejected: BTreeMap<u32, String>,
    /// The first error of the store, after which nothing more is stored.
    failed: Option<StoreError>,
    tasks: usize,
    read: usize,
    reported: Instant,
}

/// The record of a task.
struct TaskRecord {
    task: u32,
    record: CheckedRecord,
}

impl<'a> Importer<'a> {
    fn new(
        store: &'a mut Store,
        states: &'a mut [State],
        tasks: usize,
        observer: &'a dyn Observer,
    ) -> Self {
        let (waiting, rejected) = (Vec::new(), BTreeMap::new());
        let reported = Instant::now();
        Self {
            store,
            states,
            observer,
            waiting,
            waiting_bytes: 0,
            rejected,
            failed: None,
            tasks,
            read: 0,
            reported,
        }
    }

    fn add(&mut self, task: u32, record: CheckedRecord) {
        self.waiting_bytes += record.packed_bytes();
        self.waiting.push(TaskRecord { task, record });
        if self.waiting.len() == RECORDS_OF_A_TRANSACTION
            || self.waiting_bytes >= BYTES_OF_A_TRANSACTION
        {
            self.store_waiting();
        }
        self.count();
    }

    fn reject(&mut self, task: u32, why: String) {
        self.rejected.insert(task, why);
        self.count();
    }

    fn count(&mut self) {
        self.read += 1;
        if self.reported.elapsed() >= REPORT_EVERY {
            let Self { read, tasks, .. } = self;
            self.observer.status(&format!("collecting: {read} of {tasks} new records are read"));
            self.reported = Instant::now();
        }
    }

    fn store_waiting(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        if self.failed.is_some() || waiting.is_empty() {
            return;
        }
        // Of two records with one id the first task has it, whichever was read first.
        waiting.sort_by_key(|it| it.task);
        let (tasks, records): (Vec<u32>, Vec<CheckedRecord>) =
            waiting.into_iter().map(|it| (it.task, it.record)).unzip();
        let outcomes = match self.store.import_many(&records) {
            Ok(outcomes) => outcomes,
            Err(error) => return self.failed = Some(error),
        };
        for ((task, record), outcome) in tasks.into_iter().zip(&records).zip(outcomes) {
            let state = match outcome {
                ImportOutcome::Stored => State::Imported,
                ImportOutcome::Known => State::Known,
                ImportOutcome::IdTaken => {
                    let why =
                        format!("another run or bill of the store has its id {}", record.id());
                    self.rejected.insert(task, why);
                    State::Missing
                }
            };
            if let Some(known) = self.states.get_mut(task as usize) {
                *known = state;
            }
        }
    }

    /// Stores the rest; returns what was rejected.
    fn finish(mut self) -> Result<BTreeMap<u32, String>, StoreError> {
        self.store_waiting();
        match self.failed {
            Some(error) => Err(error),
            None => Ok(self.rejected),
        }
    }
}

fn outcome(
    folder: &RecordFolder,
    states: &[State],
    rejected: BTreeMap<u32, String>,
    observer: &dyn Observer,
) -> CollectOutcome {
    let plan = folder.plan();
    let count = |wanted: State| states.iter().filter(|state| **state == wanted).count();
    let missing = (0u32..).zip(states).filter(|(_, state)| **state == State::Missing);
    let missing: Vec<u32> = missing.map(|(task, _)| task).collect();
    let mut reasons = reasons(folder.fleet(), &missing, &rejected, observer);
    let missing = missing.into_iter().filter_map(|task| {
        let why = reasons.remove(&task).unwrap_or(MissingReason::NoRecord);
        let visit = folder.visit(task)?;
        Some(MissingTask { task, node: visit.node, visit: visit.visit, why })
    });
    let missing = missing.collect();
    CollectOutcome {
        fleet: plan.fleet.clone(),
        nodes: plan.nodes.len(),
        tasks: plan.tasks.len(),
        imported: count(State::Imported),
        known: count(State::Known),
        rejected: rejected
            .into_iter()
            .map(|(task, why)| RejectedRecord { file: RecordFolder::record_name(task), why })
            .collect(),
        missing,
    }
}

/// Why tasks are missing, as far as it is known.
fn reasons(
    folder: &FleetFolder,
    missing: &[u32],
    rejected: &BTreeMap<u32, String>,
    observer: &dyn Observer,
) -> BTreeMap<u32, MissingReason> {
    let not_rejected = missing.iter().copied().filter(|task| !rejected.contains_key(task));
    let not_rejected: Vec<u32> = not_rejected.collect();
    let mut reasons: BTreeMap<u32, MissingReason> =
        rejected.keys().map(|&task| (task, MissingReason::Rejected)).collect();
    let failed = |&task: &u32| Some((task, MissingReason::Failed(folder.failure(task)?.why)));
    reasons.extend(not_rejected.iter().filter_map(failed));
    if not_rejected.is_empty() {
        return reasons;
    }
    let StatesInSlurm { states, notes } = states_in_slurm(folder, &not_rejected);
    notes.iter().for_each(|note| observer.note(note));
    // The record of a task that has ended may have come since the records were read.
    let states = states.into_iter().filter(|(task, _)| !folder.has_record(*task));
    reasons.extend(states.map(|(task, state)| match state {
        TaskState::Failed { why, .. } => (task, MissingReason::Failed(why)),
        state => (task, MissingReason::InSlurm(state)),
    }));
    reasons
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;
    use crate::app::fleet::builder::tests::record;
    use crate::app::fleet::record_folder::tests::{folder_of, put};
    use crate::app::observer::test_observers::Silent;

    fn collected(folder: &TempDir, store: &TempDir) -> CollectOutcome {
        let store = Store::open(&store.path().join("store.db")).unwrap();
        collect_into(store, &RecordFolder::open(folder.path()).unwrap(), &Silent).unwrap()
    }

    #[test]
    fn what_is_there_is_stored_once_and_what_is_not_is_told() {
        let (folder, store) = (folder_of(&["n1", "n2"]), tempfile::tempdir().unwrap());
        put(&folder, "n1", 0, 1.0);
        put(&folder, "n2", 1, 1.0);
        let failure = r#"{"task":2,"node":"n2","at":"now","why":"no\nroom","exit":4}"#;
        fs::write(folder.path().join("failures/2.json"), failure).unwrap();
        let first = collected(&folder, &store);
        assert_eq!((first.imported, first.known, first.tasks, first.nodes), (2, 0, 4, 2));
        assert_eq!((first.fleet.as_str(), &first.rejected), ("monday", &Vec::new()));
        let state = |task, node: &str, visit, why| {
            let node = node.to_owned();
            MissingTask { task, node, visit, why }
        };
        let failed = state(2, "n2", 0, MissingReason::Failed("no room".to_owned()));
        assert_eq!(first.missing, [state(1, "n1", 1, MissingReason::NoRecord), failed.clone()]);
        put(&folder, "n1", 1, 1.0);
        let second = collected(&folder, &store);
        assert_eq!((second.imported, second.known), (1, 2));
        assert_eq!(second.missing, [failed]);
        let third = collected(&folder, &store);
        assert_eq!((third.imported, third.known), (0, 3));
    }

    #[test]
    fn a_record_that_was_read_meanwhile_by_another_collector_is_known() {
        let (folder, store) = (folder_of(&["n1"]), tempfile::tempdir().unwrap());
        put(&folder, "n1", 0, 1.0);
        collected(&folder, &store);
        let mut store = Store::open(&store.path().join("store.db")).unwrap();
        let folder = RecordFolder::open(folder.path()).unwrap();
        let mut states = [State::Missing; 2];
        let mut importer = Importer::new(&mut store, &mut states, 1, &Silent);
        let record = read(&folder, 0).unwrap();
        let bytes = record.packed_bytes();
        importer.add(0, record);
        assert_eq!((importer.waiting_bytes, importer.waiting.len()), (bytes, 1));
        // Large records are stored before there are many of them.
        importer.waiting_bytes = BYTES_OF_A_TRANSACTION;
        importer.add(0, read(&folder, 0).unwrap());
        assert_eq!((importer.waiting_bytes, importer.waiting.len()), (0, 0));
        assert!(importer.finish().unwrap().is_empty());
        assert!(states == [State::Known, State::Missing]);
    }

    #[test]
    fn records_of_strangers_are_rejected_and_their_tasks_missing() {
        let (folder, store) = (folder_of(&["n1", "n2"]), tempfile::tempdir().unwrap());
        put(&folder, "n1", 0, 1.0);
        let path = |task: u32| folder.path().join(RecordFolder::record_name(task));
        // No JSON; a visit of another plan; a task that the plan does not have; the id of another.
        fs::write(path(1), "\u{1b}[2J").unwrap();
        let mut foreign = record("n2", 0, 1.0);
        foreign.fleet.as_mut().unwrap().plan = foreign.id.clone();
        fs::write(path(2), serde_json::to_vec(&foreign).unwrap()).unwrap();
        let mut same_id = record("n2", 1, 1.0);
        same_id.id = record("n1", 0, 1.0).id;
        fs::write(path(3), serde_json::to_vec(&same_id).unwrap()).unwrap();
        fs::copy(path(0), path(7)).unwrap();
        let found = collected(&folder, &store);
        assert_eq!((found.imported, found.known), (1, 0));
        let files: Vec<&str> = found.rejected.iter().map(|it| it.file.as_str()).collect();
        assert_eq!(files, ["records/1.json", "records/2.json", "records/3.json", "records/7.json"]);
        for (rejected, words) in found.rejected.iter().zip([
            "not a record",
            "it is visit 0 of n2 as task 2 of plan ",
            "another run or bill of the store has its id ",
            "the plan has no such task",
        ]) {
            assert!(rejected.why.contains(words), "{rejected:?}");
            assert!(!rejected.why.contains('\u{1b}'), "{rejected:?}");
        }
        assert_eq!(found.missing.len(), 3);
        assert!(found.missing.iter().all(|it| it.why == MissingReason::Rejected));
    }
}
