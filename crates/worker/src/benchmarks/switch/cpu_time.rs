//! The CPU time of waking each other: on two CPUs it is not the time that passes.

use super::pair;
use crate::bench::{PointFilter, each_end};
use crate::benchmarks::prelude::*;

const BY_EVENTFD: PointFilter = &[("by", "eventfd")];
const BY_TCP: PointFilter = &[("by", "tcp")];
const BY_UNIX: PointFilter = &[("by", "unix")];
const BY_PIPE: PointFilter = &[("by", "pipe")];
const BY_FUTEX: PointFilter = &[("by", "futex")];

pub(super) const CPU_TIME: Bench = Bench {
    id: "switch/cpu-time",
    asks: "What CPU time do two ends take that wake each other, on one CPU and on two?",
    op: "a round trip between two threads, by eventfd as in switch/eventfd, or by another \
         mechanism: the CPU time, and not the time that passes, that both take together for 20 of \
         them (CLOCK_PROCESS_CPUTIME_ID), divided by 20. By tcp it is a byte each way over \
         loopback (TCP_NODELAY), whose receiving side runs within the call that sends it. With \
         peer_cpu=none one thread makes all four calls of a round trip, and waits for nobody. \
         Calls are counted for all 20. Not included: creating the peer, which waits before each \
         op, and what an idle CPU does until it has switched to the thread that was woken, which \
         is nobody's CPU time.",
    expected: "8 us on two CPUs, where each wake-up is an interrupt to another CPU; 3 us on one, \
               as much as passes; 1 us for the calls alone. By tcp 25 us on two CPUs, since what \
               one has written of both sockets is in no cache of the other, 11 us on one, and 8 \
               us for the calls alone",
    why: "On two CPUs the time that passes contains the way of the interrupt and the waking of an \
          idle CPU, while no task runs. What a program is charged is the CPU time of its tasks: \
          who wakes one on another CPU sends an interrupt, and who waits switches to the idle \
          task. By tcp the wake-up is at the end of the way up through the network stack, a \
          softirq that is CPU time of the sender, or of nobody where the kernel accounts \
          interrupts apart (CONFIG_IRQ_TIME_ACCOUNTING). A thread that has not quite gone to sleep \
          when the clock is read is counted with the next op.",
    calls: &[
        each_end("write", 20).when(BY_EVENTFD),
        each_end("read", 20).when(BY_EVENTFD),
        each_end("write", 20).when(BY_TCP),
        each_end("read", 20).when(BY_TCP),
        each_end("write", 20).when(BY_UNIX),
        each_end("read", 20).when(BY_UNIX),
        each_end("write", 20).when(BY_PIPE),
        each_end("read", 20).when(BY_PIPE),
        each_end("futex", 40).when(BY_FUTEX),
        exactly("clock_gettime", 2),
    ],
    floor: &[at_least(4, NULL_CALL)],
    compare_with: &[
        "switch/eventfd:between=threads,peer_cpu=same",
        "switch/eventfd:between=threads,peer_cpu=none",
    ],
    axes: &[
        Axis {
            name: "by",
            sets: "how the ends wake each other: by an eventfd(2) or a pipe each way, a TCP \
                   connection over loopback, a stream of socketpair(2), or futex(2)",
            points: Points::Words(&["eventfd", "tcp", "unix", "pipe", "futex"]),
            default_points: Points::Implied("eventfd"),
        },
        Axis {
            name: "peer_cpu",
            sets: "where the peer is pinned: to the same CPU or to another one; none: there is no \
                   peer",
            points: Points::Words(&["same", "other", "none"]),
            default_points: Points::Words(&["same", "other", "none"]),
        },
    ],
    needs: &[Need::time()],
    in_price_list: false,
    switches: true,
    source: "eventfd(2), pipe(7), tcp(7), unix(7), futex(2), clock_gettime(2); ttwu_queue_wakelist \
             in kernel/sched/core.c, tcp_v4_rcv in net/ipv4/tcp_ipv4.c",
    build: |params| or_unavailable(pair::cpu_time_of_round_trips(params)),
    ..Bench::DEFAULT
};
