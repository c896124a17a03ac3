//! Messages between two processes of one machine: through pipes, and through other mechanisms for
//! processes that share a channel.
//!
//! Sockets have a family of their own. An eventfd carries a number, not a message: see
//! `switch/eventfd`.

use super::exchange::{Channel, Direction, PEER_CPU, SIZE_ONE_WAY, TripMode, WAY, size};
use super::placement::{cpu_of_peer, cpu_of_timed_peer};
use super::prelude::*;
use crate::bench::{PointFilter, each_end};

mod cpu_time;
mod mechanisms;
#[cfg(test)]
mod tests;

pub(super) const FAMILY: Family = Family {
    name: "pipe",
    about: "messages between local processes by pipes, queues and shared memory",
    benches: BENCHES,
};

const BY: Axis = Axis {
    name: "by",
    sets: "the mechanism: a pipe; a FIFO; a pipe that is given references to the sender's pages \
           (vmsplice(2)); POSIX or System V message queues; a ring in shared memory, whose waiter \
           sleeps (futex(2)) or spins; the sender's memory, from which the receiver copies \
           (process_vm_readv(2))",
    points: Points::Words(&[
        "pipe",
        "fifo",
        "vmsplice",
        "mq",
        "sysv-mq",
        "shm-futex",
        "shm-spin",
        "process-vm",
    ]),
    default_points: Points::Words(&["pipe"]),
};

/// The mechanisms for throughput.
const BY_FOR_THROUGHPUT: Axis = Axis {
    sets: "the mechanism: a pipe; a FIFO; a pipe that is given references to the sender's pages \
           (vmsplice(2)) or to those of a memory file (splice(2)); POSIX or System V message \
           queues; a ring in shared memory, whose waiter sleeps (futex(2)) or spins; the sender's \
           memory, from which the receiver copies (process_vm_readv(2))",
    points: Points::Words(&[
        "pipe",
        "fifo",
        "vmsplice",
        "splice",
        "mq",
        "sysv-mq",
        "shm-futex",
        "shm-spin",
        "process-vm",
    ]),
    ..BY
};

const CAPACITY: Axis = Axis {
    name: "capacity",
    sets: "capacity of the pipe or the ring in bytes; implied: the system's default \
           (F_GETPIPE_SZ), and 65536 for a ring",
    points: Points::Numbers(&[4_096, 65_536, 1 << 20]),
    default_points: Points::Implied("system"),
};

const PIPE: PointFilter = &[("by", "pipe")];
const FIFO: PointFilter = &[("by", "fifo")];
const VMSPLICE: PointFilter = &[("by", "vmsplice")];
const SPLICE: PointFilter = &[("by", "splice")];
const MQ: PointFilter = &[("by", "mq")];
const SYSV_MQ: PointFilter = &[("by", "sysv-mq")];
const FUTEX: PointFilter = &[("by", "shm-futex")];
const PROCESS_VM: PointFilter = &[("by", "process-vm")];

/// A pipe transfers its bytes page by page, so a large message may arrive in as many parts.
const PAGE: u64 = 4_096;
/// A quarter of a ring of 4096 bytes, the smallest.
const RING_PART: u64 = 1_024;

/// A spinning waiter never yields, so a peer pinned to the same CPU cannot run.
const SPINNING: Need = Need::not_applicable(
    "a spinning waiter keeps the CPU that its peer needs: nothing proceeds before its time slice \
     ends (select peer_cpu=other)",
)
.when(&[("by", "shm-spin"), ("peer_cpu", "same")]);

/// The defaults of this family.
const DEFAULTS: Bench =
    Bench { switches: true, bytes_axis: "size", needs: &[SPINNING], ..Bench::DEFAULT };

