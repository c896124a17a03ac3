//! Waiting for one of many descriptors, and what else grows with their number.

use super::prelude::*;
use crate::bench::When;
use crate::kernel::syscall::prepared::{EPOLL_WAIT, POLL};

mod crowd;
mod lowest;
mod quirks;
mod register;
pub mod server;
mod set;
#[cfg(test)]
mod tests;
mod timeout;
mod wait;

use crowd::Figure;
use set::Part;

pub(super) const FAMILY: Family = Family {
    name: "event",
    about: "what it costs to wait for one of many descriptors, as they grow",
    benches: BENCHES,
};

const DOOR: &str = "syscall/getppid:via=raw";
/// The entry alone: epoll_wait(2) on a set where nothing is ready does less than getppid(2).
const ENTRY: &str = "syscall/invalid";

/// What the kernel calls the select of `method=select`.
#[cfg(target_arch = "x86_64")]
const SELECT: &str = "select";
#[cfg(not(target_arch = "x86_64"))]
const SELECT: &str = "pselect6";

const METHOD: Axis = Axis {
    name: "method",
    sets: "how is waited: select, poll; an epoll set, told as long as a descriptor is ready, at \
           its edges, or once until asked for again; a poll in an io_uring, for one event or for \
           all. kqueue (BSD, macOS), event ports and the older /dev/poll (Solaris) would stand \
           here; Linux has none of them",
    points: Points::Words(&[
        "select",
        "pselect",
        "poll",
        "ppoll",
        "epoll",
        "epoll-edge",
        "epoll-oneshot",
        "io-uring-poll",
        "io-uring-multishot",
    ]),
    default_points: USUAL_METHODS,
};

const USUAL_METHODS: Points = Points::Words(&["select", "poll", "epoll", "io-uring-poll"]);

const FDS: Axis = Axis {
    name: "fds",
    sets: "how many descriptors are in the set, ready ones among them",
    points: Points::Items(
        "descriptor",
        &Points::Range {
            min: 1,
            max: 1_000_000,
            points: &[
                10, 18, 32, 56, 100, 160, 250, 400, 630, 1_000, 3_000, 10_000, 30_000, 100_000,
            ],
        },
    ),
    default_points: Points::WithPriceList {
        // A law of growth takes ten points over two decades.
        points: &Points::Numbers(&[10, 18, 32, 56, 100, 160, 250, 400, 630, 1_000]),
        price_list: &Points::Numbers(&[100]),
    },
};

const READY: Axis = Axis {
    name: "ready",
    sets: "how many of them are ready: none, and the call does not wait; one; a tenth",
    points: Points::Words(&["none", "one", "10pct"]),
    default_points: Points::Words(&["one"]),
};

const POSITION: Axis = Axis {
    name: "position",
    sets: "where among them the ready ones stand",
    points: Points::Words(&["first", "middle", "last"]),
    default_points: Points::Implied("middle"),
};

const HIGHEST: Axis = Axis {
    name: "highest",
    sets: "the number of the last descriptor: as low as may be, 4,095 or 16,383",
    points: Points::Words(&["low", "4k", "16k"]),
    default_points: Points::Implied("low"),
};

const OVER: Axis = Axis {
    name: "over",
    sets: "what the descriptors are",
    points: Points::Words(&["pipe", "socketpair", "tcp", "eventfd"]),
    default_points: Points::Implied("pipe"),
};

const PEER_CPU: Axis = Axis {
    name: "peer_cpu",
    sets: "where the waiters are pinned: to the CPU of who makes it happen, or to another",
    points: Points::Words(&["same", "other"]),
    default_points: Points::Words(&["same"]),
};

const WAITERS: Axis = Axis {
    name: "waiters",
    sets: "how many processes wait for it, each with a set of its own",
    points: Points::Numbers(&[1, 2, 8]),
    default_points: Points::Numbers(&[1]),
};

const HERD: Axis = Axis {
    name: "herd",
    sets: "what several wait for: all for one byte; the same by EPOLLEXCLUSIVE; each at a socket \
           of its own for a connection to one port (SO_REUSEPORT)",
    points: Points::Words(&["all", "exclusive", "reuseport"]),
    default_points: Points::Implied("all"),
};

const BY_SELECT: When = &[("method", "select")];
const BY_PSELECT: When = &[("method", "pselect")];
const BY_POLL: When = &[("method", "poll")];
const BY_PPOLL: When = &[("method", "ppoll")];
const BY_EPOLL: When = &[("method", "epoll")];
const BY_EDGE: When = &[("method", "epoll-edge")];
const BY_ONESHOT: When = &[("method", "epoll-oneshot")];
const BY_RING: When = &[("method", "io-uring-poll")];
const BY_MULTISHOT: When = &[("method", "io-uring-multishot")];

