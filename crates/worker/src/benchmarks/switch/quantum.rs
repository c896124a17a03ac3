//! Two processes that spin on one CPU, and what the scheduler makes of that.
//!
//! Each writes the time into shared memory without pause. Whoever sees the other's time move has
//! been away, and finds there when the other one began and when it ended: no threshold tells a
//! switch from an interrupt.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::super::prelude::*;
use crate::kernel::ipc::context_switch::{self, PeerProcess, SharedWords};
use crate::kernel::ipc::pipe::pipe;
use crate::kernel::time::clock::raw_ns;
use crate::kernel::time::stopwatch::Stopwatch;

/// Turns of a spinner between two looks at the clock on the wall: some 100 us.
const TURNS: u32 = 1 << 12;
/// How long an op may wait for the scheduler, in nanoseconds. Slices are some milliseconds.
const PATIENCE: u64 = 2_000_000_000;
/// How long the peer spins on while the other side does not, in nanoseconds: some slices.
const ALONE: u64 = 50_000_000;

/// The lines of what is shared.
const OWN_LAST: usize = 0;
const PEER_FIRST: usize = 1;
const PEER_LAST: usize = 2;
const PARKED: usize = 3;

/// The side that measures.
struct Spinner {
    watch: Stopwatch,
    words: Arc<SharedWords>,
    go: File,
    peer: PeerProcess,
}

/// What became of the time while this side was away, in ticks.
struct Absence {
    /// From this side's last turn to the peer's first.
    there: i64,
    /// From the peer's first turn to its last.
    ran: i64,
    /// From the peer's last turn to this side's first.
    back: i64,
}

/// The work at a point: an op waits until it has been away once.
pub(super) fn absences(at: Params<'_>) -> Result<Work, Errno> {
    let Some(cpu) = at.context.cpu else { return Ok(unpinned()) };
    if matches!(at.context.clock, Stopwatch::Syscall) {
        return Ok(Work::unavailable(
            "who spins reads a clock in each turn, and here that is a system call: neither the \
             processor's counter nor the vDSO's clocks can be used",
        ));
    }
    let slice = at.word("figure") == "slice";
    let (watch, words) = (at.context.clock, Arc::new(SharedWords::new()?));
    let (orders, go) = pipe()?;
    words.long(PARKED).store(1, Relaxed);
    let mut go = Some(go);
    let peer = {
        let (go, words) = (&mut go, &words);
        PeerProcess::start(Some(cpu), move || {
            // The child's copy: it must not hold its parent's end, or it would never see one.
            drop(go.take());
            spin(words, &orders, watch)
        })?
    };
    let go = go.ok_or(Errno::EINVAL)?; // Only the child has taken it.
    let spinner = Spinner { watch, words, go, peer };
    Ok(Work::own_ticks(move || {
        let Absence { there, ran, back } = spinner.absence()?;
        // A third process that wants the CPU has its slice in one of the two switches.
        Ok(if slice { ran } else { there.min(back) })
    }))
}

impl Spinner {
    /// Spins until the scheduler has given the CPU to the peer and back.
    fn absence(&self) -> Result<Absence, Errno> {
        let (own, peer) = (self.words.long(OWN_LAST), self.words.long(PEER_LAST));
        let begun = raw_ns();
        // A peer that has just been woken may run at once: that is no slice that ran out.
        let mut counts = !self.wake()?;
        let (mut before, mut now) = (self.watch.start(), self.watch.start());
        // By this the peer knows that we have run: without it, a slice that begins before our first
        // turn ends would go on from its last one.
        own.store(now, Relaxed);
        let mut seen = peer.load(Relaxed);
        let mut turn = 0u32;
        loop {
            let last = peer.load(Relaxed);
            let earlier = std::mem::replace(&mut before, now);
            now = self.watch.start();
            if last != seen {
                // Thrown off after the look at the peer's time and before the one at the clock, we
                // see that a turn too late: then the turn before was already one after it.
                let (left, came) = if before > last { (earlier, before) } else { (before, now) };
                let first = self.words.long(PEER_FIRST).load(Relaxed);
                // What is not in this order was not seen whole.
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
            if turn.is_multiple_of(TURNS) {
                if raw_ns() - begun > PATIENCE {
                    self.peer.is_there()?;
                    return Err(Errno::ETIME);
                }
                counts &= !self.wake()?;
            }
        }
    }

    /// Wakes the peer if it has gone to sleep; says whether it had.
    fn wake(&self) -> Result<bool, Errno> {
        let asleep = self.words.long(PARKED).swap(0, Relaxed) == 1;
        if asleep {
            context_switch::write(&self.go, &[1])?;
        }
        Ok(asleep)
    }
}

/// The peer: spins for as long as the other side does, and sleeps until it is wanted again.
fn spin(words: &SharedWords, orders: &File, watch: Stopwatch) -> Result<(), Errno> {
    let (own, first, last) = (words.long(OWN_LAST), words.long(PEER_FIRST), words.long(PEER_LAST));
    while context_switch::read(orders, &mut [0])? == 1 {
        let mut seen = 0;
        let (mut looked, mut looked_at) = (0, raw_ns());
        let mut turn = 0u32;
        loop {
            // The other side's time first: what is new in it is older than our own.
            let others = own.load(Relaxed);
            let now = watch.start();
            if others != seen {
                first.store(now, Relaxed);
                seen = others;
            }
            last.store(now, Relaxed);
            turn = turn.wrapping_add(1);
            if turn.is_multiple_of(TURNS) {
                let wall = raw_ns();
                if others != looked {
                    (looked, looked_at) = (others, wall);
                } else if wall - looked_at > ALONE {
                    break;
                }
            }
        }
        words.long(PARKED).store(1, Relaxed);
    }
    Ok(())
}
