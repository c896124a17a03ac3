//! Two processes that spin on one CPU, and how the scheduler shares it between them.
//!
//! Each writes the time into shared memory continuously. A process that sees the other's time
//! advance has been preempted, and reads there when the other began and ended: no threshold is
//! needed to tell a switch from an interrupt.

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
    go: File,
    peer: PeerProcess,
}

/// Where the time went while this process was preempted, in ticks.
struct Absence {
    /// From this process's last iteration to the peer's first.
    there: i64,
    /// From the peer's first iteration to its last.
    ran: i64,
    /// From the peer's last iteration to this process's first.
    back: i64,
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
    let (orders, go) = pipe()?;
    words.word64(PARKED).store(1, Relaxed);
    let mut go = Some(go);
    let peer = {
        let (go, words) = (&mut go, &words);
        PeerProcess::start(Some(cpu), move || {
            // The child's copy: if it held its parent's end, it would never see end of file.
            drop(go.take());
            spin(words, &orders, watch)
        })?
    };
    let go = go.ok_or(Errno::EINVAL)?; // Taken only in the child.
    let spinner = Spinner { watch, words, go, peer };
    Ok(Work::own_ticks(move || {
        let Absence { there, ran, back } = spinner.absence()?;
        // A third process that wants the CPU runs its slice in one of the two switches.
        Ok(if slice { ran } else { there.min(back) })
    }))
}

impl Spinner {
    /// Spins until the scheduler has switched to the peer and back.
    fn absence(&self) -> Result<Absence, Errno> {
        let (own, peer) = (self.words.word64(OWN_LAST), self.words.word64(PEER_LAST));
        let begun = monotonic_raw_ns();
        // A peer that was just woken may run at once: then no slice was used up.
        let mut counts = !self.wake()?;
        let (mut before, mut now) = (self.watch.start(), self.watch.start());
        // This tells the peer that this process has run: without it, a slice of the peer that
        // begins before the end of the first iteration here would be a continuation of its previous
        // one.
        own.store(now, Relaxed);
        let mut seen = peer.load(Relaxed);
        let mut turn = 0u32;
        loop {
            let last = peer.load(Relaxed);
            let earlier = std::mem::replace(&mut before, now);
            now = self.watch.start();
            if last != seen {
                // If preempted between loading the peer's time and reading the clock, the process
                // notices it one iteration late: the previous iteration was already after the
                // absence.
                let (left, came) = if before > last { (earlier, before) } else { (before, now) };
                let first = self.words.word64(PEER_FIRST).load(Relaxed);
                // Time stamps in another order were not read consistently.
                if counts && left <= first && first <= last && last <= came {
                    let [there, ran, back] =
                        [first - left, last - first, came - last].map(|ticks| ticks as i64);
                    return Ok(Absence { there, ran, back });
                }
                counts = true;
                seen = last;
            }
            own.store(now, Relaxed);
            turn += 1;
            if turn.is_multiple_of(ITERATIONS_PER_CHECK) {
                if monotonic_raw_ns() - begun > MAX_WAIT_NS {
                    self.peer.check_running()?;
                    return Err(Errno::ETIME);
                }
                counts &= !self.wake()?;
            }
        }
    }

    /// Wakes the peer if it sleeps; returns whether it slept.
    fn wake(&self) -> Result<bool, Errno> {
        let asleep = self.words.word64(PARKED).swap(0, Relaxed) == 1;
        if asleep {
            context_switch::write(&self.go, &[1])?;
        }
        Ok(asleep)
    }
}

/// The peer: spins for as long as the measured process does, and sleeps until it is woken again.
fn spin(words: &SharedWords, orders: &File, watch: Stopwatch) -> Result<(), Errno> {
    let (own, first, last) =
        (words.word64(OWN_LAST), words.word64(PEER_FIRST), words.word64(PEER_LAST));
    while context_switch::read(orders, &mut [0])? == 1 {
        let mut seen = 0;
        let (mut looked, mut looked_at) = (0, monotonic_raw_ns());
        let mut turn = 0u32;
        loop {
            // The other's time first: if it has changed, it is older than this process's.
            let others = own.load(Relaxed);
            let now = watch.start();
            if others != seen {
                first.store(now, Relaxed);
                seen = others;
            }
            last.store(now, Relaxed);
            turn = turn.wrapping_add(1);
            if turn.is_multiple_of(ITERATIONS_PER_CHECK) {
                let wall = monotonic_raw_ns();
                if others != looked {
                    (looked, looked_at) = (others, wall);
                } else if wall - looked_at > MAX_ALONE_NS {
                    break;
                }
            }
        }
        words.word64(PARKED).store(1, Relaxed);
    }
    Ok(())
}
