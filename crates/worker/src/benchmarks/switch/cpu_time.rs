//! The CPU time of waking each other: on two CPUs it is not the time that passes.

use std::hint::black_box;

use super::mechanisms::{connections, counters, futexes, pipes, sockets};
use super::pair::{MakeEnds, Pair, TRIPS_PER_OP, pair};
use crate::bench::{PointFilter, each_end};
use crate::benchmarks::placement::cpu_of_optional_peer;
use crate::benchmarks::prelude::*;
use crate::kernel::time::clock::{
    ClockId, gettime, monotonic_raw_ns, process_cpu_ns, sleep_until, thread_cpu_ns,
};

const BY_EVENTFD: PointFilter = &[("by", "eventfd")];
const BY_TCP: PointFilter = &[("by", "tcp")];
const BY_UNIX: PointFilter = &[("by", "unix")];
const BY_PIPE: PointFilter = &[("by", "pipe")];
const BY_FUTEX: PointFilter = &[("by", "futex")];
const IDLE_300: PointFilter = &[("idle_us", "300")];
const IDLE_1000: PointFilter = &[("idle_us", "1000")];

/// Reads of a clock in the spins of an op, where each takes a system call.
const MAX_CLOCK_CALLS: u32 = 20_000;
const SPINNING_PEER_CPU: Need =
    Need::not_applicable("the CPU of the peer is that of the thread that spins");
const NO_PEER_CPU: Need = Need::not_applicable("there is no peer whose CPU could be idle");
const NO_IDLE_CPU: Need =
    Need::not_applicable("on one CPU one end or the other runs: it is not idle between two turns");
const SPIN_SETTLES: Need = Need::not_applicable(
    "an op with spins takes 6 ms and more: after a few of them RCU callbacks have been called",
);

/// A sleep of so many milliseconds makes the setup so much longer, in microseconds for each.
const SETUP: PointFilter = &[("settle_ms", "1000")];

/// Steps of a spin between two reads of the clock: some 3 us and more.
const STEPS_PER_CLOCK_READ: u32 = 1 << 13;

