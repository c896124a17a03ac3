//! futex(2) with many waiters, and with none.

use std::rc::Rc;

use super::super::placement::cpu_of_peer;
use super::super::prelude::*;
use super::defaults::{DEFAULTS, or_refused};
use super::parked::ParkedThreads;
use crate::kernel::syscall::prepared;

pub(super) const REQUEUE: Bench = Bench {
    id: "sync/futex-requeue",
    asks: "What does moving the waiters of a futex to another one cost if there are none?",
    op: "futex(2) with FUTEX_CMP_REQUEUE from a word to another one, both private to the process \
         and without waiters, by the raw instruction; it must wake and move none. Not included: \
         loop overhead.",
    expected: "30 ns more than FUTEX_WAKE without a waiter: two queues are looked up and locked, and the \
               first word is read",
    why: "The call with which a broadcast wakes one waiter and puts the others into the queue of \
          the mutex that they all need next. It locks the hash buckets of both words, in the order \
          of their addresses, and reads the first word under these locks: if it has changed, \
          nothing is moved (EAGAIN).",
    calls: &[exactly("futex", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    compare_with: &["syscall/futex-wake"],
    source: "futex(2), FUTEX_CMP_REQUEUE; kernel/futex/requeue.c; perf bench futex requeue",
    build: |_| Ok(Work::raw(prepared::futex_requeue())),
    ..DEFAULTS
};

pub(super) const WAKE: Bench = Bench {
    id: "sync/futex-wake",
    asks: "What does waking N threads that wait for one futex cost the thread that wakes them?",
    op: "one futex(2) with FUTEX_WAKE of all threads that wait for a word private to the process, \
         by the raw instruction, until it returns; it must have woken `waiters` threads. They \
         sleep on the CPU of the axis `peer_cpu` and have the policy SCHED_BATCH, which does not \
         preempt the thread that wakes them. Not included: what they do then, which is to wait \
         again; waiting before each op until all are queued and have been off their CPU for 20 us.",
    expected: "1 us for one waiter on the same CPU, 0.4 us for each further one; on another, idle \
               CPU 3 us for the first one, most of it the interrupt that wakes the CPU (more in a \
               virtual machine, where it is a VM exit), 0.5 us for each further one",
    why: "The call collects all waiters under the lock of the hash bucket, and wakes them after \
          having released it: each is made runnable under the lock of its CPU's run queue. Only \
          the first one on an idle CPU costs an interrupt. The call returns before any of them has \
          run: how long that takes is the other half of a wake-up, which switch/futex contains.",
    calls: &[
        exactly("futex", 1),
        // They wait again, before or after the end of the op.
        up_to("futex", 1).by_peer().when(&[("waiters", "1")]),
        up_to("futex", 10).by_peer().when(&[("waiters", "10")]),
        up_to("futex", 100).by_peer().when(&[("waiters", "100")]),
    ],
    floor: &[at_least(1, KERNEL_ENTRY)],
    axes: &[
        Axis {
            name: "waiters",
            sets: "threads that wait, and are woken by one call",
            points: Points::Items("waiter", &Points::Numbers(&[1, 10, 100])),
            default_points: Points::Numbers(&[1, 10]),
        },
        Axis {
            name: "peer_cpu",
            sets: "where the waiters are pinned: to the same CPU or to another one",
            points: Points::Words(&["same", "other"]),
            default_points: Points::Words(&["same", "other"]),
        },
    ],
    // The waiters make calls of their own meanwhile.
    switches: true,
    source: "futex(2), FUTEX_WAKE; kernel/futex/waitwake.c; perf bench futex wake",
    build: |params| or_refused(wake(params)),
    ..DEFAULTS
};

fn wake(params: Params<'_>) -> Result<Work, Errno> {
    let cpu = match cpu_of_peer(params) {
        Ok(cpu) => cpu,
        Err(unavailable) => return Ok(unavailable),
    };
    let threads = params.number("waiters") as usize;
    let parked = Rc::new(ParkedThreads::start(threads, Some(cpu))?);
    let waiters = Rc::clone(&parked);
    // Each op wakes all of them: they must wait again before the next one.
    Ok(Work::single_shot(move || parked.wake())
        .with_preparation(move |_| waiters.wait_until_all_wait())
        .with_max_batch_ops(1))
}
