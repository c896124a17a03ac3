//! Waiting for one of many descriptors, and other costs that grow with their number.

use super::prelude::*;
use crate::bench::PointFilter;
use crate::kernel::syscall::prepared::{EPOLL_WAIT, POLL};

mod axes;
mod interruption;
mod lowest_descriptor;
mod quirks;
mod register;
pub mod server;
mod set;
#[cfg(test)]
mod tests;
mod timeout;
mod wait;
mod waiters;

use axes::{
    BY_EDGE, BY_EPOLL, BY_MULTISHOT, BY_ONESHOT, BY_POLL, BY_PPOLL, BY_PSELECT, BY_RING, BY_SELECT,
    FDS, HERD, HIGHEST, METHOD, OVER, PEER_CPU, POSITION, READY, SELECT, USUAL_METHODS, WAITERS,
};
use set::Part;
use waiters::Figure;

pub(super) const FAMILY: Family = Family {
    name: "event",
    about: "the cost of waiting for one of many descriptors, as their number grows",
    benches: BENCHES,
};

/// Without ready descriptors the axis `position` does not apply.
const NO_POSITION: &str = "none of them is ready, so position does not apply";
/// Only epoll can wake some of several waiters.
const EPOLL_ONLY: &str = "only epoll(7) can wake fewer than all waiters (EPOLLEXCLUSIVE)";

/// Upper bound of setup and teardown per descriptor: for connections whose every call is stopped by
/// a tracer while calls are counted.
const SETUP: PointFilter = &[("fds", "500")];

/// The defaults of this family.
const DEFAULTS: Bench = Bench { in_price_list: false, setup_us: SETUP, ..Bench::DEFAULT };