pub(super) const CPU_TIME: Bench = Bench {
    id: "switch/cpu-time",
    asks: "What CPU time do two ends take that wake each other, on one CPU and on two?",
    op: "a round trip between two threads, by eventfd as in switch/eventfd, or by another \
         mechanism: the CPU time, and not the time that passes, that both take together for 20 of \
         them (CLOCK_PROCESS_CPUTIME_ID), divided by 20. By tcp it is a byte each way over \
         loopback (TCP_NODELAY), whose receiving side runs within the call that sends it. With \
         peer_cpu=none one thread makes all four calls of a round trip, and waits for nobody. \
         With idle_us=US the measured thread spins for so long between two round trips, while the \
         peer sleeps and its CPU is idle; the CPU time of the spins is read \
         (CLOCK_THREAD_CPUTIME_ID) and is not in the figure, but one read of that clock for each \
         round trip is. With settle_ms=MS both ends sleep once for so long after a first round \
         trip, before the first op; the ops are the same. Calls are counted for all 20. Not \
         included: creating the peer, which waits before each op, that sleep, and what an idle CPU \
         does until it has switched to the thread that was woken, which is nobody's CPU time.",
    expected: "in a virtual machine 17 to 27 us on two CPUs, where each wake-up is an interrupt to \
               another CPU; 4 us on one, as much as passes; 1 us for the calls alone. By tcp 32 us \
               on two CPUs, since what one has written of both sockets is in no cache of the other, \
               12 us on one, and 8 us for the calls alone. With idle_us=300 some 7 us more, with \
               idle_us=1000 some 16. With settle_ms=100, in a virtual machine, 1.4 to 1.7 times as \
               much: 46 us by tcp, 35 by unix, 33 by futex, 32 by pipe and by eventfd",
    why: "On two CPUs the time that passes contains the way of the interrupt and the waking of an \
          idle CPU, while no task runs. What a program is charged is the CPU time of its tasks: \
          who wakes one on another CPU sends an interrupt, and who waits switches to the idle \
          task. By tcp the wake-up is at the end of the way up through the network stack, a \
          softirq that is CPU time of the sender, or of nobody where the kernel accounts \
          interrupts apart (CONFIG_IRQ_TIME_ACCOUNTING). A thread that has not quite gone to sleep \
          when the clock is read is counted with the next op. Without idle_us each CPU is idle for \
          microseconds only: where its idle loop polls at first (cpuidle's haltpoll in a virtual \
          machine, idle=poll), a wake-up sends no interrupt. After a millisecond the CPU has \
          halted: the interrupt to it makes a virtual machine exit to its host, and the peer finds \
          less in its caches. Of the two wake-ups of a round trip one is of such a CPU, that of \
          the peer; the measured thread's own CPU is idle for as long as the peer's turn takes. \
          The start of a process leaves RCU callbacks (exec, unmapped files, new threads): while \
          some are pending on a CPU, its idle loop keeps the tick (the periodic timer interrupt). \
          After some 40 ms they have been called, and each idle period stops the tick and starts it \
          again, each time by an exit to the host of a virtual machine, and both ends take longer. A row without \
          settle_ms is measured in the first 40 ms of its process: an idle CPU keeps its tick, as in \
          a program that closes files and ends processes all the time. With settle_ms=100 an idle \
          CPU stops its tick, as in a program that only computes and communicates.",
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
        exactly("clock_gettime", 40).when(IDLE_300),
        exactly("clock_gettime", 40).when(IDLE_1000),
        up_to("clock_gettime", MAX_CLOCK_CALLS).when(IDLE_300),
        up_to("clock_gettime", MAX_CLOCK_CALLS).when(IDLE_1000),
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
        Axis {
            name: "idle_us",
            sets: "for how many microseconds the peer's CPU is idle before each round trip, while \
                   the measured thread spins; implied: none, as short as the other end's turn",
            points: Points::Numbers(&[300, 1_000]),
            default_points: Points::Implied("none"),
        },
        Axis {
            name: "settle_ms",
            sets: "for how many milliseconds both ends sleep before the first op; 100: RCU \
                   callbacks that the start of the process has left are called by then, and an \
                   idle CPU stops its tick; implied: none, the first op comes at once, and an idle \
                   CPU keeps its tick",
            points: Points::Numbers(&[100]),
            default_points: Points::Implied("none"),
        },
    ],
    needs: &[
        Need::time(),
        SPINNING_PEER_CPU.when(&[("peer_cpu", "same"), ("idle_us", "300")]),
        SPINNING_PEER_CPU.when(&[("peer_cpu", "same"), ("idle_us", "1000")]),
        NO_PEER_CPU.when(&[("peer_cpu", "none"), ("idle_us", "300")]),
        NO_PEER_CPU.when(&[("peer_cpu", "none"), ("idle_us", "1000")]),
        NO_IDLE_CPU.when(&[("peer_cpu", "same"), ("settle_ms", "100")]),
        NO_PEER_CPU.when(&[("peer_cpu", "none"), ("settle_ms", "100")]),
        SPIN_SETTLES.when(&[("idle_us", "300"), ("settle_ms", "100")]),
        SPIN_SETTLES.when(&[("idle_us", "1000"), ("settle_ms", "100")]),
    ],
    in_price_list: false,
    switches: true,
    setup_us: SETUP,
    source: "eventfd(2), pipe(7), tcp(7), unix(7), futex(2), clock_gettime(2); ttwu_queue_wakelist \
             in kernel/sched/core.c, tcp_v4_rcv in net/ipv4/tcp_ipv4.c, \
             tick_nohz_next_event in kernel/time/tick-sched.c, rcu_needs_cpu in \
             kernel/rcu/tree.c, drivers/cpuidle/governors/haltpoll.c",
    build: |params| or_unavailable(cpu_time_of_round_trips(params)),
    ..Bench::DEFAULT
};

