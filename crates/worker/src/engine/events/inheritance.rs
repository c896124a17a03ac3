//! What inherited counters add to the counts of an op that creates a process.
//!
//! The kernel copies each counter at the fork, and adds its count to its parent's at the end: that
//! work is counted with the op's. As much again is added by a second set of the same counters, and
//! an empty process shows how much that is.

use super::source::CounterSource;
use crate::engine::calibrate::median;
use crate::kernel::process::spawn;
use crate::kernel::time::stopwatch::Stopwatch;

/// Pairs of processes, one with one set and one with two: what both depend on cancels.
const PAIRS: usize = 15;

/// What inheriting the counters of `source` adds to each of its counts for a process that is created:
/// the median over pairs. `second` opens the same counters once more. `None` if that, or a count,
/// fails; also where the processor has no counters for both, so that they would be multiplexed.
pub fn added_per_process<S: CounterSource>(
    source: &mut S,
    mut second: impl FnMut() -> Option<S>,
) -> Option<Vec<f64>> {
    source.enable().ok()?;
    // The first process faults the pages in that the others need.
    let pairs = count_process(source).and_then(|_| {
        let mut pair = || {
            let alone = count_process(source)?;
            let mut second = second()?;
            second.enable().ok()?;
            let doubled = count_process(source)?;
            Some(doubled.into_iter().zip(alone).map(|(doubled, alone)| doubled - alone).collect())
        };
        (0..PAIRS).map(|_| pair()).collect::<Option<Vec<Vec<f64>>>>()
    });
    source.disable().ok()?;
    let (pairs, events) = (pairs?, 0..source.events().len());
    Some(events.map(|at| median(pairs.iter().map(|pair| pair[at]).collect())).collect())
}

/// The counts of an empty process, from its creation to its end.
fn count_process<S: CounterSource>(source: &mut S) -> Option<Vec<f64>> {
    source.before();
    let ended = spawn::raw_fork(Stopwatch::Syscall, |_| 0).and_then(spawn::reap);
    source.after();
    ended.ok()?;
    let window = source.window().ok().filter(|it| it.enabled_ns == it.counting_ns)?;
    Some(window.counts.into_iter().map(|count| count as f64).collect())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use oscost_model::counters::CounterEvent;

    use super::*;
    use crate::engine::events::scripted::ScriptedCounters;
    use crate::engine::events::source::WindowCounts;

    /// Counters under which a process costs 1,000 and `each` for each set that exists, and drifts.
    fn counters(each: u64, multiplexed: bool) -> (ScriptedCounters, Rc<Cell<u64>>) {
        let sets = Rc::new(Cell::new(1));
        let open = Rc::clone(&sets);
        let script = move |window: u64| {
            let count = 1_000 + 10 * window + each * open.replace(1);
            let counting_ns = if multiplexed { 7 } else { 9 };
            Ok(WindowCounts { counts: vec![count], enabled_ns: 9, counting_ns })
        };
        (ScriptedCounters::new(&[CounterEvent::InstructionsKernel], script), sets)
    }

    #[test]
    fn a_second_set_shows_what_one_adds() {
        let (mut source, sets) = counters(70, false);
        let second = || {
            sets.set(2);
            Some(counters(0, false).0)
        };
        // The second process of a pair is also 10 later.
        assert_eq!(added_per_process(&mut source, second), Some(vec![80.0]));
        assert_eq!(source.switched, [1, 1]);
    }

    #[test]
    fn it_is_unknown_where_a_second_set_cannot_be_opened_or_is_multiplexed() {
        assert_eq!(added_per_process(&mut counters(70, false).0, || None), None);
        let second = || Some(counters(0, false).0);
        let (mut source, _) = counters(70, true);
        assert_eq!(added_per_process(&mut source, second), None);
        assert_eq!(source.switched, [1, 1], "disabled again");
    }
}
