//! What only tests inside the room can show: a full disk, another process, and the settings of
//! SQLite.

use std::time::Duration;

use oscost_model::journal::{Entry, Phase, RunHeader, WorkerOutcome};
use oscost_model::record::{RowOutcome, Settings, Tool, WorkerProgram};
use oscost_model::worker::Sample;
use rusqlite::{Connection, StatementStatus};
use tempfile::TempDir;

use super::error::Cause;
use super::file::Store;
use super::read::{StoredRun, list_sql};
use super::tables::schema;

const ID: &str = "0190a0b1-c2d3-7e4f-8a9b-0c1d2e3f4a5b";

fn new_store() -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("store.db")).unwrap();
    (folder, store)
}

fn started() -> RunHeader {
    let word = || "word".to_owned();
    let worker = WorkerProgram { hash: word(), link: word(), libc: word(), catalog: word() };
    RunHeader {
        id: ID.to_owned(),
        started_at: "2026-11-21T08:15:00Z".to_owned(),
        label: None,
        command: vec![],
        tool: Tool { version: word(), commit: None, rustc: None, worker },
        settings: Settings {
            seed: 1,
            profile: word(),
            precision_pct: None,
            nominal: 0.95,
            budget_s: None,
            study: None,
            predictions: Vec::new(),
        },
    }
}

fn worker(at_s: f64) -> Entry {
    // Ticks without a pattern take the most bytes.
    let ticks = |at: i64| at.wrapping_mul(0x1e37_79b9_7f4a_7c15);
    let sample = |at| Sample { ticks: ticks(at), ..Sample::default() };
    let samples = (0..1_000).map(sample).collect();
    let disturbance = Box::default();
    let outcome = WorkerOutcome::Sampled {
        samples,
        disturbance,
        monitor_wakeups_per_op: None,
        speculation: None,
    };
    Entry::Worker { row: 0, phase: Phase::Round(0), at_s, set: 0, outcome }
}

fn pragma(conn: &Connection, name: &str) -> i64 {
    conn.pragma_query_value(None, name, |row| row.get(0)).unwrap()
}

#[test]
fn the_database_has_the_settings_of_a_store() {
    let (_folder, store) = new_store();
    let mode: String =
        store.conn.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
    let settings = ["synchronous", "foreign_keys", "auto_vacuum", "busy_timeout"]
        .map(|name| pragma(&store.conn, name));
    assert_eq!(settings, [1, 1, 2, 5_000]);
    assert_eq!(pragma(&store.conn, "user_version"), schema::VERSION);
}

#[test]
fn a_full_disk_loses_only_the_entry_that_did_not_fit() {
    let (_folder, mut store) = new_store();
    store.begin(&started()).unwrap();
    store.conn.pragma_update(None, "max_page_count", 40).unwrap();
    let mut kept = 0u32;
    let error = loop {
        match store.append(ID, &worker(f64::from(kept))) {
            Ok(()) => kept += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error.cause, Cause::Full), "{error}");
    assert!(error.to_string().contains("no space left on its disk\n  hint: "), "{error}");
    assert!(kept > 2, "only {kept}");

    let workers = |store: &Store| match store.load(ID).unwrap() {
        StoredRun::Journal(entries) => entries[1..].to_vec(),
        StoredRun::Imported(_) => panic!("imported"),
    };
    let expected: Vec<Entry> = (0..kept).map(|at| worker(at.into())).collect();
    assert_eq!(workers(&store), expected);
    assert_eq!(store.list().unwrap()[0].workers, u64::from(kept));

    // With space again, the same store can be used.
    store.conn.pragma_update(None, "max_page_count", 1_000_000).unwrap();
    store.append(ID, &worker(0.5)).unwrap();
    assert_eq!(workers(&store).len(), kept as usize + 1);
}

#[test]
fn a_full_disk_stores_no_part_of_a_new_run() {
    let (_folder, mut store) = new_store();
    let pages = pragma(&store.conn, "page_count");
    store.conn.pragma_update(None, "max_page_count", pages).unwrap();
    let mut long = started();
    long.command = vec!["x".repeat(100_000)];
    let error = store.begin(&long).unwrap_err();
    assert!(matches!(error.cause, Cause::Full), "{error}");
    assert_eq!(store.list().unwrap(), []);
}