const BENCHES: &[Bench] = &[
    Bench {
        id: "pipe/round-trip",
        asks: "What is the round-trip time of a message to another process?",
        op: "a message written into a channel that another process reads, and the wait until that \
             process has sent as many bytes back through a second one. Each end receives a whole \
             message before it sends. Not included: creating both, and verifying six different \
             messages byte by byte at both ends.",
        expected: "by pipe and up to 4 KiB the same as switch/pipe, 3 us on one CPU and ten times \
                   that on two; 64 KiB 20 us more for four copies; beyond, two switches per 64 \
                   KiB. By queue a third more, by shm-futex a third less; spinning 0.3 us.",
        why: "The cost of a message is two copies (into the kernel and out of it) and the calls; \
              the cost of a round trip is mostly waiting: on one CPU two switches, on two CPUs two \
              interrupts that wake a sleeping CPU. Only messages larger than the capacity make the \
              sender sleep in the middle, once per fill: with capacity=4096 from 4 KiB on. With \
              spinning there is no switch: shm-spin is the cost of transferring cache lines alone. \
              An eventfd carries 8 bytes, not a message.",
        compare_with: &[
            "switch/pipe:between=processes,peer_cpu=same",
            "switch/eventfd:between=processes,peer_cpu=same",
        ],
        calls: &[
            each_end("write", 1).when(PIPE),
            each_end("read", 1).in_parts("size", PAGE).when(PIPE),
            each_end("write", 1).when(FIFO),
            each_end("read", 1).in_parts("size", PAGE).when(FIFO),
            each_end("vmsplice", 1).in_parts("size", PAGE).when(VMSPLICE),
            each_end("read", 1).in_parts("size", PAGE).when(VMSPLICE),
            each_end("mq_timedsend", 1).when(MQ),
            each_end("mq_timedreceive", 1).when(MQ),
            each_end("msgsnd", 1).when(SYSV_MQ),
            each_end("msgrcv", 1).when(SYSV_MQ),
            // An end that finds its data at once does not wait, and is not woken.
            up_to("futex", 4).in_parts("size", RING_PART).when(FUTEX),
            up_to("futex", 4).in_parts("size", RING_PART).by_peer().when(FUTEX),
            each_end("write", 1).when(PROCESS_VM),
            each_end("read", 1).when(PROCESS_VM),
            each_end("process_vm_readv", 1).when(PROCESS_VM),
            // It receives the number of messages, and sleeps between batches.
            up_to("recvfrom", 1).by_peer().when(&[("by", "shm-spin")]),
        ],
        floor: &[
            at_least(1, "switch/pipe:between=processes,peer_cpu=none")
                .when(&[("by", "pipe"), ("peer_cpu", "same")]),
            at_least(2, NULL_CALL).when(&[("by", "pipe"), ("peer_cpu", "other")]),
            at_least(2, NULL_CALL).when(FIFO),
            at_least(2, NULL_CALL).when(VMSPLICE),
            at_least(2, NULL_CALL).when(MQ),
            at_least(2, NULL_CALL).when(SYSV_MQ),
            at_least(3, NULL_CALL).when(PROCESS_VM),
        ],
        axes: &[BY, size(&Points::Numbers(&[64])), PEER_CPU, CAPACITY],
        source: "pipe(7), fifo(7), mq_overview(7), sysvipc(7), vmsplice(2), process_vm_readv(2), \
                 futex(2); study cs736-2019, sections 3.1 and 4.3",
        build: |params| or_unavailable(round_trips(params)),
        ..DEFAULTS
    },
    Bench {
        id: "pipe/throughput",
        asks: "How many bytes per second can be sent to another process?",
        op: "many messages, one after the other, and at the end 4 bytes back, which the other \
             process sends when it has received all messages and which end the timed window; the \
             slope over twice as many, so that the end cancels. Each message is received \
             completely before the next one. Not included: announcing the number of messages, and \
             the report of how many messages and bytes arrived: any difference is a failure. Calls \
             are counted per message. Verified as in pipe/round-trip.",
        expected: "by pipe on one CPU 15 MB/s at 4 B, 2.5 GB/s at 4 KiB, 8 GB/s from 64 KiB on; on \
                   two CPUs up to twice that from 64 KiB on, and less below 1 KiB. By vmsplice \
                   twice as much as by pipe at 64 KiB, by process-vm three times as much.",
        why: "Small messages pay for calls, 0.3 us per message; large ones for two copies of each \
              byte. On one CPU the sender fills the channel and sleeps, the receiver drains it and \
              sleeps: one switch per fill, which is negligible at 64 KiB and dominates with \
              capacity=4096. On two CPUs both copy in parallel, unless one end is so fast that it \
              sleeps and is woken for each message.",
        unit: Unit::BytesPerSecond,
        calls: &[
            exactly("write", 1).when(PIPE),
            up_to("read", 1).when(PIPE),
            exactly("read", 1).in_parts("size", PAGE).by_peer().when(PIPE),
            up_to("write", 1).by_peer().when(PIPE),
            exactly("write", 1).when(FIFO),
            up_to("read", 1).when(FIFO),
            exactly("read", 1).in_parts("size", PAGE).by_peer().when(FIFO),
            up_to("write", 1).by_peer().when(FIFO),
            exactly("vmsplice", 1).in_parts("size", PAGE).when(VMSPLICE),
            up_to("read", 1).when(VMSPLICE),
            exactly("read", 1).in_parts("size", PAGE).by_peer().when(VMSPLICE),
            up_to("vmsplice", 1).by_peer().when(VMSPLICE),
            exactly("splice", 1).in_parts("size", PAGE).when(SPLICE),
            up_to("read", 1).when(SPLICE),
            exactly("read", 1).in_parts("size", PAGE).by_peer().when(SPLICE),
            up_to("write", 1).by_peer().when(SPLICE),
            exactly("mq_timedsend", 1).when(MQ),
            up_to("mq_timedreceive", 1).when(MQ),
            exactly("mq_timedreceive", 1).by_peer().when(MQ),
            up_to("mq_timedsend", 1).by_peer().when(MQ),
            exactly("msgsnd", 1).when(SYSV_MQ),
            up_to("msgrcv", 1).when(SYSV_MQ),
            exactly("msgrcv", 1).by_peer().when(SYSV_MQ),
            up_to("msgsnd", 1).by_peer().when(SYSV_MQ),
            up_to("futex", 4).in_parts("size", RING_PART).when(FUTEX),
            up_to("futex", 4).in_parts("size", RING_PART).by_peer().when(FUTEX),
            exactly("write", 1).when(PROCESS_VM),
            up_to("read", 1).when(PROCESS_VM),
            up_to("process_vm_readv", 1).when(PROCESS_VM),
            exactly("read", 1).by_peer().when(PROCESS_VM),
            exactly("process_vm_readv", 1).by_peer().when(PROCESS_VM),
            up_to("write", 1).by_peer().when(PROCESS_VM),
            // Its report, and its wait for the next command.
            up_to("sendto", 1).by_peer(),
            up_to("recvfrom", 1).by_peer(),
        ],
        axes: &[BY_FOR_THROUGHPUT, size(&Points::Numbers(&[65_536])), PEER_CPU, CAPACITY],
        source: "pipe(7), splice(2), vmsplice(2); study cs736-2019, sections 3.1 and 4.3",
        build: |params| or_unavailable(throughput(params)),
        ..DEFAULTS
    },
    Bench {
        id: "pipe/one-way",
        asks: "How long does a message take one way, and is that half of a round trip?",
        op: "from a time stamp before a message is sent until one that the receiving process takes \
             when it has all of it, by the counter that all CPUs share. It is one of many round \
             trips, so that both processes are as warm, and wait in the same calls, as in \
             pipe/round-trip: eight round trips precede it, it is answered too, and one more round \
             trip follows (the calls of both are counted). Not included: those round trips, and \
             passing the other process's time stamps.",
        expected: "half of pipe/round-trip within 5 %, in both directions",
        why: "A study halves the round trip because one way cannot be timed between two machines. \
              On one machine it can. Both directions are the same calls, copies and switches by \
              two processes that differ only in which one began, so halves should be accurate; \
              where they are not, the clock reads (two per way) contribute, or one CPU wakes more \
              slowly than the other.",
        compare_with: &[
            "pipe/round-trip:by=pipe,size=64,peer_cpu=same",
            "pipe/round-trip:by=pipe,size=64,peer_cpu=other",
            "pipe/round-trip:by=pipe,size=65536,peer_cpu=same",
            "pipe/round-trip:by=pipe,size=65536,peer_cpu=other",
        ],
        calls: &[
            exactly("write", 2).when(PIPE),
            exactly("read", 2).in_parts("size", PAGE).when(PIPE),
            exactly("write", 2).by_peer().when(PIPE),
            up_to("read", 2).in_parts("size", PAGE).by_peer().when(PIPE),
            exactly("write", 2).when(FIFO),
            exactly("read", 2).in_parts("size", PAGE).when(FIFO),
            exactly("write", 2).by_peer().when(FIFO),
            up_to("read", 2).in_parts("size", PAGE).by_peer().when(FIFO),
            exactly("vmsplice", 2).in_parts("size", PAGE).when(VMSPLICE),
            exactly("read", 2).in_parts("size", PAGE).when(VMSPLICE),
            exactly("vmsplice", 2).in_parts("size", PAGE).by_peer().when(VMSPLICE),
            up_to("read", 2).in_parts("size", PAGE).by_peer().when(VMSPLICE),
            exactly("mq_timedsend", 2).when(MQ),
            exactly("mq_timedreceive", 2).when(MQ),
            exactly("mq_timedsend", 2).by_peer().when(MQ),
            up_to("mq_timedreceive", 2).by_peer().when(MQ),
            exactly("msgsnd", 2).when(SYSV_MQ),
            exactly("msgrcv", 2).when(SYSV_MQ),
            exactly("msgsnd", 2).by_peer().when(SYSV_MQ),
            up_to("msgrcv", 2).by_peer().when(SYSV_MQ),
            up_to("futex", 4).in_parts("size", RING_PART).when(FUTEX),
            up_to("futex", 4).in_parts("size", RING_PART).by_peer().when(FUTEX),
            exactly("write", 2).when(PROCESS_VM),
            exactly("read", 2).when(PROCESS_VM),
            exactly("process_vm_readv", 2).when(PROCESS_VM),
            exactly("write", 2).by_peer().when(PROCESS_VM),
            up_to("read", 2).by_peer().when(PROCESS_VM),
            exactly("process_vm_readv", 2).by_peer().when(PROCESS_VM),
            // Its time stamps, and its wait for the next command.
            exactly("recvfrom", 1),
            up_to("sendto", 1).by_peer(),
            up_to("recvfrom", 1).by_peer(),
            // Only where reading a clock takes a system call.
            up_to("clock_gettime", 2),
            up_to("clock_gettime", 2).by_peer(),
        ],
        floor: &[
            at_least(1, NULL_CALL).when(PIPE),
            at_least(1, NULL_CALL).when(FIFO),
            at_least(1, NULL_CALL).when(VMSPLICE),
            at_least(1, NULL_CALL).when(MQ),
            at_least(1, NULL_CALL).when(SYSV_MQ),
            at_least(1, NULL_CALL).when(PROCESS_VM),
        ],
        axes: &[BY, WAY, SIZE_ONE_WAY, PEER_CPU, CAPACITY],
        source: "study cs736-2019, section 3.2",
        in_price_list: false,
        build: |params| or_unavailable(one_way(params)),
        ..DEFAULTS
    },
    cpu_time::CPU_TIME,
];

