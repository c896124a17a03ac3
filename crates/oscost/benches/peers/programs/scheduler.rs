//! hackbench and the tests of rt-tests, and sysbench's threads.

use super::reading::{Figure, Found, Is};
use super::row::Part::{self, Once, Times};
use super::row::{ROW, Row, us_after};

const RT_TESTS: Row = Row { package: "rt-tests", ..ROW };
const SYSBENCH: Row =
    Row { program: "sysbench", package: "sysbench", common_words: &["--threads=1", "run"], ..ROW };

/// Messages of a group: 5 senders send so many to each of 5 receivers.
const LOOPS: &str = "20000";
const GROUP_MESSAGES: f64 = 5.0 * 5.0 * 20_000.0;

/// hackbench with groups of 5 senders and 5 receivers.
const fn hackbench(
    name: &'static str,
    words: &'static [&'static str],
    groups: f64,
    parts: &'static [Part],
) -> Row {
    Row {
        name,
        program: "hackbench",
        words,
        common_words: &["-f", "5", "-s", "100", "-l", LOOPS],
        figure: Figure {
            found: Found::After("Time:"),
            is: Is::Time(1e9 / (groups * GROUP_MESSAGES)),
        },
        parts,
        differs: "the peer's channels fill up, so that senders sleep too; ours sends 20 messages a \
                  sender and receiver at a time, and begins each round with a wake-up of all \
                  senders",
        ..RT_TESTS
    }
}

/// A test of rt-tests: 1000 times, one a millisecond, the time until a waiting task has been woken.
const fn rt_test(
    name: &'static str,
    program: &'static str,
    parts: &'static [Part],
    differs: &'static str,
) -> Row {
    Row {
        name,
        program,
        common_words: &["-i", "1000", "-l", "1000"],
        figure: us_after("Avg"),
        parts,
        differs,
        ..RT_TESTS
    }
}

pub(super) const ROWS: &[Row] = &[
    hackbench(
        "hackbench -p",
        &["-g", "1", "-p"],
        1.0,
        &[Once("sched/messaging:groups=1,via=pipe,between=processes")],
    ),
    hackbench(
        "hackbench",
        &["-g", "1"],
        1.0,
        &[Once("sched/messaging:groups=1,via=socket,between=processes")],
    ),
    hackbench(
        "hackbench -p -T",
        &["-g", "1", "-p", "-T"],
        1.0,
        &[Once("sched/messaging:groups=1,via=pipe,between=threads")],
    ),
    hackbench(
        "hackbench -T",
        &["-g", "1", "-T"],
        1.0,
        &[Once("sched/messaging:groups=1,via=socket,between=threads")],
    ),
    hackbench(
        "hackbench -p -g 2",
        &["-g", "2", "-p"],
        2.0,
        &[Once("sched/messaging:groups=2,via=pipe,between=processes")],
    ),
    Row {
        words: &["-q"],
        ..rt_test(
            "cyclictest",
            "cyclictest",
            &[Once("timer/wait:by=nanosleep,us=1000")],
            "the peer keeps the CPU from idling deeply (/dev/cpu_dma_latency), sleeps until an \
             absolute time, and prints whole microseconds",
        )
    },
    rt_test(
        "pmqtest",
        "pmqtest",
        &[Once("pipe/one-way:by=mq,way=there,size=4,peer_cpu=same")],
        "the peer sleeps for a millisecond before each message, so that caches are cold and the \
         CPU has to wake, and prints whole microseconds",
    ),
    rt_test(
        "svsematest",
        "svsematest",
        &[Times(0.5, "sync/handover:by=sysv,peer_cpu=same")],
        "the peer sleeps for a millisecond before each hand-over, so that caches are cold and the \
         CPU has to wake, and prints whole microseconds",
    ),
    rt_test(
        "sigwaittest",
        "sigwaittest",
        &[Times(0.5, "switch/sigwaitinfo:between=threads,peer_cpu=same")],
        "the peer sleeps for a millisecond before each signal, so that caches are cold and the CPU \
         has to wake, and prints whole microseconds",
    ),
    // An event is a thousand times a mutex locked, sched_yield(2), and the mutex unlocked.
    Row {
        name: "sysbench threads",
        words: &["threads", "--thread-locks=1", "--thread-yields=1000", "--time=1"],
        figure: Figure { found: Found::Events, is: Is::Rate(1e9 / 1e3) },
        parts: &[Once("syscall/sched-yield"), Once("sync/mutex:kind=normal,threads=2")],
        ..SYSBENCH
    },
    // One event of so many locks.
    Row {
        name: "sysbench mutex",
        words: &["mutex", "--mutex-num=1", "--mutex-loops=0", "--mutex-locks=20000000"],
        figure: Figure { found: Found::Events, is: Is::Rate(1e9 / 2e7) },
        parts: &[Once("sync/mutex:kind=normal,threads=2")],
        differs: "the peer draws the number of the mutex at random before it locks it, and adds to \
                  a variable inside",
        ..SYSBENCH
    },
];
