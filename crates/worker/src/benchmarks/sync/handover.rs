//! A token that two threads hand to each other.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::placement::cpu_of_peer;
use super::super::prelude::*;
use super::defaults::{DEFAULTS, or_refused};
use super::peer::{PeerSide, PeerThread};
use crate::bench::{PointFilter, each_end};
use crate::kernel::ipc::context_switch::{FutexScope, SharedWords, futex_wait, futex_wake};
use crate::kernel::ipc::pthread::{Condvar, Mutex, MutexKind, Semaphore};
use crate::kernel::ipc::sysv_semaphores::SysvSemaphores;

const CONDVAR: PointFilter = &[("by", "mutex-condvar")];
const SEMAPHORE: PointFilter = &[("by", "semaphore")];
const SYSV: PointFilter = &[("by", "sysv")];
const PI_MUTEX: PointFilter = &[("by", "pi-mutex")];
const FUTEX: PointFilter = &[("by", "futex")];

/// The C library's calls of an end that signals and waits. With a condition variable both ends may
/// also meet at the mutex.
const MAX_CONDVAR_CALLS: u32 = 10;
const MAX_SEMAPHORE_CALLS: u32 = 4;
const MAX_MUTEX_CALLS: u32 = 4;

pub(super) const HANDOVER: Bench = Bench {
    id: "sync/handover",
    asks: "What does handing a token to a waiting thread, and getting it back, cost?",
    op: "a round trip between two threads of one process: the token is handed to the thread that \
         waits for it, and the measured thread waits until it has it back; the other thread does \
         the converse. by=mutex-condvar: a variable set under a mutex, pthread_cond_signal(3) \
         after unlocking, and pthread_cond_wait(3) under the mutex until the variable is back, \
         with a condition variable for each thread. by=semaphore: sem_post(3) of one POSIX \
         semaphore and sem_wait(3) for another. by=sysv: the same with semop(2) on two semaphores \
         of a set, by the raw instruction. by=pi-mutex: three priority-inheriting mutexes, of \
         which a thread unlocks the one that the other thread waits for, and locks the one that \
         the other unlocks next. by=futex: a word set to 1 and FUTEX_WAKE, and FUTEX_WAIT for a \
         second word, as in switch/futex. Not included: creating the other thread, which waits \
         before each op.",
    expected: "on one CPU 2.5 us by futex and by POSIX semaphore, 3 us by System V semaphore, 4 us \
               by mutex and condition variable and by priority-inheriting mutex; on two CPUs ten \
               times as much for all, since each wake-up is an interrupt to a sleeping CPU",
    why: "Two switches on one CPU, as in switch/futex; the rest is what each mechanism adds. The \
          C library's mechanisms call the kernel only to wake a thread that sleeps and to sleep, \
          so the number of calls depends on who is faster: a thread that is preempted by the one \
          that it wakes finds the token back, and does not sleep. A System V semaphore is changed \
          by the thread that posts it, on behalf of the sleeping one, which only returns. A \
          priority-inheriting mutex is handed by the kernel to the first waiter; a normal one \
          would only be released, and the first task to ask would have it.",
    calls: &[
        up_to("futex", MAX_CONDVAR_CALLS).when(CONDVAR),
        up_to("futex", MAX_CONDVAR_CALLS).by_peer().when(CONDVAR),
        up_to("futex", MAX_SEMAPHORE_CALLS).when(SEMAPHORE),
        up_to("futex", MAX_SEMAPHORE_CALLS).by_peer().when(SEMAPHORE),
        up_to("futex", MAX_MUTEX_CALLS).when(PI_MUTEX),
        up_to("futex", MAX_MUTEX_CALLS).by_peer().when(PI_MUTEX),
        each_end("semop", 2).when(SYSV),
        each_end("futex", 2).when(FUTEX),
    ],
    floor: &[
        // Each end wakes the other one; whether it also calls to sleep depends on who is faster.
        at_least(2, KERNEL_ENTRY).when(&[("by", "mutex-condvar"), ("peer_cpu", "same")]),
        at_least(2, KERNEL_ENTRY).when(&[("by", "semaphore"), ("peer_cpu", "same")]),
        at_least(2, KERNEL_ENTRY).when(&[("by", "pi-mutex"), ("peer_cpu", "same")]),
        at_least(4, KERNEL_ENTRY).when(&[("by", "sysv"), ("peer_cpu", "same")]),
        at_least(2, KERNEL_ENTRY).when(&[("by", "sysv"), ("peer_cpu", "other")]),
        at_least(1, "switch/futex:between=threads,peer_cpu=none")
            .when(&[("by", "futex"), ("peer_cpu", "same")]),
        at_least(2, KERNEL_ENTRY).when(&[("by", "futex"), ("peer_cpu", "other")]),
    ],
    compare_with: &["switch/futex:between=threads,peer_cpu=same"],
    axes: &[
        Axis {
            name: "by",
            sets: "how the token is handed over, and waited for",
            points: Points::Words(&["mutex-condvar", "semaphore", "sysv", "pi-mutex", "futex"]),
            default_points: Points::Words(&["mutex-condvar", "semaphore", "pi-mutex", "futex"]),
        },
        Axis {
            name: "peer_cpu",
            sets: "where the other thread is pinned: to the same CPU or to another one",
            points: Points::Words(&["same", "other"]),
            default_points: Points::Words(&["same"]),
        },
    ],
    switches: true,
    source: "pthread_cond_wait(3), sem_wait(3), semop(2), futex(2); kernel/locking/rtmutex.c; \
             lmbench lat_sem; libMicro cascade_cond",
    build: |params| or_refused(handover(params)),
    ..DEFAULTS
};

