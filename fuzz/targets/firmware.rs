//! The SMBIOS table of the firmware: whatever it contains, the result is bounded, and of its texts
//! only the names of memory types are kept.

#![no_main]

#[path = "../common/in_time.rs"]
mod in_time;

use in_time::in_time;
use libfuzzer_sys::fuzz_target;
use oscost_worker::facts::hardware::dmi;

fuzz_target!(|bytes: &[u8]| in_time(bytes.len(), || check(bytes)));

fn check(bytes: &[u8]) {
    let found = dmi::parse(bytes);
    let modules = found.modules.unwrap_or_default();
    assert!(modules.len() <= found.slots.unwrap_or(0) as usize);
    assert!(found.channels.is_none_or(|channels| channels <= found.slots.unwrap_or(0)));
    let is_short_name = |kind: &String| kind.len() <= 8 && kind.is_ascii();
    assert!(modules.iter().all(|module| module.count > 0 && module.kind.iter().all(is_short_name)));
}
