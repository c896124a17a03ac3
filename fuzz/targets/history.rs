//! Untrusted records, imported into a store of their own: the history of their cases can be shown and
//! written, and no text controls a terminal.

#![no_main]

#[path = "../common/in_time.rs"]
mod in_time;

use std::fs;
use std::path::PathBuf;

use in_time::in_time;
use libfuzzer_sys::fuzz_target;
use oscost::app::Observer;
use oscost::app::history::{Request, history};
use oscost::report::history::{json, view};
use oscost::report::terminal;
use oscost::store::{Store, validate};
use oscost_model::journal::Entry;

/// More records in one input say nothing more.
const MAX_RECORDS: usize = 16;

fuzz_target!(|bytes: &[u8]| in_time(bytes.len(), || check(bytes)));

/// Nobody reads the notes.
struct Silent;

impl Observer for Silent {
    fn note(&self, _text: &str) {}
    fn status(&self, _text: &str) {}
    fn waiting_for(&self, _process: &str, _host: Option<&str>) {}
    fn working(&self, _activity: &str) {}
    fn finished(&self) {}
    fn entry(&self, _entry: &Entry) {}
}

/// An empty folder for the store, in that which run.sh names: any other may be a user's.
fn empty_folder() -> PathBuf {
    let data = PathBuf::from(std::env::var_os("XDG_DATA_HOME").expect("run.sh names a folder"));
    assert!(data.ends_with("fuzz/target/data"), "fuzz/run.sh runs this, which deletes its store");
    let folder = data.join("oscost");
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("the store of the last input can be deleted");
    }
    folder
}

fn check(bytes: &[u8]) {
    // A NUL byte, which no JSON text contains, separates records.
    let records: Vec<&[u8]> = bytes.split(|byte| *byte == 0).take(MAX_RECORDS).collect();
    let Some(first) = records.iter().find_map(|record| validate(record).ok()) else { return };
    let mut store = Store::open(&empty_folder().join("store.db")).expect("a store can be made");
    for record in records {
        // One that is refused, or is there already, is left out.
        let _ = store.import(record);
    }
    drop(store);
    let target = first.results.first().map(|row| row.target.text.clone());
    let at = target.unwrap_or_else(|| "local".to_owned());
    let case = first.results.first().map(|row| row.case.clone());
    for cases in [Vec::new(), Vec::from_iter(case)] {
        let Ok(found) = history(&Request { cases, last: 100, at: at.clone() }, &Silent) else {
            continue;
        };
        let text = terminal(&view(&found));
        assert!(!text.contains(|it: char| it.is_control() && it != '\n'), "{text:?}");
        json(&found).expect("every history can be written");
    }
}
