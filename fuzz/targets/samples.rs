//! Packed samples, as a damaged store may contain them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use oscost::store::tables::samples::{pack, unpack};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(samples) = unpack(bytes) {
        let again = pack(&samples);
        assert!(again.len() <= bytes.len(), "packing is never longer than what was unpacked");
        assert_eq!(unpack(&again), Ok(samples));
    }
});
