//! Counted batches as bytes: some 30 each, where JSON takes 300.
//!
//! The first byte is the version. Then, for each set of events: the number of its batches and of
//! its empty ones, and for each of them the number of its counts, the counts as differences from
//! those of the previous batch, the time that the counters were enabled, and by how much less they
//! counted. The samples of all batches follow to the end, as `samples` packs them. Numbers are
//! written as there.
//!
//! No number of batches has to be trusted: each takes bytes, and what unpacking allocates is bounded
//! by their number.

use oscost_model::counters::{CountedBatch, CountedSet};
use oscost_model::worker::Sample;

use super::samples::{self, BadSamples, Rest, add_difference, difference, push};

/// The version of the format.
const VERSION: u8 = 1;

/// Takes the batches out of sets and packs them.
pub fn take_and_pack(sets: &mut [CountedSet]) -> Vec<u8> {
    let mut out = vec![VERSION];
    let mut all: Vec<Sample> = Vec::new();
    for set in sets {
        let (batches, empty) = (std::mem::take(&mut set.batches), std::mem::take(&mut set.empty));
        push(&mut out, batches.len() as u64);
        push(&mut out, empty.len() as u64);
        let mut last: Vec<u64> = Vec::new();
        for batch in batches.into_iter().chain(empty) {
            push(&mut out, batch.counts.len() as u64);
            for (index, &count) in batch.counts.iter().enumerate() {
                push(&mut out, difference(last.get(index).copied().unwrap_or(0), count));
            }
            push(&mut out, batch.enabled_ns);
            push(&mut out, difference(batch.enabled_ns, batch.counting_ns));
            last = batch.counts;
            all.push(batch.sample);
        }
    }
    out.extend(samples::pack(&all));
    out
}

/// Puts packed batches back into their sets. Any bytes may be given.
pub fn unpack_into(sets: &mut [CountedSet], bytes: &[u8]) -> Result<(), BadSamples> {
    let mut rest = Rest(bytes);
    let version = rest.byte()?;
    if version != VERSION {
        return Err(BadSamples::Version(version));
    }
    for set in sets.iter_mut() {
        let (batches, empty) = (rest.number()?, rest.number()?);
        let mut last: Vec<u64> = Vec::new();
        for index in 0..batches.checked_add(empty).ok_or(BadSamples::OutOfRange)? {
            let mut counts = Vec::new();
            let events = rest.number()?;
            if events > CountedSet::MAX_EVENTS as u64 {
                return Err(BadSamples::OutOfRange);
            }
            for at in 0..events {
                let from = last.get(at as usize).copied().unwrap_or(0);
                counts.push(add_difference(from, rest.number()?));
            }
            let enabled_ns = rest.number()?;
            let counting_ns = add_difference(enabled_ns, rest.number()?);
            last.clone_from(&counts);
            let sample = Sample::default();
            let batch = CountedBatch { sample, counts, enabled_ns, counting_ns };
            if index < batches { set.batches.push(batch) } else { set.empty.push(batch) }
        }
    }
    let samples = samples::unpack(rest.0)?;
    let batches = sets.iter_mut().flat_map(|set| set.batches.iter_mut().chain(&mut set.empty));
    let mut batches: Vec<&mut CountedBatch> = batches.collect();
    if batches.len() != samples.len() {
        return Err(BadSamples::Short);
    }
    batches.iter_mut().zip(samples).for_each(|(batch, sample)| batch.sample = sample);
    Ok(())
}

#[cfg(test)]
mod tests {
    use oscost_model::counters::CounterEvent;
    use proptest::prelude::*;

    use super::*;

    fn any_batch() -> impl Strategy<Value = CountedBatch> {
        let count = prop_oneof![0..1_000_000u64, any::<u64>()];
        let counts = prop::collection::vec(count, 0..5);
        (counts, any::<u64>(), any::<u64>(), any::<i64>(), any::<u32>()).prop_map(
            |(counts, enabled_ns, counting_ns, ticks, round)| CountedBatch {
                sample: Sample { ticks, round, n: 500, ..Sample::default() },
                counts,
                enabled_ns,
                counting_ns,
            },
        )
    }

