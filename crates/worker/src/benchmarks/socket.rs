//! Messages between two processes through sockets, on one machine or on two.
//!
//! Over TCP and UDP the peer listens for an authenticated connection, on this machine as on another
//! one: the same code, the same token, another address. AF_UNIX sockets cannot leave a machine.

use super::exchange::{Direction, PEER_CPU, SIZE_ONE_WAY, TripMode, WAY, size};
use super::placement::cpu_of_timed_peer;
use super::prelude::*;
use crate::bench::{PointFilter, ServeFn, each_end};
use crate::kernel::syscall::prepared::POLL;

mod connect;
mod endpoint;
mod own_messages;
mod packet;
mod private_network;
mod setup;
mod stream;
#[cfg(test)]
mod tests;
mod udp;
mod unconnected;

use connect::Op;

pub(super) const FAMILY: Family = Family {
    name: "socket",
    about: "messages through sockets, on one machine or across a network",
    benches: BENCHES,
};

const BY: Axis = Axis {
    name: "by",
    sets: "type of socket: TCP or UDP, locally over loopback; AF_UNIX stream, datagram or \
           seqpacket sockets connected by a path; a stream of socketpair(2)",
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
    sets: "whether a small TCP segment is sent at once (TCP_NODELAY), or waits for the \
           acknowledgement of an earlier one",
    points: Points::Words(&["on", "off"]),
    default_points: Points::Implied("on"),
};

const BUFFER: Axis = Axis {
    name: "buffer",
    sets: "SO_SNDBUF and SO_RCVBUF in bytes at both ends; implied: the system's defaults",
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
               user pages (MSG_ZEROCOPY) or from a memory file (sendfile(2)), and received by \
               recv(2); or both by an io_uring, one submission per message that is waited for",
        points: Points::Words(points),
        default_points: Points::Implied("copy"),
    }
}

/// By default the peer is on either CPU, in the price list on the same one.
const PEER_CPU_BOTH: Axis = Axis {
    default_points: Points::WithPriceList {
        points: &Points::Words(&["same", "other"]),
        price_list: &Points::Words(&["same"]),
    },
    ..PEER_CPU
};

const UDP: PointFilter = &[("by", "udp")];
const IO_URING: PointFilter = &[("via", "io-uring")];
const SENDFILE: PointFilter = &[("via", "sendfile")];
const ZEROCOPY: PointFilter = &[("via", "zerocopy")];
const COPY_TCP: PointFilter = &[("by", "tcp"), ("via", "copy")];
const COPY_STREAM: PointFilter = &[("by", "unix-stream"), ("via", "copy")];
const COPY_PAIR: PointFilter = &[("by", "socketpair"), ("via", "copy")];
const DGRAM: PointFilter = &[("by", "unix-dgram")];
const SEQPACKET: PointFilter = &[("by", "unix-seqpacket")];
const TCP: PointFilter = &[("by", "tcp")];
const UNIX: PointFilter = &[("by", "unix-stream")];
const PAIR: PointFilter = &[("by", "socketpair")];
const SAME: PointFilter = &[("peer_cpu", "same")];
const OTHER: PointFilter = &[("peer_cpu", "other")];

/// The payload of a UDP datagram: a larger message takes several.
const DATAGRAM_BYTES: u64 = 65_507;

const NO_NAGLE: &str = "nodelay applies to TCP only";
const NO_ZEROCOPY: &str =
    "MSG_ZEROCOPY is measured over TCP only: AF_UNIX and UDP are measured by copy";
const NO_SENDFILE: &str = "sendfile(2) is measured on streams only: datagrams are measured by \
                            copy";
const NO_RING: &str = "io_uring is measured on streams only: datagrams are measured by copy";

/// Only TCP has a delay to switch off.
const NODELAY_NEEDS: [Need; 5] = [
    Need::not_applicable(NO_NAGLE).when(&[("by", "udp"), ("nodelay", "off")]),
    Need::not_applicable(NO_NAGLE).when(&[("by", "unix-stream"), ("nodelay", "off")]),
    Need::not_applicable(NO_NAGLE).when(&[("by", "unix-dgram"), ("nodelay", "off")]),
    Need::not_applicable(NO_NAGLE).when(&[("by", "unix-seqpacket"), ("nodelay", "off")]),
    Need::not_applicable(NO_NAGLE).when(&[("by", "socketpair"), ("nodelay", "off")]),
];

