//! Two processes that spin on one CPU, and how the scheduler shares it between them.
//!
//! Each writes the time into shared memory continuously. A process that sees the other's time
//! advance has been preempted, and reads there when the other began and ended: no threshold is
//! needed to distinguish a switch from an interrupt.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::super::prelude::*;
use crate::kernel::ipc::context_switch::{self, PeerProcess, SharedWords};
use crate::kernel::ipc::pipe::pipe;
use crate::kernel::time::clock::monotonic_raw_ns;
use crate::kernel::time::stopwatch::Stopwatch;

/// Iterations of a spinner between two checks of the wall clock: some 100 us.
const ITERATIONS_PER_CHECK: u32 = 1 << 12;
/// How long an op may wait for the scheduler, in nanoseconds. Slices are some milliseconds.
const MAX_WAIT_NS: u64 = 2_000_000_000;
/// How long the peer keeps spinning after the other process has stopped, in nanoseconds: a few
/// slices.
const MAX_ALONE_NS: u64 = 50_000_000;

/// Indices of the shared words.
const OWN_LAST: usize = 0;
const PEER_FIRST: usize = 1;
const PEER_LAST: usize = 2;
const PARKED: usize = 3;

/// The measured process.
struct Spinner {
    watch: Stopwatch,
    words: Arc<SharedWords>,
    wake_pipe: File,
    peer: PeerProcess,
}

/// The parts of the time during which this process was preempted, in ticks.
struct Absence {
    /// From this process's last iteration to the peer's first.
    to_peer: i64,
    /// From the peer's first iteration to its last.
    peer_ran: i64,
    /// From the peer's last iteration to this process's first.
    to_own: i64,
}

/// The work at a point: an op waits until the process has been preempted once.
pub(super) fn absences(params: Params<'_>) -> Result<Work, Errno> {
    let Some(cpu) = params.context.cpu else { return Ok(unpinned_work()) };
    if matches!(params.context.clock, Stopwatch::Syscall) {
        return Ok(Work::unavailable(
            "a spinning process reads a clock in each iteration, and here that is a system call: \
             neither the cycle counter nor the vDSO clocks can be used",
        ));
    }
    let slice = params.word("figure") == "slice";
    let (watch, words) = (params.context.clock, Arc::new(SharedWords::new()?));
    let (wake_requests, wake_pipe) = pipe()?;
    words.word64(PARKED).store(1, Relaxed);
    let mut wake_pipe = Some(wake_pipe);
    let peer = {
        let (wake_pipe, words) = (&mut wake_pipe, &words);
        PeerProcess::start(Some(cpu), move || {
            // The child's copy: if it held its parent's end, it would never see end of file.
            drop(wake_pipe.take());
            spin(words, &wake_requests, watch)
        })?
    };
    let wake_pipe = wake_pipe.ok_or(Errno::EINVAL)?; // `None` in the child only.
    let spinner = Spinner { watch, words, wake_pipe, peer };
    Ok(Work::own_ticks(move || {
        let Absence { to_peer, peer_ran, to_own } = spinner.absence()?;
        // A third runnable process on the CPU runs its slice in one of the two switches.
        Ok(if slice { peer_ran } else { to_peer.min(to_own) })
    }))
}

impl Spinner {
    /// Spins until the scheduler has switched to the peer and back.
    fn absence(&self) -> Result<Absence, Errno> {
        let (own, peer) = (self.words.word64(OWN_LAST), self.words.word64(PEER_LAST));
        let start_ns = monotonic_raw_ns();
        // A peer that was just woken may run at once: then no slice was used up.
        let mut is_whole = !self.wake()?;
        let (mut before, mut now) = (self.watch.start(), self.watch.start());
        // This shows the peer that this process has run: without it, a slice of the peer that
        // begins before the end of the first iteration here would be a continuation of its previous
        // one.
        own.store(now, Relaxed);
        let mut known_last = peer.load(Relaxed);
        let mut iteration = 0u32;
        loop {
            let last = peer.load(Relaxed);
            let earlier = std::mem::replace(&mut before, now);
            now = self.watch.start();
            if last != known_last {
                // If preempted between loading the peer's time and reading the clock, the process
                // notices it one iteration late: the previous iteration was already after the
                // absence.
                let (last_before, first_after) =
                    if before > last { (earlier, before) } else { (before, now) };
                let first = self.words.word64(PEER_FIRST).load(Relaxed);
                // Time stamps in another order were not read consistently.
                if is_whole && last_before <= first && first <= last && last <= first_after {
                    let [to_peer, peer_ran, to_own] =
                        [first - last_before, last - first, first_after - last]
                            .map(|ticks| ticks as i64);
                    return Ok(Absence { to_peer, peer_ran, to_own });
                }
                is_whole = true;
                known_last = last;
            }
            own.store(now, Relaxed);
            iteration += 1;
            if iteration.is_multiple_of(ITERATIONS_PER_CHECK) {
                if monotonic_raw_ns() - start_ns > MAX_WAIT_NS {
                    self.peer.check_running()?;
                    return Err(Errno::ETIME);
                }
                is_whole &= !self.wake()?;
            }
        }
    }

    /// Wakes the peer if it sleeps; returns whether it slept.
    fn wake(&self) -> Result<bool, Errno> {
        let was_asleep = self.words.word64(PARKED).swap(0, Relaxed) == 1;
        if was_asleep {
            context_switch::write(&self.wake_pipe, &[1])?;
        }
        Ok(was_asleep)
    }
}

/// The peer: spins while the measured process does, and then sleeps until it is woken again.
fn spin(words: &SharedWords, wake_requests: &File, watch: Stopwatch) -> Result<(), Errno> {
    let (own, first, last) =
        (words.word64(OWN_LAST), words.word64(PEER_FIRST), words.word64(PEER_LAST));
    while context_switch::read(wake_requests, &mut [0])? == 1 {
        let mut known_last = 0;
        let (mut checked, mut checked_ns) = (0, monotonic_raw_ns());
        let mut iteration = 0u32;
        loop {
            // The parent's time is read first: if it has changed, it is older than this process's.
            let parent_last = own.load(Relaxed);
            let now = watch.start();
            if parent_last != known_last {
                first.store(now, Relaxed);
                known_last = parent_last;
            }
            last.store(now, Relaxed);
            iteration = iteration.wrapping_add(1);
            if iteration.is_multiple_of(ITERATIONS_PER_CHECK) {
                let now_ns = monotonic_raw_ns();
                if parent_last != checked {
                    (checked, checked_ns) = (parent_last, now_ns);
                } else if now_ns - checked_ns > MAX_ALONE_NS {
                    break;
                }
            }
        }
        words.word64(PARKED).store(1, Relaxed);
    }
    Ok(())
}
