//! The mechanisms by which one end wakes the other.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::handoff::{EndSetup, Handoff, PeerCheck};
use crate::kernel::Errno;
use crate::kernel::ipc::context_switch::{self, FutexScope, SharedWords};
use crate::kernel::ipc::pipe::pipe;

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
            Endpoint::Bytes(side) => side.wake(),
            Endpoint::Futex(side) => side.wake(),
            Endpoint::Signal(side) => side.wake(),
            Endpoint::Yield(side) => side.wake(),
        }
    }

    /// Stores the process or thread ID of the other end, if the mechanism needs it.
    pub(super) fn set_peer(&self, other: u32) {
        if let Endpoint::Signal(side) = self {
            side.to.store(other, Ordering::Relaxed);
        }
    }

    /// Whether the other end must be told the number of round trips in advance.
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
    let side = |to, from| Endpoint::Bytes(Bytes { to, from, size: 1 });
    Ok((side(to_peer, from_peer), side(to_own, from_own)))
}

/// An AF_UNIX stream, one byte per message.
pub(super) fn sockets(_: &EndSetup) -> Result<(Endpoint, Endpoint), Errno> {
    let (own, peer) = context_switch::socket_pair()?;
    let side = |end: File| {
        Ok::<Endpoint, Errno>(Endpoint::Bytes(Bytes { to: end.try_clone()?, from: end, size: 1 }))
    };
    Ok((side(own)?, side(peer)?))
}

/// Two eventfd counters, 1 added per message.
pub(super) fn counters(_: &EndSetup) -> Result<(Endpoint, Endpoint), Errno> {
    let (there, back) = (context_switch::eventfd()?, context_switch::eventfd()?);
    let side = |to, from| Endpoint::Bytes(Bytes { to, from, size: size_of_val(&TOKEN) });
    Ok((side(there.try_clone()?, back.try_clone()?), side(back, there)))
}

impl Handoff for Bytes {
    #[inline(always)]
    fn wake(&self) -> Result<(), Errno> {
        let taken = context_switch::write(&self.to, &TOKEN.to_ne_bytes()[..self.size])?;
        if taken == self.size { Ok(()) } else { Err(Errno::EPIPE) }
    }

    fn wait(&self, gone: PeerCheck<'_>) -> Result<(), Errno> {
        let mut into = [0; size_of::<u64>()];
        loop {
            match context_switch::read(&self.from, &mut into[..self.size]) {
                Ok(given) if given == self.size => return Ok(()),
                Ok(_) => return gone().and(Err(Errno::EPIPE)),
                Err(Errno::EINTR) => gone()?,
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
    reach: FutexScope,
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
pub(super) fn futexes(setting: &EndSetup) -> Result<(Endpoint, Endpoint), Errno> {
    let words = Arc::new(SharedWords::new()?);
    let reach = if setting.threads { FutexScope::Private } else { FutexScope::Shared };
    let side = |to, from| {
        let (to, from) = (AlternatingWords::new(to), AlternatingWords::new(from));
        Endpoint::Futex(Futex { words: Arc::clone(&words), to, from, reach })
    };
    Ok((side(0, 2), side(2, 0)))
}

impl Handoff for Futex {
    #[inline(always)]
    fn wake(&self) -> Result<(), Errno> {
        let word = self.words.word(self.to.next_index());
        word.store(1, Ordering::Release);
        context_switch::futex_wake(word, self.reach).map(drop)
    }

    fn wait(&self, gone: PeerCheck<'_>) -> Result<(), Errno> {
        let word = self.words.word(self.from.next_index());
        loop {
            match context_switch::futex_wait(word, self.reach) {
                Ok(()) | Err(Errno::EAGAIN) => {}
                Err(Errno::EINTR) => gone()?,
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
pub(super) fn handled_signals(setting: &EndSetup) -> Result<(Endpoint, Endpoint), Errno> {
    Ok(signals(setting, SignalReceipt::ByHandler(setting.wait_mask)))
}

/// A signal that sigwaitinfo receives, without a handler.
pub(super) fn awaited_signals(setting: &EndSetup) -> Result<(Endpoint, Endpoint), Errno> {
    Ok(signals(setting, SignalReceipt::ByCall))
}

fn signals(setting: &EndSetup, taken: SignalReceipt) -> (Endpoint, Endpoint) {
    let pid = std::process::id();
    let process = setting.threads.then_some(pid);
    // A process is addressed by its process ID, a thread by its thread ID.
    let own_id = if setting.threads { context_switch::thread_id() } else { pid };
    let side = || Endpoint::Signal(Signal { to: AtomicU32::new(own_id), process, receipt: taken });
    (side(), side())
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

    fn wait(&self, gone: PeerCheck<'_>) -> Result<(), Errno> {
        match self.receipt {
            SignalReceipt::ByHandler(mask) => {
                let before = context_switch::signals_received();
                loop {
                    context_switch::sigsuspend(mask);
                    if context_switch::signals_received() != before {
                        return Ok(());
                    }
                    gone()?;
                }
            }
            SignalReceipt::ByCall => loop {
                match context_switch::wait_for_signal() {
                    Err(Errno::EINTR) => gone()?,
                    done => return done,
                }
            },
        }
    }
}

/// sched_yield(2): a word says whose turn it is; the end that does not have it yields.
pub(super) struct Yield {
    words: Arc<SharedWords>,
    to: usize,
    from: usize,
    trip_counts: TripCounts,
}

/// How an end that would spin for ever learns how many round trips to make.
enum TripCounts {
    /// The first end sends the number.
    Sender(File),
    /// The other end waits for it, in a blocking read, and counts down.
    Receiver(File, AtomicU64),
    /// Both ends are one process.
    None,
}

/// Two words, and a pipe that tells the other end how many round trips to make.
pub(super) fn yields(setting: &EndSetup) -> Result<(Endpoint, Endpoint), Errno> {
    let words = Arc::new(SharedWords::new()?);
    let (taken, given) = if setting.single_process {
        (TripCounts::None, TripCounts::None)
    } else {
        let (from, to) = pipe()?;
        (TripCounts::Receiver(from, AtomicU64::new(0)), TripCounts::Sender(to))
    };
    let own = Yield { words: Arc::clone(&words), to: 0, from: 1, trip_counts: given };
    Ok((Endpoint::Yield(own), Endpoint::Yield(Yield { words, to: 1, from: 0, trip_counts: taken })))
}

impl Handoff for Yield {
    #[inline(always)]
    fn wake(&self) -> Result<(), Errno> {
        self.words.word(self.to).store(1, Ordering::Release);
        Ok(())
    }

    fn wait(&self, gone: PeerCheck<'_>) -> Result<(), Errno> {
        /// Calls after which an end checks whether the other one still exists: some 50 ms.
        const PATIENCE: u32 = 1 << 17;
        self.wait_for_trips()?;
        let word = self.words.word(self.from);
        let mut left = PATIENCE;
        loop {
            context_switch::sched_yield()?;
            if word.swap(0, Ordering::Acquire) == 1 {
                return Ok(());
            }
            left -= 1;
            if left == 0 {
                gone()?;
                left = PATIENCE;
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
            let mut order = [0; size_of::<u64>()];
            if context_switch::read(from, &mut order)? != order.len() {
                return Err(Errno::EPIPE);
            }
            trips = u64::from_ne_bytes(order);
        }
        left.store(trips - 1, Ordering::Relaxed);
        Ok(())
    }
}