/// The sockets that io_uring is measured on.
const IO_URING_NEEDS: [Need; 4] = [
    Need::not_applicable(NO_RING).when(&[("by", "udp"), ("via", "io-uring")]),
    Need::not_applicable(NO_RING).when(&[("by", "unix-dgram"), ("via", "io-uring")]),
    Need::not_applicable(NO_RING).when(&[("by", "unix-seqpacket"), ("via", "io-uring")]),
    Need::io_uring().when(IO_URING),
];

/// The sockets that sendfile(2) and MSG_ZEROCOPY are measured on.
const BULK_NEEDS: [Need; 8] = [
    Need::not_applicable(NO_SENDFILE).when(&[("by", "udp"), ("via", "sendfile")]),
    Need::not_applicable(NO_SENDFILE).when(&[("by", "unix-dgram"), ("via", "sendfile")]),
    Need::not_applicable(NO_SENDFILE).when(&[("by", "unix-seqpacket"), ("via", "sendfile")]),
    Need::not_applicable(NO_ZEROCOPY).when(&[("by", "udp"), ("via", "zerocopy")]),
    Need::not_applicable(NO_ZEROCOPY).when(&[("by", "unix-stream"), ("via", "zerocopy")]),
    Need::not_applicable(NO_ZEROCOPY).when(&[("by", "unix-dgram"), ("via", "zerocopy")]),
    Need::not_applicable(NO_ZEROCOPY).when(&[("by", "unix-seqpacket"), ("via", "zerocopy")]),
    Need::not_applicable(NO_ZEROCOPY).when(&[("by", "socketpair"), ("via", "zerocopy")]),
];

/// Concatenates two lists.
const fn concat<const N: usize>(one: &[Need], other: &[Need]) -> [Need; N] {
    let mut all = [one[0]; N];
    let mut at = 1;
    while at < N {
        all[at] = if at < one.len() { one[at] } else { other[at - one.len()] };
        at += 1;
    }
    all
}

const ROUND_TRIP_NEEDS: &[Need] = &concat::<9>(&NODELAY_NEEDS, &IO_URING_NEEDS);
const THROUGHPUT_NEEDS: &[Need] = &concat::<17>(ROUND_TRIP_NEEDS, &BULK_NEEDS);

/// The defaults of this family.
const DEFAULTS: Bench =
    Bench { switches: true, bytes_axis: "size", needs: ROUND_TRIP_NEEDS, ..Bench::DEFAULT };

