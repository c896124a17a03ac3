//! Two records from strangers, compared: whatever they hold, each verdict is one of the words.

#![no_main]

use libfuzzer_sys::fuzz_target;
use oscost::estimate::comparison::compare;
use oscost::store::validate;

fuzz_target!(|bytes: &[u8]| {
    // A byte that is in no JSON text parts the two.
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    let (Some(base), Some(new)) = (parts.next(), parts.next()) else { return };
    let (Ok(base), Ok(new)) = (validate(base), validate(new)) else { return };
    let found = compare(std::slice::from_ref(&base), std::slice::from_ref(&new));
    for it in &found.comparisons {
        let known = ["slower", "faster", "equivalent", "inconclusive"];
        assert!(known.contains(&it.verdict.as_str()), "{it:?}");
        for index in [it.base, it.new] {
            assert!((index as usize) < found.results.len(), "{it:?}");
        }
    }
});
