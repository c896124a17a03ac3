//! Two ends that wake each other alternately; or one process that makes the calls of both.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};

use super::super::placement::cpu_of_optional_peer;
use super::super::prelude::*;
use super::handoff::{EndSetup, Handoff, PeerCheck};
use super::mechanisms::{Endpoint, handled_signals, pipes};
use crate::bench::{OpError, Shape, WorkBody};
use crate::kernel::cpu::affinity;
use crate::kernel::ipc::context_switch::{
    Alarm, PeerProcess, SignalReceiver, sched_yield, thread_id,
};
use crate::kernel::time::clock::monotonic_raw_ns;

/// Creates both ends.
pub(super) type MakeEnds = fn(&EndSetup) -> Result<(Endpoint, Endpoint), Errno>;

/// The work of a benchmark between two ends: an op is a round trip.
pub(super) fn round_trips(params: Params<'_>, make_ends: MakeEnds) -> Result<Work, Errno> {
    let cpu = match cpu_of_optional_peer(params) {
        Ok(cpu) => cpu,
        Err(unavailable) => return Ok(unavailable),
    };
    let pair = pair(are_threads(params), make_ends, cpu)?;
    let own = Arc::clone(&pair.own);
    let work = Work::from_body(Shape::Repeat, pair);
    // Without an announcement nothing runs before a batch, and the kernel's accounting covers the
    // ops alone.
    Ok(if own.must_announce() {
        work.with_preparation(move |trips| own.announce(trips))
    } else {
        work
    })
}

/// Round trips in an op that reads a clock before and after them: 0.1 to 0.2 ms, so that the reads are
/// a few parts in a thousand. The 1000 of study cse221-2014 take so long that each window contains ticks
/// and preemptions.
pub(super) const TRIPS_PER_OP: u64 = 20;

/// The work of a benchmark that reports half of a round trip, on one CPU.
pub(super) fn half_round_trips(params: Params<'_>) -> Result<Work, Errno> {
    let Some(cpu) = params.context.cpu else { return Ok(unpinned_work()) };
    let by_pipe = params.word("by") == "pipe";
    let make_ends: MakeEnds = if by_pipe { pipes } else { handled_signals };
    let mut pair = pair(are_threads(params), make_ends, Some(cpu))?;
    Ok(Work::own_value(move || {
        let start_ns = monotonic_raw_ns();
        pair.run(TRIPS_PER_OP, 1).map_err(|error| error.errno)?;
        let elapsed_ns = monotonic_raw_ns() - start_ns;
        Ok((1_000 * elapsed_ns / (2 * TRIPS_PER_OP)) as i64)
    }))
}

fn are_threads(params: Params<'_>) -> bool {
    params.word("between") == "threads"
}

/// Two ends, the peer on `cpu`; or one process that is both.
pub(super) fn pair(threads: bool, make_ends: MakeEnds, cpu: Option<u32>) -> Result<Pair, Errno> {
    let signals = SignalReceiver::install()?;
    let setup =
        EndSetup { threads, single_process: cpu.is_none(), wait_mask: signals.receiving_mask() };
    let (own, peer) = make_ends(&setup)?;
    let mut own = Some(Arc::new(own));
    let peer = match cpu {
        None => Peer::SameProcess(peer),
        Some(cpu) if threads => Peer::Thread(PeerThread::start(cpu, peer)?),
        Some(cpu) => {
            let own = &mut own;
            Peer::Process(PeerProcess::start(Some(cpu), move || {
                // The child's copy: if it held its parent's ends, it would never see end of file.
                drop(own.take());
                serve(&peer, &AtomicBool::new(false))
            })?)
        }
    };
    let own = own.ok_or(Errno::EINVAL)?; // `None` in the child only.
    own.set_peer(peer.id());
    let alarm = if setup.single_process { None } else { Some(Alarm::start()?) };
    let mut pair = Pair { own: Arc::clone(&own), peer, cpu, _alarm: alarm, _signals: signals };
    // A first round trip, so that the peer is on its CPU before anything is timed.
    own.announce(1)?;
    pair.run(1, 1).map_err(|error| error.errno)?;
    Ok(pair)
}

/// The loop of the peer, until its end is requested.
fn serve(end: &Endpoint, quit: &AtomicBool) -> Result<(), Errno> {
    match end {
        Endpoint::Bytes(end) => answer(end, quit),
        Endpoint::Futex(end) => answer(end, quit),
        Endpoint::Signal(end) => answer(end, quit),
        Endpoint::Yield(end) => answer(end, quit),
    }
}

fn answer<M: Handoff>(end: &M, quit: &AtomicBool) -> Result<(), Errno> {
    let check_quit = || if quit.load(Ordering::Relaxed) { Err(Errno::ESRCH) } else { Ok(()) };
    loop {
        end.wait(&check_quit)?;
        check_quit()?;
        end.wake()?;
    }
}

/// Both ends, in the measured process.
pub(super) struct Pair {
    own: Arc<Endpoint>,
    peer: Peer,
    /// The CPU that the peer is pinned to.
    cpu: Option<u32>,
    _alarm: Option<Alarm>,
    _signals: SignalReceiver,
}

