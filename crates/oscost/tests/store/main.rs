//! The store as its callers use it: what is stored is read back, also after a kill and by a later
//! version, and invalid data is refused with a helpful message.

#![expect(clippy::unwrap_used, reason = "a helper that fails is a failed test")]

mod bills;
mod examples;
mod figures;
mod fleets;
mod gone;
mod import;
mod kill;
#[path = "../common/large_run.rs"]
mod large_run;
mod open;
mod prune;
mod record;

use oscost::store::tables::samples;
use oscost::store::{Cause, FindError, Store, StoredRun};
use oscost_model::journal::{Entry, RunHeader, WorkerOutcome};
use oscost_model::seed::Seed;
use oscost_model::worker::Sample;
use proptest::prelude::*;
use tempfile::TempDir;

use examples::{entries, id, started, worker};

/// An empty store and its folder.
fn new_store() -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("store.db")).unwrap();
    (folder, store)
}

/// Puts a whole journal in; its first entry is the start.
fn keep(store: &mut Store, entries: &[Entry]) -> String {
    let [Entry::Started(first), rest @ ..] = entries else { panic!("no start") };
    store.begin(first).unwrap();
    for entry in rest {
        store.append(&first.id, entry).unwrap();
    }
    first.id.clone()
}

/// A run of this id that started in this second and has a start alone.
fn begin(store: &mut Store, id: &str, second: u32) {
    let at = format!("2026-11-21T08:15:{second:02}Z");
    store.begin(&RunHeader { id: id.to_owned(), started_at: at, ..started() }).unwrap();
}

fn journal(store: &Store, id: &str) -> Vec<Entry> {
    match store.load(id).unwrap() {
        StoredRun::Journal(entries) => entries,
        StoredRun::Imported(_) => panic!("run {id} was imported"),
    }
}

#[test]
fn every_kind_of_entry_is_read_back_unchanged_also_by_another_process() {
    let (folder, mut store) = new_store();
    let id = keep(&mut store, &entries());
    assert_eq!(journal(&store, &id), entries());
    drop(store);
    let store = Store::open(&folder.path().join("store.db")).unwrap();
    assert_eq!(journal(&store, &id), entries());
}

#[test]
fn two_journals_that_grow_at_once_stay_separate_and_in_order() {
    let (_folder, mut store) = new_store();
    begin(&mut store, &id(1), 1);
    begin(&mut store, &id(2), 2);
    for row in 0..20 {
        store.append(&id(1), &worker(row, 3)).unwrap();
        store.append(&id(2), &worker(100 + row, 2)).unwrap();
    }
    let expected: Vec<Entry> = (0..20).map(|row| worker(row, 3)).collect();
    assert_eq!(journal(&store, &id(1))[1..], expected);
    let expected: Vec<Entry> = (100..120).map(|row| worker(row, 2)).collect();
    assert_eq!(journal(&store, &id(2))[1..], expected);
}

#[test]
fn a_list_has_the_newest_run_first_and_follows_the_journals() {
    let (_folder, mut store) = new_store();
    begin(&mut store, &id(9), 1);
    assert_eq!(store.list().unwrap()[0].rows_requested, None, "nothing is planned yet");
    keep(&mut store, &entries());
    let runs = store.list().unwrap();
    assert_eq!(runs.iter().map(|run| &run.id).collect::<Vec<_>>(), [&started().id, &id(9)]);
    let [run, begun] = &runs[..] else { panic!("{runs:?}") };
    assert_eq!(
        (run.rows_requested, run.workers, run.complete, run.imported),
        (Some(1), 2, true, false)
    );
    assert_eq!(run.ended.as_deref(), Some("2026-11-21T08:16:02.5Z"));
    assert_eq!((&run.started, &run.label), (&started().started_at, &started().label));
    assert_eq!(run.command, started().command);
    assert_eq!((begun.workers, begun.complete, &begun.ended), (0, false, &None));
}

#[test]
fn a_run_whose_clock_was_set_back_is_listed_by_its_clock_and_found() {
    let (_folder, mut store) = new_store();
    begin(&mut store, &id(1), 30);
    // Set back before this run, and again while it measured.
    begin(&mut store, &id(2), 10);
    let before_its_start = "2026-11-21T08:15:05Z".to_owned();
    let ended = Entry::Ended { at: before_its_start.clone(), complete: true };
    store.append(&id(2), &ended).unwrap();
    let runs = store.list().unwrap();
    assert_eq!(runs.iter().map(|run| run.id.clone()).collect::<Vec<_>>(), [id(1), id(2)]);
    assert_eq!((&runs[1].ended, runs[1].complete), (&Some(before_its_start), true));
    for (name, found) in [("last", id(1)), ("last~1", id(2)), (&*id(2), id(2))] {
        assert_eq!(store.find(name).unwrap(), found, "{name}");
    }
    assert_eq!(journal(&store, &id(2)).last(), Some(&ended));
}

