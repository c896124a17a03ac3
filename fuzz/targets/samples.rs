//! Packed samples, as a damaged store may contain them.

#![no_main]

#[path = "../common/in_time.rs"]
mod in_time;

use in_time::in_time;
use libfuzzer_sys::fuzz_target;
use oscost::store::tables::samples::{pack, unpack};

fuzz_target!(|bytes: &[u8]| in_time(bytes.len(), || check(bytes)));

fn check(bytes: &[u8]) {
    if let Ok(samples) = unpack(bytes) {
        let again = pack(&samples);
        assert!(again.len() <= bytes.len(), "packing is never longer than what was unpacked");
        assert_eq!(unpack(&again), Ok(samples));
    }
}