/// The peer.
enum Peer {
    /// The same process.
    SameProcess(Endpoint),
    /// A child.
    Process(PeerProcess),
    /// A thread.
    Thread(PeerThread),
}

impl Peer {
    fn id(&self) -> u32 {
        match self {
            Peer::SameProcess(_) => thread_id(),
            Peer::Process(process) => process.id(),
            Peer::Thread(thread) => thread.id,
        }
    }

    fn check_alive(&self) -> Result<(), Errno> {
        match self {
            Peer::SameProcess(_) => Ok(()),
            Peer::Process(process) => process.check_running(),
            Peer::Thread(thread) => thread.check_alive(),
        }
    }
}

impl WorkBody for Pair {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        let ops = iterations * u64::from(unroll);
        let check_peer = || self.peer.check_alive();
        let other = match &self.peer {
            Peer::SameProcess(end) => Some(end),
            _ => None,
        };
        // Dispatched once per batch.
        match (&*self.own, other) {
            (Endpoint::Bytes(own), None) => trips(own, None, &check_peer, ops),
            (Endpoint::Futex(own), None) => trips(own, None, &check_peer, ops),
            (Endpoint::Signal(own), None) => trips(own, None, &check_peer, ops),
            (Endpoint::Yield(own), None) => trips(own, None, &check_peer, ops),
            (Endpoint::Bytes(own), Some(Endpoint::Bytes(other))) => {
                trips(own, Some(other), &check_peer, ops)
            }
            (Endpoint::Futex(own), Some(Endpoint::Futex(other))) => {
                trips(own, Some(other), &check_peer, ops)
            }
            (Endpoint::Signal(own), Some(Endpoint::Signal(other))) => {
                trips(own, Some(other), &check_peer, ops)
            }
            (Endpoint::Yield(own), Some(Endpoint::Yield(other))) => {
                trips(own, Some(other), &check_peer, ops)
            }
            // Ends are created in pairs of one mechanism.
            _ => Err(OpError { op: 0, errno: Errno::EINVAL }),
        }
    }

    fn channel_observation(&self) -> Option<ChannelObservation> {
        self.cpu
            .map(|cpu| ChannelObservation { peer_cpu: Some(cpu), ..ChannelObservation::default() })
    }
}

/// `ops` round trips with a peer that answers, or the calls of both ends if that is `other`.
fn trips<M: Handoff>(
    own: &M,
    other: Option<&M>,
    check_peer: PeerCheck<'_>,
    ops: u64,
) -> Result<(), OpError> {
    repeat_op(ops, || {
        own.wake()?;
        if let Some(other) = other {
            other.wait(check_peer)?;
            other.wake()?;
        }
        own.wait(check_peer)
    })
}

/// Repeats an op. All these ops are so long that loop overhead is negligible.
#[inline(always)]
pub(super) fn repeat_op(
    ops: u64,
    mut op_once: impl FnMut() -> Result<(), Errno>,
) -> Result<(), OpError> {
    for op in 0..ops {
        op_once().map_err(|errno| OpError { op, errno })?;
    }
    Ok(())
}

impl Drop for Pair {
    fn drop(&mut self) {
        if let Peer::Thread(thread) = &mut self.peer {
            thread.end(&self.own);
        }
    }
}

/// A peer thread, which pins itself to its CPU.
struct PeerThread {
    id: u32,
    state: Arc<PeerThreadState>,
    thread: Option<kernel::ipc::context_switch::Thread>,
}

/// What a peer thread and its creator share.
#[derive(Default)]
struct PeerThreadState {
    /// Its thread ID, once it is on its CPU.
    id: AtomicU32,
    /// Requests that it ends.
    quit: AtomicBool,
    /// The error with which it ended.
    ended: AtomicI32,
}

impl PeerThread {
    fn start(cpu: u32, end: Endpoint) -> Result<Self, Errno> {
        let state = Arc::new(PeerThreadState::default());
        let shared = Arc::clone(&state);
        let thread = kernel::ipc::context_switch::Thread::start(Box::new(move || {
            let done = affinity::pin(cpu).and_then(|()| {
                shared.id.store(thread_id(), Ordering::Release);
                serve(&end, &shared.quit)
            });
            let error = done.err().unwrap_or(Errno::ESRCH);
            shared.ended.store(error.0, Ordering::Release);
        }))?;
        let mut peer = Self { id: 0, state, thread: Some(thread) };
        while peer.id == 0 {
            peer.check_alive()?;
            sched_yield()?;
            peer.id = peer.state.id.load(Ordering::Acquire);
        }
        Ok(peer)
    }

    fn check_alive(&self) -> Result<(), Errno> {
        match self.state.ended.load(Ordering::Acquire) {
            0 => Ok(()),
            error => Err(Errno(error)),
        }
    }

    /// Requests its end, wakes it, and waits until it has ended.
    fn end(&mut self, own: &Endpoint) {
        self.state.quit.store(true, Ordering::Relaxed);
        let woken = own.announce(1).and_then(|()| own.wake());
        if let Some(thread) = self.thread.take()
            && (woken.is_ok() || self.check_alive().is_err())
        {
            thread.join();
        }
    }
}