/// The CPU time of both ends together. They are threads: their CPU time is that of their process.
fn cpu_time_of_round_trips(params: Params<'_>) -> Result<Work, Errno> {
    let cpu = match cpu_of_optional_peer(params) {
        Ok(cpu) => cpu,
        Err(unavailable) => return Ok(unavailable),
    };
    let make_ends: MakeEnds = match params.word("by") {
        "tcp" => connections,
        "unix" => sockets,
        "pipe" => pipes,
        "futex" => futexes,
        _ => counters,
    };
    let idle_ns = match params.value("idle_us") {
        Some(&Value::Number(us)) => Some(1_000 * us),
        _ => None,
    };
    let mut pair = pair(true, make_ends, cpu)?;
    if let Some(&Value::Number(ms)) = params.value("settle_ms") {
        sleep_for(1_000_000 * ms)?;
    }
    // The first op is like the others, which follow a spin.
    if let Some(idle_ns) = idle_ns {
        spin(idle_ns)?;
    }
    Ok(Work::own_value(move || {
        let before_ns = process_cpu_ns()?;
        let spun_ns = match idle_ns {
            Some(idle_ns) => spinning_trips(&mut pair, idle_ns)?,
            None => {
                pair.run(TRIPS_PER_OP, 1).map_err(|error| error.errno)?;
                0
            }
        };
        let taken_ns = (process_cpu_ns()? - before_ns) as i64 - spun_ns as i64;
        Ok(1_000 * taken_ns / TRIPS_PER_OP as i64)
    }))
}

/// The round trips of an op, with a spin after each: the peer has gone to sleep when it ends, and its CPU
/// has been idle before the next one. Returns the CPU time of the spins.
fn spinning_trips(pair: &mut Pair, idle_ns: u64) -> Result<u64, Errno> {
    let mut spun_ns = 0;
    for _ in 0..TRIPS_PER_OP {
        pair.run(1, 1).map_err(|error| error.errno)?;
        spun_ns += spin(idle_ns)?;
    }
    Ok(spun_ns)
}

/// Spins until so much time has passed, and returns the CPU time of that: less where another task or the
/// host had the CPU, and with the ticks that interrupted it.
fn spin(ns: u64) -> Result<u64, Errno> {
    let before_ns = thread_cpu_ns()?;
    let start_ns = monotonic_raw_ns();
    while monotonic_raw_ns() - start_ns < ns {
        for step in 0..STEPS_PER_CLOCK_READ {
            black_box(step);
        }
    }
    Ok(thread_cpu_ns()? - before_ns)
}

/// Sleeps for so long, also where signals arrive meanwhile. The peer has answered a first round trip, and
/// waits for the next one.
fn sleep_for(ns: u64) -> Result<(), Errno> {
    let until_ns = gettime(ClockId::MONOTONIC)? + ns;
    while gettime(ClockId::MONOTONIC)? < until_ns {
        sleep_until(until_ns);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benchmarks::tests::{all_points, is_not_applicable};
    use crate::kernel::process::usage::thread;

    #[test]
    fn ends_settle_where_they_are_on_two_cpus_and_neither_of_them_spins() {
        let definition = CPU_TIME.definition();
        let mut points = all_points(&definition);
        points.retain(|point| !is_not_applicable(&definition, point));
        points.retain(|point| point.get("settle_ms").is_some());
        // Once by each mechanism.
        assert_eq!(points.len(), 5, "{points:?}");
        for point in points {
            assert_eq!(point.get("peer_cpu"), Some(&Value::from("other")), "{point}");
            assert_eq!(point.get("idle_us"), None, "{point}");
        }
    }

    #[test]
    fn a_thread_that_sleeps_leaves_its_cpu() {
        let before = thread().unwrap().voluntary_switches;
        sleep_for(1_000_000).unwrap();
        assert!(thread().unwrap().voluntary_switches > before);
    }
}
