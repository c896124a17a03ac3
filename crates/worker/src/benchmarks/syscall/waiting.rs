//! Calls that could wait but need not, rings, and signals.

use super::{DOOR, VIA, is_raw};
use crate::benchmarks::prelude::*;
use crate::kernel::event::io_uring::Ring;
use crate::kernel::syscall::{libc_wrappers, prepared};

pub(super) const FUTEX_WAKE: Bench = Bench {
    id: "syscall/futex-wake",
    asks: "What does an unlock cost that wakes nobody, because nobody waits?",
    op: "futex(2) with FUTEX_WAKE_PRIVATE for one waiter of a word that has none, by the bare \
         instruction. Outside: nothing but the loop's turn.",
    expected: "10 ns above the bare door: a hash, and a bucket that is seen to be empty",
    why: "A lock of a library enters the kernel only when somebody may be waiting; this is what \
          it pays when that was not so. The word's address is hashed, and the bucket's count of \
          waiters is 0: no lock is taken.",
    calls: &[exactly("futex", 1)],
    floor: &[at_least(1, "syscall/invalid")],
    source: "futex(2); kernel/futex/waitwake.c",
    build: |_| Ok(Work::raw(prepared::futex_wake())),
    ..Bench::DEFAULT
};

pub(super) const SCHED_YIELD: Bench = Bench {
    id: "syscall/sched-yield",
    asks: "What does it cost to offer the CPU to others when there are none?",
    op: "sched_yield(2) by the bare instruction. Outside: nothing. Where somebody does take the \
         CPU, the batch is rejected.",
    expected: "twice the bare door: the run queue's lock, and a choice that comes out the same",
    why: "The scheduler is entered for good: the run queue is locked, the clock of the task is \
          brought up to date, and the next task is chosen. With nobody else ready on this CPU it \
          is the caller again, and no context is switched.",
    calls: &[exactly("sched_yield", 1)],
    floor: &[at_least(1, DOOR)],
    source: "sched_yield(2); kernel/sched/syscalls.c",
    build: |_| Ok(Work::raw(prepared::sched_yield())),
    ..Bench::DEFAULT
};

pub(super) const POLL: Bench = Bench {
    id: "syscall/poll",
    asks: "What does it cost to ask whether a descriptor is ready, when it is not?",
    op: "poll(2) of one event counter (eventfd(2)) at 0, with a timeout of 0, by the bare \
         instruction. Outside: making the descriptor.",
    expected: "80 ns above the bare door: one entry copied in and out, one file asked",
    calls: &[exactly(prepared::POLL, 1)],
    floor: &[at_least(1, DOOR)],
    source: "poll(2); fs/select.c",
    build: |_| prepared::poll().map(Work::raw),
    ..Bench::DEFAULT
};

pub(super) const EPOLL_WAIT: Bench = Bench {
    id: "syscall/epoll-wait",
    asks: "What does it cost to ask a set of descriptors for events, when there are none?",
    op: "epoll_wait(2) on a set with one event counter (eventfd(2)) at 0, with a timeout of 0, by \
         the bare instruction. Outside: making the set.",
    expected: "40 ns above the bare door: the list of what is ready is empty, and that is all",
    why: "Descriptors that become ready put themselves on the set's list. Asking is a look at \
          that list, however many descriptors the set has; poll(2) asks each of them each time.",
    calls: &[exactly(prepared::EPOLL_WAIT, 1)],
    floor: &[at_least(1, "syscall/invalid")],
    source: "epoll_wait(2); fs/eventpoll.c",
    build: |_| prepared::epoll_wait().map(Work::raw),
    ..Bench::DEFAULT
};

pub(super) const IO_URING: Bench = Bench {
    id: "syscall/io-uring",
    asks: "What does an operation handed over by a ring cost, alone or with others?",
    op: "a no-op (IORING_OP_NOP) written into the submission ring; after every one of them, or \
         every 32, io_uring_enter(2), which waits for all; then each completion's number and \
         result are looked at. Outside: setting up a ring with default settings, for 32 entries.",
    expected: "alone three times the bare door; of 32 each a fifth of the door",
    why: "What is handed over lies in memory that the kernel shares with the process; one call has \
          it look. The door is paid once for all that are queued: what remains of each is an \
          entry read, a request taken from a cache, and a completion written.",
    calls: &[
        exactly("io_uring_enter", 1).when(&[("batch", "1")]),
        once_per(32, "io_uring_enter").when(&[("batch", "32")]),
    ],
    floor: &[at_least(1, DOOR).when(&[("batch", "1")])],
    axes: &[Axis {
        name: "batch",
        sets: "how many no-ops share a call",
        points: Points::Numbers(&[1, 32]),
        default_points: Points::Numbers(&[1, 32]),
    }],
    needs: &[Need::io_uring()],
    source: "io_uring(7), io_uring_enter(2); io_uring/io_uring.c",
    build: |at| {
        let batch = at.number("batch");
        let mut ring = Ring::new(32)?;
        let mut queued = 0;
        Ok(Work::with_loop(move || {
            ring.queue_no_op()?;
            queued += 1;
            if queued < batch {
                return Ok(());
            }
            queued = 0;
            ring.submit()
        }))
    },
    ..Bench::DEFAULT
};

pub(super) const SIGACTION: Bench = Bench {
    id: "syscall/sigaction",
    asks: "What does it cost to install a handler for a signal?",
    op: "sigaction(2) of SIGUSR2, made as rt_sigaction(2), with a handler that does nothing and is \
         installed already. Outside: installing it first.",
    expected: "30 ns above the bare door: 32 bytes copied in, a lock; the library's copies add 5 ns",
    why: "The kernel copies the description in, and writes it into the table of handlers under \
          the lock that deliveries take. The library's structure is another one than the kernel's: \
          the wrapper copies it, and adds the way back from the handler (SA_RESTORER).",
    calls: &[exactly("rt_sigaction", 1)],
    floor: &[at_least(1, DOOR)],
    axes: &[VIA],
    source: "sigaction(2); kernel/signal.c; lmbench lat_sig install",
    build: |at| {
        if is_raw(at) {
            return prepared::sigaction().map(Work::raw);
        }
        let handler = libc_wrappers::Action::nothing();
        Ok(Work::with_loop(move || libc_wrappers::sigaction(&handler)))
    },
    ..Bench::DEFAULT
};

pub(super) const SIGNAL: Bench = Bench {
    id: "syscall/signal",
    asks: "What does a signal to oneself cost, from sending it to being back?",
    op: "tgkill(2) of SIGUSR1 to the calling thread, by the bare instruction; its handler, which \
         counts; the way back by rt_sigreturn(2); and a look at the count. Outside: installing \
         the handler.",
    expected: "eight times the bare door: two entries, and all registers written to the stack and read",
    why: "The signal is queued in memory that is allocated for it, and met on the way back from \
          the very call that sent it. The kernel writes a frame onto the user's stack with all \
          registers, those of the vector unit included (which makes it dearer on processors with \
          wide ones), enters the handler, and is entered again to put everything back.",
    calls: &[exactly("tgkill", 1), exactly("rt_sigreturn", 1)],
    floor: &[at_least(2, DOOR)],
    source: "tgkill(2), sigreturn(2); kernel/signal.c; lmbench lat_sig catch",
    build: |_| {
        let handler = prepared::signal_to_oneself()?;
        Ok(Work::with_loop(move || handler.deliver()))
    },
    ..Bench::DEFAULT
};
