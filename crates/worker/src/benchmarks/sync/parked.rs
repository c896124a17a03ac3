//! Threads that wait for a futex word, and do nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::super::prelude::*;
use super::peer::{PeerSide, PeerThread};
use crate::kernel::ipc::context_switch::{FutexScope, SharedWords, futex_wait, sched_yield};
use crate::kernel::ipc::futex;
use crate::kernel::process::batch_policy::use_batch_policy;
use crate::kernel::time::clock::monotonic_raw_ns;

/// The line of the word.
const WORD: usize = 0;

/// Threads that wait for a word, which stays 0. Whoever is woken waits again.
pub(super) struct ParkedThreads {
    words: Arc<SharedWords>,
    threads: Vec<PeerThread>,
}

impl ParkedThreads {
    /// Starts as many threads on `cpu`, or where their creator may run; returns when all wait.
    pub(super) fn start(threads: usize, cpu: Option<u32>) -> Result<Self, Errno> {
        let words = Arc::new(SharedWords::new()?);
        let mut parked = Self { words, threads: Vec::with_capacity(threads) };
        for _ in 0..threads {
            let words = Arc::clone(&parked.words);
            parked.threads.push(PeerThread::start(cpu, move |side| park(side, &words))?);
        }
        parked.wait_until_all_wait()?;
        Ok(parked)
    }

    #[inline(always)]
    fn word(&self) -> &AtomicU32 {
        self.words.word(WORD)
    }

    /// Wakes all by one call. All must have been waiting.
    #[inline(always)]
    pub(super) fn wake(&self) -> Result<(), Errno> {
        let woken = futex::wake_all(self.word())?;
        if woken as usize == self.threads.len() { Ok(()) } else { Err(Errno::EPROTO) }
    }

    /// Waits until all threads wait, and have left their CPU.
    pub(super) fn wait_until_all_wait(&self) -> Result<(), Errno> {
        /// A thread that is in the queue of the word still has to leave its CPU, in a microsecond.
        const LEAVING_NS: u64 = 20_000;
        const TIMEOUT_NS: u64 = 3_000_000_000;
        let start_ns = monotonic_raw_ns();
        while futex::count_waiters(self.word())? as usize != self.threads.len() {
            self.threads.iter().try_for_each(PeerThread::check_running)?;
            if monotonic_raw_ns() - start_ns > TIMEOUT_NS {
                return Err(Errno::PEER_TIMED_OUT);
            }
            sched_yield()?;
        }
        let queued_ns = monotonic_raw_ns();
        while monotonic_raw_ns() - queued_ns < LEAVING_NS {
            std::hint::spin_loop();
        }
        Ok(())
    }
}

impl Drop for ParkedThreads {
    fn drop(&mut self) {
        self.threads.iter().for_each(PeerThread::request_end);
        // A thread that is about to wait finds the word changed.
        self.word().store(1, Ordering::Release);
        let woken = futex::wake_all(self.word()).map(drop);
        for thread in &mut self.threads {
            thread.end(|| woken);
        }
    }
}

/// The body of a thread: one call per wake-up.
fn park(side: &PeerSide, words: &SharedWords) -> Result<(), Errno> {
    // A thread that preempted the one that wakes it would run within the op.
    use_batch_policy()?;
    side.report_ready();
    while !side.must_quit() {
        match futex_wait(words.word(WORD), FutexScope::Private) {
            Ok(()) | Err(Errno::EAGAIN | Errno::EINTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
