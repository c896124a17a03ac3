//! Locks, semaphores and the like that nobody else uses.

use super::super::prelude::*;
use super::defaults::{DEFAULTS, or_refused};
use super::parked::ParkedThreads;
use crate::bench::PointFilter;
use crate::kernel::ipc::pthread::{Barrier, Condvar, Mutex, MutexKind, RwLock, Semaphore};
use crate::kernel::syscall::prepared::{self, SemaphoreUndo};

const SYSV: PointFilter = &[("by", "sysv")];
const SYSV_UNDO: PointFilter = &[("by", "sysv-undo")];

pub(super) const MUTEX: Bench = Bench {
    id: "sync/mutex",
    asks: "What does locking and unlocking a free mutex cost?",
    op: "pthread_mutex_lock(3) and pthread_mutex_unlock(3) of a mutex that is free, in the cache, \
         and used by no other thread. With `threads=2` the process has a second thread, which \
         sleeps in futex(2). Not included: creating mutex and thread; loop overhead.",
    expected: "13 ns: two locked instructions and two calls; `threads=1`, kind=normal: 4 ns, since \
               glibc then locks without them. Recursive and error-checking mutexes 2 ns more for \
               the owner; robust and priority-inheriting ones 5 ns more. Process-shared as normal \
               with a second thread",
    why: "No call is made: the kernel is needed to wait and to wake, and there is nobody. While a \
          process has never had a second thread, glibc (since 2.34) locks a normal private mutex \
          without locked instructions, so that a mutex measured in a small test program is not \
          that of a threaded one. A robust mutex is linked into a list, which the kernel walks \
          when its owner dies; a priority-inheriting one contains its owner's thread ID, which the \
          kernel reads when somebody waits.",
    axes: &[
        Axis {
            name: "kind",
            sets: "the mutex's type, robustness, protocol or sharing, as set by its attribute",
            points: Points::Words(&[
                "normal",
                "recursive",
                "errorcheck",
                "robust",
                "pi",
                "process-shared",
            ]),
            default_points: Points::WithPriceList {
                points: &Points::Words(&["normal", "robust", "pi"]),
                price_list: &Points::Words(&["normal"]),
            },
        },
        Axis {
            name: "threads",
            sets: "threads of the process; the second one sleeps",
            points: Points::Numbers(&[1, 2]),
            default_points: Points::WithPriceList {
                points: &Points::Numbers(&[1, 2]),
                price_list: &Points::Numbers(&[2]),
            },
        },
    ],
    in_price_list: true,
    source: "pthread_mutex_lock(3), pthread_mutexattr_setrobust(3); glibc: \
             nptl/pthread_mutex_lock.c; get_robust_list(2); libMicro mutex",
    build: |params| or_refused(mutex(params)),
    ..DEFAULTS
};

pub(super) const RWLOCK: Bench = Bench {
    id: "sync/rwlock",
    asks: "What does locking and unlocking a free read-write lock cost?",
    op: "pthread_rwlock_rdlock(3) (`mode=read`) or pthread_rwlock_wrlock(3) (`mode=write`) and \
         pthread_rwlock_unlock(3) of a lock that is free, in the cache, and used by no other \
         thread. Not included: creating it; loop overhead.",
    expected: "15 ns for reading, two locked instructions; 20 ns for writing, three",
    why: "A reader counts itself in the lock's word, which every other reader writes too: readers \
          do not wait for each other, but for the cache line. glibc makes no difference here for a \
          process without a second thread.",
    axes: &[Axis {
        name: "mode",
        sets: "whether it is locked for reading or for writing",
        points: Points::Words(&["read", "write"]),
        default_points: Points::Words(&["read", "write"]),
    }],
    source: "pthread_rwlock_rdlock(3), pthread_rwlock_wrlock(3); glibc: \
             nptl/pthread_rwlock_common.c",
    build: |params| {
        let lock = RwLock::new()?;
        Ok(match params.word("mode") {
            "read" => Work::repeat(move || lock.read().and_then(|()| lock.unlock())),
            _ => Work::repeat(move || lock.write().and_then(|()| lock.unlock())),
        })
    },
    ..DEFAULTS
};