/// A channel, and what it holds.
struct OpenChannel {
    channel: Channel,
    capacity_bytes: u64,
}

/// The channel at a point; or a skipped row with the reason.
fn open_channel(params: Params<'_>) -> Result<Result<OpenChannel, Work>, Errno> {
    let cpu = match cpu_of_peer(params) {
        Ok(cpu) => cpu,
        Err(unavailable) => return Ok(Err(unavailable)),
    };
    let ends = mechanisms::make_ends(params, params.number("size"))?;
    let capacity_bytes = ends.own.observation().capacity_bytes.unwrap_or(0);
    let channel = Channel::with_child(cpu, params.context.clock, ends)?;
    Ok(Ok(OpenChannel { channel, capacity_bytes }))
}

/// A spinning end receives the number of messages, and sleeps between batches.
fn trip_mode(params: Params<'_>) -> TripMode {
    if params.word("by") == "shm-spin" { TripMode::Announced } else { TripMode::Unlimited }
}

fn round_trips(params: Params<'_>) -> Result<Work, Errno> {
    match open_channel(params)? {
        Ok(OpenChannel { channel, .. }) => {
            channel.round_trips(params.number("size"), trip_mode(params))
        }
        Err(unavailable) => Ok(unavailable),
    }
}

fn throughput(params: Params<'_>) -> Result<Work, Errno> {
    /// A batch has at least this many fills of the channel,
    const FILLS: u64 = 4;
    /// and this many messages: with fewer large ones, waking the other end would dominate.
    const MESSAGES: u64 = 16;
    let size = params.number("size");
    match open_channel(params)? {
        Ok(OpenChannel { channel, capacity_bytes }) => {
            channel.throughput(size, (FILLS * capacity_bytes / size).max(MESSAGES))
        }
        Err(unavailable) => Ok(unavailable),
    }
}

fn one_way(params: Params<'_>) -> Result<Work, Errno> {
    let direction =
        if params.word("way") == "there" { Direction::ToPeer } else { Direction::FromPeer };
    if let Err(unavailable) = cpu_of_timed_peer(params) {
        return Ok(unavailable);
    }
    match open_channel(params)? {
        Ok(OpenChannel { channel, .. }) => {
            channel.one_way(params.number("size"), direction, params.context.clock)
        }
        Err(unavailable) => Ok(unavailable),
    }
}
