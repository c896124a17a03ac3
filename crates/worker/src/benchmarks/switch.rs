//! Leaving the CPU to somebody else, and getting it back.
//!
//! A figure here is a round trip unless the definition says otherwise: two switches on one CPU. The
//! same calls made by one process to itself are the point `peer_cpu=none`, a row beside the others.

use super::prelude::*;
use crate::bench::{ExpectedCall, When, each_end};

mod handoff;
mod one_way;
mod pair;
pub(super) mod placement;
mod quantum;
mod ring;
mod sides;
#[cfg(test)]
mod tests;

pub(super) const FAMILY: Family = Family {
    name: "switch",
    about: "what it costs to leave the CPU to another task, and to get it back",
    benches: BENCHES,
};

const BETWEEN: Axis = Axis {
    name: "between",
    sets: "what the two sides are: two processes, or two threads of one",
    points: Points::Words(&["processes", "threads"]),
    default_points: Points::Words(&["processes"]),
};

const PEER_CPU: Axis = Axis {
    name: "peer_cpu",
    sets: "where the other side is pinned: to the same CPU or another, the last that it may use; \
           none: there is no other side, and one process makes the calls of both, without any \
           switch",
    points: Points::Words(&["same", "other", "none"]),
    default_points: Points::Words(&["same", "none"]),
};

/// The axes of most round trips.
const SIDES: &[Axis] = &[BETWEEN, PEER_CPU];

/// The calls of a side that hands over bytes.
const WRITE_AND_READ: &[ExpectedCall] = &[each_end("write", 1), each_end("read", 1)];

const PROCESSES: When = &[("between", "processes")];
const THREADS: When = &[("between", "threads")];
const STAYS: When = &[("peer", "stays")];
const EXITS: When = &[("peer", "exits")];
const SAME: When = &[("peer_cpu", "same")];
const OTHER: When = &[("peer_cpu", "other")];
const NONE: When = &[("peer_cpu", "none")];

/// What a round trip contains: on one CPU all the calls of both sides, one after the other; on two,
/// those of one side. `doors` is how many calls a side makes.
macro_rules! calls_below {
    ($id:literal, $doors:literal) => {
        &[
            at_least(1, concat!($id, ":between=processes,peer_cpu=none"))
                .when(&[("between", "processes"), ("peer_cpu", "same")]),
            at_least(1, concat!($id, ":between=threads,peer_cpu=none"))
                .when(&[("between", "threads"), ("peer_cpu", "same")]),
            at_least($doors, "syscall/getppid:via=raw").when(OTHER),
            at_least(2 * $doors, "syscall/getppid:via=raw").when(NONE),
        ]
    };
}

/// What the benchmarks of this family are unless they say otherwise.
const SWITCHING: Bench = Bench { switches: true, in_price_list: false, ..Bench::DEFAULT };

