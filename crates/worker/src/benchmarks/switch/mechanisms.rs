//! The mechanisms by which one end wakes the other.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::handoff::{EndSetup, Handoff, PeerCheck};
use crate::kernel::Errno;
use crate::kernel::ipc::context_switch::{self, FutexScope, SharedWords};
use crate::kernel::ipc::pipe::pipe;
use crate::kernel::net::socket;

/// The message: its first byte, or all of it as the number 1.
const TOKEN: u64 = 1;

/// One end, by its mechanism.
pub(super) enum Endpoint {
    Bytes(Bytes),
    Futex(Futex),
    Signal(Signal),
    Yield(Yield),
}

impl Endpoint {
    /// Wakes the other end.
    pub(super) fn wake(&self) -> Result<(), Errno> {
        match self {
            Endpoint::Bytes(end) => end.wake(),
            Endpoint::Futex(end) => end.wake(),
            Endpoint::Signal(end) => end.wake(),
            Endpoint::Yield(end) => end.wake(),
        }
    }

    /// Stores the process or thread ID of the other end, if the mechanism needs it.
    pub(super) fn set_peer(&self, other: u32) {
        if let Endpoint::Signal(end) = self {
            end.to.store(other, Ordering::Relaxed);
        }
    }

    /// Whether the other end must know the number of round trips in advance.
    pub(super) fn must_announce(&self) -> bool {
        matches!(self, Endpoint::Yield(Yield { trip_counts: TripCounts::Sender(_), .. }))
    }

    /// Announces the number of round trips to the other end, if it must know.
    pub(super) fn announce(&self, trips: u64) -> Result<(), Errno> {
        match self {
            Endpoint::Yield(Yield { trip_counts: TripCounts::Sender(to), .. }) => {
                context_switch::write(to, &trips.to_ne_bytes()).map(drop)
            }
            _ => Ok(()),
        }
    }
}

/// Bytes: a pipe, a socket, an eventfd.
pub(super) struct Bytes {
    to: File,
    from: File,
    size: usize,
}

/// Two pipes, one byte per message.
pub(super) fn pipes(_: &EndSetup) -> Result<(Endpoint, Endpoint), Errno> {
    let ((from_own, to_peer), (from_peer, to_own)) = (pipe()?, pipe()?);
    let end = |to, from| Endpoint::Bytes(Bytes { to, from, size: 1 });
    Ok((end(to_peer, from_peer), end(to_own, from_own)))
}

/// An AF_UNIX stream, one byte per message.
pub(super) fn sockets(_: &EndSetup) -> Result<(Endpoint, Endpoint), Errno> {
    let (own, peer) = context_switch::socket_pair()?;
    Ok((stream_end(own)?, stream_end(peer)?))
}

/// A TCP connection over loopback, one byte per message.
pub(super) fn connections(_: &EndSetup) -> Result<(Endpoint, Endpoint), Errno> {
    let (own, peer) = socket::loopback_connection()?;
    Ok((stream_end(own)?, stream_end(peer)?))
}

/// An end that is a socket.
fn stream_end(socket: File) -> Result<Endpoint, Errno> {
    Ok(Endpoint::Bytes(Bytes { to: socket.try_clone()?, from: socket, size: 1 }))
}

/// Two eventfd counters, 1 added per message.
pub(super) fn counters(_: &EndSetup) -> Result<(Endpoint, Endpoint), Errno> {
    let (to_peer, to_own) = (context_switch::eventfd()?, context_switch::eventfd()?);
    let end = |to, from| Endpoint::Bytes(Bytes { to, from, size: size_of_val(&TOKEN) });
    Ok((end(to_peer.try_clone()?, to_own.try_clone()?), end(to_own, to_peer)))
}

impl Handoff for Bytes {
    #[inline(always)]
    fn wake(&self) -> Result<(), Errno> {
        let sent = context_switch::write(&self.to, &TOKEN.to_ne_bytes()[..self.size])?;
        if sent == self.size { Ok(()) } else { Err(Errno::EPIPE) }
    }

