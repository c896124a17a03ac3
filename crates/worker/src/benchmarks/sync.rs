//! Synchronisation: what threads use to exclude and to wait for each other, with and without
//! another thread.

use super::prelude::{Bench, Family};

mod atomic;
mod defaults;
mod futex;
mod handover;
mod locks;
mod parked;
mod peer;
#[cfg(test)]
mod tests;

pub(super) const FAMILY: Family = Family {
    name: "sync",
    about: "the cost of atomic operations, locks, semaphores and futexes",
    benches: BENCHES,
};

const BENCHES: &[Bench] = &[
    atomic::SPIN,
    atomic::ATOMIC,
    locks::MUTEX,
    locks::RWLOCK,
    locks::SEMAPHORE,
    locks::CONDVAR,
    locks::BARRIER,
    futex::REQUEUE,
    futex::WAKE,
    handover::HANDOVER,
];
