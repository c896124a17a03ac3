//! Where the figures of a fleet are read from: the store, the fleet's folder, or a data set.

use std::path::{Path, PathBuf};

use oscost_model::fleet::is_fleet_name;
use oscost_model::record::Record;

use super::builder::FleetBuilder;
use super::data_set::read_data_set;
use super::folder::PLAN;
use super::parallel::{for_each, thread_count};
use super::record_folder::RecordFolder;
use super::visit_record::VisitRecord;
use crate::app::error::UsageError;
use crate::app::results::user_data::open_store_to_read;
use crate::fleet::Fleet;
use crate::store::{Cause, Store, StoreError};

/// The most fleets that an error names.
const MAX_NAMED: usize = 5;

/// Where the figures of a fleet are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FleetSource {
    /// In the store, under this name of a fleet.
    Stored(String),
    /// In a fleet's folder, as records that need not be collected.
    Folder(PathBuf),
    /// In a data set: a folder of Parquet files, or one of them.
    DataSet(PathBuf),
}

impl FleetSource {
    /// The source that a text names: a path has a `/`, ends in `.parquet`, or is that of a folder.
    pub fn parse(text: &str) -> Self {
        let path = Path::new(text);
        if text.ends_with(".parquet") {
            return FleetSource::DataSet(path.to_owned());
        }
        if !text.contains('/') && !path.is_dir() {
            return FleetSource::Stored(text.to_owned());
        }
        match path.join(PLAN).exists() || !path.is_dir() {
            true => FleetSource::Folder(path.to_owned()),
            false => FleetSource::DataSet(path.to_owned()),
        }
    }
}

/// A fleet, and the records that are no part of it.
#[derive(Debug, Default)]
pub struct LoadedFleet {
    /// The fleet.
    pub fleet: Fleet,
    /// The records that were rejected, in the order of their files.
    pub rejected: Vec<RejectedRecord>,
}

/// A record that was rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedRecord {
    /// Its file in the fleet's folder, or its run in the store.
    pub file: String,
    /// Why.
    pub why: String,
}

/// Loads a fleet.
///
/// Records of the store were checked when they were imported: what is needed of them is read, and
/// its numbers checked. Those of a folder are checked as for an import, which takes several times
/// as long.
pub fn load(source: &FleetSource) -> anyhow::Result<LoadedFleet> {
    match source {
        FleetSource::Stored(name) => load_stored(open_store_to_read()?, name),
        FleetSource::Folder(path) => load_folder(path),
        FleetSource::DataSet(path) => {
            Ok(LoadedFleet { fleet: read_data_set(path)?, rejected: Vec::new() })
        }
    }
}

/// Reads the records of a fleet one after the other, those of the store the oldest first. Returns
/// those that were rejected.
pub fn for_each_record(
    source: &FleetSource,
    each: &mut dyn FnMut(&Record),
) -> anyhow::Result<Vec<RejectedRecord>> {
    match source {
        FleetSource::Stored(name) => {
            let store = open_store_to_read()?;
            runs_of(&store, name)?;
            store.records_of_fleet(name, each)?;
            Ok(Vec::new())
        }
        FleetSource::Folder(path) => {
            let folder = RecordFolder::open(path)?;
            let mut rejected = Vec::new();
            for task in folder.recorded_tasks()? {
                match folder.record(task) {
                    Ok(record) => each(&record),
                    Err(why) => rejected.push(rejected_task(task, why)),
                }
            }
            Ok(rejected)
        }
        FleetSource::DataSet(path) => {
            let what = format!("cannot read records from {}: it is a data set", path.display());
            let hint = "a data set has figures alone: name the fleet, or its folder";
            Err(UsageError::with_hint(&what, hint).into())
        }
    }
}

/// The runs of a stored fleet; an error names the fleets that there are.
pub(crate) fn runs_of(store: &Store, name: &str) -> anyhow::Result<Vec<String>> {
    let runs = if is_fleet_name(name) { store.runs_of_fleet(name)? } else { Vec::new() };
    if !runs.is_empty() {
        return Ok(runs);
    }
    let fleets = store.fleets()?;
    let names: Vec<String> =
        fleets.iter().take(MAX_NAMED).map(|fleet| format!("`{}`", fleet.name)).collect();
    let hint = match fleets.len() {
        0 => "`oscost fleet collect FOLDER` collects one; a path has a `/`".to_owned(),
        count if count > MAX_NAMED => format!("there are {count}, as {}", names.join(", ")),
        _ => format!("there is {}; a path has a `/`", names.join(", ")),
    };
    let what = format!("the store has no fleet `{}`", name.escape_debug());
    Err(UsageError::with_hint(&what, &hint).into())
}

fn load_stored(mut store: Store, name: &str) -> anyhow::Result<LoadedFleet> {
    let runs = runs_of(&store, name)?;
    let readers = (0..thread_count().min(runs.len()))
        .map_while(|_| store.open_again_to_read().ok())
        .collect();
    let read = |store: &mut Store, at: usize| store.imported_record::<VisitRecord>(&runs[at]);
    let mut gathered = Gathered::default();
    for_each(runs.len(), readers, &mut store, &read, &mut |at, read| match read {
        Ok(record) => gathered.add(at, &runs[at], record),
        Err(error) if was_deleted(&error) => {}
        Err(error) => gathered.reject(at, &runs[at], error.to_string()),
    });
    Ok(gathered.finish(name))
}