#[test]
fn a_run_is_found_by_its_id_by_a_prefix_and_as_the_last() {
    let (_folder, mut store) = new_store();
    begin(&mut store, "aaaa0000-0000-7000-8000-000000000000", 1);
    begin(&mut store, "aaab0000-0000-7000-8000-000000000000", 3);
    begin(&mut store, "bbbb0000-0000-7000-8000-000000000000", 2);
    for (name, found) in [
        ("aaaa0000-0000-7000-8000-000000000000", "aaaa"),
        ("aaaa", "aaaa"),
        ("AAAB", "aaab"),
        ("b", "bbbb"),
        ("last", "aaab"),
    ] {
        assert!(store.find(name).unwrap().starts_with(found), "{name}");
    }
}

/// How runs are named.
const HINT: &str = "`oscost runs list` lists all; `last` is the newest, `last~1` that before";

#[test]
fn an_ambiguous_prefix_names_the_newest_five_runs() {
    let (_folder, mut store) = new_store();
    for number in 1..=7 {
        begin(&mut store, &id(number), number);
    }
    let error = store.find("0190").unwrap_err();
    let expected: Vec<String> = (3..=7).rev().map(id).collect();
    assert_eq!(
        error.to_string(),
        format!(
            "`0190` is ambiguous: 7 run ids start with it; the newest of them are {}\n  \
             hint: {HINT}",
            expected.join(", ")
        )
    );
}

#[test]
fn an_unknown_run_names_the_newest_runs() {
    let (_folder, mut store) = new_store();
    assert_eq!(
        store.find("last").unwrap_err().to_string(),
        "there is no run `last`: the store is empty\n  hint: `oscost run` measures one, `oscost \
         runs import FILE` keeps another user's"
    );
    begin(&mut store, &id(1), 1);
    let empty = store.find("").unwrap_err().to_string();
    assert_eq!(empty, format!("the name of the run is empty\n  hint: {HINT}"));
    for name in ["x", "%", "_190", "0190x"] {
        let error = store.find(name).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("there is no run `{name}`; the newest are {}\n  hint: {HINT}", &id(1)[..13])
        );
        assert!(matches!(error, FindError::Unknown { .. }));
    }
}

#[test]
fn a_run_begins_once_and_accepts_entries_only_after_that() {
    let (_folder, mut store) = new_store();
    let error = store.append(&id(1), &worker(0, 1)).unwrap_err();
    assert!(matches!(error.cause, Cause::NoRun), "{error}");
    assert!(
        error.to_string().starts_with(&format!("cannot append to run {} in", id(1))),
        "{error}"
    );
    assert!(matches!(store.load(&id(1)).unwrap_err().cause, Cause::NoRun));
    begin(&mut store, &id(1), 1);
    let again = RunHeader { id: id(1), ..started() };
    assert!(matches!(store.begin(&again).unwrap_err().cause, Cause::Exists));
    assert_eq!(journal(&store, &id(1)).len(), 1);
}

#[test]
fn an_entry_that_json_cannot_represent_is_refused_and_the_journal_stays_readable() {
    let (_folder, mut store) = new_store();
    begin(&mut store, &id(1), 1);
    for wrong in [f64::NAN, f64::INFINITY] {
        let Entry::Worker { row, phase, outcome, .. } = worker(0, 1) else { panic!() };
        let entry = Entry::Worker { row, phase, at_s: wrong, set: 0, outcome };
        let error = store.append(&id(1), &entry).unwrap_err();
        assert!(matches!(error.cause, Cause::Invalid(_)), "{error}");
        let text = error.to_string();
        assert!(
            text.ends_with(&format!("the entry cannot be stored: `at_s` is {wrong}")),
            "{text}"
        );
    }
    assert_eq!(journal(&store, &id(1)).len(), 1);
}

#[test]
fn the_space_of_a_deleted_run_is_returned() {
    let (folder, mut store) = new_store();
    let bytes = || {
        let files = std::fs::read_dir(folder.path()).unwrap();
        files.map(|file| file.unwrap().metadata().unwrap().len()).sum::<u64>()
    };
    begin(&mut store, &id(1), 1);
    store.append(&id(1), &worker(0, 10)).unwrap();
    begin(&mut store, &id(2), 2);
    for row in 0..200 {
        store.append(&id(2), &worker(row, 2_000)).unwrap();
    }
    let before = bytes();
    store.delete(&id(2)).unwrap();
    let after = bytes();
    assert!(after * 20 < before, "{before} bytes before, {after} after");
    assert!(matches!(store.load(&id(2)).unwrap_err().cause, Cause::NoRun));
    assert!(matches!(store.delete(&id(2)).unwrap_err().cause, Cause::NoRun));
    assert_eq!(journal(&store, &id(1)).len(), 2);
}

