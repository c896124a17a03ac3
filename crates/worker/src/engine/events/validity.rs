//! Which counts are void, and why: they are never scaled or repaired.

use oscost_model::counters::{CountedBatch, CountedSet, CounterEvent, CounterRead};

use crate::engine::calibrate::median;
use crate::kernel::cpu::instruction_loop::LOOP_INSTRUCTIONS;

/// Iterations of the loop that is counted to check a counter of instructions: a million of them, so
/// that those around the loop, and of the reads, are less than the permitted share.
pub const KNOWN_ITERATIONS: u64 = 333_333;
/// Its instructions.
const KNOWN_INSTRUCTIONS: u64 = KNOWN_ITERATIONS * LOOP_INSTRUCTIONS;
/// The permitted deviation: what an interruption adds to user mode is far below it.
const KNOWN_SHARE: f64 = 0.001;
/// So many equal counts of cycles are no coincidence.
const EQUAL_COUNTS: usize = 5;

/// Why the counts of a set are void; `None` if they are not.
pub fn void_reason(set: &CountedSet) -> Option<String> {
    let all = || set.batches.iter().chain(&set.empty);
    if set.batches.is_empty() {
        return Some("no batch was counted".to_owned());
    }
    if all().any(|batch| batch.counting_ns > batch.enabled_ns) {
        return Some("the counters counted for longer than they were enabled".to_owned());
    }
    if let Some(batch) = all().find(|batch| batch.counting_ns < batch.enabled_ns) {
        let share = 100.0 * batch.counting_ns as f64 / batch.enabled_ns.max(1) as f64;
        return Some(format!(
            "the counters were multiplexed: they counted for {share:.0} % of the time for which \
             they were enabled, so another user of the counters has some"
        ));
    }
    let counts = |event: CounterEvent| {
        let at = set.events.iter().position(|it| *it == event)?;
        Some(set.batches.iter().filter(|batch| batch.sample.n > 0).map(move |it| it.counts[at]))
    };
    for event in [CounterEvent::InstructionsUser, CounterEvent::Cycles, CounterEvent::TaskClock] {
        if counts(event).is_some_and(|mut counts| counts.any(|count| count == 0)) {
            return Some(format!("the counter of {} stood still", event.perf_name()));
        }
    }
    // Instructions repeat; cycles never do.
    let cycles: Vec<u64> = counts(CounterEvent::Cycles).into_iter().flatten().collect();
    if cycles.len() >= EQUAL_COUNTS && cycles.iter().all(|count| *count == cycles[0]) {
        return Some(format!("all {} batches have {} cycles", cycles.len(), cycles[0]));
    }
    None
}

/// Why the time for which counters were enabled shows that they did not count; `None` if it does
/// not. On the page of a counter the kernel writes it only when it moves the event.
pub fn enabled_problem(set: &CountedSet, read_by: CounterRead) -> Option<String> {
    let mut batches = set.batches.iter().filter(|batch| batch.sample.n > 0);
    let is_still = read_by == CounterRead::Read && batches.any(|batch| batch.enabled_ns == 0);
    is_still.then(|| "the counters were not enabled while a batch ran".to_owned())
}

