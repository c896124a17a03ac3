//! Messages between two processes through sockets, on one machine or on two.
//!
//! Over TCP and UDP the other end stands behind a door, here as on another machine: the same code,
//! the same token, another address. What AF_UNIX has cannot leave a machine.

use super::exchange::{GETPPID, PEER_CPU, SIZE_ONE_WAY, Trips, WAY, Way, cpu_of_timed_peer, size};
use super::prelude::*;
use crate::bench::{ServeFn, When, each_end};
use crate::kernel::because::lacking;

mod connect;
mod endpoint;
mod ends;
mod packet;
mod stream;
#[cfg(test)]
mod tests;
mod udp;

use connect::What;

pub(super) const FAMILY: Family = Family {
    name: "socket",
    about: "bytes between processes through sockets, here or across a network",
    benches: BENCHES,
};

const BY: Axis = Axis {
    name: "by",
    sets: "the kind of socket: TCP or UDP, here over loopback; stream, datagrams or packets of \
           AF_UNIX that found each other by a path; a stream of socketpair(2)",
    points: Points::Words(&[
        "tcp",
        "udp",
        "unix-stream",
        "unix-dgram",
        "unix-seqpacket",
        "socketpair",
    ]),
    default_points: Points::Words(&["tcp", "udp", "unix-stream"]),
};

const NODELAY: Axis = Axis {
    name: "nodelay",
    sets: "whether a small segment of TCP is sent at once (TCP_NODELAY), or waits for the answer \
           to an earlier one",
    points: Points::Words(&["on", "off"]),
    default_points: Points::Implied("on"),
};

const BUFFER: Axis = Axis {
    name: "buffer",
    sets: "bytes of SO_SNDBUF and SO_RCVBUF at either end; unsaid: as the system has them",
    points: Points::Range {
        min: 4_096,
        max: 1 << 30,
        points: &[65_536, 262_144, 1 << 20, 4 << 20],
    },
    default_points: Points::Implied("system"),
};

const fn via(points: &'static [&'static str]) -> Axis {
    Axis {
        name: "via",
        sets: "how messages enter and leave the kernel: copied by send(2) and recv(2); sent from \
               pages of ours (MSG_ZEROCOPY) or of a file in memory (sendfile(2)), and received by \
               recv(2); or both by an io_uring, one submission a message that is waited for",
        points: Points::Words(points),
        default_points: Points::Implied("copy"),
    }
}

/// The other end is on both CPUs usually, and in the price list on one.
const PLACED: Axis = Axis {
    default_points: Points::WithPriceList {
        points: &Points::Words(&["same", "other"]),
        price_list: &Points::Words(&["same"]),
    },
    ..PEER_CPU
};

const UDP: When = &[("by", "udp")];
const RINGED: When = &[("via", "io-uring")];
const SENT_FILE: When = &[("via", "sendfile")];
const LENT: When = &[("via", "zerocopy")];
const COPIED_TCP: When = &[("by", "tcp"), ("via", "copy")];
const COPIED_STREAM: When = &[("by", "unix-stream"), ("via", "copy")];
const COPIED_PAIR: When = &[("by", "socketpair"), ("via", "copy")];
const DGRAM: When = &[("by", "unix-dgram")];
const SEQPACKET: When = &[("by", "unix-seqpacket")];
const TCP: When = &[("by", "tcp")];
const UNIX: When = &[("by", "unix-stream")];
const PAIR: When = &[("by", "socketpair")];
const SAME: When = &[("peer_cpu", "same")];
const OTHER: When = &[("peer_cpu", "other")];

/// What a datagram of UDP holds: a larger message has several.
const DATAGRAM: u64 = 65_507;

const NO_NAGLE: &str = "nodelay is of TCP alone";
const NO_LENDING: &str =
    "pages are lent to TCP alone (MSG_ZEROCOPY): AF_UNIX and UDP are measured by copy";
const NO_SENT_FILE: &str = "a file is sent into a stream: datagrams are measured by copy";
const NO_RING: &str = "an io_uring is measured on streams: datagrams are measured by copy";

