//! The scheduler: what it is told about a task, and what it does with many.
//!
//! Two tasks that wake each other are the family `switch`; a ring of them is `switch/ring`; how
//! late a timed wait ends is `timer/wait`; how long a slice is, `switch/quantum`.

use kernel::syscall::prepared;

use super::helper::{HELPER_ANSWER, HELPER_CLOCK, HELPER_WAIT, ORDER, WAIT, if_permitted};
use super::prelude::*;
use crate::bench::PointFilter;

mod messaging;
mod realtime;
#[cfg(test)]
mod tests;
mod wakeup;
mod watch;
mod yields;

pub(super) const FAMILY: Family = Family {
    name: "sched",
    about: "the cost of scheduling: policy, affinity, wake-ups and many tasks",
    benches: BENCHES,
};

/// Whether a property is read or set.
const ACT: Axis = Axis {
    name: "act",
    sets: "get: the call that reads it; set: the call that sets it to the value that it has",
    points: Points::Words(&["get", "set"]),
    default_points: Points::Words(&["get", "set"]),
};

const GET: PointFilter = &[("act", "get")];
const SET: PointFilter = &[("act", "set")];
const MASK_KEPT: PointFilter = &[("to", "same")];
const MIGRATES: PointFilter = &[("to", "other-and-back")];
const BY_EVENTFD: PointFilter = &[("wake", "eventfd")];

/// Why no real-time policy can be set.
const NO_REALTIME: &str = "no real-time policy can be set here: it takes RLIMIT_RTPRIO (`ulimit \
                           -r`), or root, who may raise that; and, on kernels with groups of \
                           real-time tasks, a control group that has real-time";