/// Nothing that is ready stands anywhere.
const NOWHERE: &str = "none of them is ready: there is nothing to stand anywhere";
/// Only epoll wakes some of those that wait for the same.
const OF_EPOLL: &str = "only epoll(7) can be told to wake fewer than all (EPOLLEXCLUSIVE)";

/// What setting up and ending take at the worst, for each descriptor: of connections, whose every
/// call a tracer stops where calls are counted.
const SETUP: When = &[("fds", "500")];

/// What the benchmarks of this family are unless they say otherwise.
const MANY: Bench = Bench { in_price_list: false, setup_us: SETUP, ..Bench::DEFAULT };

const BENCHES: &[Bench] = &[
    Bench {
        id: "event/wait",
        asks: "What does it cost to learn which of many descriptors are ready, when few are?",
        op: "one call that says which of a set's descriptors can be read, and all that its caller \
             must do each time: select(2)'s bits are written before and read after, poll(2)'s \
             answers are looked through until all are found, each answer's place is checked. The \
             ready ones stay ready; only where nothing but news is told (epoll-edge, \
             io-uring-multishot) their byte is read and written again, two more calls, and where \
             an event is told once (epoll-oneshot, io-uring-poll) it is asked for again. With \
             ready=none the call does not wait, otherwise it would for ever. Outside: making \
             descriptors and set.",
        expected: "select 20 ns and poll 25 ns more for each descriptor, select less than poll; epoll \
                and io_uring the same for 10 as for 100,000: 250 ns; from 10 descriptors on epoll \
                is the cheapest",
        why: "select and poll bring the whole set each time, and the kernel asks every file in it; \
              if it may wait it also puts itself on the list of each until it finds a ready one \
              (event/idle parts the two). An epoll set lives in the kernel and is told by who \
              becomes ready. kqueue(2) of the BSDs, and Solaris' event ports and /dev/poll before \
              them, keep such a set, too; Linux has none of them. A look at the answers of an \
              io_uring need not even be a call: one is made here.",
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
        floor: &[at_least(1, ENTRY)],
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
            Need::not_applicable(NOWHERE).when(&[("ready", "none"), ("position", "first")]),
            Need::not_applicable(NOWHERE).when(&[("ready", "none"), ("position", "last")]),
        ],
        source: "study cs161-syscalls, The C10K problem; select(2), poll(2), epoll(7), \
                 io_uring_enter(2); fs/select.c, fs/eventpoll.c, io_uring/poll.c",
        in_price_list: true,
        build: |at| or_refused(wait::asks(at, Part::Whole)),
        ..MANY
    },
    Bench {
        id: "event/caller",
        asks: "How much of waiting is the caller's own work around the call?",
        op: "as event/wait, without the call that waits: select(2)'s bits are written anew, and \
             the answers of a call that was made before are looked through and checked, in a loop; \
             epoll-oneshot asks for its event again, and epoll-edge reads the byte and writes it. \
             Outside: making descriptors and set, and the call that gave the answers.",
        expected: "1 ns for epoll; for poll half a nanosecond for each descriptor before the ready \
                one; for select a hundredth of that",
        why: "What the study holds against select, that the caller writes its set anew each time, \
              is a copy of a bit a descriptor. The answers of poll lie 8 bytes apart and must be \
              gone through; epoll hands over those that are ready and nothing else.",
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
                sets: "how is waited: as in event/wait; what goes around a call of io_uring is in \
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
        build: |at| or_refused(wait::asks(at, Part::Caller)),
        ..MANY
    },
    Bench {
        id: "event/idle",
        asks: "What does an idle descriptor add to a call that waits, and in which of its steps?",
        op: "the share of one descriptor in a call that is given so many pipes. At step=check none \
             is ready and the call does not wait: the set is passed, and each asked. At step=block \
             the last one alone is ready and the call may wait: on its way there it has put \
             itself on the lists of all others, and it takes itself off them again. What the \
             caller does each time is inside, as in event/wait. Outside: making descriptors and \
             set.",
        expected: "20 ns to check; 40 ns more to block and unblock",
        why: "The study's steps: all N are passed and checked (2 and 3), and where none has \
              anything to say all N lists are joined and left (4). Checking is a file looked up \
              and its poll function called through a pointer; joining takes an entry, a \
              reference and a lock, leaving the lock again. What has blocked in earnest checks \
              all once more when it is woken: event/wakeup. epoll has joined the lists when a \
              descriptor was added (event/register), and pays none of this here.",
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
                sets: "what the kernel does with each descriptor: it checks it; or that, and what \
                       it takes to block on it and to unblock",
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
        build: |at| or_refused(wait::shares(at)),
        ..MANY
    },
    Bench {
        id: "event/wakeup",
        asks: "How long does it take until somebody who waits for one of many descriptors runs?",
        op: "a time, by the counter that all CPUs share: from before a byte is written into the \
             pipe in the middle of a set (with herd=reuseport: from before a connection is begun) \
             until the call of a process that waits for it has come back, the first of them if \
             there are more. Each was seen asleep before (/proc/PID/stat). Outside: the waiter's \
             reading the byte and waiting again; looking whether it sleeps.",
        expected: "2 us on one CPU for all methods at 10 descriptors; at 1,000 select and poll 20 us \
                more, since they ask all of them again before they come back; epoll the same",
        why: "Who is woken in select or poll does not know by whom: it asks every descriptor \
              again, and takes itself off every list (the study's steps 3 and 4). Putting itself \
              there came before it slept, and is no part of this; event/idle shows it. With \
              several waiters all are woken, unless they ask not to be; here counts who runs \
              first, and event/herd how many do.",
        calls: ONE_EVENT,
        floor: &[at_least(1, ENTRY)],
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
        needs: HERDS,
        in_price_list: true,
        switches: true,
        source: "study cs161-syscalls, The C10K problem; epoll_ctl(2), socket(7); fs/select.c, \
                 fs/eventpoll.c",
        build: |at| or_refused(crowd::wakes(at, Figure::First)),
        ..MANY
    },
    Bench {
        id: "event/herd",
        asks: "How many of those who wait for the same are woken by one event?",
        op: "how many of the waiters have left their CPU to wait once more than before, by the \
             kernel's own account (voluntary_ctxt_switches), when a byte has come, one of them \
             has it, and all sleep again. Outside: waiting until all sleep.",
        expected: "all of them, but for EPOLLEXCLUSIVE and SO_REUSEPORT: one",
        why: "A descriptor wakes whoever waits for it. Each set is told, each waiter runs, one \
              finds the byte and the others find nothing: a thundering herd. With EPOLLEXCLUSIVE \
              the descriptor wakes one set that did so, perhaps more; with SO_REUSEPORT each \
              waiter has a socket of its own, and the kernel chooses one for each connection.",
        calls: ONE_EVENT,
        unit: oscost_model::unit::Unit::TimesPerOp,
        axes: &[
            Axis { default_points: Points::Words(&["epoll"]), ..METHOD },
            Axis { default_points: Points::Numbers(&[10]), ..FDS },
            PEER_CPU,
            Axis { default_points: Points::Numbers(&[8]), ..WAITERS },
            Axis { default_points: Points::Words(&["all", "exclusive", "reuseport"]), ..HERD },
        ],
        needs: HERDS,
        switches: true,
        source: "epoll_ctl(2), socket(7); fs/eventpoll.c, kernel/sched/wait.c",
        build: |at| or_refused(crowd::wakes(at, Figure::Woken)),
        ..MANY
    },
    Bench {
        id: "event/register",
        asks: "What does it cost to tell a set that lives in the kernel about a descriptor?",
        op: "of a set that has so many pipes: a further one added, other events asked for one of \
             them, one taken out; or (act=build) the whole set made and filled. epoll_ctl(2) for \
             each; of an io_uring an entry and io_uring_enter(2) for each, for every 256 when a \
             set is built. Outside: making pipes; undoing what was done, between batches.",
        expected: "add 400 ns, modify and delete 300 ns, whatever the set holds; building 1,000 \
                takes 400 us, by io_uring half of that: a call for each change against one for \
                many",
        why: "O(N), but just once (study cs161-syscalls). An epoll set keeps its descriptors in a \
              tree by file and number, so that each change is a search; an entry is allocated, \
              and put on the list of those that the file wakes. What select and poll do for \
              each call is done here once. kqueue(2) hands over many changes in the call that \
              waits, as an io_uring does; event ports are told of a descriptor again after each \
              event, as with EPOLLONESHOT; /dev/poll is written to. Linux has none of them.",
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
            // Of a set's list of events, which the C library may map by itself.
            up_to("brk", 1).when(&[("act", "build")]),
        ],
        floor: &[at_least(1, DOOR)],
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
                sets: "how many descriptors are in the set",
                points: Points::Numbers(&[100, 1_000, 10_000]),
                default_points: Points::Numbers(&[100]),
            },
        ],
        needs: &[Need::io_uring().when(BY_RING)],
        source: "study cs161-syscalls, The C10K problem; epoll_ctl(2), io_uring_enter(2); \
                 fs/eventpoll.c, io_uring/poll.c",
        build: |at| or_refused(register::changes(at)),
        ..MANY
    },
    Bench {
        id: "event/lowest-descriptor",
        asks: "What does it cost to find the lowest free descriptor among many?",
        op: "two descriptors made by open(2) of /dev/null, dup(2), socket(2) or accept(2), and \
             both closed: four calls. Two numbers are free in a table that has so many \
             descriptors open; the first call takes the lower one and the second must go on from \
             there, to the next number, to one in the middle, or to the one behind all. That they \
             were these is checked. Outside: filling the table, connecting.",
        expected: "as much with 10,000 open as with 100: the search is by bits, 64 at a time and \
                4,096 above that, and begins at the lowest number that may be free",
        why: "POSIX promises the lowest free number, and the search for it (ufalloc) was one of \
              the two functions that the paper of 1998 blames. Linux remembers below which number \
              none is free, and keeps a bit for each number and one for each word of them that is \
              full: 10,000 descriptors are three words of the upper kind. What is left between \
              hole=low and high is that search.",
        calls: &[
            exactly("openat", 2).when(&[("call", "open")]),
            exactly("dup", 2).when(&[("call", "dup")]),
            exactly("socket", 2).when(&[("call", "socket")]),
            exactly("accept4", 2).when(&[("call", "accept")]),
            exactly("close", 2),
        ],
        floor: &[at_least(4, DOOR)],
        axes: &[
            Axis {
                name: "call",
                sets: "which call hands out the descriptors",
                points: Points::Words(&["open", "dup", "socket", "accept"]),
                default_points: Points::Words(&["dup"]),
            },
            Axis {
                name: "fds",
                sets: "how many descriptors are open",
                points: Points::Range {
                    min: 16,
                    max: 1_000_000,
                    points: &[100, 1_000, 10_000, 100_000],
                },
                default_points: Points::Numbers(&[100, 10_000]),
            },
            Axis {
                name: "hole",
                sets: "where the second free number is",
                points: Points::Words(&["low", "middle", "high"]),
                default_points: Points::Words(&["low", "high"]),
            },
        ],
        needs: &[Need::readable("/dev/null")],
        source: "study cs161-syscalls, The C10K problem; dup(2); fs/file.c: alloc_fd",
        build: |at| or_refused(lowest::opened(at)),
        ..MANY
    },
    timeout::ERROR,
    timeout::EARLY,
    timeout::TURNS,
    quirks::QUIRKS,
    quirks::COUNTS,
    quirks::NESTED,
    server::SERVER,
];

