//! A store and a figure for tests.

use oscost_model::journal::{Entry, RunHeader};
use oscost_model::record::{Settings, Tool, WorkerProgram};
use oscost_model::unit::Unit;

use crate::store::{Figure, Store};

/// A figure of a case on the first machine of a run, without an interval.
pub(super) fn figure(case: &str, median: f64) -> Figure {
    Figure {
        case: case.to_owned(),
        target: "local".to_owned(),
        machine: Some(0),
        peer: None,
        cpu: None,
        rev: 1,
        unit: Unit::NsPerOp,
        mode: None,
        subject: None,
        file: None,
        monitor: None,
        flags: Vec::new(),
        median,
        interval: None,
        counts: None,
        metrics: Vec::new(),
    }
}

/// A store with ended runs of these ids, without figures.
pub(super) fn store_of<S: AsRef<str>>(ids: &[S]) -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("store.db")).unwrap();
    let word = || "word".to_owned();
    let worker = WorkerProgram { hash: word(), link: word(), libc: word(), catalog: word() };
    let tool = Tool { version: word(), commit: None, rustc: None, worker };
    let settings = Settings {
        seed: 1,
        profile: word(),
        precision_pct: None,
        nominal: 0.95,
        budget_s: None,
        study: None,
        predictions: Vec::new(),
    };
    for id in ids.iter().map(AsRef::as_ref) {
        let at = || "2026-11-21T08:15:00Z".to_owned();
        let header = RunHeader {
            id: id.to_owned(),
            started_at: at(),
            label: None,
            command: Vec::new(),
            tool: tool.clone(),
            settings: settings.clone(),
        };
        store.begin(&header).unwrap();
        let planned = Entry::Planned { rows: Vec::new(), timers: Vec::new() };
        store.append(id, &planned).unwrap();
        store.append(id, &Entry::Ended { at: at(), complete: true }).unwrap();
    }
    (folder, store)
}
