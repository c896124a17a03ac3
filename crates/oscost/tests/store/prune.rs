//! Runs without their raw batches: their records stay, and so does everything about other runs.

use oscost::store::{Cause, PrunedBytes};
use oscost_model::journal::{Entry, RunHeader};
use oscost_model::unit::Unit;

use super::examples::{entries, id, started, worker};
use super::record::record;
use super::{begin, journal, keep, large_run, new_store};

const AT: &str = "2026-12-24T00:00:00Z";

fn ended() -> Entry {
    Entry::Ended { at: "2026-11-21T08:16:00Z".to_owned(), complete: true }
}

#[test]
fn a_pruned_run_keeps_its_start_and_its_record() {
    let (_folder, mut store) = new_store();
    let run = keep(&mut store, &entries());
    begin(&mut store, &id(7), 7);
    for row in 0..3 {
        store.append(&id(7), &worker(row, 50)).unwrap();
    }
    let before = store.list().unwrap();
    assert!(before.iter().all(|run| run.has_raw_batches));
    let size = store.journal_bytes(&run).unwrap();
    let PrunedBytes { before: bytes, after } = store.prune(&run, AT, &record()).unwrap();
    assert_eq!(bytes, size);
    assert!(after > 0);

    let record = Some(Box::new(record()));
    let expected =
        [Entry::Started(Box::new(started())), Entry::Pruned { at: AT.to_owned(), record }];
    assert_eq!(journal(&store, &run), expected);
    let mut listed = store.list().unwrap();
    assert!(!listed[0].has_raw_batches && !listed[0].imported);
    listed[0].has_raw_batches = true;
    assert_eq!(listed, before, "nothing else has changed");
    assert_eq!(journal(&store, &id(7)).len(), 4);
}

#[test]
fn only_a_run_with_raw_batches_is_pruned_and_only_once() {
    let (_folder, mut store) = new_store();
    let run = keep(&mut store, &entries());
    store.prune(&run, AT, &record()).unwrap();
    let imported = store.import(&serde_json::to_vec(&record()).unwrap()).unwrap();
    for id in [&run, &imported, &id(9)] {
        let error = store.prune(id, AT, &record()).unwrap_err();
        assert!(matches!(error.cause, Cause::NoRawBatches), "{error}");
        assert!(store.journal_bytes(id).is_err());
    }
    store.delete(&run).unwrap();
    assert_eq!(store.list().unwrap().len(), 1);
}

#[test]
fn a_run_without_an_end_is_not_pruned_whatever_its_age() {
    let (_folder, mut store) = new_store();
    let header = RunHeader { started_at: "2001-01-01T00:00:00Z".to_owned(), ..started() };
    store.begin(&header).unwrap();
    store.append(&header.id, &worker(0, 50)).unwrap();
    store.append(&header.id, &worker(1, 50)).unwrap();
    let error = store.prune(&header.id, AT, &record()).unwrap_err();
    assert!(matches!(error.cause, Cause::NotEnded), "{error}");
    assert!(error.to_string().contains("hint: `oscost runs delete RUN`"), "{error}");
    // It goes on.
    store.append(&header.id, &worker(2, 50)).unwrap();
    assert_eq!(journal(&store, &header.id)[1..], [0, 1, 2].map(|row| worker(row, 50)));
    store.append(&header.id, &ended()).unwrap();
    store.prune(&header.id, AT, &record()).unwrap();
}

#[test]
fn a_record_that_cannot_be_stored_leaves_the_journal() {
    let (_folder, mut store) = new_store();
    let run = keep(&mut store, &entries());
    let mut wrong = record();
    wrong.results[0].estimate.as_mut().unwrap().mean = f64::NAN;
    let error = store.prune(&run, AT, &wrong).unwrap_err();
    assert!(matches!(error.cause, Cause::Invalid(_)), "{error}");
    assert_eq!(journal(&store, &run), entries());
}

#[test]
fn the_estimates_of_a_run_of_a_hundred_rows_take_under_100_kb() {
    let (_folder, mut store) = new_store();
    let run = keep(&mut store, &entries());
    let benchmarks = ["syscall/getppid", "pipe/round-trip"].map(|id| (id, Unit::NsPerOp));
    let mut large = large_run::run(&benchmarks, 100, 0);
    large.id.clone_from(&run);
    let PrunedBytes { after, .. } = store.prune(&run, AT, &large).unwrap();
    println!("{after} bytes");
    assert!(after < 100_000, "{after} bytes");
}

#[test]
fn the_space_of_raw_batches_is_returned() {
    let (_folder, mut store) = new_store();
    begin(&mut store, &id(1), 1);
    for row in 0..200 {
        store.append(&id(1), &worker(row, 2_000)).unwrap();
    }
    store.append(&id(1), &ended()).unwrap();
    let before = store.size_bytes().unwrap();
    store.prune(&id(1), AT, &record()).unwrap();
    store.return_space().unwrap();
    let after = store.size_bytes().unwrap();
    assert!(after * 10 < before, "{before} bytes before, {after} after");
}