fn handover(params: Params<'_>) -> Result<Work, Errno> {
    let cpu = match cpu_of_peer(params) {
        Ok(cpu) => cpu,
        Err(unavailable) => return Ok(unavailable),
    };
    match params.word("by") {
        "mutex-condvar" => {
            let turn = Arc::new(Turn::new()?);
            let end = |this| CondvarEnd { turn: Arc::clone(&turn), this };
            round_trips(end(0), end(1), cpu)
        }
        "semaphore" => {
            let [there, back] = [Arc::new(Semaphore::new()?), Arc::new(Semaphore::new()?)];
            let own = SemaphoreEnd { to: Arc::clone(&there), from: Arc::clone(&back) };
            round_trips(own, SemaphoreEnd { to: back, from: there }, cpu)
        }
        "sysv" => {
            let set = Arc::new(SysvSemaphores::new(2)?);
            let own = SysvEnd { set: Arc::clone(&set), to: 0, from: 1 };
            round_trips(own, SysvEnd { set, to: 1, from: 0 }, cpu)
        }
        "pi-mutex" => {
            let mutex = || Mutex::new(MutexKind::PriorityInheriting);
            let mutexes = Arc::new([mutex()?, mutex()?, mutex()?]);
            let own = MutexEnd { mutexes: Arc::clone(&mutexes), side: Side::Own, give: 0, take: 2 };
            round_trips(own, MutexEnd { mutexes, side: Side::Peer, give: 2, take: 0 }, cpu)
        }
        _ => {
            let words = Arc::new(SharedWords::new()?);
            let own = FutexEnd { words: Arc::clone(&words), to: 0, from: 2 };
            round_trips(own, FutexEnd { words, to: 2, from: 0 }, cpu)
        }
    }
}

/// An end: it has the token, or waits for it. The measured thread begins with the token.
trait End: Send + 'static {
    /// Prepares the end, in its own thread.
    fn begin(&mut self) -> Result<(), Errno> {
        Ok(())
    }

    /// Hands the token over.
    fn give(&mut self) -> Result<(), Errno>;

    /// Waits until the token is here.
    fn take(&mut self) -> Result<(), Errno>;

    /// Releases what the end holds, in its own thread: the measured one after having handed the
    /// token over, the other one after having received it.
    fn release(&mut self) {}
}

/// The work of two ends: an op is a round trip.
fn round_trips<E: End>(mut own: E, peer: E, cpu: u32) -> Result<Work, Errno> {
    own.begin()?;
    let peer = PeerThread::start(Some(cpu), move |side| serve(peer, side))?;
    let mut pair = Pair { own, peer, cpu };
    // A first round trip, after which the other thread waits.
    pair.run(1, 1).map_err(|error| error.errno)?;
    Ok(Work::from_body(Shape::Repeat, pair))
}

/// The other thread, until its end is requested.
fn serve<E: End>(mut end: E, side: &PeerSide) -> Result<(), Errno> {
    end.begin()?;
    side.report_ready();
    let done = answer(&mut end, side);
    if let Err(error) = done {
        // The measured thread waits: it must find the error when it is woken.
        side.report_error(error);
        let _ = end.give();
    }
    done
}

fn answer<E: End>(end: &mut E, side: &PeerSide) -> Result<(), Errno> {
    loop {
        end.take()?;
        if side.must_quit() {
            end.release();
            return Ok(());
        }
        end.give()?;
    }
}

/// Both ends, in the measured thread.
struct Pair<E: End> {
    own: E,
    peer: PeerThread,
    cpu: u32,
}

impl<E: End> WorkBody for Pair<E> {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        let Self { own, peer, .. } = self;
        for op in 0..iterations * u64::from(unroll) {
            let done = own.give().and_then(|()| own.take()).and_then(|()| peer.check_running());
            done.map_err(|errno| OpError { op, errno })?;
        }
        Ok(())
    }

    fn channel_observation(&self) -> Option<ChannelObservation> {
        Some(ChannelObservation { peer_cpu: Some(self.cpu), ..ChannelObservation::default() })
    }
}

impl<E: End> Drop for Pair<E> {
    fn drop(&mut self) {
        let Self { own, peer, .. } = self;
        peer.end(|| own.give());
        own.release();
    }
}

