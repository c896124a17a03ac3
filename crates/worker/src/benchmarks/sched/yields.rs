//! Several processes on one CPU that do nothing but yield it.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::super::prelude::*;
use super::watch::wait_until;
use crate::kernel::ipc::context_switch::{PeerProcess, SharedWords, sched_yield};
use crate::kernel::ipc::gate;
use crate::kernel::time::clock::monotonic_raw_ns;

/// Indices of the shared words: whether the others yield, and how many of them do.
const RUN: usize = 0;
const AWAKE: usize = 1;

/// Yields of another process between two checks of the wall clock: some 10 ms.
const YIELDS_PER_CHECK: u64 = 1 << 13;
/// How long another process yields at most, in nanoseconds: many times a batch. The measured
/// process may have been stopped.
const MAX_RUN_NS: u64 = 5_000_000_000;

/// The measured process and the others, which sleep between batches.
struct Yielders {
    others: Vec<PeerProcess>,
    words: SharedWords,
    /// The yields of all in the last batch.
    yields: u64,
}

/// The work at a point: an op is a yield of any of the processes.
pub(super) fn among(params: Params<'_>) -> Result<Work, Errno> {
    let Some(cpu) = params.context.cpu else { return Ok(unpinned_work()) };
    let mut all = Yielders { others: Vec::new(), words: SharedWords::new()?, yields: 0 };
    for index in 1..params.number("tasks") as usize {
        let words = &all.words;
        let other = PeerProcess::start(Some(cpu), || keep_yielding(index, words))?;
        all.others.push(other);
    }
    // A first batch, so that each has yielded before anything is timed.
    all.prepare(1)?;
    all.run(1, 1).map_err(|error| error.errno)?;
    all.verify()?;
    Ok(Work::from_prepared_body(Shape::WithLoop, all))
}

/// The loop of another process.
fn keep_yielding(index: usize, words: &SharedWords) -> Result<(), Errno> {
    let (run, awake, count) = (words.word(RUN), words.word(AWAKE), words.word64(index));
    let mut yields = 0u64;
    loop {
        while run.load(Acquire) == 0 {
            gate::wait_while(run, 0)?;
        }
        awake.fetch_add(1, Release);
        let start_ns = monotonic_raw_ns();
        while run.load(Acquire) != 0 {
            sched_yield()?;
            yields += 1;
            count.store(yields, Relaxed);
            if yields.is_multiple_of(YIELDS_PER_CHECK) && monotonic_raw_ns() - start_ns > MAX_RUN_NS
            {
                run.store(0, Release);
            }
        }
        awake.fetch_sub(1, Release);
    }
}

impl Yielders {
    /// The yields of the other processes so far.
    fn yields_of_others(&self) -> u64 {
        (1..=self.others.len()).map(|index| self.words.word64(index).load(Relaxed)).sum()
    }

    /// Ends the yielding of the others, and waits until they sleep or are about to.
    fn stop(&self) -> Result<(), Errno> {
        self.words.word(RUN).store(0, Release);
        let awake = self.words.word(AWAKE);
        wait_until(self.others.iter(), || Ok(awake.load(Acquire) == 0))
    }
}

impl WorkBody for Yielders {
    fn prepare(&mut self, _ops: u64) -> Result<(), Errno> {
        self.stop()?;
        let (run, awake) = (self.words.word(RUN), self.words.word(AWAKE));
        run.store(1, Release);
        gate::wake_all(run)?;
        let all = self.others.len() as u32;
        wait_until(self.others.iter(), || Ok(awake.load(Acquire) == all))
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        let ops = iterations * u64::from(unroll);
        // While this process runs, no other does: they have the same CPU.
        let before = self.yields_of_others();
        for op in 0..ops {
            sched_yield().map_err(|errno| OpError { op, errno })?;
        }
        self.yields = ops + (self.yields_of_others() - before);
        Ok(())
    }

    /// That the others were still yielding; then they sleep until the next batch.
    fn verify(&mut self) -> Result<(), Errno> {
        let kept_on = self.words.word(RUN).load(Acquire) == 1;
        self.stop()?;
        if kept_on { Ok(()) } else { Err(Errno::ETIME) }
    }

    fn actual_ops(&self) -> Option<u64> {
        Some(self.yields)
    }
}
