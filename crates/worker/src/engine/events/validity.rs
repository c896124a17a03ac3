//! Which counts are void, and why: they are never scaled or repaired.

use oscost_model::counters::{CountedBatch, CountedSet, CounterEvent, CounterRead};

use super::source::CounterTimes;
use crate::engine::calibrate::median;
use crate::kernel::cpu::instruction_loop::LOOP_INSTRUCTIONS;

/// Iterations of the loop that is counted to check a counter of instructions: a million of them, so
/// that those around the loop, and of the reads, are less than the permitted share.
pub const KNOWN_ITERATIONS: u64 = 333_333;
/// Its instructions.
const KNOWN_INSTRUCTIONS: u64 = KNOWN_ITERATIONS * LOOP_INSTRUCTIONS;
/// The permitted deviation: what an interruption adds to user mode is far below it.
const KNOWN_SHARE: f64 = 0.001;
/// What interrupts of the loop add to its million instructions if those of the kernel are counted, too:
/// some 6,000 each, of which a tenth of a millisecond hardly has more than one.
const INTERRUPTED_SHARE: f64 = 0.1;
/// So many equal counts of cycles are no coincidence.
const EQUAL_COUNTS: usize = 5;

/// Why the counts of a set are void; `None` if they are not.
pub fn void_reason(set: &CountedSet) -> Option<String> {
    if set.batches.is_empty() {
        return Some("no batch was counted".to_owned());
    }
    let times = |batch: &CountedBatch| CounterTimes {
        enabled_ns: batch.enabled_ns,
        counting_ns: batch.counting_ns,
    };
    let mut all = set.batches.iter().chain(&set.empty);
    if let Some(problem) = all.find_map(|batch| times_problem(times(batch))) {
        return Some(problem);
    }
    let counts = |event: CounterEvent| {
        let at = set.events.iter().position(|it| *it == event)?;
        Some(set.batches.iter().filter(|batch| batch.sample.n > 0).map(move |it| it.counts[at]))
    };
    let never_zero = [
        CounterEvent::InstructionsUser,
        CounterEvent::Instructions,
        CounterEvent::Cycles,
        CounterEvent::TaskClock,
    ];
    for event in never_zero {
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

/// Why these times show that counters did not count whenever they were enabled; `None` if they do
/// not.
fn times_problem(times: CounterTimes) -> Option<String> {
    let CounterTimes { enabled_ns, counting_ns } = times;
    if counting_ns > enabled_ns {
        return Some("the counters counted for longer than they were enabled".to_owned());
    }
    if counting_ns == 0 && enabled_ns > 0 {
        return Some(format!(
            "the counters were not scheduled: they counted for none of {enabled_ns} ns for which \
             they were enabled, so another user of the counters has them"
        ));
    }
    let share = 100.0 * counting_ns as f64 / enabled_ns.max(1) as f64;
    (counting_ns < enabled_ns).then(|| {
        format!(
            "the counters were multiplexed: they counted for {share:.0} % of the time for which \
             they were enabled, so another user of the counters has some"
        )
    })
}

/// Why batches in which counters were enabled for 0 ns are not to be used; `None` if there are none
/// of these, or if they are. `over_set` has the times over all batches.
///
/// The kernel keeps these times by its own clock (`sched_clock`), which without a usable counter of
/// the processor moves with the tick, so that a batch is shorter than its step. Such a batch has
/// counts, and over the whole set the times show whether the counters were multiplexed. On the page
/// of a counter the kernel writes them only when it moves the event.
pub fn enabled_problem(
    set: &CountedSet,
    read_by: CounterRead,
    over_set: Option<CounterTimes>,
) -> Option<String> {
    let is_still = |batch: &&CountedBatch| batch.sample.n > 0 && batch.enabled_ns == 0;
    let still: Vec<&CountedBatch> = set.batches.iter().filter(is_still).collect();
    if read_by != CounterRead::Read || still.is_empty() {
        return None;
    }
    if still.iter().any(|batch| batch.counts.iter().all(|&count| count == 0)) {
        return Some("the counters were not enabled while a batch ran".to_owned());
    }
    match over_set.filter(|times| times.enabled_ns > 0) {
        Some(times) => times_problem(times),
        None => Some(
            "the counters counted, but the kernel says that they were enabled for 0 ns: its clock \
             does not show whether they were multiplexed"
                .to_owned(),
        ),
    }
}

/// Why a count of the loop of known length shows that a counter of instructions is wrong; `None` if
/// it does not, or if no instructions are counted. Other tasks may only add to it; interrupts
/// add to a count of both modes, too, by less than a tenth.
pub fn loop_problem(
    set: &CountedSet,
    known: Option<&CountedBatch>,
    is_inherited: bool,
) -> Option<String> {
    let position = |event: CounterEvent| set.events.iter().position(|it| *it == event);
    let (at, permitted, modes) = match position(CounterEvent::InstructionsUser) {
        Some(at) => (at, KNOWN_SHARE, "in user mode "),
        None => (position(CounterEvent::Instructions)?, INTERRUPTED_SHARE, ""),
    };
    let reads: Vec<f64> = set.empty.iter().map(|batch| batch.counts[at] as f64).collect();
    let reads = if reads.is_empty() { 0.0 } else { median(reads) };
    let count = known?.counts[at] as f64 - reads;
    let error = count / KNOWN_INSTRUCTIONS as f64 - 1.0;
    let is_wrong = error < -KNOWN_SHARE || (error > permitted && !is_inherited);
    is_wrong.then(|| {
        format!("a loop of {KNOWN_INSTRUCTIONS} instructions {modes}was counted as {count}")
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
        empty.empty[2].counting_ns = 450;
        assert!(void_reason(&empty).unwrap().contains(" 50 %"));
    }

    #[test]
    fn counters_that_were_never_scheduled_are_void() {
        let mut never = set(&[&[0, 0, 0], &[0, 0, 0]]);
        never.batches[1].counting_ns = 0;
        let reason = void_reason(&never).unwrap();
        assert!(reason.contains("not scheduled: they counted for none of 900 ns"), "{reason}");
    }

    #[test]
    fn times_that_contradict_themselves_are_void() {
        let mut longer = set(&[&[1, 1, 1], &[1, 1, 2]]);
        longer.batches[0].counting_ns = u64::MAX;
        assert!(void_reason(&longer).unwrap().contains("longer than they were enabled"));
    }

    /// A set of two batches, in the second of which the counters were enabled for 0 ns.
    fn untimed(counts: [u64; 3]) -> CountedSet {
        let mut set = set(&[&[1, 1, 1], &counts]);
        (set.batches[1].enabled_ns, set.batches[1].counting_ns) = (0, 0);
        set
    }

    const WHOLE: Option<CounterTimes> =
        Some(CounterTimes { enabled_ns: 4_000_000, counting_ns: 4_000_000 });

    #[test]
    fn a_batch_without_time_and_counts_shows_that_the_counters_were_off() {
        let mut off = untimed([0, 0, 0]);
        let reason = enabled_problem(&off, CounterRead::Read, WHOLE).unwrap();
        assert_eq!(reason, "the counters were not enabled while a batch ran");
        assert_eq!(enabled_problem(&off, CounterRead::Rdpmc, WHOLE), None, "not written meanwhile");
        off.batches[1].sample.n = 0;
        assert_eq!(enabled_problem(&off, CounterRead::Read, WHOLE), None, "no op ran");
    }

    #[test]
    fn a_batch_with_counts_and_without_time_is_judged_by_the_times_over_the_set() {
        let counted = untimed([1, 0, 2]);
        let problem = |over_set| enabled_problem(&counted, CounterRead::Read, over_set);
        assert_eq!(problem(WHOLE), None, "a clock that moves with the tick");
        let over = |enabled_ns, counting_ns| Some(CounterTimes { enabled_ns, counting_ns });
        assert!(problem(over(4_000_000, 1_000_000)).unwrap().contains("for 25 % of the time"));
        assert!(problem(over(4_000_000, 0)).unwrap().contains("not scheduled"));
        for unknown in [None, over(0, 0)] {
            let reason = problem(unknown).unwrap();
            assert!(reason.contains("enabled for 0 ns: its clock does not show"), "{reason}");
        }
        assert_eq!(enabled_problem(&set(&[&[1, 1, 1]]), CounterRead::Read, None), None);
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
        // Of both modes it has the instructions of interrupts, too.
        let both = CountedSet { events: vec![CounterEvent::Instructions], ..CountedSet::default() };
        let of_both = |count| loop_problem(&both, Some(&batch(&[count])), false);
        assert_eq!(of_both(KNOWN_INSTRUCTIONS + 12_000), None);
        let reason = of_both(2 * KNOWN_INSTRUCTIONS).unwrap();
        assert_eq!(reason, "a loop of 999999 instructions was counted as 1999998");
        assert!(of_both(KNOWN_INSTRUCTIONS - 1_100).is_some());
        let misses = CountedSet { events: vec![CounterEvent::L1dMisses], ..set(&[]) };
        assert_eq!(loop_problem(&misses, Some(&batch(&[0])), false), None);
    }
}
