//! What a socket costs before it carries anything.
//!
//! `socket/connect` has the calls that need a second process: connect(2), accept4(2).

use super::super::prelude::*;
use crate::bench::PointFilter;
use crate::kernel::net::reuseport::ListenerGroup;
use crate::kernel::net::socket::SocketKind;
use crate::kernel::net::unconnected::{
    Domain, FreshSocket, NameOf, NamedSocket, Refusal, Switch, SwitchedSocket, shut_down_pair,
};

const TCP: PointFilter = &[("domain", "inet-tcp")];
const UDP: PointFilter = &[("domain", "inet-udp")];
const UNIX: PointFilter = &[("domain", "unix-stream")];
const NETLINK: PointFilter = &[("domain", "netlink")];

const DOMAIN: Axis = Axis {
    name: "domain",
    sets: "domain and protocol: TCP and UDP over IPv4, a stream of AF_UNIX, routing messages of \
           AF_NETLINK",
    points: Points::Words(&["inet-tcp", "inet-udp", "unix-stream", "netlink"]),
    default_points: Points::Words(&["inet-tcp", "unix-stream"]),
};

/// The domains in which a socket listens.
const LISTENING: Axis = Axis {
    sets: "domain and protocol: TCP over IPv4, a stream of AF_UNIX",
    points: Points::Words(&["inet-tcp", "unix-stream"]),
    ..DOMAIN
};

/// The defaults here.
const DEFAULTS: Bench = Bench { in_price_list: false, ..Bench::DEFAULT };

pub(super) const OPEN_CLOSE: Bench = Bench {
    id: "socket/open-close",
    asks: "What do creating and closing a socket cost?",
    op: "socket(2) and close(2). The kernel frees an inode and parts of a socket after an RCU \
         grace period, in a softirq that may be charged to a later op. Not included: that, and \
         binding or connecting.",
    expected: "inet-tcp 1.5 us, inet-udp 1.2, unix-stream and netlink 900 ns",
    why: "An inode, an entry of the file table, an open file and the protocol's own socket are \
          allocated, and freed again. TCP's socket is the largest and has most to initialise.",
    calls: &[exactly("socket", 1), exactly("close", 1)],
    floor: &[at_least(2, KERNEL_ENTRY)],
    axes: &[DOMAIN],
    source: "socket(2), close(2); net/socket.c; lmbench lat_connect (which includes it)",
    build: |params| {
        let socket = FreshSocket::new(domain(params));
        tried(move || socket.open_and_close())
    },
    ..DEFAULTS
};

pub(super) const BIND: Bench = Bench {
    id: "socket/bind",
    asks: "What does bind cost if the kernel chooses the address?",
    op: "socket(2), bind(2) and close(2): to port 0 of 127.0.0.1, to a name of AF_UNIX that the \
         kernel chooses, or to a port of netlink that it chooses. Nothing stays in use after \
         close. Not included: the same as in socket/open-close.",
    expected: "1 us more than socket/open-close by inet-tcp and inet-udp, 600 ns by unix-stream, \
               300 by netlink",
    why: "A free port is searched from a random one on, in a hash table of bound ports, where a \
          bucket is made for it and removed again at close. AF_UNIX allocates an address and tries \
          names in a hash table.",
    compare_with: &["socket/open-close:domain=inet-tcp"],
    calls: &[exactly("socket", 1), exactly("bind", 1), exactly("close", 1)],
    floor: &[
        at_least(1, "socket/open-close:domain=inet-tcp").when(TCP),
        at_least(1, "socket/open-close:domain=inet-udp").when(UDP),
        at_least(1, "socket/open-close:domain=unix-stream").when(UNIX),
        at_least(1, "socket/open-close:domain=netlink").when(NETLINK),
    ],
    axes: &[DOMAIN],
    source: "bind(2), ip(7), unix(7), netlink(7); net/ipv4/inet_connection_sock.c, \
             net/unix/af_unix.c",
    build: |params| {
        let socket = FreshSocket::new(domain(params));
        tried(move || socket.bind_and_close())
    },
    ..DEFAULTS
};

pub(super) const LISTEN: Bench = Bench {
    id: "socket/listen",
    asks: "What does listen cost, with the end of listening?",
    op: "socket(2), bind(2) to an address that the kernel chooses, listen(2) with a backlog of 16, \
         and close(2), which ends the listening. Not included: connections, which socket/connect \
         accepts by accept4(2).",
    expected: "1 us more than socket/bind by inet-tcp, 150 ns by unix-stream",
    why: "A TCP socket enters a second hash table, in which packets find their listener, and \
          leaves it at close, when its queue of connections is searched. For AF_UNIX listening is \
          a state and a number.",
    compare_with: &["socket/bind:domain=inet-tcp"],
    calls: &[exactly("socket", 1), exactly("bind", 1), exactly("listen", 1), exactly("close", 1)],
    floor: &[
        at_least(1, "socket/bind:domain=inet-tcp").when(TCP),
        at_least(1, "socket/bind:domain=unix-stream").when(UNIX),
    ],
    axes: &[LISTENING],
    source: "listen(2); net/ipv4/inet_connection_sock.c, net/unix/af_unix.c",
    build: |params| {
        let socket = FreshSocket::new(domain(params));
        tried(move || socket.listen_and_close())
    },
    ..DEFAULTS
};