/// Why a count of the loop of known length shows that a counter of instructions is wrong; `None` if
/// it does not, or if no instructions are counted. Other tasks may only add to it.
pub fn loop_problem(
    set: &CountedSet,
    known: Option<&CountedBatch>,
    is_inherited: bool,
) -> Option<String> {
    let at = set.events.iter().position(|it| *it == CounterEvent::InstructionsUser)?;
    let reads: Vec<f64> = set.empty.iter().map(|batch| batch.counts[at] as f64).collect();
    let reads = if reads.is_empty() { 0.0 } else { median(reads) };
    let count = known?.counts[at] as f64 - reads;
    let error = count / KNOWN_INSTRUCTIONS as f64 - 1.0;
    let is_wrong = error < -KNOWN_SHARE || (error > KNOWN_SHARE && !is_inherited);
    is_wrong.then(|| {
        format!("a loop of {KNOWN_INSTRUCTIONS} instructions in user mode was counted as {count}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use oscost_model::worker::Sample;

    const EVENTS: [CounterEvent; 3] = CounterEvent::WORK;

    fn batch(counts: &[u64]) -> CountedBatch {
        let sample = Sample { n: 10, ..Sample::default() };
        CountedBatch { sample, counts: counts.to_vec(), enabled_ns: 900, counting_ns: 900 }
    }

    fn set(batches: &[&[u64]]) -> CountedSet {
        let batches = batches.iter().map(|counts| batch(counts)).collect();
        let empty = vec![batch(&[60, 900, 1_000]); 3];
        CountedSet { events: EVENTS.to_vec(), batches, empty, ..CountedSet::default() }
    }

    #[test]
    fn equal_instructions_in_both_modes_are_valid() {
        let valid: Vec<Vec<u64>> = (0..7).map(|it| vec![500, 3_050, 4_000 + it]).collect();
        let valid: Vec<&[u64]> = valid.iter().map(Vec::as_slice).collect();
        assert_eq!(void_reason(&set(&valid)), None);
        // Nothing of a user-mode op happens in the kernel if counters are read by an instruction.
        assert_eq!(void_reason(&set(&[&[500, 0, 4_000]])), None);
    }

    #[test]
    fn multiplexed_counters_are_void() {
        let mut multiplexed = set(&[&[1, 1, 1], &[1, 1, 2]]);
        multiplexed.batches[1].counting_ns = 450;
        let reason = void_reason(&multiplexed).unwrap();
        assert!(reason.contains("multiplexed: they counted for 50 %"), "{reason}");
        let mut empty = set(&[&[1, 1, 1]]);
        empty.empty[2].counting_ns = 0;
        assert!(void_reason(&empty).unwrap().contains(" 0 %"));
    }

    #[test]
    fn times_that_contradict_themselves_are_void() {
        let mut longer = set(&[&[1, 1, 1], &[1, 1, 2]]);
        longer.batches[0].counting_ns = u64::MAX;
        assert!(void_reason(&longer).unwrap().contains("longer than they were enabled"));
        let mut off = set(&[&[1, 1, 1], &[1, 1, 2]]);
        (off.batches[1].enabled_ns, off.batches[1].counting_ns) = (0, 0);
        let reason = enabled_problem(&off, CounterRead::Read).unwrap();
        assert_eq!(reason, "the counters were not enabled while a batch ran");
        assert_eq!(enabled_problem(&off, CounterRead::Rdpmc), None, "not written meanwhile");
        off.batches[1].sample.n = 0;
        assert_eq!(enabled_problem(&off, CounterRead::Read), None, "no op ran");
    }

    #[test]
    fn counters_that_stand_still_or_are_constant_are_void() {
        for (counts, event) in [([0, 9, 9], "instructions:u"), ([9, 9, 0], "cycles")] {
            let reason = void_reason(&set(&[&[9, 9, 9], &counts])).unwrap();
            assert_eq!(reason, format!("the counter of {event} stood still"));
        }
        let reason = void_reason(&set(&[[9, 9, 7].as_slice(); 5])).unwrap();
        assert_eq!(reason, "all 5 batches have 7 cycles");
        assert_eq!(void_reason(&set(&[[9, 9, 7].as_slice(); 4])), None);
        assert_eq!(void_reason(&set(&[])).unwrap(), "no batch was counted");
    }

    #[test]
    fn a_counter_that_miscounts_the_known_loop_is_found() {
        let counted = |instructions: u64, is_inherited| {
            loop_problem(&set(&[]), Some(&batch(&[instructions, 0, 0])), is_inherited)
        };
        // The reads themselves count as 60.
        assert_eq!(counted(KNOWN_INSTRUCTIONS + 60, false), None);
        assert_eq!(counted(KNOWN_INSTRUCTIONS + 900, false), None);
        assert_eq!(counted(KNOWN_INSTRUCTIONS - 900, false), None);
        for wrong in [0, KNOWN_INSTRUCTIONS / 2, KNOWN_INSTRUCTIONS + 1_100] {
            assert!(counted(wrong, false).is_some(), "{wrong}");
        }
        assert_eq!(counted(2 * KNOWN_INSTRUCTIONS, true), None, "a peer may have run meanwhile");
        assert!(counted(KNOWN_INSTRUCTIONS / 2, true).is_some());
        let reason = counted(60, false).unwrap();
        assert_eq!(reason, "a loop of 999999 instructions in user mode was counted as 0");
        let misses = CountedSet { events: vec![CounterEvent::L1dMisses], ..set(&[]) };
        assert_eq!(loop_problem(&misses, Some(&batch(&[0])), false), None);
    }
}