fn load_folder(path: &Path) -> anyhow::Result<LoadedFleet> {
    let folder = RecordFolder::open(path)?;
    let tasks = folder.recorded_tasks()?;
    let read = |_: &mut (), at: usize| folder.record(tasks[at]).map(VisitRecord::from);
    let mut gathered = Gathered::default();
    let threads = vec![(); thread_count().min(tasks.len())];
    for_each(tasks.len(), threads, &mut (), &read, &mut |at, read| {
        let file = RecordFolder::record_name(tasks[at]);
        match read {
            Ok(record) => gathered.add(at, &file, record),
            Err(why) => gathered.reject(at, &file, why),
        }
    });
    Ok(gathered.finish(&folder.plan().fleet))
}

/// What was read so far.
#[derive(Default)]
struct Gathered {
    builder: FleetBuilder,
    rejected: Vec<NumberedRejection>,
}

/// A rejected record, with its place among the records.
struct NumberedRejection {
    at: usize,
    record: RejectedRecord,
}

impl Gathered {
    fn add(&mut self, at: usize, file: &str, record: VisitRecord) {
        if let Err(why) = self.builder.add(record) {
            self.reject(at, file, why);
        }
    }

    fn reject(&mut self, at: usize, file: &str, why: String) {
        let record = RejectedRecord { file: file.to_owned(), why };
        self.rejected.push(NumberedRejection { at, record });
    }

    fn finish(mut self, name: &str) -> LoadedFleet {
        self.rejected.sort_by_key(|rejection| rejection.at);
        let rejected = self.rejected.into_iter().map(|rejection| rejection.record).collect();
        LoadedFleet { fleet: self.builder.finish(name), rejected }
    }
}

/// Whether another process deleted the run meanwhile.
fn was_deleted(error: &StoreError) -> bool {
    matches!(error.cause, Cause::NoRun)
}

fn rejected_task(task: u32, why: String) -> RejectedRecord {
    RejectedRecord { file: RecordFolder::record_name(task), why }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::fleet::builder::tests::record;
    use crate::app::fleet::record_folder::tests::{folder_of, put};
    use crate::store::CheckedRecord;

    /// A store with two visits of each of so many nodes.
    fn store_of(nodes: u32) -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("store.db")).unwrap();
        let visits = (1..=nodes).flat_map(|node| [(node, 0), (node, 1)]);
        let records: Vec<CheckedRecord> = visits
            .map(|(node, visit)| {
                let record = record(&format!("n{node}"), visit, f64::from(node));
                CheckedRecord::of(&serde_json::to_vec(&record).unwrap()).unwrap()
            })
            .collect();
        store.import_many(&records).unwrap();
        (folder, store)
    }

    #[test]
    fn the_store_and_the_folder_have_the_same_fleet() {
        let (_folder, store) = store_of(9);
        let stored = load_stored(store, "monday").unwrap();
        assert_eq!(stored.rejected, []);
        assert_eq!((stored.fleet.nodes.len(), stored.fleet.visits.len()), (9, 18));
        let nodes: Vec<String> = (1..=9).map(|node| format!("n{node}")).collect();
        let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
        let folder = folder_of(&nodes);
        for (at, node) in nodes.iter().enumerate() {
            put(&folder, node, 0, (at + 1) as f64);
            put(&folder, node, 1, (at + 1) as f64);
        }
        let loaded = load(&FleetSource::Folder(folder.path().to_owned())).unwrap();
        assert_eq!(loaded.rejected, []);
        assert_eq!(loaded.fleet, stored.fleet);
    }

    #[test]
    fn a_record_that_is_none_is_rejected_and_the_others_are_loaded() {
        let folder = folder_of(&["n1", "n2"]);
        put(&folder, "n1", 0, 1.0);
        let bad = put(&folder, "n2", 1, 1.0);
        let name = RecordFolder::record_name(bad);
        std::fs::write(folder.path().join(&name), "{}").unwrap();
        let source = FleetSource::Folder(folder.path().to_owned());
        let loaded = load(&source).unwrap();
        assert_eq!(loaded.fleet.visits.len(), 1);
        let [rejected] = &loaded.rejected[..] else { panic!("{:?}", loaded.rejected) };
        assert_eq!(rejected.file, name);
        assert!(rejected.why.contains("not a record"), "{}", rejected.why);
        let mut seen = Vec::new();
        let again = for_each_record(&source, &mut |record| seen.push(record.id.clone())).unwrap();
        assert_eq!(again, loaded.rejected);
        assert_eq!(seen, [record("n1", 0, 1.0).id]);
    }

    #[test]
    fn a_fleet_that_is_not_stored_is_an_error_that_names_those_that_are() {
        let (_folder, store) = store_of(1);
        for name in ["tuesday", "not a name"] {
            let error = runs_of(&store, name).unwrap_err();
            assert!(error.is::<UsageError>());
            assert!(error.to_string().ends_with("hint: there is `monday`; a path has a `/`"));
        }
        assert_eq!(runs_of(&store, "monday").unwrap().len(), 2);
    }

    #[test]
    fn a_path_is_a_folder_or_a_data_set_and_anything_else_a_stored_fleet() {
        let folder = folder_of(&["n1"]);
        let empty = tempfile::tempdir().unwrap();
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let parsed = FleetSource::parse(&text(folder.path()));
        assert_eq!(parsed, FleetSource::Folder(folder.path().to_owned()));
        let parsed = FleetSource::parse(&text(empty.path()));
        assert_eq!(parsed, FleetSource::DataSet(empty.path().to_owned()));
        for (text, expected) in [
            ("monday", FleetSource::Stored("monday".to_owned())),
            ("./absent", FleetSource::Folder(PathBuf::from("./absent"))),
            ("a.parquet", FleetSource::DataSet(PathBuf::from("a.parquet"))),
        ] {
            assert_eq!(FleetSource::parse(text), expected);
        }
    }
}
