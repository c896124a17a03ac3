//! The CPU time of waking each other: on two CPUs it is not the time that passes.

use super::pair;
use crate::bench::each_end;
use crate::benchmarks::prelude::*;

pub(super) const CPU_TIME: Bench = Bench {
    id: "switch/cpu-time",
    asks: "What CPU time do two ends take that wake each other, on one CPU and on two?",
    op: "a round trip by eventfd between two threads, as in switch/eventfd: the CPU time, and not \
         the time that passes, that both take together for 20 of them (CLOCK_PROCESS_CPUTIME_ID), \
         divided by 20. With peer_cpu=none one thread makes all four calls of a round trip, and \
         waits for nobody. Calls are counted for all 20. Not included: creating the peer, which \
         waits before each op, and what an idle CPU does until it has switched to the thread that \
         was woken, which is nobody's CPU time.",
    expected: "3 us on one CPU, as much as passes; 8 us on two, where each wake-up is an \
               interrupt to another CPU; 1 us for the calls alone",
    why: "On two CPUs the time that passes contains the way of the interrupt and the waking of an \
          idle CPU, while no task runs. What a program is charged is the CPU time of its tasks: \
          who wakes one on another CPU sends an interrupt, and who waits switches to the idle \
          task. A thread that has not quite gone to sleep when the clock is read is counted with \
          the next op.",
    calls: &[each_end("write", 20), each_end("read", 20), exactly("clock_gettime", 2)],
    floor: &[at_least(4, NULL_CALL)],
    compare_with: &[
        "switch/eventfd:between=threads,peer_cpu=same",
        "switch/eventfd:between=threads,peer_cpu=none",
    ],
    axes: &[Axis {
        name: "peer_cpu",
        sets: "where the peer is pinned: to the same CPU or to another one; none: there is no peer",
        points: Points::Words(&["same", "other", "none"]),
        default_points: Points::Words(&["same", "other", "none"]),
    }],
    needs: &[Need::time()],
    in_price_list: false,
    switches: true,
    source: "eventfd(2), clock_gettime(2); ttwu_queue_wakelist in kernel/sched/core.c",
    build: |params| or_unavailable(pair::cpu_time_of_round_trips(params)),
    ..Bench::DEFAULT
};