const BUILD_100: When = &[("act", "build"), ("method", "epoll"), ("fds", "100")];
const BUILD_1000: When = &[("act", "build"), ("method", "epoll"), ("fds", "1000")];
const BUILD_10000: When = &[("act", "build"), ("method", "epoll"), ("fds", "10000")];

/// What it takes to make something happen, and to wait until it was seen and all sleep again.
const ONE_EVENT: &[ExpectedCall] = &[
    up_to("write", 1),
    up_to("pread64", 100_000),
    up_to("sched_yield", 100_000),
    // Where no clock can be read without.
    up_to("clock_gettime", 100_000),
    exactly("socket", 1).when(&[("herd", "reuseport")]),
    exactly("connect", 1).when(&[("herd", "reuseport")]),
    exactly("setsockopt", 1).when(&[("herd", "reuseport")]),
    exactly("close", 1).when(&[("herd", "reuseport")]),
    // The standard library's own check before it closes, where such checks are compiled in.
    up_to("fcntl", 1).when(&[("herd", "reuseport")]),
];

/// What several waiters need of a point.
const HERDS: &[Need] = &[
    Need::io_uring().when(BY_RING),
    Need::io_uring().when(BY_MULTISHOT),
    Need::not_applicable(OF_EPOLL).when(&[("herd", "exclusive"), ("method", "select")]),
    Need::not_applicable(OF_EPOLL).when(&[("herd", "exclusive"), ("method", "pselect")]),
    Need::not_applicable(OF_EPOLL).when(&[("herd", "exclusive"), ("method", "poll")]),
    Need::not_applicable(OF_EPOLL).when(&[("herd", "exclusive"), ("method", "ppoll")]),
    Need::not_applicable("EPOLLEXCLUSIVE and EPOLLONESHOT exclude each other")
        .when(&[("herd", "exclusive"), ("method", "epoll-oneshot")]),
    Need::not_applicable(OF_EPOLL).when(&[("herd", "exclusive"), ("method", "io-uring-poll")]),
    Need::not_applicable(OF_EPOLL).when(&[("herd", "exclusive"), ("method", "io-uring-multishot")]),
];