#[test]
fn a_run_is_deleted_while_another_process_reads() {
    let (folder, mut store) = new_store();
    begin(&mut store, &id(1), 1);
    store.append(&id(1), &worker(0, 5_000)).unwrap();
    let reader = rusqlite::Connection::open(folder.path().join("store.db")).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    let count = || reader.query_row("SELECT count(*) FROM entry", [], |row| row.get::<_, i64>(0));
    assert_eq!(count(), Ok(2));
    store.delete(&id(1)).unwrap();
    assert_eq!(store.list().unwrap(), []);
    assert_eq!(count(), Ok(2), "a reader sees what was there when it began");
}

#[test]
fn two_processes_read_while_one_writes() {
    let (folder, mut writer) = new_store();
    let path = folder.path().join("store.db");
    let readers = [Store::open(&path).unwrap(), Store::open(&path).unwrap()];
    begin(&mut writer, &id(1), 1);
    let half_written = rusqlite::Connection::open(&path).unwrap();
    for row in 0..10 {
        writer.append(&id(1), &worker(row, 100)).unwrap();
        half_written.execute_batch("BEGIN IMMEDIATE; DELETE FROM entry").unwrap();
        for reader in &readers {
            assert_eq!(journal(reader, &id(1)).len(), row as usize + 2);
            assert_eq!(reader.list().unwrap()[0].workers, u64::from(row) + 1);
        }
        half_written.execute_batch("ROLLBACK").unwrap();
    }
}

#[test]
fn a_sample_of_an_ordinary_worker_takes_fewer_than_fifteen_bytes() {
    for (name, worker) in ordinary_workers() {
        let bytes = samples::pack(&worker).len() as f64 / worker.len() as f64;
        println!("{name}: {bytes:.1} bytes a sample");
        assert!(bytes < 15.0, "{name}: {bytes:.1} bytes a sample");
    }
}

/// Workers of each mode on a clock of 2.6 ticks a nanosecond, their batches 2 % apart.
fn ordinary_workers() -> [(&'static str, Vec<Sample>); 4] {
    let mut seed = Seed::new(1);
    let mut sample = |batch: u32, group: u32, n: u64, ns_per_op: f64| {
        let wall_ns = n as f64 * ns_per_op * (0.98 + 0.04 * seed.unit());
        let disturbed = u32::from(seed.below(50) == 0);
        Sample {
            arm: 0,
            round: batch / group,
            batch,
            n,
            ticks: (wall_ns * 2.6) as i64 + 50,
            cpu_ns: (group == 1).then(|| wall_ns as u64 + 600 + seed.below(400)),
            involuntary_switches: disturbed,
            major_faults: 0,
            migrated: seed.below(500) == 0,
            windows: None,
        }
    };
    let mut jitter = Seed::new(2);
    let mut worker = |count: u32, group: u32, ns_per_op: f64, n: &dyn Fn(u32, u64) -> u64| {
        (0..count)
            .map(|batch| sample(batch, group, n(batch, jitter.below(100)), ns_per_op))
            .collect::<Vec<_>>()
    };
    [
        ("unrolled", worker(404, 4, 1.1, &|batch, _| 900_000 << (batch % 4))),
        ("batched", worker(101, 1, 120.0, &|_, jitter| 40_000 + 40 * jitter)),
        ("single shots", worker(10_000, 1, 85_000.0, &|_, _| 1)),
        ("throughput", worker(404, 4, 0.1, &|batch, _| (1 << 20) << (batch % 4))),
    ]
}

proptest! {
    // Each case is a new database.
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Needs serde_json's feature `float_roundtrip`: without it a number that was read can differ
    /// from the one that was written in its last bit, and a replay from the run.
    #[test]
    fn every_number_is_read_back_exactly(
        numbers in prop::collection::vec(prop_oneof![0.0..1e3, prop::num::f64::NORMAL], 50),
    ) {
        let (_folder, mut store) = new_store();
        begin(&mut store, &id(1), 1);
        for &at_s in &numbers {
            let Entry::Worker { row, phase, outcome, .. } = worker(0, 0) else { panic!() };
            store.append(&id(1), &Entry::Worker { row, phase, at_s, set: 0, outcome }).unwrap();
        }
        let entries = journal(&store, &id(1));
        let found = entries[1..].iter().map(|entry| match entry {
            Entry::Worker { at_s, .. } => *at_s,
            _ => panic!("{entry:?}"),
        });
        prop_assert_eq!(found.collect::<Vec<_>>(), numbers);
    }
}

#[test]
fn a_worker_without_samples_is_not_a_failed_one() {
    let (_folder, mut store) = new_store();
    begin(&mut store, &id(1), 1);
    store.append(&id(1), &worker(0, 0)).unwrap();
    let entries = journal(&store, &id(1));
    let Entry::Worker { outcome: WorkerOutcome::Sampled { samples, .. }, .. } = &entries[1] else {
        panic!("{entries:?}")
    };
    assert_eq!(samples.len(), 0);
}
