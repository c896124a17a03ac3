//! Acts of one process: locks, mutexes and atomic operations.

use super::super::acts::Act;
use super::super::tools::Place;
use super::forms::{RAW, call, in_folder, with_word};

pub(super) const ACTS: &[Act] = &[
    in_folder("lock/flock", "flock_unlock", Place::Temporary, "0", &["LOCK_EX", RAW]),
    in_folder(
        "lock/fcntl:kind=process,held=0",
        "process_lock",
        Place::Temporary,
        "0",
        &["none next to another", RAW],
    ),
    in_folder(
        "lock/fcntl:kind=process,held=100",
        "process_lock",
        Place::Temporary,
        "100",
        &["none next to another", RAW],
    ),
    in_folder(
        "lock/fcntl:kind=open-file,held=0",
        "open_file_lock",
        Place::Temporary,
        "0",
        &["none next to another", RAW],
    ),
    in_folder(
        "lock/fcntl:kind=open-file,held=100",
        "open_file_lock",
        Place::Temporary,
        "100",
        &["none next to another", RAW],
    ),
    in_folder(
        "lock/getlk:kind=process",
        "process_query",
        Place::Temporary,
        "0",
        &["it must find no conflict", "the store of the lock's type"],
    ),
    in_folder(
        "lock/getlk:kind=open-file",
        "open_file_query",
        Place::Temporary,
        "0",
        &["it must find no conflict", "the store of the lock's type"],
    ),
    in_folder("lock/lease", "lease_return", Place::Temporary, "0", &["F_WRLCK", RAW]),
    with_word(
        "sync/mutex:kind=normal,threads=1",
        "mutex_both",
        "normal,1",
        &["a mutex that is free", "sleeps in futex(2)"],
    ),
    with_word(
        "sync/mutex:kind=normal,threads=2",
        "mutex_both",
        "normal,2",
        &["a mutex that is free", "sleeps in futex(2)"],
    ),
    with_word(
        "sync/mutex:kind=recursive,threads=1",
        "mutex_both",
        "recursive,1",
        &["a mutex that is free", "sleeps in futex(2)"],
    ),
    with_word(
        "sync/mutex:kind=robust,threads=1",
        "mutex_both",
        "robust,1",
        &["a mutex that is free", "sleeps in futex(2)"],
    ),
    with_word(
        "sync/mutex:kind=robust,threads=2",
        "mutex_both",
        "robust,2",
        &["a mutex that is free", "sleeps in futex(2)"],
    ),
    with_word(
        "sync/mutex:kind=pi,threads=1",
        "mutex_both",
        "pi,1",
        &["a mutex that is free", "sleeps in futex(2)"],
    ),
    with_word(
        "sync/mutex:kind=pi,threads=2",
        "mutex_both",
        "pi,2",
        &["a mutex that is free", "sleeps in futex(2)"],
    ),
    call("sync/rwlock:mode=read", "rwlock_read", &["pthread_rwlock_rdlock(3)"]),
    call("sync/rwlock:mode=write", "rwlock_write", &["pthread_rwlock_wrlock(3)"]),
    call("sync/semaphore:by=posix", "semaphore_both", &["sem_post(3) and sem_wait(3)"]),
    call("sync/condvar", "condition_signal", &["that nobody waits for"]),
    call("sync/barrier", "barrier_alone", &["a barrier for one thread"]),
    call("sync/spin:hint=none", "spin_plain", &["a comparison that finds it unchanged"]),
    call("sync/spin:hint=pause", "spin_pause", &["PAUSE on x86-64"]),
    call(
        "sync/atomic:op=load,line=private",
        "atomic_load",
        &["a load (acquire)", "orders all accesses"],
    ),
    call(
        "sync/atomic:op=store,line=private",
        "atomic_store",
        &["a load (acquire)", "orders all accesses"],
    ),
    call(
        "sync/atomic:op=add,line=private",
        "atomic_add",
        &["a load (acquire)", "orders all accesses"],
    ),
    call(
        "sync/atomic:op=exchange,line=private",
        "atomic_exchange",
        &["a load (acquire)", "orders all accesses"],
    ),
    call(
        "sync/atomic:op=compare-exchange,line=private",
        "atomic_compare",
        &["a load (acquire)", "orders all accesses"],
    ),
    call("sync/futex-requeue", "futex_requeue", &["FUTEX_CMP_REQUEUE", RAW]),
];
