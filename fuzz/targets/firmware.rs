//! What firmware and kernel hand over in formats of their own: the table of hardware, and the
//! packed configuration. Whatever they hold, what comes out is bounded, and no text of the table but
//! the names of its types gets out.

#![no_main]

use libfuzzer_sys::fuzz_target;
use oscost_worker::facts::{dmi, gzip};

fuzz_target!(|bytes: &[u8]| {
    let found = dmi::parse(bytes);
    let modules = found.modules.unwrap_or_default();
    assert!(modules.len() <= found.slots.unwrap_or(0) as usize);
    assert!(found.channels.is_none_or(|channels| channels <= found.slots.unwrap_or(0)));
    let told = |kind: &String| kind.len() <= 8 && kind.is_ascii();
    assert!(modules.iter().all(|module| module.count > 0 && module.kind.iter().all(told)));
    const MOST: usize = 1 << 16;
    assert!(gzip::decompress(bytes, MOST).is_none_or(|plain| plain.len() <= MOST));
});
