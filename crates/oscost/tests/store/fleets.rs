//! Visits of a fleet's nodes: imported in bulk, found by fleet and by plan, and no part of a history.

use oscost::store::{CheckedRecord, ImportOutcome, Store, StoredFleet, StoredVisit};
use oscost_model::fleet::FleetVisit;
use oscost_model::record::Record;
use rusqlite::Connection;
use serde::Deserialize;
use serde_json::json;

use super::examples::id;
use super::new_store;
use super::record::record;

/// The record of the visit of a task.
fn visit(fleet: &str, task: u32) -> Record {
    let mut record = record();
    record.id = id(100 + task);
    record.started = format!("2026-11-21T08:15:{:02}Z", 59 - task);
    record.fleet = Some(FleetVisit {
        fleet: fleet.to_owned(),
        plan: id(0),
        node: format!("n{task}"),
        visit: 0,
        task,
        exclusive: None,
    });
    record
}

fn checked(record: &Record) -> CheckedRecord {
    CheckedRecord::of(&serde_json::to_vec(record).unwrap()).unwrap()
}

/// A store with three visits of a fleet, one of another, and a run of its own.
fn store_of_fleets() -> (tempfile::TempDir, Store) {
    let (folder, mut store) = new_store();
    let mut records: Vec<CheckedRecord> = (0..3).map(|task| checked(&visit("a", task))).collect();
    records.push(checked(&visit("b", 3)));
    records.push(checked(&record()));
    let outcomes = store.import_many(&records).unwrap();
    assert_eq!(outcomes, [ImportOutcome::Stored; 5]);
    (folder, store)
}

#[test]
fn visits_are_found_by_fleet_and_by_plan_the_oldest_first() {
    let (_folder, store) = store_of_fleets();
    let fleet = |name: &str, visits, newest: &str| StoredFleet {
        name: name.to_owned(),
        visits,
        nodes: visits,
        newest: newest.to_owned(),
    };
    let fleets = [fleet("a", 3, "2026-11-21T08:15:59Z"), fleet("b", 1, "2026-11-21T08:15:56Z")];
    assert_eq!(store.fleets().unwrap(), fleets);
    assert_eq!(store.runs_of_fleet("a").unwrap(), [id(102), id(101), id(100)]);
    assert_eq!(store.runs_of_fleet("c").unwrap(), Vec::<String>::new());
    let stored = |task| StoredVisit { task, run: id(100 + task) };
    assert_eq!(store.visits_of_plan("a", &id(0)).unwrap(), [stored(0), stored(1), stored(2)]);
    assert_eq!(store.visits_of_plan("a", &id(1)).unwrap(), []);
    let mut seen = Vec::new();
    store.records_of_fleet("a", &mut |record| seen.push(record.clone())).unwrap();
    assert_eq!(seen, [visit("a", 2), visit("a", 1), visit("a", 0)]);
}

#[test]
fn all_visits_of_a_fleet_are_deleted_and_nothing_else() {
    let (_folder, mut store) = store_of_fleets();
    let mut again = visit("a", 4);
    again.fleet.as_mut().unwrap().node = "n0".to_owned();
    store.import_many(&[checked(&again)]).unwrap();
    let of_a = &store.fleets().unwrap()[0];
    assert_eq!((of_a.visits, of_a.nodes), (4, 3));
    assert_eq!(store.delete_fleet("a").unwrap(), 4);
    assert_eq!(store.delete_fleet("a").unwrap(), 0);
    let left: Vec<String> = store.fleets().unwrap().into_iter().map(|it| it.name).collect();
    assert_eq!(left, ["b"]);
    assert_eq!(store.list().unwrap().len(), 2);
    store.load(&record().id).unwrap();
    store.imported_record::<Record>(&id(100)).unwrap_err();
}

#[test]
fn some_keys_of_a_record_are_read_without_the_others() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Label {
        label: Option<String>,
    }
    let (_folder, store) = store_of_fleets();
    let read: Label = store.imported_record(&id(100)).unwrap();
    assert_eq!(read, Label { label: record().label });
    store.imported_record::<Label>(&id(99)).unwrap_err();
}

