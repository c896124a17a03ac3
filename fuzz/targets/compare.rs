//! Two untrusted records, compared: whatever they contain, each verdict is one of four words.

#![no_main]

#[path = "../common/in_time.rs"]
mod in_time;

use in_time::in_time;
use libfuzzer_sys::fuzz_target;
use oscost::estimate::comparison::{EarlierRuns, compare};
use oscost::store::validate;

fuzz_target!(|bytes: &[u8]| in_time(bytes.len(), || check(bytes)));

fn check(bytes: &[u8]) {
    // A NUL byte, which no JSON text contains, separates the two.
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    let (Some(base), Some(new)) = (parts.next(), parts.next()) else { return };
    let (Ok(base), Ok(new)) = (validate(base), validate(new)) else { return };
    let runs = [&base, &new].map(std::slice::from_ref);
    let comparison = compare(runs[0], runs[1], &EarlierRuns::default());
    for it in &comparison.comparisons {
        let known = ["slower", "faster", "equivalent", "inconclusive"];
        assert!(known.contains(&it.verdict.as_str()), "{it:?}");
        for index in [it.base, it.new] {
            assert!((index as usize) < comparison.results.len(), "{it:?}");
        }
    }
}