    fn wait(&self, check_peer: PeerCheck<'_>) -> Result<(), Errno> {
        let mut buffer = [0; size_of::<u64>()];
        loop {
            match context_switch::read(&self.from, &mut buffer[..self.size]) {
                Ok(received) if received == self.size => return Ok(()),
                Ok(_) => return check_peer().and(Err(Errno::EPIPE)),
                Err(Errno::EINTR) => check_peer()?,
                Err(error) => return Err(error),
            }
        }
    }
}

/// A word in memory and futex(2).
pub(super) struct Futex {
    words: Arc<SharedWords>,
    to: AlternatingWords,
    from: AlternatingWords,
    scope: FutexScope,
}

/// Two words that alternate. Between setting a word and waking its waiter the other end may see the
/// word, answer, and wait again: a wake-up that late must not reach that wait, or one more call
/// would be made. It is late by at most one round.
struct AlternatingWords {
    first: usize,
    next: AtomicUsize,
}

impl AlternatingWords {
    fn new(first: usize) -> Self {
        Self { first, next: AtomicUsize::new(0) }
    }

    #[inline(always)]
    fn next_index(&self) -> usize {
        let next = self.next.load(Ordering::Relaxed);
        self.next.store(next ^ 1, Ordering::Relaxed);
        self.first + next
    }
}

/// Two words each way; process-private ones between threads, like a mutex of libc.
pub(super) fn futexes(setup: &EndSetup) -> Result<(Endpoint, Endpoint), Errno> {
    let words = Arc::new(SharedWords::new()?);
    let scope = if setup.threads { FutexScope::Private } else { FutexScope::Shared };
    let end = |to, from| {
        let (to, from) = (AlternatingWords::new(to), AlternatingWords::new(from));
        Endpoint::Futex(Futex { words: Arc::clone(&words), to, from, scope })
    };
    Ok((end(0, 2), end(2, 0)))
}

impl Handoff for Futex {
    #[inline(always)]
    fn wake(&self) -> Result<(), Errno> {
        let word = self.words.word(self.to.next_index());
        word.store(1, Ordering::Release);
        context_switch::futex_wake(word, self.scope).map(drop)
    }

    fn wait(&self, check_peer: PeerCheck<'_>) -> Result<(), Errno> {
        let word = self.words.word(self.from.next_index());
        loop {
            match context_switch::futex_wait(word, self.scope) {
                Ok(()) | Err(Errno::EAGAIN) => {}
                Err(Errno::EINTR) => check_peer()?,
                Err(error) => return Err(error),
            }
            if word.swap(0, Ordering::Acquire) == 1 {
                return Ok(());
            }
        }
    }
}

/// A signal.
pub(super) struct Signal {
    to: AtomicU32,
    /// The process ID of both ends, if they are threads.
    process: Option<u32>,
    receipt: SignalReceipt,
}

/// How a signal is received.
#[derive(Clone, Copy)]
enum SignalReceipt {
    /// By a handler, while waiting under this mask.
    ByHandler(u64),
    /// By the call that waits.
    ByCall,
}

/// A signal that a handler receives.
pub(super) fn handled_signals(setup: &EndSetup) -> Result<(Endpoint, Endpoint), Errno> {
    Ok(signals(setup, SignalReceipt::ByHandler(setup.wait_mask)))
}

/// A signal that sigwaitinfo receives, without a handler.
pub(super) fn awaited_signals(setup: &EndSetup) -> Result<(Endpoint, Endpoint), Errno> {
    Ok(signals(setup, SignalReceipt::ByCall))
}

