//! An untrusted record: it is refused, or it reads as the same record after it was written again.

#![no_main]

#[path = "../common/in_time.rs"]
mod in_time;

use in_time::in_time;
use libfuzzer_sys::fuzz_target;
use oscost::store::validate;

fuzz_target!(|bytes: &[u8]| in_time(bytes.len(), || check(bytes)));

fn check(bytes: &[u8]) {
    match validate(bytes) {
        Ok(record) => {
            let again = serde_json::to_vec(&record).expect("a record can be written");
            assert_eq!(validate(&again).expect("and read again"), record);
            let estimates = record.results.iter().filter_map(|row| row.estimate.as_ref());
            let mut intervals = estimates.filter_map(|it| it.ci95);
            assert!(intervals.all(|[low, high]| low <= high), "charts rely on it");
        }
        Err(error) => {
            let text = error.to_string();
            assert!(text.len() < 2_000 && !text.contains(char::is_control), "{text:?}");
        }
    }
}