pub(super) const SEMAPHORE: Bench = Bench {
    id: "sync/semaphore",
    asks: "What does posting a semaphore and taking it again cost?",
    op: "a semaphore of 0 posted, and taken without waiting: sem_post(3) and sem_wait(3) of an \
         unnamed POSIX semaphore; or two semop(2) of one operation each by the raw instruction, \
         with `by=sysv-undo` each with SEM_UNDO. No other task uses it. Not included: \
         creating it; loop overhead.",
    expected: "13 ns for POSIX, which stays in user space; 350 ns for System V, two calls of 150 \
               to 200 ns; 50 ns more with SEM_UNDO",
    why: "A POSIX semaphore is a word in user memory, and the kernel is called only if a waiter is \
          counted in it. System V semaphores are in the kernel: each semop copies its operations \
          in, finds the set by its number under RCU, checks permissions, and takes the semaphore's \
          lock. For SEM_UNDO it also finds, in a list of the process, what is to be undone in this \
          set when the process ends, and updates it.",
    calls: &[exactly("semop", 2).when(SYSV), exactly("semop", 2).when(SYSV_UNDO)],
    floor: &[at_least(2, KERNEL_ENTRY).when(SYSV), at_least(2, KERNEL_ENTRY).when(SYSV_UNDO)],
    axes: &[Axis {
        name: "by",
        sets: "whose semaphore: the C library's (POSIX), or the kernel's (System V), without or \
               with SEM_UNDO",
        points: Points::Words(&["posix", "sysv", "sysv-undo"]),
        default_points: Points::Words(&["posix", "sysv", "sysv-undo"]),
    }],
    source: "sem_post(3), sem_wait(3), semop(2); ipc/sem.c",
    build: |params| or_refused(semaphore(params)),
    ..DEFAULTS
};

pub(super) const CONDVAR: Bench = Bench {
    id: "sync/condvar",
    asks: "What does signalling a condition variable without waiters cost?",
    op: "pthread_cond_signal(3) of a condition variable that nobody waits for, without a mutex. \
         Not included: creating it; loop overhead.",
    expected: "2 ns: a call, a load, and a comparison that finds no waiter",
    why: "The number of waiters is in user memory, so that no call is needed to find that there is \
          none. A program can signal unconditionally.",
    source: "pthread_cond_signal(3); glibc: nptl/pthread_cond_signal.c",
    build: |_| {
        let condvar = Condvar::new()?;
        Ok(Work::repeat(move || condvar.signal()))
    },
    ..DEFAULTS
};

pub(super) const BARRIER: Bench = Bench {
    id: "sync/barrier",
    asks: "What does a barrier cost if nobody has to wait?",
    op: "pthread_barrier_wait(3) of a barrier for one thread, which is always the last to arrive. \
         Not included: creating it; loop overhead.",
    expected: "a FUTEX_WAKE without a waiter, 100 ns, and three locked instructions",
    why: "Whoever arrives last wakes the others. glibc does not count who sleeps, and calls the \
          kernel even if nobody does: a barrier is the only one of these that always enters it.",
    // Other libraries do without the call.
    calls: &[up_to("futex", 1)],
    source: "pthread_barrier_wait(3p); glibc: nptl/pthread_barrier_wait.c",
    build: |_| {
        let barrier = Barrier::of_one()?;
        Ok(Work::repeat(move || barrier.wait()))
    },
    ..DEFAULTS
};

fn mutex(params: Params<'_>) -> Result<Work, Errno> {
    let mutex = Mutex::new(match params.word("kind") {
        "normal" => MutexKind::Normal,
        "recursive" => MutexKind::Recursive,
        "errorcheck" => MutexKind::ErrorCheck,
        "robust" => MutexKind::Robust,
        "pi" => MutexKind::PriorityInheriting,
        _ => MutexKind::ProcessShared,
    })?;
    let others = ParkedThreads::start(params.number("threads") as usize - 1, None)?;
    Ok(Work::repeat(move || {
        // The second thread stays as long as the work.
        let _others = &others;
        mutex.lock().and_then(|()| mutex.unlock())
    }))
}

fn semaphore(params: Params<'_>) -> Result<Work, Errno> {
    let undo = match params.word("by") {
        "sysv" => SemaphoreUndo::None,
        "sysv-undo" => SemaphoreUndo::AtExit,
        _ => {
            let semaphore = Semaphore::new()?;
            return Ok(Work::repeat(move || semaphore.post().and_then(|()| semaphore.wait())));
        }
    };
    prepared::semaphore_post_wait(undo).map(Work::raw_pair)
}