/// What goes by another way than TCP has no delay to switch off.
const OF_TCP: [Need; 5] = [
    Need::not_applicable(NO_NAGLE).when(&[("by", "udp"), ("nodelay", "off")]),
    Need::not_applicable(NO_NAGLE).when(&[("by", "unix-stream"), ("nodelay", "off")]),
    Need::not_applicable(NO_NAGLE).when(&[("by", "unix-dgram"), ("nodelay", "off")]),
    Need::not_applicable(NO_NAGLE).when(&[("by", "unix-seqpacket"), ("nodelay", "off")]),
    Need::not_applicable(NO_NAGLE).when(&[("by", "socketpair"), ("nodelay", "off")]),
];

/// What an io_uring is measured on.
const OF_RINGS: [Need; 4] = [
    Need::not_applicable(NO_RING).when(&[("by", "udp"), ("via", "io-uring")]),
    Need::not_applicable(NO_RING).when(&[("by", "unix-dgram"), ("via", "io-uring")]),
    Need::not_applicable(NO_RING).when(&[("by", "unix-seqpacket"), ("via", "io-uring")]),
    Need::io_uring().when(RINGED),
];

/// What files and lent pages are sent into.
const OF_BULK: [Need; 8] = [
    Need::not_applicable(NO_SENT_FILE).when(&[("by", "udp"), ("via", "sendfile")]),
    Need::not_applicable(NO_SENT_FILE).when(&[("by", "unix-dgram"), ("via", "sendfile")]),
    Need::not_applicable(NO_SENT_FILE).when(&[("by", "unix-seqpacket"), ("via", "sendfile")]),
    Need::not_applicable(NO_LENDING).when(&[("by", "udp"), ("via", "zerocopy")]),
    Need::not_applicable(NO_LENDING).when(&[("by", "unix-stream"), ("via", "zerocopy")]),
    Need::not_applicable(NO_LENDING).when(&[("by", "unix-dgram"), ("via", "zerocopy")]),
    Need::not_applicable(NO_LENDING).when(&[("by", "unix-seqpacket"), ("via", "zerocopy")]),
    Need::not_applicable(NO_LENDING).when(&[("by", "socketpair"), ("via", "zerocopy")]),
];

/// All of one list and then all of another.
const fn both<const N: usize>(one: &[Need], other: &[Need]) -> [Need; N] {
    let mut all = [one[0]; N];
    let mut at = 1;
    while at < N {
        all[at] = if at < one.len() { one[at] } else { other[at - one.len()] };
        at += 1;
    }
    all
}

const MEANINGFUL: &[Need] = &both::<9>(&OF_TCP, &OF_RINGS);
const MEANINGFUL_IN_BULK: &[Need] = &both::<17>(MEANINGFUL, &OF_BULK);

/// What the benchmarks of this family are unless they say otherwise.
const MOVING: Bench =
    Bench { switches: true, bytes_axis: "size", needs: MEANINGFUL, ..Bench::DEFAULT };

