//! What inherited counters add to the counts of an op that creates a process.
//!
//! The kernel copies each counter at the fork, and adds its count to its parent's at the end: that
//! work is counted with the op's. As much again is added by a second set of the same counters, and
//! an empty process shows how much that is.

use super::source::CounterSource;
use crate::engine::calibrate::median;
use crate::kernel::process::spawn;
use crate::kernel::time::stopwatch::Stopwatch;

/// Processes that are created with one set, and with two.
const PROCESSES: usize = 9;

/// What inheriting the counters of `source` adds to each of its counts for a process that is created.
/// `second` opens the same counters once more. `None` if that, or a count, fails.
pub fn added_per_process<S: CounterSource>(
    source: &mut S,
    second: impl FnOnce() -> Option<S>,
) -> Option<Vec<f64>> {
    source.enable().ok()?;
    let alone = counts_per_process(source);
    let doubled = second().and_then(|mut second| {
        second.enable().ok()?;
        counts_per_process(source)
    });
    source.disable().ok()?;
    Some(doubled?.into_iter().zip(alone?).map(|(doubled, alone)| doubled - alone).collect())
}

/// The median counts of an empty process, from its creation to its end.
fn counts_per_process<S: CounterSource>(source: &mut S) -> Option<Vec<f64>> {
    let mut all = vec![Vec::new(); source.events().len()];
    // The first one faults the pages in that the others need.
    for process in 0..=PROCESSES {
        source.before();
        let ended = spawn::raw_fork(Stopwatch::Syscall, |_| 0).and_then(spawn::reap);
        source.after();
        ended.ok()?;
        if process > 0 {
            let counts = source.window().ok()?.counts;
            all.iter_mut().zip(counts).for_each(|(all, count)| all.push(count as f64));
        }
    }
    Some(all.into_iter().map(median).collect())
}