pub(super) const REUSEPORT: Bench = Bench {
    id: "socket/reuseport",
    asks: "What does it cost to listen at a port where others listen too (SO_REUSEPORT)?",
    op: "socket(2), setsockopt(2) SO_REUSEPORT, bind(2) to a port of 127.0.0.1 at which `others` \
         sockets of this process listen, listen(2), and close(2), after which they are as many as \
         before. Not included: those sockets, and connections, which the kernel spreads over all \
         that listen (event/herd); what of the socket is freed after an RCU grace period.",
    expected: "4 us with 1 other; the same with 64",
    why: "bind finds the port in its hash table and, since the others have set the option too, \
          need not compare its address with theirs. listen enters the socket into the array of \
          those that share the port, close takes it out: a search in an array of pointers. A \
          server with a listener per CPU pays this once for each.",
    compare_with: &["socket/listen:domain=inet-tcp"],
    calls: &[
        exactly("socket", 1),
        exactly("setsockopt", 1),
        exactly("bind", 1),
        exactly("listen", 1),
        exactly("close", 1),
    ],
    floor: &[at_least(1, "socket/open-close:domain=inet-tcp"), at_least(3, KERNEL_ENTRY)],
    axes: &[Axis {
        name: "others",
        sets: "sockets that listen at the port already",
        points: Points::Items("other socket", &Points::Numbers(&[1, 64])),
        default_points: Points::Numbers(&[1, 64]),
    }],
    source: "socket(7) SO_REUSEPORT; net/core/sock_reuseport.c, net/ipv4/inet_connection_sock.c",
    build: |params| match ListenerGroup::new(params.number("others") as usize) {
        Ok(group) => tried(move || group.join_and_leave()),
        Err(error) => without_work(error),
    },
    ..DEFAULTS
};

pub(super) const REFUSED: Bench = Bench {
    id: "socket/refused",
    asks: "What does a connection cost that is refused, since no one listens?",
    op: "socket(2), connect(2), which must fail with ECONNREFUSED, and close(2). The address is \
         bound by a socket of this process that does not listen, so that no other can listen \
         there. Not included: binding it.",
    expected: "inet-tcp 8 us, unix-stream 1.5",
    why: "By TCP a port and a route are chosen and a SYN is sent over loopback; the same CPU \
          receives it in softirq context, finds no listener and sends a reset, which this end \
          receives before connect has begun to wait. AF_UNIX finds the socket by its name and sees \
          its state.",
    compare_with: &["socket/connect:by=tcp,peer_cpu=same"],
    calls: &[exactly("socket", 1), exactly("connect", 1), exactly("close", 1)],
    floor: &[
        at_least(1, "socket/open-close:domain=inet-tcp").when(TCP),
        at_least(1, "socket/open-close:domain=unix-stream").when(UNIX),
    ],
    axes: &[LISTENING],
    source: "connect(2), tcp(7), unix(7); net/ipv4/tcp_ipv4.c: tcp_v4_send_reset",
    build: |params| match Refusal::new(domain(params)) {
        Ok(refusal) => tried(move || refusal.connect_and_close()),
        Err(error) => without_work(error),
    },
    ..DEFAULTS
};

pub(super) const OPTIONS: Bench = Bench {
    id: "socket/options",
    asks: "What do setting a socket option and reading it cost?",
    op: "setsockopt(2) of an integer, in turns 1 and 0, and getsockopt(2), whose answer must be \
         the same; of a TCP socket that is not connected. Not included: creating it.",
    expected: "350 ns for both calls",
    why: "Each call finds the socket, may ask security modules and filters of the cgroup, locks \
          the socket, and copies four bytes.",
    calls: &[exactly("setsockopt", 1), exactly("getsockopt", 1)],
    floor: &[at_least(2, KERNEL_ENTRY)],
    axes: &[Axis {
        name: "option",
        sets: "SO_KEEPALIVE, which all sockets have, or TCP_NODELAY of the protocol",
        points: Points::Words(&["keepalive", "nodelay"]),
        default_points: Points::Words(&["keepalive", "nodelay"]),
    }],
    source: "setsockopt(2), socket(7), tcp(7); net/core/sock.c, net/ipv4/tcp.c",
    build: |params| {
        let switch = match params.word("option") {
            "nodelay" => Switch::NoDelay,
            _ => Switch::KeepAlive,
        };
        match SwitchedSocket::new(switch) {
            Ok(mut socket) => tried(move || socket.flip_and_read()),
            Err(error) => without_work(error),
        }
    },
    ..DEFAULTS
};

