//! Calls that could block but do not, rings, and signals.

use super::axes::{VIA, is_raw};
use crate::benchmarks::prelude::*;
use crate::kernel::event::io_uring::Ring;
use crate::kernel::syscall::{libc_wrappers, prepared};

pub(super) const FUTEX_WAKE: Bench = Bench {
    id: "syscall/futex-wake",
    asks: "What does an unlock cost if there is no waiter?",
    op: "futex(2) with FUTEX_WAKE_PRIVATE for one waiter of a word that has none, by the raw \
         instruction. Not included: loop overhead.",
    expected: "10 ns above a null system call: a hash, and a bucket that is found empty",
    why: "A lock enters the kernel only if there may be a waiter; this is the cost when there was \
          none. The word's address is hashed, and the waiter count of the bucket is 0: no lock is \
          taken.",
    calls: &[exactly("futex", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    source: "futex(2); kernel/futex/waitwake.c",
    build: |_| Ok(Work::raw(prepared::futex_wake())),
    ..Bench::DEFAULT
};

pub(super) const SCHED_YIELD: Bench = Bench {
    id: "syscall/sched-yield",
    asks: "What does yielding the CPU cost if no other task is ready?",
    op: "sched_yield(2) by the raw instruction. Not included: nothing. If another task does take \
         the CPU, the batch is rejected.",
    expected: "twice a null system call: the run-queue lock, and picking the same task again",
    why: "The call runs the scheduler: the run queue is locked, the accounting of the task is \
          brought up to date, and the next task is picked. If no other task is ready on this CPU \
          it is the caller again, and no context is switched.",
    calls: &[exactly("sched_yield", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    in_price_list: false,
    source: "sched_yield(2); kernel/sched/syscalls.c",
    build: |_| Ok(Work::raw(prepared::sched_yield())),
    ..Bench::DEFAULT
};

pub(super) const POLL: Bench = Bench {
    id: "syscall/poll",
    asks: "What does polling a descriptor that is not ready cost?",
    op: "poll(2) of one event counter (eventfd(2)) at 0, with a timeout of 0, by the raw \
         instruction. Not included: creating the descriptor.",
    expected: "80 ns above a null system call: one entry copied in and out, one file polled",
    calls: &[exactly(prepared::POLL, 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    in_price_list: false,
    source: "poll(2); fs/select.c",
    build: |_| prepared::poll().map(Work::raw),
    ..Bench::DEFAULT
};

pub(super) const EPOLL_WAIT: Bench = Bench {
    id: "syscall/epoll-wait",
    asks: "What does epoll_wait cost if there are no events?",
    op: "epoll_wait(2) on a set with one event counter (eventfd(2)) at 0, with a timeout of 0, by \
         the raw instruction. Not included: creating the set.",
    expected: "40 ns above a null system call: the ready list is empty",
    why: "Descriptors that become ready add themselves to the ready list of the set. The call \
          checks that list, however many descriptors the set has; poll(2) polls each of them on \
          every call.",
    calls: &[exactly(prepared::EPOLL_WAIT, 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    in_price_list: false,
    source: "epoll_wait(2); fs/eventpoll.c",
    build: |_| prepared::epoll_wait().map(Work::raw),
    ..Bench::DEFAULT
};

pub(super) const IO_URING: Bench = Bench {
    id: "syscall/io-uring",
    asks: "What does an operation submitted through io_uring cost, alone and in a batch?",
    op: "a no-op (IORING_OP_NOP) written into the submission ring; after every one, or every 32, \
         io_uring_enter(2), which waits for all of them; then the token and the result of each \
         completion are checked. Not included: setting up a ring with default settings, for 32 \
         entries.",
    expected: "alone three times a null system call; in batches of 32 a fifth of a null system \
               call each",
    why: "Submissions are in memory that the kernel shares with the process; one call makes the \
          kernel read them. Kernel entry and exit are paid once for all queued operations: what \
          remains of each is reading an entry, taking a request from a cache, and writing a \
          completion.",
    calls: &[
        exactly("io_uring_enter", 1).when(&[("batch", "1")]),
        once_per(32, "io_uring_enter").when(&[("batch", "32")]),
    ],
    floor: &[at_least(1, KERNEL_ENTRY).when(&[("batch", "1")])],
    axes: &[Axis {
        name: "batch",
        sets: "number of no-ops per call",
        points: Points::Numbers(&[1, 32]),
        default_points: Points::Numbers(&[1, 32]),
    }],
    needs: &[Need::io_uring()],
    source: "io_uring(7), io_uring_enter(2); io_uring/io_uring.c",
    build: |params| {
        let batch = params.number("batch");
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
    asks: "What does installing a signal handler cost?",
    op: "sigaction(2) of SIGUSR2, called as rt_sigaction(2), with a handler that does nothing and \
         is already installed. Not included: installing it first.",
    expected: "30 ns above a null system call: 32 bytes copied in, a lock; the copies in libc add \
               5 ns",
    why: "The kernel copies the structure in and stores it in the table of handlers under the lock \
          that signal delivery takes. The structure of libc differs from the kernel's: the wrapper \
          converts it, and adds the address that returns from the handler (SA_RESTORER).",
    calls: &[exactly("rt_sigaction", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    axes: &[VIA],
    source: "sigaction(2); kernel/signal.c; lmbench lat_sig install",
    build: |params| {
        if is_raw(params) {
            return prepared::sigaction().map(Work::raw);
        }
        let handler = libc_wrappers::SignalAction::no_op();
        Ok(Work::with_loop(move || libc_wrappers::sigaction(&handler)))
    },
    ..Bench::DEFAULT
};

pub(super) const SIGNAL: Bench = Bench {
    id: "syscall/signal",
    asks: "What does a signal to the own thread cost, from sending it to returning from its \
           handler?",
    op: "tgkill(2) of SIGUSR1 to the calling thread, by the raw instruction; its handler, which \
         counts; the return by rt_sigreturn(2); and a check of the count. Not included: installing \
         the handler.",
    expected: "eight times a null system call: two kernel entries, and all registers written to \
               the stack and restored",
    why: "The signal is queued in newly allocated memory, and delivered on the return from the \
          call that sent it. The kernel writes a frame with all registers onto the user stack, \
          those of the vector unit included (more expensive on processors with wide ones), enters \
          the handler, and is entered again to restore everything.",
    calls: &[exactly("tgkill", 1), exactly("rt_sigreturn", 1)],
    floor: &[at_least(2, KERNEL_ENTRY)],
    source: "tgkill(2), sigreturn(2); kernel/signal.c; lmbench lat_sig catch",
    build: |_| {
        let handler = prepared::signal_to_self()?;
        Ok(Work::with_loop(move || handler.send()))
    },
    ..Bench::DEFAULT
};
