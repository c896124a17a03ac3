//! Context switches: giving up the CPU, and getting it back.
//!
//! A figure here is a round trip unless the definition says otherwise: two switches on one CPU. The
//! same calls made by one process to itself are the point `peer_cpu=none`, a row of its own.

use super::prelude::*;
use crate::bench::{ExpectedCall, PointFilter, each_end};

mod cpu_time;
mod handoff;
mod mechanisms;
mod one_way;
mod pair;
mod quantum;
mod ring;
#[cfg(test)]
mod tests;

pub(super) const FAMILY: Family = Family {
    name: "switch",
    about: "the cost of switching to another task, and back",
    benches: BENCHES,
};

const BETWEEN: Axis = Axis {
    name: "between",
    sets: "what the two ends are: two processes, or two threads of one",
    points: Points::Words(&["processes", "threads"]),
    default_points: Points::Words(&["processes"]),
};

const PEER_CPU: Axis = Axis {
    name: "peer_cpu",
    sets: "where the peer is pinned: to the same CPU or to another one (the last that it may use); \
           none: there is no peer, and one process makes the calls of both ends, without a switch",
    points: Points::Words(&["same", "other", "none"]),
    default_points: Points::Words(&["same", "none"]),
};

/// The axes of most round trips.
const ENDS: &[Axis] = &[BETWEEN, PEER_CPU];

/// The calls of an end that sends and receives bytes.
const WRITE_AND_READ: &[ExpectedCall] = &[each_end("write", 1), each_end("read", 1)];

const PROCESSES: PointFilter = &[("between", "processes")];
const THREADS: PointFilter = &[("between", "threads")];
const STAYS: PointFilter = &[("peer", "stays")];
const EXITS: PointFilter = &[("peer", "exits")];
const SAME: PointFilter = &[("peer_cpu", "same")];
const OTHER: PointFilter = &[("peer_cpu", "other")];
const NONE: PointFilter = &[("peer_cpu", "none")];

/// What a round trip contains: on one CPU all the calls of both ends, one after the other; on two,
/// those of one end. `calls` is the number of calls per end.
macro_rules! calls_below {
    ($id:literal, $calls:literal) => {
        &[
            at_least(1, concat!($id, ":between=processes,peer_cpu=none"))
                .when(&[("between", "processes"), ("peer_cpu", "same")]),
            at_least(1, concat!($id, ":between=threads,peer_cpu=none"))
                .when(&[("between", "threads"), ("peer_cpu", "same")]),
            at_least($calls, NULL_CALL).when(OTHER),
            at_least(2 * $calls, NULL_CALL).when(NONE),
        ]
    };
}

/// What the benchmarks of this family are unless they say otherwise.
const DEFAULTS: Bench = Bench { switches: true, in_price_list: false, ..Bench::DEFAULT };