const BENCHES: &[Bench] = &[
    Bench {
        id: "sched/getaffinity",
        asks: "What does reading the affinity mask of the calling thread cost?",
        op: "sched_getaffinity(2) of the calling thread, with room for 8192 CPUs, by the raw \
             instruction. Not included: loop overhead.",
        expected: "80 ns above a null system call: a lock, and 8 to 1024 bytes copied out",
        why: "The kernel copies as many bytes as its own masks have (nr_cpu_ids), whatever the \
              size of the buffer, after an intersection with the CPUs that are active.",
        calls: &[exactly("sched_getaffinity", 1)],
        floor: &[at_least(1, KERNEL_ENTRY)],
        in_price_list: true,
        source: "sched_getaffinity(2); kernel/sched/syscalls.c",
        build: |_| Ok(Work::raw(prepared::sched_getaffinity())),
        ..DEFAULTS
    },
    Bench {
        id: "sched/affinity",
        asks: "What does setting the affinity mask cost, and what does it cost to be moved by it?",
        op: "sched_setaffinity(2) of the calling thread, by the raw instruction: once with the \
             mask that it has (`to=same`); or to another CPU alone, and back to its own \
             (`to=other-and-back`): two calls, and each returns on the CPU that it names. Not \
             included: what the thread pays for cold caches after the op.",
        expected: "300 ns for the same mask; 8 us for the round trip, and several times as much \
                   where the other CPU sleeps",
        why: "Even the same mask is checked for permission and against the cpuset, in newly \
              allocated masks, before the kernel sees that nothing changes. A running thread \
              cannot be taken off its CPU from outside: its CPU's migration thread preempts it, \
              puts it into the run queue of the other CPU and wakes that one, and the call ends \
              there (stop_one_cpu). The op has two such moves, each with a switch to the \
              migration thread and a wake-up on another CPU.",
        calls: &[
            exactly("sched_setaffinity", 1).when(MASK_KEPT),
            exactly("sched_setaffinity", 2).when(MIGRATES),
        ],
        floor: &[
            at_least(1, KERNEL_ENTRY).when(MASK_KEPT),
            at_least(2, KERNEL_ENTRY).when(MIGRATES),
        ],
        axes: &[Axis {
            name: "to",
            sets: "the mask that is set: the same one; or another CPU, and then the former one",
            points: Points::Words(&["same", "other-and-back"]),
            default_points: Points::Words(&["same", "other-and-back"]),
        }],
        switches: true,
        source: "sched_setaffinity(2); kernel/sched/core.c: affine_move_task, migration_cpu_stop",
        build: affinity,
        ..DEFAULTS
    },
    Bench {
        id: "sched/setscheduler",
        asks: "What does changing the scheduling policy and back cost?",
        op: "two calls of sched_setscheduler(2) for the calling thread, by the raw instruction: to \
             SCHED_BATCH, or with `to=fifo` to SCHED_FIFO with priority 1, and back to \
             SCHED_OTHER. Not included: with `to=fifo` raising RLIMIT_RTPRIO, once.",
        expected: "1 us: each call takes the thread out of its run queue and puts it back; with \
                   to=fifo some 0.5 us more",
        why: "Both policies belong to the same class, and an ordinary user may change between \
              them. The kernel does what it would do for any change: it checks permission, locks \
              the run queue, dequeues the running thread, sets its parameters, and enqueues it \
              again. SCHED_FIFO is another class, with queues of its own, which is told that the \
              thread has come and gone, and may have to reschedule.",
        calls: &[exactly("sched_setscheduler", 2)],
        floor: &[at_least(2, KERNEL_ENTRY)],
        axes: &[Axis {
            name: "to",
            sets: "the policy: SCHED_BATCH, of the class of SCHED_OTHER, or SCHED_FIFO, of the \
                   real-time class",
            points: Points::Words(&["batch", "fifo"]),
            default_points: Points::Implied("batch"),
        }],
        source: "sched_setscheduler(2), sched(7); kernel/sched/syscalls.c: __sched_setscheduler",
        build: |params| match params.word("to") {
            "fifo" => if_permitted(prepared::fifo_and_back().map(Work::raw_pair), NO_REALTIME),
            _ => prepared::batch_and_back().map(Work::raw_pair),
        },
        ..DEFAULTS
    },
    Bench {
        id: "sched/priority",
        asks: "What does reading or setting the nice value of the calling process cost?",
        op: "getpriority(2) or setpriority(2), of the calling process by the number 0, by the raw \
             instruction; the value that is set is the one in force. Not included: loop overhead.",
        expected: "30 ns above a null system call to read it; 20 ns more to set the same",
        why: "Either call looks the process up under RCU. The same nice value is recognised \
              before the run queue is locked (set_user_nice).",
        calls: &[exactly("getpriority", 1).when(GET), exactly("setpriority", 1).when(SET)],
        floor: &[at_least(1, KERNEL_ENTRY)],
        axes: &[ACT],
        source: "getpriority(2); kernel/sys.c",
        build: |params| match params.word("act") {
            "set" => prepared::setpriority().map(Work::raw),
            _ => Ok(Work::raw(prepared::getpriority())),
        },
        ..DEFAULTS
    },
    Bench {
        id: "sched/timer-slack",
        asks: "What does reading or setting the timer slack cost?",
        op: "prctl(2) with PR_GET_TIMERSLACK, or with PR_SET_TIMERSLACK and the value in force, by \
             the raw instruction. Not included: loop overhead.",
        expected: "10 ns above a null system call, either way",
        why: "A number of the calling thread is read or written, without a lock. What it does to \
              timed waits is shown by timer/wait.",
        calls: &[exactly("prctl", 1)],
        floor: &[at_least(1, KERNEL_ENTRY)],
        compare_with: &["syscall/prctl"],
        axes: &[ACT],
        source: "prctl(2), PR_SET_TIMERSLACK(2const); kernel/sys.c",
        build: |params| match params.word("act") {
            "set" => prepared::set_timer_slack().map(Work::raw),
            _ => Ok(Work::raw(prepared::timer_slack())),
        },
        ..DEFAULTS
    },
    Bench {
        id: "sched/yield",
        asks: "What does a yield cost if several tasks on a CPU do nothing else?",
        op: "a sched_yield(2) of any of `tasks` processes on one CPU, by the raw instruction: the \
             time of a batch divided by the yields that all of them made in it, each of which \
             counts its own in shared memory. The calls are counted for the measured process. Not \
             included: waking the others before a batch; they sleep after it.",
        expected: "700 ns, a switch and a call, with 2 tasks; 10 % more with 8",
        why: "Which task runs next, and whether any other does, is the scheduler's choice: a \
              yield sets the deadline of the caller back by a slice, and the next pick may still \
              be the caller. So yields are counted and not assumed, and a row with few \
              switches (counted as involuntary) shows a call more than a switch. Between two \
              tasks, switch/yield counts two switches as one op however many yields they take; \
              alone on a CPU a yield is syscall/sched-yield.",
        calls: &[
            exactly("sched_yield", 1),
            up_to("sched_yield", 100_000).by_peer(),
            up_to("futex", 16).by_peer(),
            // Only where reading a clock takes a system call.
            up_to("clock_gettime", 100).by_peer(),
        ],
        floor: &[at_least(1, KERNEL_ENTRY)],
        compare_with: &["syscall/sched-yield", "switch/yield:between=processes,peer_cpu=same"],
        axes: &[Axis {
            name: "tasks",
            sets: "processes that yield, the measured one among them",
            points: Points::Numbers(&[2, 8]),
            default_points: Points::Numbers(&[2, 8]),
        }],
        switches: true,
        source: "sched_yield(2); kernel/sched/fair.c: yield_task_fair, pick_eevdf",
        build: |params| or_unavailable(yields::among(params)),
        ..DEFAULTS
    },
    Bench {
        id: "sched/wakeup",
        asks: "How long does a task that is woken wait for its CPU, alone and beside one that \
               spins?",
        op: "from a time stamp before the wake-up (FUTEX_WAKE, or a write to an eventfd(2)) to one \
             by the woken task, the first thing that it does when its call has returned, by the \
             counter that all CPUs share. The task sleeps on its CPU for at least a millisecond \
             before. With busy=1 another process has spun on that CPU for 1 to 5 ms, a different \
             time in each op, so that the wake-up comes at any point of its slice. With \
             peer_cpu=same the waker sleeps right after the wake-up. Not included: the answer by \
             which the waker learns of it; starting and stopping the competitor.",
        expected: "alone 2 us on the same CPU, 5 us on another one, or 50 us in a virtual machine \
                   where that sleeps; with a competitor the same in most ops, and up to a slice of \
                   3 ms in the others",
        why: "The median is the mechanism: a call, a wake-up, a switch. The 99th percentile is the \
              policy: whether a task that has slept may preempt one that runs. If it may not, \
              it waits until the other has used up its slice, which the scheduler finds out at a \
              tick. This is the question of schbench; its figure for a machine is a distribution \
              over many wakers and all CPUs.",
        calls: &[
            exactly("write", 1).when(BY_EVENTFD),
            up_to("futex", 16),
            up_to("nanosleep|clock_nanosleep", 100_000),
            up_to("pread64", 100_000),
            up_to("waitid", 200_000),
            // Only where reading a clock takes a system call.
            up_to("clock_gettime", 200_000),
            exactly("read", 1).by_peer().when(BY_EVENTFD),
            up_to("futex", 16).by_peer(),
            up_to("clock_gettime", 200_000).by_peer(),
        ],
        floor: &[at_least(1, NULL_CALL)],
        compare_with: &["switch/one-way:peer=stays,peer_cpu=same"],
        axes: &[
            Axis {
                name: "wake",
                sets: "what the task sleeps in and is woken by",
                points: Points::Words(&["futex", "eventfd"]),
                default_points: Points::Words(&["futex"]),
            },
            Axis {
                name: "busy",
                sets: "processes that spin on the CPU of the woken task",
                points: Points::Numbers(&[0, 1]),
                default_points: Points::Numbers(&[0, 1]),
            },
            Axis {
                name: "peer_cpu",
                sets: "where the woken task is pinned: to the waker's CPU or to another one",
                points: Points::Words(&["same", "other"]),
                default_points: Points::Words(&["same"]),
            },
        ],
        switches: true,
        needs: &[Need::time()],
        source: "futex(2), eventfd(2); kernel/sched/fair.c: check_preempt_wakeup_fair; schbench",
        build: |params| or_unavailable(wakeup::wakeups(params)),
        ..DEFAULTS
    },
    Bench {
        id: "sched/policy",
        asks: "What does a round trip of two processes cost under a real-time policy?",
        op: "one process sets a word in shared memory and wakes the other (FUTEX_WAKE), and waits \
             for its answer (FUTEX_WAIT), which comes in the same way; both on the worker's CPU. \
             Two children of the worker with the policy make rounds of 16, and sleep between them. \
             Not included: setting the policy, once, and the order for a round.",
        expected: "some 2 us under either policy; fifo some 0.3 us less, since the real-time class \
                   computes no deadlines and weights",
        why: "Under SCHED_OTHER the scheduler charges the time that each task has run, updates \
              averages of its load in each group of tasks up to the root, and decides whether the \
              woken task preempts the waker. Under SCHED_FIFO the next task is the first of the \
              highest priority that has one, and a woken task of the same priority never preempts. \
              The system call, the switch of address spaces and the futex are the same.",
        calls: &[
            up_to("futex", 8).by_peer(),
            ORDER,
            WAIT,
            HELPER_WAIT,
            HELPER_ANSWER,
            HELPER_CLOCK,
        ],
        floor: &[at_least(2, KERNEL_ENTRY)],
        compare_with: &["switch/futex:between=processes,peer_cpu=same"],
        axes: &[Axis {
            name: "policy",
            sets: "the policy of both: the usual one, or SCHED_FIFO with priority 1",
            points: Points::Words(&["other", "fifo"]),
            default_points: Points::Words(&["other", "fifo"]),
        }],
        switches: true,
        source: "sched(7), futex(2); kernel/sched/rt.c, kernel/sched/fair.c",
        build: |params| if_permitted(realtime::round_trips(params), NO_REALTIME),
        ..DEFAULTS
    },
    Bench {
        id: "sched/messaging",
        asks: "What does a message cost among many tasks that send and receive at once?",
        op: "a message of 100 bytes from a sender to a receiver. A round is timed: in each group 5 \
             senders send 20 messages to each of 5 receivers, in turn, through a pipe or an \
             AF_UNIX stream of the receiver's own, all tasks on one CPU; it begins with one \
             FUTEX_WAKE of all senders, which wait, and ends when the last receiver has all its \
             messages and has woken the measured process. The time is divided by the messages, 500 \
             in each group. No channel fills up. Not included: creating tasks and channels; the \
             way of the last senders and receivers back into their waits, which falls into the \
             next round.",
        expected: "700 ns by pipe, 1.2 us by socket: a write and a read, and few switches, since a \
                   receiver finds many messages at once; two groups the same per message; threads \
                   10 % less than processes",
        why: "The act of hackbench (perf bench sched messaging) on one CPU, where the order of \
              events depends on the scheduler alone and not on where it places tasks. A sender \
              that is not preempted by the receivers that it wakes sends all it has, and the \
              switches of the row are few; a scheduler that preempts at each wake-up switches \
              once per message.",
        calls: &[
            up_to("futex", 1),
            exactly("write", 1).by_peer(),
            up_to("read", 2).by_peer(),
            up_to("futex", 1).by_peer(),
        ],
        floor: &[at_least(2, NULL_CALL)],
        axes: &[
            Axis {
                name: "groups",
                sets: "groups of 5 senders and 5 receivers; none sends to another group",
                points: Points::Numbers(&[1, 2]),
                default_points: Points::Numbers(&[1, 2]),
            },
            Axis {
                name: "via",
                sets: "a receiver's channel: a pipe, or a stream of socketpair(2)",
                points: Points::Words(&["pipe", "socket"]),
                default_points: Points::Words(&["pipe", "socket"]),
            },
            Axis {
                name: "between",
                sets: "what the tasks are: processes, or threads of one process",
                points: Points::Words(&["processes", "threads"]),
                default_points: Points::Words(&["processes"]),
            },
        ],
        switches: true,
        source: "perf-bench(1): perf bench sched messaging; hackbench",
        build: |params| or_unavailable(messaging::rounds(params)),
        ..DEFAULTS
    },
];

/// What the benchmarks of this family are unless they say otherwise.
const DEFAULTS: Bench = Bench { in_price_list: false, ..Bench::DEFAULT };

/// The work of `sched/affinity`.
fn affinity(params: Params<'_>) -> Result<Work, Errno> {
    if params.word("to") == "same" {
        return prepared::sched_setaffinity().map(Work::raw);
    }
    let Some(here) = params.context.cpu else { return Ok(unpinned_work()) };
    let Some(there) = params.context.other_cpu else {
        return Ok(Work::unavailable(
            "a thread is moved to a second CPU: this machine has one, or taskset(1) or a cpuset \
             allows only one; select to=same",
        ));
    };
    Ok(Work::raw_pair(prepared::migrate_and_return(here, there)?))
}