const BENCHES: &[Bench] = &[
    Bench {
        id: "socket/round-trip",
        asks: "How long does a message through a socket and its answer take?",
        op: "a message sent through a socket at whose other end a process waits, and the wait \
             until that process has sent as many bytes back. Each side receives a whole message \
             before it sends: two calls a side. By udp a message has a number, and is lost where \
             it is not back within 20 times the time of an order to the peer and its answer, or \
             50 ms if that is less: what is lost or late is counted and is no sample. Outside: \
             making both ends, and verifying six messages, no two alike, at both.",
        expected: "on one CPU 4 us by unix-stream, 10 us by tcp and 8 by udp, up to 4 KiB; on two \
                CPUs 20 to 30 us whichever it is; 64 KiB 20 us more for four copies",
        why: "What a message costs is two copies and the calls; by tcp and udp also the way \
              through the network stack, down and up again in softirq context at either side, on \
              the sender's CPU over loopback; tcp has its windows and acknowledgements beside. \
              What a round trip costs on two CPUs is mostly waking one that sleeps. Beyond what \
              the buffers hold the sender sleeps in the middle of a message.",
        compare_with: &["switch/unix:between=processes,peer_cpu=same"],
        calls: &[
            each_end("sendto", 1).when(COPIED_TCP),
            each_end("recvfrom", 1).when(COPIED_TCP),
            each_end("sendto", 1).when(COPIED_STREAM),
            each_end("recvfrom", 1).when(COPIED_STREAM),
            each_end("sendto", 1).when(COPIED_PAIR),
            each_end("recvfrom", 1).when(COPIED_PAIR),
            each_end("sendto", 1).when(DGRAM),
            each_end("recvfrom", 1).when(DGRAM),
            each_end("sendto", 1).when(SEQPACKET),
            each_end("recvfrom", 1).when(SEQPACKET),
            exactly("sendto", 1).in_parts("size", DATAGRAM).when(UDP),
            // What did not arrive whole is not sent back.
            up_to("sendto", 1).in_parts("size", DATAGRAM).by_peer().when(UDP),
            // What takes as long as under a tracer is interrupted and given up.
            up_to("recvfrom", 2).in_parts("size", DATAGRAM).when(UDP),
            up_to("recvfrom", 2).in_parts("size", DATAGRAM).by_peer().when(UDP),
            // A message in parts is lost with any of them, and each loss is waited for.
            up_to("rt_sigreturn", 1).in_parts("size", DATAGRAM).when(UDP),
            up_to("rt_sigreturn", 1).in_parts("size", DATAGRAM).by_peer().when(UDP),
            up_to("waitid", 1).in_parts("size", DATAGRAM).when(UDP),
            each_end("io_uring_enter", 2).when(RINGED),
        ],
        floor: &[at_least(4, GETPPID).when(SAME), at_least(2, GETPPID).when(OTHER)],
        axes: &[
            BY,
            size(&Points::Numbers(&[64])),
            PLACED,
            NODELAY,
            BUFFER,
            via(&["copy", "io-uring"]),
        ],
        source: "socket(7), tcp(7), udp(7), unix(7); study cs736-2019, sections 3.2, 3.3, 4.4, 4.5",
        build: |at| or_refused(round_trips(at)),
        serve: Some(SERVE),
        ..MOVING
    },
    Bench {
        id: "socket/throughput",
        asks: "How many bytes a second go through a socket?",
        op: "many messages, one after the other, and at the end 4 bytes back, which the other \
             process sends when it has received them all and which stop the clock; the slope over \
             twice as many, so that the end is in no figure. By udp it is the bytes that arrive in \
             whole messages, over the time until the other end has acknowledged that there are no \
             more, which is said until it is: what was sent stands beside it, and there is no \
             slope. Outside: telling the other process how many come, and hearing what came. Calls \
             are counted for a message. Verified as in socket/round-trip.",
        expected: "on one CPU at 64 KiB 4 GB/s by unix-stream and 3 by tcp, up to half as much again \
                on two; at 64 B 100 MB/s by tcp, which puts small messages together, and half by \
                the others. By udp half of it is lost on one CPU, and little on two.",
        why: "Small messages pay for calls, large ones for two copies of each byte. By tcp small \
              ones are put together in larger segments, so that the receiver's calls alone are \
              many; by unix-stream each travels in a buffer of its own. By udp nobody waits for \
              whom he sends to: what comes while the receive buffer is full is lost. \
              MSG_ZEROCOPY over loopback copies after all, at the receiver; sendfile(2) does not \
              copy on the way in.",
        unit: oscost_model::unit::Unit::BytesPerSecond,
        calls: &[
            exactly("sendto", 1).when(COPIED_TCP),
            exactly("sendto", 1).when(COPIED_STREAM),
            exactly("sendto", 1).when(COPIED_PAIR),
            exactly("sendto", 1).when(DGRAM),
            exactly("sendto", 1).when(SEQPACKET),
            exactly("sendto", 1).when(LENT),
            up_to("recvmsg", 1).when(LENT),
            exactly("sendfile", 1).when(SENT_FILE),
            exactly("io_uring_enter", 1).when(RINGED),
            // It says that there are no more, waits for the answer, and says it again: often, where
            // a tracer holds the peer up.
            up_to("sendto", 8).in_parts("size", DATAGRAM).when(UDP),
            up_to("ppoll", 8).when(UDP),
            up_to("recvfrom", 1),
            // Its acknowledgement and its report, and its wait for what comes next.
            up_to("io_uring_enter", 2).by_peer().when(RINGED),
            up_to("sendto", 1).by_peer(),
            up_to("recvfrom", 3).in_parts("size", DATAGRAM).by_peer(),
        ],
        floor: &[],
        axes: &[
            Axis {
                default_points: Points::WithPriceList {
                    points: &Points::Words(&["tcp", "udp", "unix-stream"]),
                    price_list: &Points::Words(&["tcp"]),
                },
                ..BY
            },
            size(&Points::Numbers(&[65_536])),
            PLACED,
            NODELAY,
            BUFFER,
            via(&["copy", "zerocopy", "sendfile", "io-uring"]),
        ],
        needs: MEANINGFUL_IN_BULK,
        source: "socket(7), tcp(7), udp(7), unix(7), sendfile(2); \
                 Documentation/networking/msg_zerocopy.rst; study cs736-2019, sections 3.2 and 3.3",
        build: |at| or_refused(throughput(at)),
        serve: Some(SERVE),
        ..MOVING
    },
    Bench {
        id: "socket/one-way",
        asks: "How long does a message take one way, and is that half of a round trip?",
        op: "from a time that is taken before a message is sent until one that the receiving \
             process takes when it has all of it, by the counter that all CPUs share. It is one of \
             many trips there and back, as in socket/round-trip: eight trips come before it, and \
             it comes back too. Outside: those, and handing over the other process's times.",
        expected: "half of socket/round-trip within 5 %, there as well as back",
        why: "Between two machines one way cannot be timed, since no clock is shared: there half \
              of a round trip is an assumption, and here it can be looked at.",
        calls: &[
            // The message, and one more trip; then the other process's times are heard.
            exactly("sendto", 2).when(TCP),
            exactly("sendto", 2).when(UNIX),
            exactly("sendto", 2).when(PAIR),
            exactly("sendto", 2).when(DGRAM),
            exactly("sendto", 2).when(SEQPACKET),
            // Those are asked for, by a datagram and an order.
            up_to("sendto", 3).in_parts("size", DATAGRAM).when(UDP),
            up_to("setitimer", 1).when(UDP),
            up_to("recvfrom", 3).in_parts("size", DATAGRAM),
            up_to("sendto", 3).in_parts("size", DATAGRAM).by_peer(),
            up_to("recvfrom", 5).in_parts("size", DATAGRAM).by_peer(),
            up_to("clock_gettime", 2),
            up_to("clock_gettime", 2).by_peer(),
        ],
        floor: &[at_least(1, GETPPID)],
        axes: &[BY, WAY, SIZE_ONE_WAY, PEER_CPU, NODELAY, BUFFER],
        needs: &OF_TCP,
        source: "study cs736-2019, section 3.2",
        in_price_list: false,
        build: |at| or_refused(one_way(at)),
        ..MOVING
    },
    Bench {
        id: "socket/connect",
        asks: "What does a connection cost that is made, accepted and closed?",
        op: "a socket made and connected; the wait until the other process has accepted the \
             connection and closed it; and its end here. By tcp this end is told to close by a \
             reset (SO_LINGER of 0 s, one more call): it closes second, so that nothing is lost by \
             it, and no address stays taken for a minute (TIME_WAIT), however many connections \
             there are. Outside: telling the other process how many come, and hearing how many \
             came.",
        expected: "on one CPU 40 us by tcp and 12 by unix-stream; on two half as much again",
        why: "By tcp a port is chosen, three packets make the connection and three end it, each \
              through the whole stack; two sockets come and go. By unix-stream a path is looked \
              up, and no packet is sent.",
        calls: &[
            exactly("socket", 1),
            exactly("setsockopt", 1).when(TCP),
            exactly("connect", 1),
            exactly("recvfrom", 1),
            exactly("close", 1),
            exactly("accept4", 1).by_peer(),
            exactly("close", 1).by_peer(),
            // Its wait for what comes next, which it is told after a batch.
            up_to("poll", 1).by_peer(),
            up_to("recvfrom", 1).by_peer(),
            up_to("sendto", 1).by_peer(),
        ],
        floor: &[at_least(5, GETPPID).when(TCP), at_least(4, GETPPID).when(UNIX)],
        axes: &[
            Axis {
                points: Points::Words(&["tcp", "unix-stream"]),
                default_points: Points::WithPriceList {
                    points: &Points::Words(&["tcp", "unix-stream"]),
                    price_list: &Points::Words(&["tcp"]),
                },
                ..BY
            },
            PLACED,
        ],
        source: "connect(2), accept(2), tcp(7); lmbench lat_connect",
        needs: &[],
        bytes_axis: "",
        build: |at| or_refused(connected(at, What::Whole)),
        serve: Some(connect::serve_whole),
        ..MOVING
    },
    Bench {
        id: "socket/first-byte",
        asks: "How long does it take from the wish to connect until the other end's first byte?",
        op: "connect(2) of a socket that is ready, and the wait for a byte that the other process \
             sends as soon as it has accepted. Outside: making the socket, and closing it as \
             socket/connect does.",
        expected: "three quarters of socket/connect",
        why: "A round trip to connect, which the kernel answers alone; then the other process is \
              woken, accepts and sends, which is half a round trip more. Between machines the way \
              is all of it: two round trips and no work to speak of.",
        calls: &[
            exactly("connect", 1),
            exactly("recvfrom", 1),
            exactly("accept4", 1).by_peer(),
            up_to("sendto", 2).by_peer(),
            exactly("close", 1).by_peer(),
            up_to("poll", 1).by_peer(),
            up_to("recvfrom", 1).by_peer(),
        ],
        floor: &[at_least(2, GETPPID)],
        axes: &[
            Axis {
                points: Points::Words(&["tcp", "unix-stream"]),
                default_points: Points::Words(&["tcp", "unix-stream"]),
                ..BY
            },
            PLACED,
        ],
        source: "connect(2), accept(2), tcp(7)",
        needs: &[],
        bytes_axis: "",
        in_price_list: false,
        build: |at| or_refused(connected(at, What::FirstByte)),
        serve: Some(connect::serve_first_byte),
        ..MOVING
    },
];

