//! An untrusted Parquet file of a fleet's figures, as `oscost fleet check --against` reads it: it is
//! refused, or all of its figures are usable.
//!
//! Panics of the crate that decodes Parquet are errors of `read_data_set`, and no finding here.

#![no_main]

#[path = "../common/in_time.rs"]
mod in_time;

use in_time::in_time;
use libfuzzer_sys::fuzz_target;
use std::path::PathBuf;

use oscost::app::fleet::data_set::read_data_set;
use oscost::files::input_copy::InputCopy;

/// Lines that repeat take few bytes: a group of a million of them is as much work as so many bytes.
const BYTES_OF_GROUP: usize = 900_000;

fuzz_target!(|bytes: &[u8]| in_time(bytes.len() + BYTES_OF_GROUP, || check(bytes)));

fn check(bytes: &[u8]) {
    let file = InputCopy::of(bytes, u64::MAX).expect("a file in memory");
    let path = PathBuf::from(file.path());
    let Ok(fleet) = read_data_set(&path) else { return };
    for visit in &fleet.visits {
        assert!(visit.node < fleet.nodes.len());
        for figure in &visit.figures {
            assert!((figure.case as usize) < fleet.cases.len());
            assert!(figure.median.is_finite() && figure.median > 0.0);
        }
    }
    assert!(fleet.nodes.iter().all(|node| !node.name.contains(char::is_control)));
}