/// Whose turn it is.
struct Turn {
    mutex: Mutex,
    /// The end that has the token.
    holder: AtomicUsize,
    /// One for each end, signalled when it has the token.
    changed: [Condvar; 2],
}

impl Turn {
    fn new() -> Result<Self, Errno> {
        Ok(Self {
            mutex: Mutex::new(MutexKind::Normal)?,
            holder: AtomicUsize::new(0),
            changed: [Condvar::new()?, Condvar::new()?],
        })
    }
}

/// A variable under a mutex, and a condition variable.
struct CondvarEnd {
    turn: Arc<Turn>,
    /// 0 or 1.
    this: usize,
}

impl End for CondvarEnd {
    #[inline(always)]
    fn give(&mut self) -> Result<(), Errno> {
        let Turn { mutex, holder, changed } = &*self.turn;
        let other = self.this ^ 1;
        mutex.lock()?;
        holder.store(other, Ordering::Relaxed);
        mutex.unlock()?;
        changed[other].signal()
    }

    #[inline(always)]
    fn take(&mut self) -> Result<(), Errno> {
        let Turn { mutex, holder, changed } = &*self.turn;
        mutex.lock()?;
        while holder.load(Ordering::Relaxed) != self.this {
            changed[self.this].wait(mutex)?;
        }
        mutex.unlock()
    }
}

/// Two POSIX semaphores.
struct SemaphoreEnd {
    to: Arc<Semaphore>,
    from: Arc<Semaphore>,
}

impl End for SemaphoreEnd {
    #[inline(always)]
    fn give(&mut self) -> Result<(), Errno> {
        self.to.post()
    }

    #[inline(always)]
    fn take(&mut self) -> Result<(), Errno> {
        loop {
            match self.from.wait() {
                Err(Errno::EINTR) => {}
                done => return done,
            }
        }
    }
}

/// Two semaphores of a System V set.
struct SysvEnd {
    set: Arc<SysvSemaphores>,
    to: u16,
    from: u16,
}

impl End for SysvEnd {
    #[inline(always)]
    fn give(&mut self) -> Result<(), Errno> {
        self.set.post(self.to)
    }

    #[inline(always)]
    fn take(&mut self) -> Result<(), Errno> {
        loop {
            match self.set.wait(self.from) {
                Err(Errno::EINTR) => {}
                done => return done,
            }
        }
    }
}

/// Which end it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Own,
    Peer,
}

/// Three mutexes. Between two ops the measured thread holds `give` and the next one, and the other
/// thread holds the third one and waits for the first. Then the first is unlocked, and each thread
/// locks what the other has unlocked; the one that it holds besides keeps the other thread from
/// overtaking it.
struct MutexEnd {
    mutexes: Arc<[Mutex; 3]>,
    side: Side,
    /// The mutex that is unlocked next, and the one that is locked next.
    give: usize,
    take: usize,
}

/// The mutex after this one.
#[inline(always)]
fn next(mutex: usize) -> usize {
    if mutex < 2 { mutex + 1 } else { 0 }
}

impl End for MutexEnd {
    fn begin(&mut self) -> Result<(), Errno> {
        self.mutexes[self.give].lock()?;
        match self.side {
            Side::Own => self.mutexes[next(self.give)].lock(),
            Side::Peer => Ok(()),
        }
    }

    #[inline(always)]
    fn give(&mut self) -> Result<(), Errno> {
        let mutex = self.give;
        self.give = next(mutex);
        self.mutexes[mutex].unlock()
    }

    #[inline(always)]
    fn take(&mut self) -> Result<(), Errno> {
        let mutex = self.take;
        self.take = next(mutex);
        self.mutexes[mutex].lock()
    }

    fn release(&mut self) {
        // Each unlocks its own mutexes, which cannot fail. The other thread also holds the one that
        // it has just locked: the one after `give`.
        let _ = self.mutexes[self.give].unlock();
        if self.side == Side::Peer {
            let _ = self.mutexes[next(self.give)].unlock();
        }
    }
}

/// Words that are set to 1, and futex(2): two in each direction that alternate, so that a late
/// wake-up reaches no later wait (as in the family `switch`).
struct FutexEnd {
    words: Arc<SharedWords>,
    to: usize,
    from: usize,
}

impl End for FutexEnd {
    #[inline(always)]
    fn give(&mut self) -> Result<(), Errno> {
        let word = self.words.word(self.to);
        self.to ^= 1;
        word.store(1, Ordering::Release);
        futex_wake(word, FutexScope::Private).map(drop)
    }

    #[inline(always)]
    fn take(&mut self) -> Result<(), Errno> {
        let word = self.words.word(self.from);
        self.from ^= 1;
        loop {
            match futex_wait(word, FutexScope::Private) {
                Ok(()) | Err(Errno::EAGAIN | Errno::EINTR) => {}
                Err(error) => return Err(error),
            }
            if word.swap(0, Ordering::Acquire) == 1 {
                return Ok(());
            }
        }
    }
}
