//! Round trips of two processes of the same policy, real-time or not, on one CPU.
//!
//! No real-time task spins: each waits after each act, a round has few of them, and between rounds
//! both sleep until the worker, which has the usual policy, orders the next one.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::Duration;

use super::super::helper::{SLOW_OPS, in_helper};
use super::super::prelude::*;
use crate::kernel::ipc::context_switch::{self, FutexScope, PeerProcess, SharedWords};
use crate::kernel::ipc::gate;
use crate::kernel::process::realtime::{RealtimeRight, use_fifo_policy};

/// Indices of the shared words: 1 from a wake-up until the task that it is for has seen it.
const THERE: usize = 0;
const BACK: usize = 1;

/// The work at a point: an op is a round trip.
pub(super) fn round_trips(params: Params<'_>) -> Result<Work, Errno> {
    let Some(cpu) = params.context.cpu else { return Ok(unpinned_work()) };
    let is_realtime = params.word("policy") == "fifo";
    let shared = SharedWords::new()?;
    let words = &shared;
    in_helper(params, SLOW_OPS, Duration::ZERO, || {
        let right = RealtimeRight::obtain();
        let peer = PeerProcess::start(Some(cpu), || {
            if is_realtime {
                use_fifo_policy()?;
            }
            loop {
                take(words.word(THERE))?;
                give(words.word(BACK))?;
            }
        })?;
        if is_realtime {
            use_fifo_policy()?;
        }
        Ok(move || {
            let _kept = &right;
            give(words.word(THERE))?;
            take_from(&peer, words.word(BACK))
        })
    })
}

/// Sets a word and wakes the task that waits for it.
#[inline(always)]
fn give(word: &AtomicU32) -> Result<(), Errno> {
    word.store(1, Release);
    context_switch::futex_wake(word, FutexScope::Shared).map(drop)
}

/// Waits until a word is set, and clears it.
#[inline(always)]
fn take(word: &AtomicU32) -> Result<(), Errno> {
    while word.load(Acquire) == 0 {
        gate::wait_while(word, 0)?;
    }
    word.store(0, Release);
    Ok(())
}

/// The same of a word that the peer sets, which may have ended.
#[inline(always)]
fn take_from(peer: &PeerProcess, word: &AtomicU32) -> Result<(), Errno> {
    let mut seconds = 0;
    while word.load(Acquire) == 0 {
        if gate::wait_a_second_while(word, 0)? {
            continue;
        }
        peer.check_running()?;
        seconds += 1;
        if seconds >= kernel::PEER_TIMEOUT.as_secs() {
            return Err(Errno::PEER_TIMED_OUT);
        }
    }
    word.store(0, Release);
    Ok(())
}