fn signals(setup: &EndSetup, receipt: SignalReceipt) -> (Endpoint, Endpoint) {
    let pid = std::process::id();
    let process = setup.threads.then_some(pid);
    // A process is addressed by its process ID, a thread by its thread ID.
    let own_id = if setup.threads { context_switch::thread_id() } else { pid };
    let end = || Endpoint::Signal(Signal { to: AtomicU32::new(own_id), process, receipt });
    (end(), end())
}

impl Handoff for Signal {
    #[inline(always)]
    fn wake(&self) -> Result<(), Errno> {
        let to = self.to.load(Ordering::Relaxed);
        match self.process {
            Some(process) => context_switch::signal_thread(process, to),
            None => context_switch::signal_process(to),
        }
    }

    fn wait(&self, check_peer: PeerCheck<'_>) -> Result<(), Errno> {
        match self.receipt {
            SignalReceipt::ByHandler(mask) => {
                let before = context_switch::signals_received();
                loop {
                    context_switch::sigsuspend(mask);
                    if context_switch::signals_received() != before {
                        return Ok(());
                    }
                    check_peer()?;
                }
            }
            SignalReceipt::ByCall => loop {
                match context_switch::wait_for_signal() {
                    Err(Errno::EINTR) => check_peer()?,
                    done => return done,
                }
            },
        }
    }
}

/// sched_yield(2): a word is set when the end that it belongs to may run; until then that end
/// yields.
pub(super) struct Yield {
    words: Arc<SharedWords>,
    to: usize,
    from: usize,
    trip_counts: TripCounts,
}

/// How an end that would otherwise spin for ever receives the number of round trips.
enum TripCounts {
    /// The first end sends the number.
    Sender(File),
    /// The other end waits for it, in a blocking read, and counts down.
    Receiver(File, AtomicU64),
    /// Both ends are one process.
    None,
}

/// Two words, and a pipe through which the other end receives the number of round trips.
pub(super) fn yields(setup: &EndSetup) -> Result<(Endpoint, Endpoint), Errno> {
    let words = Arc::new(SharedWords::new()?);
    let (peer_counts, own_counts) = if setup.single_process {
        (TripCounts::None, TripCounts::None)
    } else {
        let (from, to) = pipe()?;
        (TripCounts::Receiver(from, AtomicU64::new(0)), TripCounts::Sender(to))
    };
    let own = Yield { words: Arc::clone(&words), to: 0, from: 1, trip_counts: own_counts };
    Ok((
        Endpoint::Yield(own),
        Endpoint::Yield(Yield { words, to: 1, from: 0, trip_counts: peer_counts }),
    ))
}

impl Handoff for Yield {
    #[inline(always)]
    fn wake(&self) -> Result<(), Errno> {
        self.words.word(self.to).store(1, Ordering::Release);
        Ok(())
    }

    fn wait(&self, check_peer: PeerCheck<'_>) -> Result<(), Errno> {
        /// Calls between two checks of whether the other end still runs: some 50 ms.
        const YIELDS_PER_CHECK: u32 = 1 << 17;
        self.wait_for_trips()?;
        let word = self.words.word(self.from);
        let mut left = YIELDS_PER_CHECK;
        loop {
            context_switch::sched_yield()?;
            if word.swap(0, Ordering::Acquire) == 1 {
                return Ok(());
            }
            left -= 1;
            if left == 0 {
                check_peer()?;
                left = YIELDS_PER_CHECK;
            }
        }
    }
}

impl Yield {
    /// Waits for a number of round trips when the last ones are done.
    fn wait_for_trips(&self) -> Result<(), Errno> {
        let TripCounts::Receiver(from, left) = &self.trip_counts else { return Ok(()) };
        let mut trips = left.load(Ordering::Relaxed);
        while trips == 0 {
            let mut count = [0; size_of::<u64>()];
            if context_switch::read(from, &mut count)? != count.len() {
                return Err(Errno::EPIPE);
            }
            trips = u64::from_ne_bytes(count);
        }
        left.store(trips - 1, Ordering::Relaxed);
        Ok(())
    }
}