const BENCHES: &[Bench] = &[
    Bench {
        id: "socket/round-trip",
        asks: "What is the round-trip time of a message through a socket?",
        op: "a message sent through a socket at whose other end a process waits, and the wait \
             until that process has sent as many bytes back. Each end receives a whole message \
             before it sends: two calls per end. By udp a message has a number, and is lost if it \
             is not back within 20 times the time of a command to the peer and its answer, at \
             least 50 ms: lost and late messages are counted and are not samples. Not included: \
             creating both ends, and verifying six different messages at both.",
        expected: "on one CPU 4 us by unix-stream, 10 us by tcp and 8 by udp, up to 4 KiB; on two \
                   CPUs 20 to 30 us for each of them; 64 KiB 20 us more for four copies",
        why: "The cost of a message is two copies and the calls; by tcp and udp also the path \
              through the network stack, down and, in softirq context, up again at each end, on \
              the sender's CPU over loopback; tcp adds its windows and acknowledgements. The cost \
              of a round trip on two CPUs is mostly waking a sleeping one. Messages larger than \
              the buffers make the sender sleep in the middle.",
        compare_with: &["switch/unix:between=processes,peer_cpu=same"],
        calls: &[
            each_end("sendto", 1).when(COPY_TCP),
            each_end("recvfrom", 1).when(COPY_TCP),
            each_end("sendto", 1).when(COPY_STREAM),
            each_end("recvfrom", 1).when(COPY_STREAM),
            each_end("sendto", 1).when(COPY_PAIR),
            each_end("recvfrom", 1).when(COPY_PAIR),
            each_end("sendto", 1).when(DGRAM),
            each_end("recvfrom", 1).when(DGRAM),
            each_end("sendto", 1).when(SEQPACKET),
            each_end("recvfrom", 1).when(SEQPACKET),
            exactly("sendto", 1).in_parts("size", DATAGRAM_BYTES).when(UDP),
            // A message that did not arrive completely is not sent back.
            up_to("sendto", 1).in_parts("size", DATAGRAM_BYTES).by_peer().when(UDP),
            // A call that takes as long as under a tracer is interrupted and given up.
            up_to("recvfrom", 2).in_parts("size", DATAGRAM_BYTES).when(UDP),
            up_to("recvfrom", 2).in_parts("size", DATAGRAM_BYTES).by_peer().when(UDP),
            // A message in parts is lost with any of them, and each loss is waited for.
            up_to("rt_sigreturn", 1).in_parts("size", DATAGRAM_BYTES).when(UDP),
            up_to("rt_sigreturn", 1).in_parts("size", DATAGRAM_BYTES).by_peer().when(UDP),
            up_to("waitid", 1).in_parts("size", DATAGRAM_BYTES).when(UDP),
            each_end("io_uring_enter", 2).when(IO_URING),
        ],
        floor: &[at_least(4, NULL_CALL).when(SAME), at_least(2, NULL_CALL).when(OTHER)],
        axes: &[
            BY,
            size(&Points::Numbers(&[64])),
            PEER_CPU_BOTH,
            NODELAY,
            BUFFER,
            via(&["copy", "io-uring"]),
        ],
        source: "socket(7), tcp(7), udp(7), unix(7); study cs736-2019, sections 3.2, 3.3, 4.4, 4.5",
        build: |params| or_unavailable(round_trips(params)),
        serve: Some(SERVE),
        ..DEFAULTS
    },
    Bench {
        id: "socket/throughput",
        asks: "How many bytes per second can be sent through a socket?",
        op: "many messages, one after the other, and at the end 4 bytes back, which the other \
             process sends when it has received all messages and which end the timed window; the \
             slope over twice as many, so that the end cancels. By udp it is the bytes that arrive \
             in complete messages, divided by the time until the peer has acknowledged the end \
             marker, which is repeated until then: what was sent is reported separately, and there \
             is no slope. Not included: announcing the number of messages, and the report of what \
             arrived. Calls are counted per message. Verified as in socket/round-trip.",
        expected: "on one CPU at 64 KiB 4 GB/s by unix-stream and 3 by tcp, up to half as much \
                   again on two; at 64 B 100 MB/s by tcp, which merges small messages, and half of \
                   that by the others. By udp half of the messages are lost on one CPU, and few on \
                   two.",
        why: "Small messages pay for calls, large ones for two copies of each byte. tcp merges \
              small messages into larger segments, so that only the receiver's calls are many; by \
              unix-stream each travels in a buffer of its own. A udp sender does not wait for its \
              receiver: datagrams that arrive while the receive buffer is full are dropped. \
              MSG_ZEROCOPY over loopback copies after all, at the receiver; sendfile(2) does not \
              copy on the sending side.",
        unit: Unit::BytesPerSecond,
        calls: &[
            exactly("sendto", 1).when(COPY_TCP),
            exactly("sendto", 1).when(COPY_STREAM),
            exactly("sendto", 1).when(COPY_PAIR),
            exactly("sendto", 1).when(DGRAM),
            exactly("sendto", 1).when(SEQPACKET),
            exactly("sendto", 1).when(ZEROCOPY),
            up_to("recvmsg", 1).when(ZEROCOPY),
            exactly("sendfile", 1).when(SENDFILE),
            exactly("io_uring_enter", 1).when(IO_URING),
            // It sends the end marker, waits for the answer, and repeats it: often, if a tracer
            // delays the peer.
            up_to("sendto", 8).in_parts("size", DATAGRAM_BYTES).when(UDP),
            up_to("ppoll", 8).when(UDP),
            up_to("recvfrom", 1),
            // Its acknowledgement and its report, and its wait for the next command.
            up_to("io_uring_enter", 2).by_peer().when(IO_URING),
            up_to("sendto", 1).by_peer(),
            up_to("recvfrom", 3).in_parts("size", DATAGRAM_BYTES).by_peer(),
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
            PEER_CPU_BOTH,
            NODELAY,
            BUFFER,
            via(&["copy", "zerocopy", "sendfile", "io-uring"]),
        ],
        needs: THROUGHPUT_NEEDS,
        source: "socket(7), tcp(7), udp(7), unix(7), sendfile(2); \
                 Documentation/networking/msg_zerocopy.rst; study cs736-2019, sections 3.2 and 3.3",
        build: |params| or_unavailable(throughput(params)),
        serve: Some(SERVE),
        ..DEFAULTS
    },
    Bench {
        id: "socket/one-way",
        asks: "How long does a message take one way, and is that half of a round trip?",
        op: "from a time stamp before a message is sent until one that the receiving process takes \
             when it has all of it, by the counter that all CPUs share. It is one of many round \
             trips, as in socket/round-trip: eight round trips precede it, and it is answered too. \
             Not included: those, and passing the other process's time stamps.",
        expected: "half of socket/round-trip within 5 %, in both directions",
        why: "Between two machines one way cannot be timed, since they share no clock: there half \
              of a round trip is an assumption, which can be checked here.",
        calls: &[
            // The message, and one more round trip; then the peer's time stamps are received.
            exactly("sendto", 2).when(TCP),
            exactly("sendto", 2).when(UNIX),
            exactly("sendto", 2).when(PAIR),
            exactly("sendto", 2).when(DGRAM),
            exactly("sendto", 2).when(SEQPACKET),
            // Those are requested, by a datagram and a command.
            up_to("sendto", 3).in_parts("size", DATAGRAM_BYTES).when(UDP),
            up_to("setitimer", 1).when(UDP),
            up_to("recvfrom", 3).in_parts("size", DATAGRAM_BYTES),
            up_to("sendto", 3).in_parts("size", DATAGRAM_BYTES).by_peer(),
            up_to("recvfrom", 5).in_parts("size", DATAGRAM_BYTES).by_peer(),
            up_to("clock_gettime", 2),
            up_to("clock_gettime", 2).by_peer(),
        ],
        floor: &[at_least(1, NULL_CALL)],
        axes: &[BY, WAY, SIZE_ONE_WAY, PEER_CPU, NODELAY, BUFFER],
        needs: &NODELAY_NEEDS,
        source: "study cs736-2019, section 3.2",
        in_price_list: false,
        build: |params| or_unavailable(one_way(params)),
        ..DEFAULTS
    },
    Bench {
        id: "socket/connect",
        asks: "What does a connection cost, from connect through accept to close?",
        op: "a socket created and connected; the wait until the other process has accepted the \
             connection and closed it; and the close at this end. By tcp this end closes with a \
             reset (SO_LINGER of 0 s, one more call): it closes second, so no data is lost, and no \
             address stays in TIME_WAIT for a minute, however many connections there are. Not \
             included: announcing the number of connections, and the report of how many were \
             accepted.",
        expected: "on one CPU 40 us by tcp and 12 by unix-stream; on two one and a half times as \
                   much",
        why: "By tcp a port is chosen, three packets open the connection and three close it, each \
              through the whole stack; two sockets are created and released. By unix-stream a path \
              is looked up, and no packet is sent.",
        calls: &[
            exactly("socket", 1),
            exactly("setsockopt", 1).when(TCP),
            exactly("connect", 1),
            exactly("recvfrom", 1),
            exactly("close", 1),
            exactly("accept4", 1).by_peer(),
            exactly("close", 1).by_peer(),
            // Its wait for the next command, after each batch.
            up_to(POLL, 1).by_peer(),
            up_to("recvfrom", 1).by_peer(),
            up_to("sendto", 1).by_peer(),
        ],
        floor: &[at_least(5, NULL_CALL).when(TCP), at_least(4, NULL_CALL).when(UNIX)],
        axes: &[
            Axis {
                points: Points::Words(&["tcp", "unix-stream"]),
                default_points: Points::WithPriceList {
                    points: &Points::Words(&["tcp", "unix-stream"]),
                    price_list: &Points::Words(&["tcp"]),
                },
                ..BY
            },
            PEER_CPU_BOTH,
        ],
        source: "connect(2), accept(2), tcp(7); lmbench lat_connect",
        needs: &[],
        bytes_axis: "",
        build: |params| or_unavailable(connections(params, Op::Connection)),
        serve: Some(connect::serve_connection),
        ..DEFAULTS
    },
    Bench {
        id: "socket/first-byte",
        asks: "How long does it take from connect until the first byte of the peer?",
        op: "connect(2) of an existing socket, and the wait for a byte that the other process \
             sends as soon as it has accepted. Not included: creating the socket, and closing it \
             as socket/connect does.",
        expected: "three quarters of socket/connect",
        why: "One round trip to connect, which the kernel answers alone; then the other process is \
              woken, accepts and sends, which is half a round trip more. Between machines network \
              latency dominates: two round trips and little work.",
        calls: &[
            exactly("connect", 1),
            exactly("recvfrom", 1),
            exactly("accept4", 1).by_peer(),
            up_to("sendto", 2).by_peer(),
            exactly("close", 1).by_peer(),
            up_to(POLL, 1).by_peer(),
            up_to("recvfrom", 1).by_peer(),
        ],
        floor: &[at_least(2, NULL_CALL)],
        axes: &[
            Axis {
                points: Points::Words(&["tcp", "unix-stream"]),
                default_points: Points::Words(&["tcp", "unix-stream"]),
                ..BY
            },
            PEER_CPU_BOTH,
        ],
        source: "connect(2), accept(2), tcp(7)",
        needs: &[],
        bytes_axis: "",
        in_price_list: false,
        build: |params| or_unavailable(connections(params, Op::FirstByte)),
        serve: Some(connect::serve_first_byte),
        ..DEFAULTS
    },
    unconnected::OPEN_CLOSE,
    unconnected::BIND,
    unconnected::LISTEN,
    unconnected::REUSEPORT,
    unconnected::REFUSED,
    unconnected::OPTIONS,
    unconnected::NAME,
    unconnected::SHUTDOWN,
    own_messages::MESSAGE,
    own_messages::BATCH,
    own_messages::ZEROCOPY,
    own_messages::NETLINK,
    private_network::VETH,
    private_network::LOOPBACK_MTU,
];