/// The other end of messages, behind a door.
const SERVE: ServeFn = |at, door| match at.word("by") {
    "tcp" => ends::serve_tcp(at, door),
    "udp" => udp::serve(at, door),
    _ => Err(lacking(STAYS_HERE.to_owned())),
};

const STAYS_HERE: &str = "AF_UNIX does not reach another machine: by=tcp and by=udp do";
const NO_COMMON_CLOCK: &str = "one way cannot be timed between two machines, whose clocks are not \
                               compared: socket/round-trip can, and half of it is an assumption";

fn round_trips(at: Params<'_>) -> Result<Work, Errno> {
    match at.word("by") {
        "tcp" => ends::tcp(at)?.round_trips(at.number("size"), Trips::Freely),
        "udp" => udp::round_trips(at),
        _ if at.context.remote_peer.is_some() => Ok(Work::unavailable(STAYS_HERE)),
        _ => ends::here(at)?.round_trips(at.number("size"), Trips::Freely),
    }
}

fn throughput(at: Params<'_>) -> Result<Work, Errno> {
    /// Some fills of the buffers that systems usually have.
    const LEAST: u64 = 2 << 20;
    let size = at.number("size");
    let least = (LEAST / size).max(4);
    match at.word("by") {
        "tcp" => ends::tcp(at)?.throughput(size, least),
        "udp" => udp::throughput(at),
        _ if at.context.remote_peer.is_some() => Ok(Work::unavailable(STAYS_HERE)),
        _ => ends::here(at)?.throughput(size, least),
    }
}

fn one_way(at: Params<'_>) -> Result<Work, Errno> {
    let way = if at.word("way") == "there" { Way::There } else { Way::Back };
    if at.context.remote_peer.is_some() {
        return Ok(Work::unavailable(NO_COMMON_CLOCK));
    }
    if let Err(lacking) = cpu_of_timed_peer(at) {
        return Ok(lacking);
    }
    match at.word("by") {
        "tcp" => ends::tcp(at)?.one_way(at.number("size"), way, at.context.clock),
        "udp" => udp::one_way(at),
        _ => ends::here(at)?.one_way(at.number("size"), way, at.context.clock),
    }
}

fn connected(at: Params<'_>, what: What) -> Result<Work, Errno> {
    if at.context.remote_peer.is_some() && at.word("by") != "tcp" {
        return Ok(Work::unavailable("AF_UNIX does not reach another machine: by=tcp does"));
    }
    connect::work(at, what)
}