#[test]
fn the_same_visit_is_known_and_another_run_of_its_id_stays() {
    let (_folder, mut store) = store_of_fleets();
    let again = checked(&visit("a", 1));
    let mut other = visit("a", 2);
    other.fleet.as_mut().unwrap().task = 9;
    let mut taken = visit("a", 4);
    taken.id = record().id;
    let outcomes =
        store.import_many(&[again, checked(&other), checked(&taken), checked(&visit("a", 5))]);
    let expected = [
        ImportOutcome::Known,
        ImportOutcome::IdTaken,
        ImportOutcome::IdTaken,
        ImportOutcome::Stored,
    ];
    assert_eq!(outcomes.unwrap(), expected);
    assert_eq!(store.runs_of_fleet("a").unwrap().len(), 4);
    assert_eq!(store.imported_record::<Record>(&id(102)).unwrap(), visit("a", 2));
}

#[test]
fn a_task_that_was_done_twice_is_one_visit() {
    let (_folder, mut store) = store_of_fleets();
    let mut again = visit("a", 1);
    again.id = id(200);
    assert_eq!(store.import_many(&[checked(&again)]).unwrap(), [ImportOutcome::Known]);
    let error = store.import(&serde_json::to_vec(&again).unwrap()).unwrap_err().to_string();
    assert!(error.starts_with(&format!("run {} is already in the store", id(101))), "{error}");
    assert_eq!(store.runs_of_fleet("a").unwrap().len(), 3);
    store.delete(&id(101)).unwrap();
    assert_eq!(store.import_many(&[checked(&again)]).unwrap(), [ImportOutcome::Stored]);
}

#[test]
fn a_visit_is_deleted_like_any_run() {
    let (folder, mut store) = store_of_fleets();
    store.delete(&id(101)).unwrap();
    assert_eq!(store.runs_of_fleet("a").unwrap(), [id(102), id(100)]);
    drop(store);
    let conn = Connection::open(folder.path().join("store.db")).unwrap();
    let rows: i64 = conn.query_row("SELECT count(*) FROM imported", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 4);
}

#[test]
fn a_history_does_not_wait_for_the_figures_of_fleets() {
    let (_folder, store) = store_of_fleets();
    let missing = store.without_figures(1).unwrap();
    let ids: Vec<&str> = missing.iter().map(|run| run.id.as_str()).collect();
    assert_eq!(ids, [record().id]);
}

#[test]
fn names_of_a_visit_that_are_no_names_are_refused() {
    for (key, value) in [
        ("fleet", json!("../a")),
        ("node", json!("n 1")),
        ("node", json!("")),
        ("plan", json!("x")),
    ] {
        let mut value_of = serde_json::to_value(visit("a", 0)).unwrap();
        value_of["fleet"][key] = value;
        let Err(error) = CheckedRecord::of(value_of.to_string().as_bytes()) else {
            panic!("{key} is accepted");
        };
        assert!(
            error.to_string().starts_with(&format!("the record's `fleet.{key}` is n")),
            "{error}"
        );
    }
}

#[test]
fn a_stored_record_takes_a_fraction_of_its_text() {
    let (folder, mut store) = new_store();
    let benchmarks = [("syscall/getppid", oscost_model::unit::Unit::NsPerOp)];
    let mut of_many_rows = super::large_run::run(&benchmarks, 100, 0);
    for row in &mut of_many_rows.results {
        row.repetitions.iter_mut().for_each(|it| it.samples = None);
    }
    of_many_rows.id = id(1);
    let text = serde_json::to_vec(&of_many_rows).unwrap();
    store.import(&text).unwrap();
    drop(store);
    let conn = Connection::open(folder.path().join("store.db")).unwrap();
    let bytes: i64 =
        conn.query_row("SELECT octet_length(record) FROM imported", [], |row| row.get(0)).unwrap();
    assert!((bytes as usize) * 8 < text.len(), "{bytes} of {}", text.len());
}
