//! A thread beside the measured one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use super::super::prelude::*;
use crate::kernel::cpu::affinity;
use crate::kernel::ipc::context_switch::{Thread, sched_yield};

/// What a thread and its creator share.
#[derive(Default)]
struct PeerState {
    /// It is on its CPU, and has prepared its work.
    ready: AtomicBool,
    /// Its end is requested.
    quit: AtomicBool,
    /// The error with which it ended; 0 while it runs.
    ended: AtomicI32,
}

/// A thread, as its creator sees it. The owner of one that sleeps must wake it in [`Self::end`].
pub(super) struct PeerThread {
    state: Arc<PeerState>,
    thread: Option<Thread>,
}

/// A thread, as its own body sees it.
pub(super) struct PeerSide(Arc<PeerState>);

impl PeerSide {
    /// Reports that the body has prepared its work.
    pub(super) fn report_ready(&self) {
        self.0.ready.store(true, Ordering::Release);
    }

    /// Reports an error before the thread has ended, so that its creator finds it when woken.
    pub(super) fn report_error(&self, error: Errno) {
        self.0.ended.store(error.0, Ordering::Release);
    }

    /// Whether the end of the thread is requested.
    #[inline(always)]
    pub(super) fn must_quit(&self) -> bool {
        self.0.quit.load(Ordering::Acquire)
    }
}

impl PeerThread {
    /// Starts a thread on `cpu`, or where its creator may run; returns when its body is ready.
    pub(super) fn start(
        cpu: Option<u32>,
        body: impl FnOnce(&PeerSide) -> Result<(), Errno> + Send + 'static,
    ) -> Result<Self, Errno> {
        let state = Arc::new(PeerState::default());
        let side = PeerSide(Arc::clone(&state));
        let thread = Thread::start(Box::new(move || {
            let done = cpu.map_or(Ok(()), affinity::pin).and_then(|()| body(&side));
            side.report_error(done.err().unwrap_or(Errno::ESRCH));
        }))?;
        let peer = Self { state, thread: Some(thread) };
        while !peer.state.ready.load(Ordering::Acquire) {
            peer.check_running()?;
            sched_yield()?;
        }
        Ok(peer)
    }

    /// Checks that it still runs; if not, returns the error that it ended with, or ESRCH.
    #[inline(always)]
    pub(super) fn check_running(&self) -> Result<(), Errno> {
        match self.state.ended.load(Ordering::Acquire) {
            0 => Ok(()),
            error => Err(Errno(error)),
        }
    }

    /// Requests its end.
    pub(super) fn request_end(&self) {
        self.state.quit.store(true, Ordering::Release);
    }

    /// Requests its end, wakes it, and waits until it has ended.
    pub(super) fn end(&mut self, wake: impl FnOnce() -> Result<(), Errno>) {
        self.request_end();
        let is_woken = wake().is_ok();
        if let Some(thread) = self.thread.take()
            && (is_woken || self.check_running().is_err())
        {
            thread.join();
        }
    }
}

impl Drop for PeerThread {
    fn drop(&mut self) {
        // One that its owner has not ended may sleep for ever: it is joined only if it has ended.
        self.end(|| Err(Errno::ESRCH));
    }
}