const BENCHES: &[Bench] = &[
    Bench {
        id: "event/wait",
        asks: "What does finding the ready ones among many descriptors cost, if few are ready?",
        op: "one call that reports which descriptors of a set are readable, and everything that \
             its caller must do each time: for select(2) writing the bits before and reading them \
             after, for poll(2) scanning the entries until all ready ones are found; the position \
             of each is checked. The ready ones stay ready; only where new events alone are \
             reported (epoll-edge, io-uring-multishot) their byte is read and written again, two \
             more calls, and where an event is reported once (epoll-oneshot, io-uring-poll) it is \
             rearmed. With ready=none the call does not block; otherwise it may. Not included: \
             creating the descriptors and the set.",
        expected: "select 20 ns and poll 25 ns more per descriptor, select less than poll; epoll \
                   and io_uring the same for 10 as for 100,000: 250 ns; from 10 descriptors on \
                   epoll is the cheapest",
        why: "select and poll pass the whole set each time, and the kernel polls every file in it; \
              if the call may block it also adds itself to the wait queue of each until it finds a \
              ready one (event/idle separates the two). An epoll set is kept in the kernel and \
              notified by descriptors that become ready. kqueue(2) of the BSDs, and Solaris's \
              event ports and /dev/poll before them, keep such a set, too; Linux has none of them. \
              Reading the completions of an io_uring does not even need a call: one is made here.",
        calls: &[
            exactly(SELECT, 1).when(BY_SELECT),
            exactly("pselect6", 1).when(BY_PSELECT),
            exactly(POLL, 1).when(BY_POLL),
            exactly("ppoll", 1).when(BY_PPOLL),
            exactly(EPOLL_WAIT, 1).when(BY_EPOLL),
            exactly(EPOLL_WAIT, 1).when(BY_EDGE),
            exactly(EPOLL_WAIT, 1).when(BY_ONESHOT),
            exactly("io_uring_enter", 1).when(BY_RING),
            exactly("io_uring_enter", 1).when(BY_MULTISHOT),
            exactly("epoll_ctl", 1).when(&[("method", "epoll-oneshot"), ("ready", "one")]),
            up_to("epoll_ctl", 100_000).when(&[("method", "epoll-oneshot"), ("ready", "10pct")]),
            exactly("read", 1).when(&[("method", "epoll-edge"), ("ready", "one")]),
            exactly("write", 1).when(&[("method", "epoll-edge"), ("ready", "one")]),
            up_to("read", 100_000).when(&[("method", "epoll-edge"), ("ready", "10pct")]),
            up_to("write", 100_000).when(&[("method", "epoll-edge"), ("ready", "10pct")]),
            exactly("read", 1).when(&[("method", "io-uring-multishot"), ("ready", "one")]),
            exactly("write", 1).when(&[("method", "io-uring-multishot"), ("ready", "one")]),
            up_to("read", 100_000).when(&[("method", "io-uring-multishot"), ("ready", "10pct")]),
            up_to("write", 100_000).when(&[("method", "io-uring-multishot"), ("ready", "10pct")]),
        ],
        floor: &[at_least(1, KERNEL_ENTRY)],
        axes: &[
            Axis {
                default_points: Points::WithPriceList {
                    points: &USUAL_METHODS,
                    price_list: &Points::Words(&["poll", "epoll"]),
                },
                ..METHOD
            },
            FDS,
            READY,
            POSITION,
            HIGHEST,
            OVER,
        ],
        needs: &[
            Need::io_uring().when(BY_RING),
            Need::io_uring().when(BY_MULTISHOT),
            Need::not_applicable(NO_POSITION).when(&[("ready", "none"), ("position", "first")]),
            Need::not_applicable(NO_POSITION).when(&[("ready", "none"), ("position", "last")]),
        ],
        source: "study cs161-syscalls, The C10K problem; select(2), poll(2), epoll(7), \
                 io_uring_enter(2); fs/select.c, fs/eventpoll.c, io_uring/poll.c",
        in_price_list: true,
        build: |params| or_unavailable(wait::wait_work(params, Part::Whole)),
        ..DEFAULTS
    },
    Bench {
        id: "event/caller",
        asks: "How much of waiting is the caller's own work around the call?",
        op: "like event/wait, without the call that waits: select(2)'s bits are rewritten, and the \
             results of an earlier call are scanned and checked, in a loop; epoll-oneshot rearms \
             its event, and epoll-edge reads the byte and writes it. Not included: creating the \
             descriptors and the set, and the call that returned the results.",
        expected: "1 ns for epoll; for poll half a nanosecond per descriptor before the ready one; \
                   for select a hundredth of that",
        why: "The study's complaint about select, that the caller rewrites its set each time, is a \
              copy of one bit per descriptor. The entries of poll are 8 bytes apart and have to be \
              scanned; epoll returns the ready ones only.",
        calls: &[
            exactly("epoll_ctl", 1).when(&[("method", "epoll-oneshot"), ("ready", "one")]),
            up_to("epoll_ctl", 100_000).when(&[("method", "epoll-oneshot"), ("ready", "10pct")]),
            exactly("read", 1).when(&[("method", "epoll-edge"), ("ready", "one")]),
            exactly("write", 1).when(&[("method", "epoll-edge"), ("ready", "one")]),
            up_to("read", 100_000).when(&[("method", "epoll-edge"), ("ready", "10pct")]),
            up_to("write", 100_000).when(&[("method", "epoll-edge"), ("ready", "10pct")]),
        ],
        axes: &[
            Axis {
                sets: "the call that waits: as in event/wait; the caller's work for io_uring is in \
                       the ring, and cannot be done without one",
                points: Points::Words(&["select", "poll", "epoll", "epoll-edge", "epoll-oneshot"]),
                default_points: Points::Words(&["select", "poll"]),
                ..METHOD
            },
            Axis { default_points: Points::Numbers(&[100, 1_000]), ..FDS },
            Axis { points: Points::Words(&["one", "10pct"]), ..READY },
            POSITION,
            HIGHEST,
            OVER,
        ],
        source: "study cs161-syscalls, The C10K problem; select(2), poll(2)",
        build: |params| or_unavailable(wait::wait_work(params, Part::Caller)),
        ..DEFAULTS
    },
    Bench {
        id: "event/idle",
        asks: "What does an idle descriptor add to a call that waits, and in which step?",
        op: "the share of one descriptor in a call that is given `fds` pipes. With step=check none \
             is ready and the call does not block: the set is passed, and each descriptor polled. \
             With step=block only the last one is ready and the call may block: before it finds \
             it, it has added itself to the wait queues of all others, and it removes itself \
             again. The caller's own work is included, as in event/wait. Not included: creating \
             the descriptors and the set.",
        expected: "20 ns to check; 40 ns more to block and unblock",
        why: "The study's steps: all N are passed and checked (2 and 3), and if none is ready the \
              call joins and leaves all N wait queues (4). Checking is a file lookup and an \
              indirect call of its poll function; joining a queue takes an entry, a reference and \
              a lock, leaving it takes the lock again. A call that really blocked checks all \
              descriptors once more when it is woken: event/wakeup. epoll joins the queue when a \
              descriptor is added (event/register), and pays none of this here.",
        calls: &[
            once_per(100, SELECT).when(&[("method", "select"), ("fds", "100")]),
            once_per(1_000, SELECT).when(&[("method", "select"), ("fds", "1000")]),
            once_per(10_000, SELECT).when(&[("method", "select"), ("fds", "10000")]),
            once_per(100, POLL).when(&[("method", "poll"), ("fds", "100")]),
            once_per(1_000, POLL).when(&[("method", "poll"), ("fds", "1000")]),
            once_per(10_000, POLL).when(&[("method", "poll"), ("fds", "10000")]),
        ],
        axes: &[
            Axis {
                name: "step",
                sets: "what the kernel does with each descriptor: checks it; or also joins and \
                       leaves its wait queue to block",
                points: Points::Words(&["check", "block"]),
                default_points: Points::Words(&["check", "block"]),
            },
            Axis {
                points: Points::Words(&["select", "poll"]),
                default_points: Points::Words(&["select", "poll"]),
                ..METHOD
            },
            Axis {
                points: Points::Items("descriptor", &Points::Numbers(&[100, 1_000, 10_000])),
                default_points: Points::Numbers(&[100, 1_000]),
                ..FDS
            },
        ],
        source: "study cs161-syscalls, The C10K problem; select(2), poll(2); fs/select.c",
        build: |params| or_unavailable(wait::share_work(params)),
        ..DEFAULTS
    },
    Bench {
        id: "event/wakeup",
        asks: "How long does it take until a process that waits for one of many descriptors runs?",
        op: "by the counter that all CPUs share: from before a byte is written into the pipe in \
             the middle of a set (with herd=reuseport: before a connection is started) until the \
             call of a waiting process has returned, of the first one if there are several. Each \
             was confirmed asleep before (/proc/PID/stat). Not included: the waiter's reading the \
             byte and waiting again; checking that it sleeps.",
        expected: "2 us on one CPU for all methods with 10 descriptors; with 1,000 select and poll \
                   20 us more, since they check all of them again before they return; epoll the \
                   same",
        why: "A process woken in select or poll does not know by which descriptor: it checks \
              every descriptor again, and removes itself from every wait queue (the study's steps \
              3 and 4). Joining the queues happened before it slept, and is not part of this; \
              event/idle shows it. With several waiters all are woken unless they request \
              otherwise; this figure is the first one to run, and event/herd is how many do.",
        calls: EVENT_CALLS,
        floor: &[at_least(1, KERNEL_ENTRY)],
        axes: &[
            Axis {
                default_points: Points::WithPriceList {
                    points: &Points::Words(&["select", "poll", "epoll"]),
                    price_list: &Points::Words(&["epoll"]),
                },
                ..METHOD
            },
            Axis {
                default_points: Points::WithPriceList {
                    points: &Points::Numbers(&[100, 1_000]),
                    price_list: &Points::Numbers(&[100]),
                },
                ..FDS
            },
            PEER_CPU,
            WAITERS,
            HERD,
        ],
        needs: WAITER_NEEDS,
        in_price_list: true,
        switches: true,
        source: "study cs161-syscalls, The C10K problem; epoll_ctl(2), socket(7); fs/select.c, \
                 fs/eventpoll.c",
        build: |params| or_unavailable(waiters::wake_ups(params, Figure::FirstWakeUp)),
        ..DEFAULTS
    },
    Bench {
        id: "event/herd",
        asks: "How many of several waiters are woken by one event?",
        op: "the number of waiters that have left their CPU to wait once more than before, by the \
             kernel's own accounting (voluntary_ctxt_switches), after a byte was sent, one of them \
             has read it, and all sleep again. Not included: waiting until all sleep.",
        expected: "all of them; with EPOLLEXCLUSIVE and SO_REUSEPORT one",
        why: "A descriptor wakes every waiter. Each set is notified, each waiter runs, one finds \
              the byte and the others find nothing: a thundering herd. With EPOLLEXCLUSIVE the \
              descriptor wakes one of the sets added with it, perhaps more; with SO_REUSEPORT \
              each waiter has its own socket, and the kernel selects one for each connection.",
        calls: EVENT_CALLS,
        unit: Unit::TimesPerOp,
        axes: &[
            Axis { default_points: Points::Words(&["epoll"]), ..METHOD },
            Axis { default_points: Points::Numbers(&[10]), ..FDS },
            PEER_CPU,
            Axis { default_points: Points::Numbers(&[8]), ..WAITERS },
            Axis { default_points: Points::Words(&["all", "exclusive", "reuseport"]), ..HERD },
        ],
        needs: WAITER_NEEDS,
        switches: true,
        source: "epoll_ctl(2), socket(7); fs/eventpoll.c, kernel/sched/wait.c",
        build: |params| or_unavailable(waiters::wake_ups(params, Figure::WokenCount)),
        ..DEFAULTS
    },
    Bench {
        id: "event/register",
        asks: "What does changing a kernel-resident set of descriptors cost?",
        op: "in a set of `fds` pipes: adding one more, changing the events of one, or removing \
             one; or (act=build) creating and filling the whole set. epoll_ctl(2) for each; for an \
             io_uring one entry and one io_uring_enter(2) each, or one per 256 when a set is \
             built. Not included: creating the pipes; undoing the changes, between batches.",
        expected: "add 400 ns, modify and delete 300 ns, whatever the size of the set; building \
                   one of 1,000 takes 400 us, by io_uring half of that: one call per change \
                   against one for many",
        why: "O(N), but only once (study cs161-syscalls). An epoll set keeps its descriptors in a \
              tree ordered by file and number, so each change is a search; an entry is allocated, \
              and added to the wait queue of the file. What select and poll do on each call is \
              done here once. kqueue(2) passes many changes in the call that waits, as an io_uring \
              does; event ports have to be rearmed after each event, as with EPOLLONESHOT; \
              /dev/poll is written to. Linux has none of them.",
        calls: &[
            exactly("epoll_ctl", 1).when(&[("act", "add"), ("method", "epoll")]),
            exactly("epoll_ctl", 1).when(&[("act", "modify"), ("method", "epoll")]),
            exactly("epoll_ctl", 1).when(&[("act", "delete"), ("method", "epoll")]),
            exactly("epoll_create1", 1).when(&[("act", "build"), ("method", "epoll")]),
            exactly("epoll_ctl", 100).when(BUILD_100),
            exactly("epoll_ctl", 1_000).when(BUILD_1000),
            exactly("epoll_ctl", 10_000).when(BUILD_10000),
            exactly("io_uring_enter", 1).when(&[("act", "add"), ("method", "io-uring-poll")]),
            exactly("io_uring_enter", 1).when(&[("act", "modify"), ("method", "io-uring-poll")]),
            exactly("io_uring_enter", 1).when(&[("act", "delete"), ("method", "io-uring-poll")]),
            exactly("io_uring_setup", 1).when(&[("act", "build"), ("method", "io-uring-poll")]),
            up_to("io_uring_enter", 41).when(&[("act", "build"), ("method", "io-uring-poll")]),
            exactly("mmap", 3).when(&[("act", "build"), ("method", "io-uring-poll")]),
            // The event buffer of a set, for which libc may extend the heap.
            up_to("brk", 1).when(&[("act", "build")]),
        ],
        floor: &[at_least(1, NULL_CALL)],
        axes: &[
            Axis {
                name: "act",
                sets: "what is done to the set",
                points: Points::Words(&["add", "modify", "delete", "build"]),
                default_points: Points::Words(&["add", "build"]),
            },
            Axis {
                points: Points::Words(&["epoll", "io-uring-poll"]),
                default_points: Points::Words(&["epoll", "io-uring-poll"]),
                ..METHOD
            },
            Axis {
                name: "fds",
                sets: "number of descriptors in the set",
                points: Points::Numbers(&[100, 1_000, 10_000]),
                default_points: Points::Numbers(&[100]),
            },
        ],
        needs: &[Need::io_uring().when(BY_RING)],
        source: "study cs161-syscalls, The C10K problem; epoll_ctl(2), io_uring_enter(2); \
                 fs/eventpoll.c, io_uring/poll.c",
        build: |params| or_unavailable(register::changes(params)),
        ..DEFAULTS
    },
    Bench {
        id: "event/lowest-descriptor",
        asks: "What does finding the lowest free descriptor among many cost?",
        op: "two descriptors created by open(2) of /dev/null, dup(2), socket(2) or accept(2), and \
             both closed: four calls. Two numbers are free in a table with `fds` open descriptors; \
             the first call takes the lower one and the second has to search on from there, to the \
             next number, to one in the middle, or to the one after all others. The numbers are \
             checked. Not included: filling the table, connecting.",
        expected: "the same with 10,000 open as with 100: the search is by bits, 64 at a time and \
                   4,096 on the upper level, and starts at the lowest number that may be free",
        why: "POSIX guarantees the lowest free number, and the search for it (ufalloc) was one of \
              the two functions that the paper of 1998 blames. Linux remembers below which number \
              none is free, and keeps one bit per number and one for each word of them that is \
              full: 10,000 descriptors are three words of the upper level. The difference between \
              hole=low and high is that search.",
        calls: &[
            exactly("openat", 2).when(&[("call", "open")]),
            exactly("dup", 2).when(&[("call", "dup")]),
            exactly("socket", 2).when(&[("call", "socket")]),
            exactly("accept4", 2).when(&[("call", "accept")]),
            exactly("close", 2),
        ],
        floor: &[at_least(4, NULL_CALL)],
        axes: &[
            Axis {
                name: "call",
                sets: "the call that allocates the descriptors",
                points: Points::Words(&["open", "dup", "socket", "accept"]),
                default_points: Points::Words(&["dup"]),
            },
            Axis {
                name: "fds",
                sets: "number of open descriptors",
                points: Points::Range {
                    min: 16,
                    max: 1_000_000,
                    points: &[100, 1_000, 10_000, 100_000],
                },
                default_points: Points::Numbers(&[100, 10_000]),
            },
            Axis {
                name: "hole",
                sets: "position of the second free number",
                points: Points::Words(&["low", "middle", "high"]),
                default_points: Points::Words(&["low", "high"]),
            },
        ],
        needs: &[Need::readable("/dev/null")],
        source: "study cs161-syscalls, The C10K problem; dup(2); fs/file.c: alloc_fd",
        build: |params| or_unavailable(lowest_descriptor::lowest_descriptor_work(params)),
        ..DEFAULTS
    },
    timeout::ERROR,
    timeout::EARLY,
    timeout::CALL_COUNT,
    quirks::QUIRKS,
    quirks::COUNTS,
    quirks::NESTED,
    server::SERVER,
];

