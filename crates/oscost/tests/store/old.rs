//! What older versions wrote: it stays in this folder for ever, and is opened here.
//!
//! `UPDATE_GOLDEN=1` writes the files of the present version anew, which is right until that
//! version is released. Afterwards a file that no longer opens is a broken promise: what the types
//! gained since must have a default, and the examples here have that default.

use std::fs;
use std::path::{Path, PathBuf};

use oscost::store::{Store, Stored, validate};
use oscost_model::record::Prediction;
use rusqlite::Connection;
use tempfile::TempDir;

use super::examples::{entries, started};
use super::figures::{RULES, lacking, summary};
use super::record::record;
use super::{journal, keep, new_store};

pub(crate) fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/store").join(name)
}

fn blessing() -> bool {
    std::env::var_os("UPDATE_GOLDEN").is_some()
}

#[test]
fn a_record_of_version_1_is_taken() {
    if blessing() {
        let json = serde_json::to_string_pretty(&record()).unwrap();
        fs::write(golden("run-1.json"), json + "\n").unwrap();
    }
    let bytes = fs::read(golden("run-1.json")).unwrap();
    assert_eq!(validate(&bytes).unwrap(), record());
    let (_folder, mut store) = new_store();
    let id = store.import(&bytes).unwrap();
    assert_eq!(store.load(&id).unwrap(), Stored::Imported(Box::new(record())));
}

#[test]
fn a_store_of_version_1_opens_with_all_that_it_holds() {
    let (_folder, mut store) = opened("store-1.sql");
    holds_the_run(&store);
    assert_eq!(store.predictions().unwrap(), []);
    store.predict(&predicted()).unwrap();
    assert_eq!(store.predictions().unwrap(), [(1, predicted())]);
}

#[test]
fn a_store_of_version_2_opens_with_all_that_it_holds_and_its_run_waits_for_figures() {
    let (_folder, mut store) = opened("store-2.sql");
    holds_the_run(&store);
    assert_eq!(store.predictions().unwrap(), [(1, predicted())]);
    assert_eq!(lacking(&store), [started().id]);
    store.summarise(&started().id, &summary()).unwrap();
    holds_figures(&store);
}

#[test]
fn a_store_of_version_3_opens_with_all_that_it_holds() {
    if blessing() {
        let (folder, mut store) = new_store();
        keep(&mut store, &entries());
        store.predict(&predicted()).unwrap();
        store.summarise(&started().id, &summary()).unwrap();
        drop(store);
        fs::write(golden("store-3.sql"), dump(&folder.path().join("store.db"))).unwrap();
    }
    let (_folder, store) = opened("store-3.sql");
    holds_the_run(&store);
    assert_eq!(store.predictions().unwrap(), [(1, predicted())]);
    holds_figures(&store);
}

fn holds_figures(store: &Store) {
    assert_eq!(lacking(store), Vec::<String>::new());
    let kept = store.figures(RULES, &|_| true).unwrap();
    assert_eq!((&kept[0].id, &kept[0].summary), (&started().id, &summary()));
}

fn predicted() -> Prediction {
    Prediction {
        case: "syscall/getppid:via=raw".to_owned(),
        estimate: Some("<120 ns".to_owned()),
        hardware: Some("40 cycles".to_owned()),
        software: None,
        below: None,
        made_at: "2026-11-22T08:15:00Z".to_owned(),
    }
}

fn opened(name: &str) -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let script = fs::read_to_string(golden(name)).unwrap();
    Connection::open(&path).unwrap().execute_batch(&script).unwrap();
    let store = Store::open(&path).unwrap();
    (folder, store)
}

fn holds_the_run(store: &Store) {
    assert_eq!(journal(store, &started().id), entries());
    let runs = store.list().unwrap();
    assert_eq!((runs.len(), runs[0].workers, runs[0].rows_asked), (1, 2, Some(1)));
}

/// A database as the SQL that makes it again.
fn dump(path: &Path) -> String {
    let conn = Connection::open(path).unwrap();
    let texts = |sql: &str| -> Vec<String> {
        let mut statement = conn.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let mut script = String::new();
    for pragma in ["application_id", "user_version"] {
        let value: i64 = conn.pragma_query_value(None, pragma, |row| row.get(0)).unwrap();
        script += &format!("PRAGMA {pragma} = {value};\n");
    }
    for sql in texts("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid") {
        script += &format!("{sql};\n");
    }
    for table in ["run", "entry", "prediction", "word", "summary", "stand", "figure"] {
        let columns = texts(&format!("SELECT name FROM pragma_table_info('{table}')"));
        let quoted: Vec<String> = columns.iter().map(|name| format!("quote({name})")).collect();
        let rows = format!(
            "SELECT {} FROM {table} ORDER BY {}",
            quoted.join(" || ', ' || "),
            columns[..2].join(", ")
        );
        for row in texts(&rows) {
            script += &format!("INSERT INTO {table} VALUES ({row});\n");
        }
    }
    script
}
