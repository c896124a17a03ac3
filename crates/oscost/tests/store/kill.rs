//! `kill -9` at any moment: every confirmed append is stored.
//!
//! The child is this test program again, started with the path to write in its environment. It
//! reports on its standard error which worker it has just stored; libtest keeps its own words off
//! that.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use oscost::store::Store;
use oscost_model::journal::{Entry, RunHeader};
use oscost_model::seed::Seed;

use super::examples::{id, started, worker};
use super::journal;

const STORE: &str = "OSCOST_TEST_STORE";
const RUN: &str = "OSCOST_TEST_RUN";
const WORKERS: &str = "OSCOST_TEST_CELLS";

/// 20 KiB packed, so that SQLite moves its log into the database every few hundred workers.
const SAMPLES: u32 = 2_000;

fn start_child(store: &Path, run: &str, workers: u32) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["kill::child_stores_workers", "--exact", "--ignored", "--nocapture"])
        .env(STORE, store)
        .env(RUN, run)
        .env(WORKERS, workers.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
#[ignore = "the tests of this file start it as their child"]
fn child_stores_workers() {
    let Some(path) = std::env::var_os(STORE) else { return };
    let run = std::env::var(RUN).unwrap();
    let workers: u32 = std::env::var(WORKERS).unwrap().parse().unwrap();
    let mut store = Store::open(Path::new(&path)).unwrap();
    store.begin(&RunHeader { id: run.clone(), ..started() }).unwrap();
    for row in 0..workers {
        store.append(&run, &worker(row, SAMPLES)).unwrap();
        // One write each, so that a kill leaves no half of a number.
        std::io::stderr().write_all(format!("{row}\n").as_bytes()).unwrap();
    }
}

/// The workers that a child answers for from here to its end; `enough` may end it earlier.
fn answered(child: &mut Child, mut enough: impl FnMut(&mut Child, u32)) -> Option<u32> {
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let mut last = None;
    while let Some(line) = lines.next() {
        let Ok(row) = line.parse() else {
            // It may store workers for ever.
            let _ = child.kill();
            let rest: Vec<String> = lines.collect();
            panic!("the child printed: {line}\n{}", rest.join("\n"));
        };
        last = Some(row);
        enough(child, row);
    }
    last
}

/// Checks that a run holds its workers in order, up to the one that was answered for or one more.
fn check(store: &Store, run: &str, answered: Option<u32>) {
    let listed = store.list().unwrap().into_iter().find(|listed| listed.id == run);
    let Some(listed) = listed else {
        assert_eq!(answered, None, "run {run} is missing");
        return;
    };
    let entries = journal(store, run);
    let workers = entries.len() as u32 - 1;
    let expected = answered.map_or(0, |row| row + 1);
    assert!(
        workers == expected || workers == expected + 1,
        "{workers} workers, answered for {expected}"
    );
    assert!(matches!(entries[0], Entry::Started(_)));
    for (row, entry) in (0..).zip(&entries[1..]) {
        assert_eq!(*entry, worker(row, SAMPLES), "run {run}, worker {row}");
    }
    assert_eq!(listed.workers, u64::from(workers));
}

/// Lets SQLite look for damage.
fn check_database(path: &Path) {
    let conn = rusqlite::Connection::open(path).unwrap();
    let verdict: String =
        conn.pragma_query_value(None, "integrity_check", |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
    assert!(!conn.prepare("PRAGMA foreign_key_check").unwrap().exists([]).unwrap());
}

#[test]
fn after_kill_9_every_confirmed_worker_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let mut seed = Seed::new(9);
    for number in 0..20 {
        let run = id(number);
        let mut child = start_child(&path, &run, u32::MAX);
        let last_row = seed.below(400) as u32;
        let pause = Duration::from_micros(seed.below(400));
        let answered = answered(&mut child, |child, row| {
            if row == last_row {
                thread::sleep(pause);
                child.kill().unwrap();
            }
        });
        assert!(!child.wait().unwrap().success());
        check(&Store::open(&path).unwrap(), &run, answered);
    }
    check_database(&path);
    assert_eq!(Store::open(&path).unwrap().list().unwrap().len(), 20);
}

#[test]
fn after_kill_9_during_its_creation_a_store_can_be_opened() {
    let folder = tempfile::tempdir().unwrap();
    let mut seed = Seed::new(10);
    let mut states = BTreeSet::new();
    for number in 0..20 {
        let path = folder.path().join(format!("{number}.db"));
        let mut child = start_child(&path, &id(0), u32::MAX);
        thread::sleep(Duration::from_micros(seed.below(20_000)));
        child.kill().unwrap();
        let answered = answered(&mut child, |_, _| ());
        child.wait().unwrap();
        states.insert((path.exists(), answered.is_some()));
        check(&Store::open(&path).unwrap(), &id(0), answered);
        check_database(&path);
    }
    println!("states (exists, answered): {states:?}");
}

#[test]
fn four_processes_may_create_the_same_store_at_once() {
    let folder = tempfile::tempdir().unwrap();
    for attempt in 0..5 {
        let path = folder.path().join(format!("{attempt}/store.db"));
        let mut children =
            [1, 2, 3, 4].map(|number| (id(number), start_child(&path, &id(number), 10)));
        for (_, child) in &mut children {
            assert_eq!(answered(child, |_, _| ()), Some(9));
            assert!(child.wait().unwrap().success());
        }
        let store = Store::open(&path).unwrap();
        for (run, _) in &children {
            check(&store, run, Some(9));
        }
        check_database(&path);
    }
}