/// The peer of messages, for a remote worker.
const SERVE: ServeFn = |params, listener| match params.word("by") {
    "tcp" => setup::serve_tcp(params, listener),
    "udp" => udp::serve(params, listener),
    _ => Err(Errno::unavailable(LOCAL_ONLY.to_owned())),
};

const LOCAL_ONLY: &str = "AF_UNIX does not reach another machine: select by=tcp or by=udp";
const NO_COMMON_CLOCK: &str = "one way cannot be timed between two machines, which share no \
                               clock: use socket/round-trip (assuming that half of it is one way)";

fn round_trips(params: Params<'_>) -> Result<Work, Errno> {
    match params.word("by") {
        "tcp" => {
            setup::tcp_channel(params)?.round_trips(params.number("size"), TripMode::Unlimited)
        }
        "udp" => udp::round_trips(params),
        _ if params.context.remote_peer.is_some() => Ok(Work::unavailable(LOCAL_ONLY)),
        _ => setup::local_channel(params)?.round_trips(params.number("size"), TripMode::Unlimited),
    }
}

fn throughput(params: Params<'_>) -> Result<Work, Errno> {
    /// Several fills of the usual socket buffers.
    const MIN_BYTES: u64 = 2 << 20;
    let size = params.number("size");
    let min_messages = (MIN_BYTES / size).max(4);
    match params.word("by") {
        "tcp" => setup::tcp_channel(params)?.throughput(size, min_messages),
        "udp" => udp::throughput(params),
        _ if params.context.remote_peer.is_some() => Ok(Work::unavailable(LOCAL_ONLY)),
        _ => setup::local_channel(params)?.throughput(size, min_messages),
    }
}

fn one_way(params: Params<'_>) -> Result<Work, Errno> {
    let direction =
        if params.word("way") == "there" { Direction::ToPeer } else { Direction::FromPeer };
    if params.context.remote_peer.is_some() {
        return Ok(Work::unavailable(NO_COMMON_CLOCK));
    }
    if let Err(unavailable) = cpu_of_timed_peer(params) {
        return Ok(unavailable);
    }
    match params.word("by") {
        "tcp" => setup::tcp_channel(params)?.one_way(
            params.number("size"),
            direction,
            params.context.clock,
        ),
        "udp" => udp::one_way(params),
        _ => setup::local_channel(params)?.one_way(
            params.number("size"),
            direction,
            params.context.clock,
        ),
    }
}

fn connections(params: Params<'_>, op: Op) -> Result<Work, Errno> {
    if params.context.remote_peer.is_some() && params.word("by") != "tcp" {
        return Ok(Work::unavailable("AF_UNIX does not reach another machine: select by=tcp"));
    }
    connect::work(params, op)
}
