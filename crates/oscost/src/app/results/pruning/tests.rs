use rusqlite::Connection;

use super::super::test_store::store_of;
use super::*;

fn run(id: &str, started: &str) -> Listing {
    Listing {
        id: id.to_owned(),
        started: started.to_owned(),
        ended: Some(started.to_owned()),
        complete: true,
        label: None,
        command: Vec::new(),
        rows_requested: Some(1),
        workers: 1,
        imported: false,
        has_raw_batches: true,
    }
}

/// The runs that are prunable on 21 November.
fn prunable(runs: &[Listing], limits: [KeepCount; 2]) -> PrunableRuns {
    let now = humantime::parse_rfc3339("2026-11-21T12:00:00Z").unwrap();
    let [runs_kept, days] = limits;
    let limits = RawBatchLimits { runs: runs_kept, days };
    limits.prunable(runs, now)
}

#[test]
fn a_run_keeps_its_batches_while_it_is_young_or_among_the_last() {
    use KeepCount::{All, Last};
    let runs = [
        run("d", "2026-11-21T11:00:00.123Z"),
        run("c", "2026-11-20T11:00:00Z"),
        run("b", "2026-10-20T11:00:00Z"),
        run("a", "2026-09-20T11:00:00Z"),
    ];
    for (limits, expected) in [
        ([Last(0), Last(0)], &["a", "b", "c", "d"][..]),
        ([Last(1), Last(0)], &["a", "b", "c"]),
        ([Last(0), Last(1)], &["a", "b", "c"]),
        ([Last(0), Last(30)], &["a", "b"]),
        ([Last(3), Last(30)], &["a"]),
        ([Last(3), Last(100)], &[]),
        ([Last(4), Last(0)], &[]),
        ([All, Last(0)], &[]),
        ([Last(0), All], &[]),
    ] {
        let found = prunable(&runs, limits);
        let ids: Vec<&str> = found.ids.iter().map(String::as_str).collect();
        assert_eq!((&ids[..], found.unended), (expected, 0), "{limits:?}");
    }
    let one = RawBatchLimits { runs: KeepCount::Last(1), days: KeepCount::Last(1) };
    assert_eq!(one.to_string(), "the last run and those of the last day");
    let text = "the last 50 runs and those of the last 30 days";
    assert_eq!(DEFAULT_LIMITS.to_string(), text);
    assert_eq!(RawBatchLimits { days: All, ..DEFAULT_LIMITS }.to_string(), "all runs");
}

#[test]
fn a_run_of_a_clock_that_was_set_back_since_is_young_for_any_number_of_days() {
    let runs = [run("b", "2027-11-21T11:00:00Z"), run("a", "2026-11-21T11:00:00Z")];
    let found = |days| prunable(&runs, [KeepCount::Last(0), KeepCount::Last(days)]).ids;
    assert_eq!(found(1), [""; 0]);
    assert_eq!(found(0), ["a", "b"]);
}

#[test]
fn imported_pruned_and_running_runs_are_not_pruned() {
    let mut runs = [
        run("e", "2026-11-21T11:00:00Z"),
        run("d", "2026-11-21T10:00:00Z"),
        run("c", "2026-11-20T10:00:00Z"),
        run("b", "2026-11-01T10:00:00Z"),
        run("a", "2026-11-01T09:00:00Z"),
    ];
    runs[0].imported = true;
    runs[1].has_raw_batches = false;
    runs[2].ended = None;
    runs[3].ended = None;
    let limits = |runs| [KeepCount::Last(runs), KeepCount::Last(0)];
    let found = prunable(&runs, limits(0));
    assert_eq!((&found.ids[..], found.unended), (&["a".to_owned()][..], 2));
    let found = prunable(&runs, limits(3));
    assert_eq!((&found.ids[..], found.unended), (&["a".to_owned()][..], 0), "not counted");
}

fn both() -> PrunableRuns {
    PrunableRuns { ids: ["a", "b"].map(str::to_owned).into(), unended: 0 }
}

#[test]
fn a_run_that_another_process_has_pruned_or_deleted_is_no_failure() {
    let (_folder, mut store) = store_of(&["a", "b"]);
    let first = PrunableRuns { ids: vec!["a".to_owned()], unended: 0 };
    assert_eq!(prune_listed(&mut store, first, 4, PruneOccasion::AfterRun).unwrap().count, 1);
    // Both were listed before.
    let second = prune_listed(&mut store, both(), 4, PruneOccasion::AfterRun).unwrap();
    assert_eq!((second.count, second.failures), (1, Vec::new()));
    store.delete("b").unwrap();
    let third = prune_listed(&mut store, both(), 4, PruneOccasion::AfterRun).unwrap();
    assert_eq!((third.count, third.failures), (0, Vec::new()));
}

#[test]
fn a_locked_store_is_tried_once() {
    let (folder, mut store) = store_of(&["a", "b"]);
    let other = Connection::open(folder.path().join("store.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let pruned =
        store.without_waiting(|store| prune_listed(store, both(), 4, PruneOccasion::AfterRun));
    let PrunedRuns { count, failures, locked, .. } = pruned.unwrap().unwrap();
    assert_eq!((count, failures), (0, Vec::new()));
    assert!(locked.unwrap().to_string().contains("cannot prune run a in"), "the oldest");
    drop(other);
    assert_eq!(prune_listed(&mut store, both(), 4, PruneOccasion::AfterRun).unwrap().count, 2);
}

#[test]
fn many_old_runs_without_an_end_are_noted() {
    let note = |unended| PrunedRuns { unended, ..PrunedRuns::default() }.unended_note();
    assert_eq!(note(20), None);
    let text = note(21).unwrap();
    assert!(text.contains("raw batches: 21; "), "{text}");
    assert!(text.contains("`oscost runs delete RUN` removes one"), "{text}");
}

#[test]
fn a_count_is_a_number_or_all() {
    assert_eq!("0".parse(), Ok(KeepCount::Last(0)));
    assert_eq!("all".parse(), Ok(KeepCount::All));
    for text in ["", "-1", "ALL", "1.5", "99999999999"] {
        assert!(text.parse::<KeepCount>().is_err(), "{text}");
    }
}