#[test]
fn a_run_is_deleted_without_room_for_a_log() {
    let (folder, mut store) = new_store();
    store.begin(&started()).unwrap();
    for at in 0..60 {
        store.append(ID, &worker(f64::from(at))).unwrap();
    }
    let path = folder.path().join("store.db");
    drop(store);
    let before = std::fs::metadata(&path).unwrap().len();
    let mut store = Store::open(&path).unwrap();
    store.reopen_in_place().unwrap();
    store.delete(ID).unwrap();
    assert_eq!(store.list().unwrap(), []);
    let entries: i64 =
        store.conn.query_row("SELECT count(*) FROM entry", [], |row| row.get(0)).unwrap();
    assert_eq!(entries, 0, "what belongs to it is deleted, too");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "a file beside it");
    let after = std::fs::metadata(&path).unwrap().len();
    assert!(after * 2 < before, "{before} bytes before, {after} after");
    drop(store);
    Store::open(&path).unwrap().begin(&started()).unwrap();
}

#[test]
fn a_store_locked_by_another_process_is_reported_as_locked() {
    let (folder, mut store) = new_store();
    store.begin(&started()).unwrap();
    let other = Connection::open(folder.path().join("store.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    store.conn.busy_timeout(Duration::from_millis(20)).unwrap();
    let error = store.append(ID, &worker(0.0)).unwrap_err();
    assert!(matches!(error.cause, Cause::Locked), "{error}");
    assert!(error.to_string().contains("another process"), "{error}");
    // Reading does not need the lock.
    assert_eq!(store.list().unwrap().len(), 1);
    other.execute_batch("ROLLBACK").unwrap();
    store.append(ID, &worker(0.0)).unwrap();
}

#[test]
fn what_is_done_without_waiting_fails_while_another_process_has_the_lock() {
    let (folder, mut store) = new_store();
    store.begin(&started()).unwrap();
    let other = Connection::open(folder.path().join("store.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let done = store.without_waiting(|store| {
        assert_eq!(pragma(&store.conn, "busy_timeout"), 0);
        store.append(ID, &worker(0.0))
    });
    assert!(matches!(done.unwrap().unwrap_err().cause, Cause::Locked));
    assert_eq!(pragma(&store.conn, "busy_timeout"), 5_000, "the next one waits");
    drop(other);
    store.append(ID, &worker(0.0)).unwrap();
}

/// The steps of SQLite's machine that a list takes, in a store of runs with so many workers each.
fn steps_of_a_list(runs: u32, workers: u32) -> i32 {
    let (_folder, mut store) = new_store();
    for run in 0..runs {
        let id = format!("{run:03}");
        store.begin(&RunHeader { id: id.clone(), ..started() }).unwrap();
        for row in 0..workers {
            let reason = "none".to_owned();
            let outcome = WorkerOutcome::Lost { outcome: RowOutcome::Failed, reason };
            let (phase, at_s) = (Phase::Round(0), 0.0);
            store.append(&id, &Entry::Worker { row, phase, at_s, set: 0, outcome }).unwrap();
        }
    }
    assert_eq!(store.list().unwrap().len(), runs as usize);
    let statement = store.conn.prepare_cached(&list_sql()).unwrap();
    statement.get_status(StatementStatus::VmStep)
}

#[test]
fn a_list_is_linear_in_the_runs_and_reads_no_journal() {
    let [few, many] = [steps_of_a_list(100, 3), steps_of_a_list(300, 3)];
    assert!(few > 100, "it counts: {few}");
    assert!(many < 4 * few, "{few} steps for 100 runs, {many} for 300");
    let long = steps_of_a_list(100, 30);
    assert!(long <= few + 100, "{few} steps for short journals, {long} for long ones");
}

#[test]
fn a_damaged_entry_is_named_and_the_list_still_works() {
    let (_folder, mut store) = new_store();
    store.begin(&started()).unwrap();
    for damage in ["samples = x'01ff'", "samples = x'07'", "samples = NULL", "body = '{'"] {
        store.append(ID, &worker(0.0)).unwrap();
        let sql = format!("UPDATE entry SET {damage} WHERE key = (SELECT max(key) FROM entry)");
        store.conn.execute(&sql, []).unwrap();
        let error = store.load(ID).unwrap_err();
        assert!(matches!(error.cause, Cause::Damaged(_)), "{error}");
        assert!(error.to_string().contains("entry 1 cannot be read"), "{error}");
        assert!(error.to_string().contains("\n  hint: `oscost runs delete RUN`"), "{error}");
        assert_eq!(store.list().unwrap().len(), 1);
        store.conn.execute("DELETE FROM entry WHERE key > 1", []).unwrap();
    }
}
