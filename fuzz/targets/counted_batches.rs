//! Packed counts of events, as a damaged store may contain them. The first byte says how many sets
//! there are, which the store has beside the packed bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use oscost::store::tables::counted_batches::{take_and_pack, unpack_into};
use oscost_model::counters::{CountedSet, CounterEvent};

/// As many as a worker counts at most, and one more.
const SETS: u8 = 8;

fuzz_target!(|bytes: &[u8]| {
    let Some((&sets, packed)) = bytes.split_first() else { return };
    let bare = CountedSet { events: CounterEvent::WORK.to_vec(), ..CountedSet::default() };
    let bare = vec![bare; usize::from(sets % (SETS + 1))];
    let mut sets = bare.clone();
    if unpack_into(&mut sets, packed).is_err() {
        return;
    }
    for set in &sets {
        let batches = || set.batches.iter().chain(&set.empty);
        assert!(batches().all(|batch| batch.counts.len() <= CountedSet::MAX_EVENTS));
        // Counts of other events than the set's are found before they are used.
        let is_whole = batches().all(|batch| batch.counts.len() == set.events.len());
        assert_eq!(set.contradiction().is_none(), is_whole);
    }
    let mut again = sets.clone();
    let repacked = take_and_pack(&mut again);
    assert_eq!(again, bare, "all batches are taken");
    assert!(repacked.len() <= packed.len(), "packing is never longer than what was unpacked");
    assert_eq!(unpack_into(&mut again, &repacked), Ok(()));
    assert_eq!(again, sets);
});