const BUILD_100: PointFilter = &[("act", "build"), ("method", "epoll"), ("fds", "100")];
const BUILD_1000: PointFilter = &[("act", "build"), ("method", "epoll"), ("fds", "1000")];
const BUILD_10000: PointFilter = &[("act", "build"), ("method", "epoll"), ("fds", "10000")];

/// The calls that trigger an event, and wait until it has been handled and all sleep again.
const EVENT_CALLS: &[ExpectedCall] = &[
    up_to("write", 1),
    up_to("pread64", 100_000),
    up_to("sched_yield", 100_000),
    // Only where reading a clock takes a system call.
    up_to("clock_gettime", 100_000),
    exactly("socket", 1).when(&[("herd", "reuseport")]),
    exactly("connect", 1).when(&[("herd", "reuseport")]),
    exactly("setsockopt", 1).when(&[("herd", "reuseport")]),
    exactly("close", 1).when(&[("herd", "reuseport")]),
    // The standard library's own check before closing, if debug assertions are compiled in.
    up_to("fcntl", 1).when(&[("herd", "reuseport")]),
];

/// The needs of benchmarks with several waiters.
const WAITER_NEEDS: &[Need] = &[
    Need::io_uring().when(BY_RING),
    Need::io_uring().when(BY_MULTISHOT),
    Need::not_applicable(EPOLL_ONLY).when(&[("herd", "exclusive"), ("method", "select")]),
    Need::not_applicable(EPOLL_ONLY).when(&[("herd", "exclusive"), ("method", "pselect")]),
    Need::not_applicable(EPOLL_ONLY).when(&[("herd", "exclusive"), ("method", "poll")]),
    Need::not_applicable(EPOLL_ONLY).when(&[("herd", "exclusive"), ("method", "ppoll")]),
    Need::not_applicable("EPOLLEXCLUSIVE and EPOLLONESHOT exclude each other")
        .when(&[("herd", "exclusive"), ("method", "epoll-oneshot")]),
    Need::not_applicable(EPOLL_ONLY).when(&[("herd", "exclusive"), ("method", "io-uring-poll")]),
    Need::not_applicable(EPOLL_ONLY)
        .when(&[("herd", "exclusive"), ("method", "io-uring-multishot")]),
];