const BENCHES: &[Bench] = &[
    Bench {
        id: "switch/pipe",
        asks: "What does it cost to hand a byte to somebody who waits for it, and to get one back?",
        op: "a round trip: a byte written into a pipe that the other side waits at, and a read \
             until its answer is in a second pipe; the other side does the converse. Two calls a \
             side. With peer_cpu=none one process makes all four, and finds each byte there. \
             Outside: making the peer, which waits in its read before each op.",
        expected: "3 us on one CPU, of which 0.6 us are the calls; ten times as much on two, where \
                each wake-up is an interrupt to a CPU that sleeps; threads 10 % less than \
                processes",
        why: "A round trip is two switches on one CPU; half of it, which switch/half brings, is no \
              switch alone: the calls and the wake-up are in it. peer_cpu=none is those calls \
              without a switch; what is left of peer_cpu=same beside it is switching, sleeping and \
              waking. A side leaves the CPU once in a trip: because it waits (a voluntary switch), \
              or because whom it wakes throws it off at once (an involuntary one); then it finds \
              its answer there and never sleeps.",
        calls: WRITE_AND_READ,
        floor: calls_below!("switch/pipe", 2),
        axes: &[
            BETWEEN,
            Axis { default_points: Points::Words(&["same", "other", "none"]), ..PEER_CPU },
        ],
        source: "pipe(7); study sunos-1999, section 4; study cse221-2014, section 3.5",
        in_price_list: true,
        build: |at| or_refused(pair::round_trips(at, sides::pipes)),
        ..SWITCHING
    },
    Bench {
        id: "switch/signal",
        asks: "What does it cost to signal somebody who waits for it, and to be signalled back?",
        op: "a round trip: kill(2) of a process (tgkill(2) of a thread) that waits in \
             rt_sigsuspend(2), and an rt_sigsuspend until the answer has run our handler; the \
             other side does the converse. Three calls a side: a handler ends by rt_sigreturn(2). \
             With peer_cpu=none one process makes all six and signals itself. Outside: making the \
             peer and setting the handler, once. The peer waits before each op.",
        expected: "half as much again as a pipe on one CPU: the same two switches, six calls for \
                four, and two signal frames written to a stack and read back",
        why: "Why the big difference to a pipe (study sunos-1999)? Not the switches: either side \
              leaves the CPU once in a trip, here as there (voluntary and involuntary switches, \
              counted below). It is the calls: both sides together make six here and four there, \
              and two handlers run, for each of which a frame is written to a stack and read back. \
              The rows with peer_cpu=none make the same calls without a switch, and most of the \
              difference lies between them already. switch/sigwaitinfo parts it: it sends as many \
              signals and has no handler.",
        compare_with: &[
            "switch/pipe:between=processes,peer_cpu=same",
            "switch/pipe:between=processes,peer_cpu=none",
            "switch/sigwaitinfo:between=processes,peer_cpu=same",
            "switch/sigwaitinfo:between=processes,peer_cpu=none",
        ],
        calls: &[
            each_end("kill", 1).when(PROCESSES),
            each_end("tgkill", 1).when(THREADS),
            each_end("rt_sigsuspend", 1),
            each_end("rt_sigreturn", 1),
        ],
        floor: calls_below!("switch/signal", 3),
        axes: SIDES,
        source: "signal(7), sigsuspend(2); study sunos-1999, section 4",
        in_price_list: true,
        build: |at| or_refused(pair::round_trips(at, sides::handled_signals)),
        ..SWITCHING
    },
    Bench {
        id: "switch/sigwaitinfo",
        asks: "What does a signal cost if it is waited for and taken without a handler?",
        op: "a round trip as of switch/signal, but who waits does so in rt_sigtimedwait(2), the \
             call of sigwaitinfo(3), and takes the signal there. Two calls a side. With \
             peer_cpu=none one process makes all four. Outside: making the peer, which waits \
             before each op.",
        expected: "as a pipe: the same calls and switches, and no handler",
        calls: &[
            each_end("kill", 1).when(PROCESSES),
            each_end("tgkill", 1).when(THREADS),
            each_end("rt_sigtimedwait", 1),
        ],
        floor: calls_below!("switch/sigwaitinfo", 2),
        axes: SIDES,
        source: "sigwaitinfo(2); study sunos-1999, section 4",
        build: |at| or_refused(pair::round_trips(at, sides::awaited_signals)),
        ..SWITCHING
    },
    Bench {
        id: "switch/futex",
        asks: "What does it cost to wake somebody who waits at a word of memory, and back?",
        op: "a round trip: a word set to 1 and FUTEX_WAKE of whom waits at it, and FUTEX_WAIT at a \
             second word until that is 1 and is set back to 0; the other side does the converse. \
             Each word is one of two in turn, so that no wake-up comes to the wrong wait. Two calls \
             a side; between threads the words are private to the process, as a mutex's. \
             With peer_cpu=none one process makes all four: it wakes nobody, and each FUTEX_WAIT \
             says EAGAIN at once. Outside: making the peer, which waits before each op.",
        expected: "a little less than a pipe: no byte is copied and no file is looked up",
        calls: &[each_end("futex", 2)],
        floor: calls_below!("switch/futex", 2),
        axes: SIDES,
        source: "futex(2)",
        build: |at| or_refused(pair::round_trips(at, sides::futexes)),
        rev: 2,
        ..SWITCHING
    },
    Bench {
        id: "switch/eventfd",
        asks: "What does it cost to count up an eventfd that somebody waits at, and back?",
        op: "a round trip: 1 written to an eventfd(2) that the other side waits at, and a read of \
             a second one until it is not 0; the other side does the converse. Two calls a side. \
             With peer_cpu=none one process makes all four. Outside: making the peer, which waits \
             in its read before each op.",
        expected: "as a futex: the counter lies in the kernel, and there is no buffer",
        calls: WRITE_AND_READ,
        floor: calls_below!("switch/eventfd", 2),
        axes: SIDES,
        source: "eventfd(2)",
        build: |at| or_refused(pair::round_trips(at, sides::counters)),
        ..SWITCHING
    },
    Bench {
        id: "switch/unix",
        asks: "What does it cost to hand a byte through a socket of AF_UNIX, and to get one back?",
        op: "a round trip: a byte written into a stream of socketpair(2) that the other side waits \
             at, and a read until its answer is there; the other side does the converse. Two calls \
             a side. With peer_cpu=none one process has both ends and makes all four. Outside: \
             making the peer, which waits in its read before each op.",
        expected: "half as much again as a pipe: each byte travels in a buffer of its own",
        why: "A side leaves the CPU more than once in a trip: the reader's freeing of the byte's \
              buffer tells the sender that there is room, and that wakes it although it waits for \
              an answer (unix_write_space).",
        calls: WRITE_AND_READ,
        floor: calls_below!("switch/unix", 2),
        axes: SIDES,
        source: "unix(7), socketpair(2); net/unix/af_unix.c",
        build: |at| or_refused(pair::round_trips(at, sides::sockets)),
        ..SWITCHING
    },
    Bench {
        id: "switch/yield",
        asks: "What does a switch cost when nobody sleeps and nobody is woken?",
        op: "a round trip by sched_yield(2) between two sides that can both run: each gives way \
             until a word in shared memory says that it is its turn, and then hands the turn back. \
             With peer_cpu=none one process makes both sides' calls, and there is nobody to give \
             way to. Outside: making the peer, which sleeps between batches, and telling it how \
             many trips come.",
        expected: "2 us: two switches and two calls, and no wake-up; 0.5 us for the calls alone",
        why: "A yield need not switch, and where it does not a side yields again: an op has two \
              switches, however many calls, and the kernel books them as forced. Half of what is \
              left of peer_cpu=same beside peer_cpu=none is the nearest to a switch alone that a \
              program can come; but a yield that finds nobody has been through the scheduler too.",
        // A side that its tracer holds up is given way to in vain.
        calls: &[
            exactly("sched_yield", 2).when(NONE),
            up_to("sched_yield", 16).when(SAME),
            up_to("sched_yield", 16).by_peer().when(SAME),
            up_to("read", 1).by_peer().when(SAME),
        ],
        floor: &[
            at_least(1, YIELD_ALONE).when(SAME),
            at_least(2, "syscall/getppid:via=raw").when(NONE),
        ],
        axes: &[BETWEEN, Axis { points: Points::Words(&["same", "none"]), ..PEER_CPU }],
        source: "sched_yield(2); kernel/sched/fair.c: yield_task_fair",
        in_price_list: true,
        build: |at| or_refused(pair::round_trips(at, sides::turns)),
        ..SWITCHING
    },
    Bench {
        id: "switch/half",
        asks: "What did the studies call a context switch?",
        op: "half of a round trip on one CPU: of the time of 20 trips as switch/pipe and \
             switch/signal make them, a fortieth, by the raw monotonic clock. by=pipe and by=signal \
             between processes are study sunos-1999's two; by=pipe between threads is dt/2000 of \
             study cse221-2014, with fewer trips in a window, so that most windows have no tick. \
             Counted are the calls of all 20. \
             Outside: making the peer, which waits before each op.",
        expected: "half of those rows: 1.5 us by pipe, a little less between threads; 2.2 us by signal",
        why: "A name and not another act: the calls, the wake-up and the sleep of one side are in \
              it, beside one switch. The two halves of a trip are alike only on average.",
        calls: &[
            each_end("write", 20).when(&[("by", "pipe")]),
            each_end("read", 20).when(&[("by", "pipe")]),
            each_end("kill", 20).when(&[("by", "signal"), ("between", "processes")]),
            each_end("tgkill", 20).when(&[("by", "signal"), ("between", "threads")]),
            each_end("rt_sigsuspend", 20).when(&[("by", "signal")]),
            each_end("rt_sigreturn", 20).when(&[("by", "signal")]),
            // Where no clock can be read without.
            up_to("clock_gettime", 2),
        ],
        floor: &[
            at_least(2, "syscall/getppid:via=raw").when(&[("by", "pipe")]),
            at_least(3, "syscall/getppid:via=raw").when(&[("by", "signal")]),
        ],
        axes: &[
            Axis {
                name: "by",
                sets: "what they wake each other by",
                points: Points::Words(&["pipe", "signal"]),
                default_points: Points::Words(&["pipe", "signal"]),
            },
            Axis { default_points: Points::Words(&["processes", "threads"]), ..BETWEEN },
        ],
        source: "study sunos-1999, section 4; study cse221-2014, section 3.5",
        needs: &[Need::time()],
        build: |at| or_refused(pair::halves(at)),
        ..SWITCHING
    },
    Bench {
        id: "switch/one-way",
        asks: "How long does it take from one process to another, one way?",
        op: "a time, from its taking in the peer until a waiting reader has it, by the counter \
             that all CPUs share. peer=stays: a peer that stands by is asked, gives way so that \
             the reader waits, takes the time and writes it into the reader's pipe. peer=exits: it \
             is forked for this, takes the time, writes it and exits, and the reader reads when \
             waitpid(2) has returned, as study cse221-2014 does. Outside: asking, forking, and \
             what comes before the time is taken.",
        expected: "peer=stays half a round trip by pipe; peer=exits 30 us, most of it taking down the \
                peer's memory",
        why: "These are different acts, and neither is half a round trip. With peer=stays the figure holds a write, a wake-up, a \
              switch and the end of a read. With peer=exits nobody waits at the pipe: it holds the \
              write, the whole end of a process and its reaping, and a read.",
        calls: &[
            exactly("write", 1),
            exactly("read", 1),
            exactly("write", 1).by_peer().when(STAYS),
            exactly("read", 1).by_peer().when(STAYS),
            exactly("sched_yield", 1).by_peer().when(STAYS),
            // Where no clock can be read without.
            up_to("clock_gettime", 1),
            up_to("clock_gettime", 1).by_peer().when(STAYS),
            up_to("clock_gettime", 1).when(EXITS),
            exactly("getpid", 1).when(EXITS),
            exactly("clone", 1).when(EXITS),
            exactly("set_robust_list", 1).when(EXITS),
            exactly("prctl", 1).when(EXITS),
            exactly("getppid", 1).when(EXITS),
            exactly("sched_setaffinity", 1).when(EXITS),
            exactly("exit_group", 1).when(EXITS),
            exactly("wait4", 1).when(EXITS),
        ],
        floor: &[
            at_least(1, "syscall/getppid:via=raw").when(STAYS),
            at_least(2, "syscall/getppid:via=raw").when(EXITS),
        ],
        axes: &[
            Axis {
                name: "peer",
                sets: "what the peer does when it has written",
                points: Points::Words(&["stays", "exits"]),
                default_points: Points::Words(&["stays", "exits"]),
            },
            Axis {
                sets: "where the peer is pinned: to the reader's CPU or another",
                points: Points::Words(&["same", "other"]),
                default_points: Points::Words(&["same"]),
                ..PEER_CPU
            },
        ],
        source: "study cse221-2014, section 3.5",
        build: |at| or_refused(one_way::stamps(at)),
        ..SWITCHING
    },
    Bench {
        id: "switch/ring",
        asks: "What do switches cost among many processes, each with memory of its own?",
        op: "a lap: a byte goes by pipe round a ring of processes on one CPU, each of which reads \
             it, looks at a byte in every 64 of its own memory and writes it on. A lap is one hop \
             for each member: divide by them. With ring=1 one process hands the byte to itself, \
             without a switch. Outside: making the ring; all but the first wait before each op.",
        expected: "1.5 us a hop, and no more for 16 members than for 2 as long as there is no memory; \
                with 64 KiB each, 16 members no longer fit the second cache",
        why: "A hop among 4 or more may be dearer than between 2: of two, a member leaves the CPU \
              once in a lap; of more, thrown off by the neighbour that it wakes, it must come back \
              only to wait, which is a switch more (counted as involuntary).",
        calls: &[
            exactly("write", 1),
            exactly("read", 1),
            exactly("write", 1).by_peer().when(&[("ring", "2")]),
            exactly("read", 1).by_peer().when(&[("ring", "2")]),
            exactly("write", 3).by_peer().when(&[("ring", "4")]),
            exactly("read", 3).by_peer().when(&[("ring", "4")]),
            exactly("write", 7).by_peer().when(&[("ring", "8")]),
            exactly("read", 7).by_peer().when(&[("ring", "8")]),
            exactly("write", 15).by_peer().when(&[("ring", "16")]),
            exactly("read", 15).by_peer().when(&[("ring", "16")]),
        ],
        floor: &[
            at_least(2, "syscall/getppid:via=raw").when(&[("ring", "1")]),
            at_least(1, PIPE_ALONE).when(&[("ring", "2")]),
            at_least(2, PIPE_ALONE).when(&[("ring", "4")]),
            at_least(4, PIPE_ALONE).when(&[("ring", "8")]),
            at_least(8, PIPE_ALONE).when(&[("ring", "16")]),
        ],
        axes: &[
            Axis {
                name: "ring",
                sets: "processes in the ring; 1 is a process and itself",
                points: Points::Numbers(&[1, 2, 4, 8, 16]),
                default_points: Points::Numbers(&[1, 2, 16]),
            },
            Axis {
                name: "footprint",
                sets: "bytes of its own that each looks at between two switches",
                points: Points::Numbers(&[0, 16 << 10, 64 << 10, 1 << 20]),
                default_points: Points::Numbers(&[0, 64 << 10]),
            },
        ],
        source: "pipe(7); lmbench lat_ctx; study sunos-1999, section 4",
        build: |at| or_refused(ring::laps(at)),
        ..SWITCHING
    },
    Bench {
        id: "switch/quantum",
        asks: "How long may a process keep a CPU that another one wants, and what does it cost to \
               be thrown off?",
        op: "what the scheduler does to two processes that spin on one CPU, as their own times \
             show: figure=slice is how long the other one had it, from its first turn to its last; \
             figure=switch is from one's last turn to the other's first, the timer interrupt that \
             ends the slice included, and of the two switches of an absence the shorter, since a \
             third process that wants the CPU has its slice in one of them. Outside: the spinning. \
             No threshold tells a switch from an interrupt: one was away if the other's time \
             moved.",
        expected: "a slice of 4 ms, a tick at 250 Hz: what the scheduler grants is less, but it looks \
                at the tick; 3 us for the switch",
        why: "The third cause of a switch in study sunos-1999: the time is up. Nobody calls \
              anything; the tick finds that the slice has run out. In a virtual machine the tick is \
              most of it: compare half of what switch/yield has beside its calls. With two more \
              processes that want the CPU both switches may hold a slice of theirs: the run is \
              hostile then, and the row marked NOT_CLAIMABLE.",
        axes: &[Axis {
            name: "figure",
            sets: "which figure: the length of a slice, or the cost of a switch",
            points: Points::Words(&["slice", "switch"]),
            default_points: Points::Words(&["slice", "switch"]),
        }],
        // The peer goes to sleep when nobody spins beside it, and is woken.
        calls: &[up_to("write", 1)],
        source: "sched(7); kernel/sched/fair.c; study sunos-1999, section 4",
        needs: &[Need::time().when(&[("figure", "slice")])],
        build: |at| or_refused(quantum::absences(at)),
        ..SWITCHING
    },
];

const YIELD_ALONE: &str = "switch/yield:between=processes,peer_cpu=none";
const PIPE_ALONE: &str = "switch/pipe:between=processes,peer_cpu=none";