pub(super) const NAME: Bench = Bench {
    id: "socket/name",
    asks: "What does asking for the address of a socket or of its peer cost?",
    op: "getsockname(2) or getpeername(2) of a connected UDP socket of 127.0.0.1; the answer must \
         be its address. Not included: creating the sockets.",
    expected: "170 ns",
    why: "The kernel finds the socket, locks it, asks filters of the cgroup, and copies 16 bytes \
          and their number.",
    calls: &[
        exactly("getsockname", 1).when(&[("call", "getsockname")]),
        exactly("getpeername", 1).when(&[("call", "getpeername")]),
    ],
    floor: &[at_least(1, KERNEL_ENTRY)],
    axes: &[Axis {
        name: "call",
        sets: "whose address is asked for: the socket's or its peer's",
        points: Points::Words(&["getsockname", "getpeername"]),
        default_points: Points::Words(&["getsockname"]),
    }],
    source: "getsockname(2), getpeername(2); net/ipv4/af_inet.c: inet_getname",
    build: |params| {
        let of = match params.word("call") {
            "getpeername" => NameOf::Peer,
            _ => NameOf::Socket,
        };
        match NamedSocket::new(of) {
            Ok(socket) => tried(move || socket.ask()),
            Err(error) => without_work(error),
        }
    },
    ..DEFAULTS
};

pub(super) const SHUTDOWN: Bench = Bench {
    id: "socket/shutdown",
    asks: "What does shutdown cost, until the other end sees the end of the stream?",
    op: "socketpair(2) of AF_UNIX, shutdown(2) of one end in both directions, recvfrom(2) at the \
         other without waiting, which must find the end of the stream, and close(2) of both. Not \
         included: the same as in socket/open-close.",
    expected: "400 ns more than descriptor/socketpair, for the two calls",
    why: "A socket that has been shut down stays so: each op needs a new one. The call marks both \
          ends and wakes those that wait, of which there are none here.",
    compare_with: &["descriptor/socketpair:kind=stream"],
    calls: &[
        exactly("socketpair", 1),
        exactly("shutdown", 1),
        exactly("recvfrom", 1),
        exactly("close", 2),
    ],
    floor: &[
        at_least(1, "descriptor/socketpair:kind=stream").when(&[("kind", "stream")]),
        at_least(1, "descriptor/socketpair:kind=seqpacket").when(&[("kind", "seqpacket")]),
    ],
    axes: &[Axis {
        name: "kind",
        sets: "type of the sockets: stream or seqpacket",
        points: Points::Words(&["stream", "seqpacket"]),
        default_points: Points::Words(&["stream"]),
    }],
    source: "shutdown(2), unix(7); net/unix/af_unix.c: unix_shutdown",
    build: |params| {
        let kind = kind(params);
        tried(move || shut_down_pair(kind))
    },
    ..DEFAULTS
};

fn domain(params: Params<'_>) -> Domain {
    match params.word("domain") {
        "inet-udp" => Domain::InetUdp,
        "unix-stream" => Domain::UnixStream,
        "netlink" => Domain::Netlink,
        _ => Domain::InetTcp,
    }
}

/// The type of a pair that the axis `kind` names.
pub(super) fn kind(params: Params<'_>) -> SocketKind {
    match params.word("kind") {
        "dgram" => SocketKind::Datagram,
        "seqpacket" => SocketKind::Packets,
        _ => SocketKind::Stream,
    }
}

/// Work of this op, once it has succeeded.
pub(super) fn tried(mut op: impl FnMut() -> Result<(), Errno> + 'static) -> Result<Work, Errno> {
    match op() {
        Ok(()) => Ok(Work::with_loop(op)),
        Err(error) => without_work(error),
    }
}

/// A skipped row, if an error says what is missing.
pub(super) fn without_work(error: Errno) -> Result<Work, Errno> {
    match error {
        Errno(libc::EADDRNOTAVAIL | libc::ENETUNREACH) => Ok(Work::unavailable(
            "127.0.0.1 cannot be reached here: `ip link set lo up` starts the loopback device",
        )),
        // A receive timeout, of a datagram on its way within this machine.
        Errno::EAGAIN => Ok(Work::unavailable(
            "a datagram over loopback did not arrive here within a second: a packet filter drops \
             it",
        )),
        Errno(libc::EPROTONOSUPPORT) => {
            Ok(Work::unavailable("this kernel has no sockets of this protocol"))
        }
        error => or_unavailable(Err(error)),
    }
}
