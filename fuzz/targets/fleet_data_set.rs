//! An untrusted Parquet file of a fleet's figures, as `oscost fleet check --against` reads it: it is
//! refused, or all of its figures are usable.
//!
//! The crate that decodes Parquet panics at some malformed files; whoever reads one has a guard. So
//! its own panics are no finding here; those of anything else are.

#![no_main]

#[path = "../common/in_time.rs"]
mod in_time;

use in_time::in_time;
use libfuzzer_sys::fuzz_target;
use std::panic::{PanicHookInfo, catch_unwind, set_hook};
use std::path::PathBuf;

use oscost::app::fleet::data_set::read_data_set;
use oscost::files::input_copy::InputCopy;

/// Lines that repeat take few bytes: a group of a million of them is as much work as so many bytes.
const BYTES_OF_GROUP: usize = 900_000;

fuzz_target!(
    init: set_hook(Box::new(abort_unless_of_parquet)),
    |bytes: &[u8]| in_time(bytes.len() + BYTES_OF_GROUP, || check(bytes))
);

fn abort_unless_of_parquet(panic: &PanicHookInfo<'_>) {
    let is_of_parquet = panic.location().is_some_and(|at| at.file().contains("/parquet-"));
    // This one is told at its place in the standard library.
    if !is_of_parquet && !panic.to_string().contains("capacity overflow") {
        eprintln!("{panic}");
        std::process::abort();
    }
}

fn check(bytes: &[u8]) {
    let file = InputCopy::of(bytes, u64::MAX).expect("a file in memory");
    let path = PathBuf::from(file.path());
    let Ok(Ok(fleet)) = catch_unwind(|| read_data_set(&path)) else { return };
    for visit in &fleet.visits {
        assert!(visit.node < fleet.nodes.len());
        for figure in &visit.figures {
            assert!((figure.case as usize) < fleet.cases.len());
            assert!(figure.median.is_finite() && figure.median > 0.0);
        }
    }
    assert!(fleet.nodes.iter().all(|node| !node.name.contains(char::is_control)));
}
