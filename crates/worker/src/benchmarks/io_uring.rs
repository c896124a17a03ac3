//! Operations that are submitted through io_uring(7): one alone and several by one call, those that
//! wait for what comes next, and what the ring itself costs.
//!
//! `event/*` measures io_uring as a way to wait for many descriptors, `file/read` and `socket/*` as
//! one way among others, and `syscall/io-uring` as a system call.

use super::prelude::*;
use crate::bench::{Floor, PointFilter};
use crate::kernel::event::io_uring::Transfer;

mod body;
mod shots;
#[cfg(test)]
mod tests;

use body::{BATCH_OF_RINGS, linked, no_ops, polls, rings, timeout, transfers};

pub(super) const FAMILY: Family = Family {
    name: "io-uring",
    about: "operations submitted through io_uring, alone and in batches",
    benches: BENCHES,
};

/// The call that submits and waits.
const ENTER: &str = "io_uring_enter";

const ONE: PointFilter = &[("batch", "1")];
const THIRTY_TWO: PointFilter = &[("batch", "32")];

const BATCH: Axis = Axis {
    name: "batch",
    sets: "number of operations per call",
    points: Points::Numbers(&[1, 32]),
    default_points: Points::Numbers(&[1, 32]),
};

const VIA: Axis = Axis {
    name: "via",
    sets: "how file and buffer are named: by a descriptor and an address; by the index of a \
           registered file; or by an address in a registered buffer",
    points: Points::Words(&["descriptor", "fixed-file", "fixed-buffer"]),
    default_points: Points::Words(&["descriptor"]),
};

/// The calls of an op in batches of 1 or 32.
const CALLS: &[ExpectedCall] = &[exactly(ENTER, 1).when(ONE), once_per(32, ENTER).when(THIRTY_TWO)];

/// A no-op is submitted and completed as any other operation is.
const FLOOR: &[Floor] = &[
    at_least(1, "syscall/io-uring:batch=1").when(ONE),
    at_least(1, "syscall/io-uring:batch=32").when(THIRTY_TWO),
];

/// The defaults of this family.
const DEFAULTS: Bench =
    Bench { needs: &[Need::io_uring()], in_price_list: false, ..Bench::DEFAULT };