const BENCHES: &[Bench] = &[
    Bench {
        id: "switch/pipe",
        asks: "What does passing a byte through a pipe to a waiting peer and getting one back \
               cost?",
        op: "a round trip: a byte written into a pipe that the peer is reading, and a read until \
             its answer is in a second pipe; the peer does the converse. Two calls per end. With \
             peer_cpu=none one process makes all four, and finds each byte there. Not included: \
             creating the peer, which waits in its read before each op.",
        expected: "3 us on one CPU, of which the calls are 0.6 us; ten times as much on two, where \
                   each wake-up is an interrupt to a sleeping CPU; threads 10 % less than \
                   processes",
        why: "A round trip is two switches on one CPU; half of it, which switch/half reports, is \
              more than a switch: it includes the calls and the wake-up. peer_cpu=none is those \
              calls without a switch; the difference to peer_cpu=same is switching, sleeping and \
              waking. Each end leaves the CPU once per round trip: because it waits (a voluntary \
              switch), or because the task that it wakes preempts it at once (an involuntary one); \
              then it finds its answer there and never sleeps.",
        calls: WRITE_AND_READ,
        floor: calls_below!("switch/pipe", 2),
        axes: &[
            BETWEEN,
            Axis { default_points: Points::Words(&["same", "other", "none"]), ..PEER_CPU },
        ],
        source: "pipe(7); study sunos-1999, section 4; study cse221-2014, section 3.5",
        in_price_list: true,
        build: |params| or_unavailable(pair::round_trips(params, mechanisms::pipes)),
        ..DEFAULTS
    },
    Bench {
        id: "switch/signal",
        asks: "What does signalling a waiting peer and being signalled back cost?",
        op: "a round trip: kill(2) of a process (tgkill(2) of a thread) that waits in \
             rt_sigsuspend(2), and an rt_sigsuspend until the answer has run the handler; the peer \
             does the converse. Three calls per end: a handler returns by rt_sigreturn(2). With \
             peer_cpu=none one process makes all six and signals itself. Not included: creating \
             the peer and installing the handler, once. The peer waits before each op.",
        expected: "one and a half times a pipe on one CPU: the same two switches, six calls \
                   instead of four, and two signal frames written to a stack and read back",
        why: "Why is it so much slower than a pipe (study sunos-1999)? Not because of the \
              switches: either end leaves the CPU once per round trip in both cases (voluntary and \
              involuntary switches, counted below). It is the calls: both ends together make six \
              here and four there, and two handlers run, each with a frame written to a stack and \
              read back. The rows with peer_cpu=none make the same calls without a switch, and \
              show most of the difference already. switch/sigwaitinfo separates the two: it sends \
              as many signals and has no handler.",
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
        axes: ENDS,
        source: "signal(7), sigsuspend(2); study sunos-1999, section 4",
        build: |params| or_unavailable(pair::round_trips(params, mechanisms::handled_signals)),
        ..DEFAULTS
    },
    Bench {
        id: "switch/sigwaitinfo",
        asks: "What does a signal cost if it is received without a handler?",
        op: "a round trip like switch/signal, but the waiting end calls rt_sigtimedwait(2), the \
             call behind sigwaitinfo(2), and takes the signal there. Two calls per end. With \
             peer_cpu=none one process makes all four. Not included: creating the peer, which \
             waits before each op.",
        expected: "the same as a pipe: the same calls and switches, and no handler",
        calls: &[
            each_end("kill", 1).when(PROCESSES),
            each_end("tgkill", 1).when(THREADS),
            each_end("rt_sigtimedwait", 1),
        ],
        floor: calls_below!("switch/sigwaitinfo", 2),
        axes: ENDS,
        source: "sigwaitinfo(2); study sunos-1999, section 4",
        build: |params| or_unavailable(pair::round_trips(params, mechanisms::awaited_signals)),
        ..DEFAULTS
    },
    Bench {
        id: "switch/futex",
        asks: "What does waking a peer that waits on a futex, and being woken back, cost?",
        op: "a round trip: a word set to 1 and FUTEX_WAKE of the peer waiting on it, and \
             FUTEX_WAIT on a second word until that is 1 and is reset to 0; the peer does the \
             converse. Each word is one of two that alternate, so that no wake-up reaches the \
             wrong wait. Two calls per end; between threads the words are process-private, like a \
             mutex. With peer_cpu=none one process makes all four: it wakes no task, and each \
             FUTEX_WAIT fails with EAGAIN at once. Not included: creating the peer, which waits \
             before each op.",
        expected: "a little less than a pipe: no byte is copied and no file is looked up",
        calls: &[each_end("futex", 2)],
        floor: calls_below!("switch/futex", 2),
        axes: ENDS,
        in_price_list: true,
        source: "futex(2)",
        build: |params| or_unavailable(pair::round_trips(params, mechanisms::futexes)),
        rev: 2,
        ..DEFAULTS
    },
    Bench {
        id: "switch/eventfd",
        asks: "What does signalling a waiting peer through an eventfd, and back, cost?",
        op: "a round trip: 1 written to an eventfd(2) that the peer is reading, and a read of a \
             second one until it is not 0; the peer does the converse. Two calls per end. With \
             peer_cpu=none one process makes all four. Not included: creating the peer, which \
             waits in its read before each op.",
        expected: "the same as a futex: the counter is in the kernel, and there is no buffer",
        calls: WRITE_AND_READ,
        floor: calls_below!("switch/eventfd", 2),
        axes: ENDS,
        source: "eventfd(2)",
        build: |params| or_unavailable(pair::round_trips(params, mechanisms::counters)),
        ..DEFAULTS
    },
    Bench {
        id: "switch/unix",
        asks: "What does passing a byte through an AF_UNIX socket to a waiting peer and getting \
               one back cost?",
        op: "a round trip: a byte written into a stream of socketpair(2) that the peer is reading, \
             and a read until its answer is there; the peer does the converse. Two calls per end. \
             With peer_cpu=none one process has both ends and makes all four. Not included: \
             creating the peer, which waits in its read before each op.",
        expected: "one and a half times a pipe: each byte travels in a buffer of its own",
        why: "Each end leaves the CPU more than once per round trip: when the reader frees the \
              byte's buffer, the sender is notified of free space, which wakes it although it \
              waits for an answer (unix_write_space).",
        calls: WRITE_AND_READ,
        floor: calls_below!("switch/unix", 2),
        axes: ENDS,
        source: "unix(7), socketpair(2); net/unix/af_unix.c",
        build: |params| or_unavailable(pair::round_trips(params, mechanisms::sockets)),
        ..DEFAULTS
    },
    Bench {
        id: "switch/yield",
        asks: "What does a context switch cost without sleeping and waking?",
        op: "a round trip by sched_yield(2) between two runnable tasks: each yields until a word \
             in shared memory gives it the turn, and then passes the turn back. With peer_cpu=none \
             one process makes the calls of both ends, and there is no task to yield to. Not \
             included: creating the peer, which sleeps between batches, and announcing the number \
             of round trips.",
        expected: "2 us: two switches and two calls, and no wake-up; 0.5 us for the calls alone",
        why: "A yield need not switch, and if it does not the task yields again: an op has two \
              switches, however many calls, and the kernel counts them as involuntary. Half of the \
              difference between peer_cpu=same and peer_cpu=none is the closest a program can come \
              to a switch alone; but a yield without another runnable task has run the scheduler \
              too.",
        // Under a tracer the peer may be stopped; then a yield finds no runnable task.
        calls: &[
            exactly("sched_yield", 2).when(NONE),
            up_to("sched_yield", 16).when(SAME),
            up_to("sched_yield", 16).by_peer().when(SAME),
            up_to("read", 1).by_peer().when(SAME),
        ],
        floor: &[at_least(1, YIELD_ALONE).when(SAME), at_least(2, NULL_CALL).when(NONE)],
        axes: &[BETWEEN, Axis { points: Points::Words(&["same", "none"]), ..PEER_CPU }],
        source: "sched_yield(2); kernel/sched/fair.c: yield_task_fair",
        in_price_list: true,
        build: |params| or_unavailable(pair::round_trips(params, mechanisms::yields)),
        ..DEFAULTS
    },
    Bench {
        id: "switch/half",
        asks: "What is the figure that studies call a context switch?",
        op: "half of a round trip on one CPU: the time of 20 round trips like those of switch/pipe \
             and switch/signal, divided by 40, by CLOCK_MONOTONIC_RAW. by=pipe and by=signal \
             between processes are the two of study sunos-1999; by=pipe between threads is dt/2000 \
             of study cse221-2014, with fewer round trips per window, so that most windows contain \
             no tick. Calls are counted for all 20. Not included: creating the peer, which waits \
             before each op.",
        expected: "half of those rows: 1.5 us by pipe, a little less between threads; 2.2 us by \
                   signal",
        why: "The same op under another name: besides one switch it includes the calls, the \
              wake-up and the sleep of one end. The two halves of a round trip are equal only on \
              average.",
        calls: &[
            each_end("write", 20).when(&[("by", "pipe")]),
            each_end("read", 20).when(&[("by", "pipe")]),
            each_end("kill", 20).when(&[("by", "signal"), ("between", "processes")]),
            each_end("tgkill", 20).when(&[("by", "signal"), ("between", "threads")]),
            each_end("rt_sigsuspend", 20).when(&[("by", "signal")]),
            each_end("rt_sigreturn", 20).when(&[("by", "signal")]),
            // Only where reading a clock takes a system call.
            up_to("clock_gettime", 2),
        ],
        floor: &[
            at_least(2, NULL_CALL).when(&[("by", "pipe")]),
            at_least(3, NULL_CALL).when(&[("by", "signal")]),
        ],
        axes: &[
            Axis {
                name: "by",
                sets: "how the ends wake each other",
                points: Points::Words(&["pipe", "signal"]),
                default_points: Points::Words(&["pipe", "signal"]),
            },
            Axis { default_points: Points::Words(&["processes", "threads"]), ..BETWEEN },
        ],
        source: "study sunos-1999, section 4; study cse221-2014, section 3.5",
        needs: &[Need::time()],
        build: |params| or_unavailable(pair::half_round_trips(params)),
        ..DEFAULTS
    },
    cpu_time::CPU_TIME,
    Bench {
        id: "switch/one-way",
        asks: "How long does it take from one process to another, one way?",
        op: "from a time stamp taken by the peer until a waiting reader has received it, by the \
             counter that all CPUs share. peer=stays: a persistent peer receives a request, \
             yields so that the reader waits, takes the time stamp and writes it into the \
             reader's pipe. peer=exits: the peer is forked for this, takes the time stamp, writes \
             it and exits, and the reader reads it when waitpid(2) has returned, as study \
             cse221-2014 does. Not included: the request, the fork, and everything before the \
             time stamp.",
        expected: "peer=stays half a round trip by pipe; peer=exits 30 us, most of it tearing down \
                   the peer's memory",
        why: "These are different ops, and neither is half a round trip. With peer=stays the \
              figure includes a write, a wake-up, a switch and the end of a read. With peer=exits \
              no task waits on the pipe: it includes the write, the whole exit of a process and \
              its reaping, and a read.",
        calls: &[
            exactly("write", 1),
            exactly("read", 1),
            exactly("write", 1).by_peer().when(STAYS),
            exactly("read", 1).by_peer().when(STAYS),
            exactly("sched_yield", 1).by_peer().when(STAYS),
            // Only where reading a clock takes a system call.
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
        floor: &[at_least(1, NULL_CALL).when(STAYS), at_least(2, NULL_CALL).when(EXITS)],
        axes: &[
            Axis {
                name: "peer",
                sets: "what the peer does after its write",
                points: Points::Words(&["stays", "exits"]),
                default_points: Points::Words(&["stays", "exits"]),
            },
            Axis {
                sets: "where the peer is pinned: to the reader's CPU or to another one",
                points: Points::Words(&["same", "other"]),
                default_points: Points::Words(&["same"]),
                ..PEER_CPU
            },
        ],
        source: "study cse221-2014, section 3.5",
        build: |params| or_unavailable(one_way::time_stamps(params)),
        ..DEFAULTS
    },
    Bench {
        id: "switch/ring",
        asks: "What do switches among many processes cost, each with a working set of its own?",
        op: "a lap: a byte is passed by pipes round a ring of processes on one CPU, each of which \
             reads it, reads one byte in every 64 of its own memory and writes it on. A lap is one \
             hop per member: divide by their number. With ring=1 one process passes the byte to \
             itself, without a switch. Not included: creating the ring; all but the first wait \
             before each op.",
        expected: "1.5 us per hop, and no more for 16 members than for 2 without a footprint; with \
                   64 KiB each, 16 members no longer fit the second-level cache",
        why: "A hop among 4 or more may be more expensive than between 2: of two, a member leaves \
              the CPU once per lap; of more, a member preempted by the neighbour that it wakes has \
              to run again only to wait, which is one more switch (counted as involuntary).",
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
            at_least(2, NULL_CALL).when(&[("ring", "1")]),
            at_least(1, PIPE_ALONE).when(&[("ring", "2")]),
            at_least(2, PIPE_ALONE).when(&[("ring", "4")]),
            at_least(4, PIPE_ALONE).when(&[("ring", "8")]),
            at_least(8, PIPE_ALONE).when(&[("ring", "16")]),
        ],
        axes: &[
            Axis {
                name: "ring",
                sets: "processes in the ring; 1 is a process that passes the byte to itself",
                points: Points::Numbers(&[1, 2, 4, 8, 16]),
                default_points: Points::Numbers(&[1, 2, 16]),
            },
            Axis {
                name: "footprint",
                sets: "bytes of its own memory that each process reads between two switches",
                points: Points::Numbers(&[0, 16 << 10, 64 << 10, 1 << 20]),
                default_points: Points::Numbers(&[0, 64 << 10]),
            },
        ],
        source: "pipe(7); lmbench lat_ctx; study sunos-1999, section 4",
        build: |params| or_unavailable(ring::laps(params)),
        ..DEFAULTS
    },
    Bench {
        id: "switch/quantum",
        asks: "How long may a process keep a CPU for which another one waits, and what does a \
               preemption cost?",
        op: "what the scheduler does to two processes that spin on one CPU, as recorded by their \
             own time stamps: figure=slice is how long the other one had the CPU, from its first \
             iteration to its last; figure=switch is from the last iteration of one to the first \
             of the other, including the timer interrupt that ends the slice, and the shorter of \
             the two switches of an absence, since a third runnable process runs its slice \
             in one of them. Not included: the spinning. No threshold separates a switch \
             from an interrupt: a process was preempted if the other's time stamp advanced.",
        expected: "a slice of 4 ms, a tick at 250 Hz: the scheduler grants less, but checks at the \
                   tick; 3 us for the switch",
        why: "The third cause of a switch in study sunos-1999: the time slice ends. No process \
              makes a call; the tick finds that the slice is used up. In a virtual machine the \
              tick is most of it: compare with half the difference between switch/yield and its \
              calls. With two more runnable processes both switches may contain one of their \
              slices: the run is very noisy then, and the row is flagged UNRELIABLE.",
        axes: &[Axis {
            name: "figure",
            sets: "the figure: the length of a slice, or the cost of a switch",
            points: Points::Words(&["slice", "switch"]),
            default_points: Points::Words(&["slice", "switch"]),
        }],
        // The peer sleeps when the measured process does not spin, and is woken.
        calls: &[up_to("write", 1)],
        source: "sched(7); kernel/sched/fair.c; study sunos-1999, section 4",
        needs: &[Need::time().when(&[("figure", "slice")])],
        build: |params| or_unavailable(quantum::absences(params)),
        ..DEFAULTS
    },
];

const YIELD_ALONE: &str = "switch/yield:between=processes,peer_cpu=none";
const PIPE_ALONE: &str = "switch/pipe:between=processes,peer_cpu=none";