    fn any_set() -> impl Strategy<Value = CountedSet> {
        let batches = || prop::collection::vec(any_batch(), 0..6);
        (batches(), batches(), any::<bool>()).prop_map(|(batches, empty, is_void)| CountedSet {
            events: CounterEvent::WORK.to_vec(),
            void: is_void.then(|| "multiplexed".to_owned()),
            batches,
            empty,
            added_per_process: None,
            short_by: (!is_void).then_some(3),
            amortized: is_void,
            spans_ticks: !is_void,
        })
    }

    fn bare(sets: &[CountedSet]) -> Vec<CountedSet> {
        let bare =
            |set: &CountedSet| CountedSet { batches: Vec::new(), empty: Vec::new(), ..set.clone() };
        sets.iter().map(bare).collect()
    }

    proptest! {
        #[test]
        fn counted_batches_survive_packing(sets in prop::collection::vec(any_set(), 0..4)) {
            let mut packed = sets.clone();
            let bytes = take_and_pack(&mut packed);
            prop_assert_eq!(&packed, &bare(&sets));
            prop_assert_eq!(unpack_into(&mut packed, &bytes), Ok(()));
            prop_assert_eq!(packed, sets);
        }

        #[test]
        fn unpacking_accepts_any_bytes_without_a_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let mut sets = vec![CountedSet::default(); 2];
            let _ = unpack_into(&mut sets.clone(), &bytes);
            let _ = unpack_into(&mut sets, &[&[VERSION], &bytes[..]].concat());
        }

        #[test]
        fn truncated_bytes_are_an_error_or_fewer_batches(
            sets in prop::collection::vec(any_set(), 1..3),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut found = sets.clone();
            let whole = take_and_pack(&mut found);
            let cut = &whole[..cut.index(whole.len())];
            prop_assert!(unpack_into(&mut found, cut).is_err());
        }
    }

    #[test]
    fn a_batch_has_no_more_counts_than_there_are_events() {
        let unpack = |counts: usize| {
            let events = CounterEvent::ALL.to_vec();
            let batch = CountedBatch { counts: vec![7; counts], ..CountedBatch::default() };
            let set = CountedSet { events, batches: vec![batch], ..CountedSet::default() };
            let mut sets = [set];
            let bytes = take_and_pack(&mut sets);
            unpack_into(&mut sets, &bytes)
        };
        assert_eq!(unpack(CounterEvent::ALL.len()), Ok(()));
        assert_eq!(unpack(CounterEvent::ALL.len() + 1), Err(BadSamples::OutOfRange));
    }

    #[test]
    fn a_worker_of_two_sets_takes_some_30_bytes_a_batch() {
        let batch = |round: u32| CountedBatch {
            sample: Sample {
                round,
                batch: round,
                n: 500,
                ticks: 120_000 + i64::from(round % 7) * 311,
                cpu_ns: Some(60_000 + u64::from(round % 5) * 97),
                ..Sample::default()
            },
            counts: vec![6_000, 146_500 + u64::from(round % 3), 215_000 + 113 * u64::from(round)],
            enabled_ns: 80_000 * u64::from(round),
            counting_ns: 80_000 * u64::from(round),
        };
        let set = CountedSet {
            events: CounterEvent::WORK.to_vec(),
            void: None,
            batches: (0..40).map(batch).collect(),
            empty: (0..9).map(batch).collect(),
            added_per_process: None,
            short_by: None,
            amortized: false,
            spans_ticks: false,
        };
        let mut sets = vec![set.clone(), set];
        let bytes = take_and_pack(&mut sets).len();
        assert!(bytes < 98 * 30, "{bytes} bytes for 98 batches");
    }
}