const BENCHES: &[Bench] = &[
    Bench {
        id: "io-uring/nop",
        asks: "What does an io_uring operation cost, by the number of operations per call and by \
               the way in which the ring is set up?",
        op: "a no-op (IORING_OP_NOP) written into the submission ring; after every `batch` of them \
             one io_uring_enter(2), which waits for all; then the number and the result of each \
             completion are checked. setup=sqpoll: no call; a thread of the kernel, which polls \
             the submission ring on another CPU, takes the entries, and this end polls the \
             completion ring. The figure is per operation. Not included: setting up the ring, for \
             `batch` entries; with setup=sqpoll the wake-up of the thread, which an untimed batch \
             before each timed one does, and the CPU time of the thread, which polls for a second \
             after the last operation.",
        expected: "plain: 350 ns alone, 60 in batches of 8, 35 in batches of 64; defer-taskrun \
                   the same; sqpoll: 500 ns alone and 50 in batches of 64",
        why: "Kernel entry and exit are paid once per call; what remains of each operation is an \
              entry read, a request from a cache, and a completion written. With SQPOLL the entry \
              goes to another CPU and the completion comes back: two transfers of cache lines \
              instead of a system call, and a second CPU at work. DEFER_TASKRUN changes when work \
              that the task owes is done, and a no-op owes none.",
        compare_with: &["syscall/io-uring:batch=32"],
        calls: &[
            exactly(ENTER, 1).when(&[("batch", "1"), PLAIN]),
            once_per(8, ENTER).when(&[("batch", "8"), PLAIN]),
            once_per(64, ENTER).when(&[("batch", "64"), PLAIN]),
            exactly(ENTER, 1).when(&[("batch", "1"), DEFERRED]),
            once_per(8, ENTER).when(&[("batch", "8"), DEFERRED]),
            once_per(64, ENTER).when(&[("batch", "64"), DEFERRED]),
            // Only if the thread sleeps, or is not on its CPU.
            up_to(ENTER, 1).when(&[POLLED]),
        ],
        floor: &[
            at_least(1, KERNEL_ENTRY).when(&[("batch", "1"), PLAIN]),
            at_least(1, KERNEL_ENTRY).when(&[("batch", "1"), DEFERRED]),
        ],
        axes: &[
            Axis {
                points: Points::Numbers(&[1, 8, 64]),
                default_points: Points::Numbers(&[1, 8, 64]),
                ..BATCH
            },
            Axis {
                name: "setup",
                sets: "how the ring is set up: by default; with a thread of the kernel that polls \
                       it (IORING_SETUP_SQPOLL); or with work deferred until the task waits \
                       (IORING_SETUP_DEFER_TASKRUN, Linux 6.1)",
                points: Points::Words(&["plain", "sqpoll", "defer-taskrun"]),
                default_points: Points::Words(&["plain"]),
            },
        ],
        needs: &[Need::io_uring(), Need::resource(Resource::SecondCpu).when(&[POLLED])],
        source: "io_uring_setup(2), io_uring_enter(2); io_uring/io_uring.c, io_uring/sqpoll.c; \
                 fio t/io_uring -N1",
        build: no_ops,
        ..DEFAULTS
    },
    Bench {
        id: "io-uring/read",
        asks: "What does a read of a cached file through io_uring cost, and what do registered \
               files and buffers save?",
        op: "a read (IORING_OP_READ, with a registered buffer IORING_OP_READ_FIXED) of `size` \
             bytes at the start of a file of one page, as one of `batch` submitted by an \
             io_uring_enter(2) that waits for all; their results are checked. The file has no \
             name and is in the folder of the measurement; the case is skipped where the file \
             system cannot read without blocking (FMODE_NOWAIT), such as a tmpfs: a thread would \
             make each read. Not included: writing the file, setting up the ring, registering, and \
             comparing what was read last.",
        expected: "4096 bytes: 750 ns alone, 400 in batches of 32; a registered file saves 15 ns, \
                   a registered buffer nothing or some ns more than its lookup costs",
        why: "The read itself is that of pread(2): a lookup in the page cache and a copy. A \
              registered file saves the reference to the open file, a registered buffer the check \
              of the address (for direct reads also pinning its pages, which is what it is made \
              for).",
        compare_with: &["syscall/pread"],
        calls: CALLS,
        floor: FLOOR,
        axes: &[
            VIA,
            Axis {
                name: "size",
                sets: "bytes of a read",
                points: Points::Numbers(&[1, 4_096]),
                default_points: Points::Numbers(&[4_096]),
            },
            Axis {
                default_points: Points::WithPriceList {
                    points: &Points::Numbers(&[1, 32]),
                    price_list: &Points::Numbers(&[32]),
                },
                ..BATCH
            },
        ],
        bytes_axis: "size",
        in_price_list: true,
        source: "io_uring_enter(2), io_uring_register(2); io_uring/rw.c; fio t/io_uring",
        build: |params| transfers(params, Transfer::Read, params.number("size") as usize),
        ..DEFAULTS
    },
    Bench {
        id: "io-uring/write",
        asks: "What does a write through io_uring cost if the file does nothing?",
        op: "a write (IORING_OP_WRITE, with a registered buffer IORING_OP_WRITE_FIXED) of 4096 \
             bytes to /dev/null, which reads none of them, as one of `batch` submitted by an \
             io_uring_enter(2) that waits for all; their results are checked. Not included: \
             setting up the ring, and registering.",
        expected: "430 ns alone, 90 in batches of 32; a registered file saves 15 ns",
        why: "The difference to io-uring/nop is what every operation on a file pays: the file is \
              looked up, the request is made ready for a read or write. To a file on a disk the \
              kernel hands buffered writes to a worker thread on most file systems: that is \
              another question.",
        compare_with: &["io-uring/nop:batch=1,setup=plain"],
        calls: CALLS,
        floor: FLOOR,
        axes: &[VIA, BATCH],
        needs: &[Need::io_uring(), Need::readable("/dev/null")],
        source: "io_uring_enter(2), io_uring_register(2); io_uring/rw.c",
        build: |params| transfers(params, Transfer::Write, WRITE_BYTES),
        ..DEFAULTS
    },
    Bench {
        id: "io-uring/poll",
        asks: "What does a poll through io_uring cost if the descriptor is ready?",
        op: "a one-shot poll (IORING_OP_POLL_ADD) of an eventfd(2) that is readable, as one of \
             `batch` submitted by an io_uring_enter(2) that waits for all; their results are \
             checked. Not included: setting up the ring.",
        expected: "450 ns alone, 110 in batches of 32",
        why: "The kernel asks the file whether it is ready, with an entry in its wait queue in \
              case that it is not, and completes at once. poll(2) asks the same of each \
              descriptor, and copies its list in and out.",
        compare_with: &["syscall/poll"],
        calls: CALLS,
        floor: FLOOR,
        axes: &[BATCH],
        source: "io_uring_enter(2); io_uring/poll.c",
        build: polls,
        ..DEFAULTS
    },
    Bench {
        id: "io-uring/timeout",
        asks: "What does a timeout through io_uring cost, by how it ends?",
        op: "end=over: a timeout (IORING_OP_TIMEOUT) of 0 s, submitted by an io_uring_enter(2) \
             that waits for its completion with ETIME. The others are two operations, submitted by \
             one call that waits for both completions. end=removed: a timeout of a minute and its \
             removal (IORING_OP_TIMEOUT_REMOVE); end=counted: a timeout of a minute or of one \
             completion, and a no-op, whose completion ends it; end=linked: a no-op with a limit \
             of a minute for it (IOSQE_IO_LINK, IORING_OP_LINK_TIMEOUT), which is cancelled when \
             the no-op completes; end=linked-over: a poll of an eventfd(2) that stays unready, \
             with a limit of 0 s, which cancels it. Results are checked. Not included: setting up \
             the ring.",
        expected: "removed 900 ns, counted 1.2 us, linked 600 ns; over 3 us and linked-over 4 us \
                   in a guest, where the timer interrupt costs two exits to the hypervisor",
        why: "A timeout is a high-resolution timer: it is inserted into the CPU's tree and removed \
              again. One that is over is not completed by the call itself: the timer device is \
              set and interrupts, and the completion is posted by the interrupted task, which was \
              about to sleep. The limit of an operation that completes at once is never started \
              as a timer: it costs a request.",
        compare_with: &["io-uring/nop:batch=1,setup=plain"],
        calls: &[exactly(ENTER, 1)],
        floor: &[at_least(1, "syscall/io-uring:batch=1")],
        axes: &[Axis {
            name: "end",
            sets: "how the timeout ends: it is over; it is removed; another operation completes; \
                   the operation that it limits completes; or it cancels that operation",
            points: Points::Words(&["over", "removed", "counted", "linked", "linked-over"]),
            default_points: Points::Words(&["over", "removed", "counted", "linked", "linked-over"]),
        }],
        needs: &[
            Need::io_uring(),
            Need::time().when(&[("end", "over")]),
            Need::time().when(&[("end", "linked-over")]),
        ],
        switches: true,
        source: "io_uring_enter(2); io_uring/timeout.c",
        build: timeout,
        ..DEFAULTS
    },
    Bench {
        id: "io-uring/link",
        asks: "What does a link between two io_uring operations cost?",
        op: "two no-ops, submitted by one io_uring_enter(2) that waits for both; order=linked: the \
             first has IOSQE_IO_LINK, so that the second starts when the first is done. Results \
             are checked. Not included: setting up the ring.",
        expected: "apart 400 ns for both, linked 550",
        why: "The second operation of a link is kept back, and is started by the task as deferred \
              work when the first is done, instead of by the loop that reads the entries.",
        calls: &[exactly(ENTER, 1)],
        floor: &[at_least(1, "syscall/io-uring:batch=1")],
        axes: &[Axis {
            name: "order",
            sets: "whether the second operation waits for the first",
            points: Points::Words(&["apart", "linked"]),
            default_points: Points::Words(&["apart", "linked"]),
        }],
        source: "io_uring_enter(2), IOSQE_IO_LINK; io_uring/io_uring.c",
        build: linked,
        ..DEFAULTS
    },
    Bench {
        id: "io-uring/setup",
        asks: "What does creating an io_uring cost?",
        op: "io_uring_setup(2) of a ring for `entries` submissions and twice as many completions, \
             and close(2) of it. The kernel destroys a closed ring later, in a workqueue, after an \
             RCU grace period: that is not in the figure. Before each batch it is waited for. Not \
             included: mapping the rings (mmap(2)), and the destruction.",
        expected: "8 us for 8 entries, 10 for 256, whose rings take seven pages instead of three",
        why: "The kernel allocates the context, a reference counter per CPU, the rings as zeroed \
              pages, and an open file. Programs set a ring up once, so that it does not matter, \
              unless each of many threads or connections has its own.",
        calls: &[exactly("io_uring_setup", 1), exactly("close", 1)],
        floor: &[at_least(2, KERNEL_ENTRY)],
        axes: &[Axis {
            name: "entries",
            sets: "number of submissions that the ring has room for",
            points: Points::Numbers(&[8, 256]),
            default_points: Points::Numbers(&[8, 256]),
        }],
        source: "io_uring_setup(2); io_uring/io_uring.c: io_uring_create, io_ring_exit_work",
        build: |params| rings(params.number("entries") as u32, BATCH_OF_RINGS),
        ..DEFAULTS
    },
    shots::ACCEPT,
    shots::RECEIVE,
];

/// One page: `size` is an axis of reads only, since /dev/null reads nothing.
const WRITE_BYTES: usize = 4_096;

const PLAIN: (&str, &str) = ("setup", "plain");
const DEFERRED: (&str, &str) = ("setup", "defer-taskrun");
const POLLED: (&str, &str) = ("setup", "sqpoll");
