//! What devices cost: messages of one process to itself, within and between network namespaces of
//! its own.

use std::time::Duration;

use super::super::helper::{
    HELPER_ANSWER, HELPER_CLOCK, HELPER_WAIT, ORDER, SLOW_OPS, WAIT, if_permitted, in_helper,
};
use super::super::prelude::*;
use crate::kernel::net::private_network::{Path, PrivatePath, Protocol};

/// Why no path can be made.
const REFUSED: &str = "a network of its own cannot be made here: it takes CAP_SYS_ADMIN and \
                       CAP_NET_ADMIN, or user namespaces for ordinary users, a kernel with veth \
                       devices (CONFIG_VETH), and a filter of system calls that allows them";

/// The MTU of a loopback device by default.
const DEFAULT_MTU: u32 = 65_536;

/// Each end sends and receives once; the child makes the calls of both.
const CALLS: &[ExpectedCall] = &[
    exactly("sendto", 2).by_peer(),
    exactly("recvfrom", 2).by_peer(),
    ORDER,
    WAIT,
    HELPER_WAIT,
    HELPER_ANSWER,
    HELPER_CLOCK,
];

const BY: Axis = Axis {
    name: "by",
    sets: "protocol: TCP, with TCP_NODELAY, or UDP",
    points: Points::Words(&["tcp", "udp"]),
    default_points: Points::Words(&["tcp", "udp"]),
};

/// The defaults here.
const DEFAULTS: Bench = Bench {
    calls: CALLS,
    floor: &[at_least(4, KERNEL_ENTRY)],
    needs: &[Need::capability(Capability::SysAdmin), Need::capability(Capability::NetAdmin)],
    in_price_list: false,
    switches: true,
    ..Bench::DEFAULT
};

pub(super) const VETH: Bench = Bench {
    id: "socket/veth",
    asks: "What does a pair of virtual Ethernet devices between two network namespaces cost, \
           compared with loopback?",
    op: "64 bytes sent, received at the other end, and sent back and received: two sendto(2) and \
         two recvfrom(2) by one process, a child of the worker, which times rounds of 16. \
         over=veth: its two sockets are in two network namespaces of its own, with an end of a \
         veth pair in each; over=loopback: both are in one namespace of its own, on its loopback \
         device. No one waits, so that no process is woken. Not included: making namespaces, \
         devices and the connection; the order for a round; what a container's bridge, address \
         translation and packet filters add.",
    expected: "udp: loopback 4.5 us, veth 6; tcp: loopback 8 us, veth 10",
    why: "Both devices put the packet into a queue of the CPU, from which a softirq takes it \
          before the call that sends returns. Over veth it also gets the Ethernet address of the \
          neighbour, is removed from one namespace (its state for packet filters and its timestamp \
          are dropped), and is looked up by the tables of the other one. TCP does all that for its \
          acknowledgements too, unless the answer carries them.",
    compare_with: &["socket/round-trip:by=udp,size=64,peer_cpu=same"],
    axes: &[
        Axis {
            name: "over",
            sets: "the devices between the two sockets",
            points: Points::Words(&["loopback", "veth"]),
            default_points: Points::Words(&["loopback", "veth"]),
        },
        BY,
    ],
    source: "veth(4), network_namespaces(7), rtnetlink(7); drivers/net/veth.c, \
             drivers/net/loopback.c",
    build: |params| {
        let path = match params.word("over") {
            "veth" => Path::Pair,
            _ => Path::Loopback { mtu: DEFAULT_MTU },
        };
        round_trips(params, path, 64)
    },
    ..DEFAULTS
};

/// The message of [`LOOPBACK_MTU`]: half of the largest that one packet takes.
const LARGE: usize = 32_768;

pub(super) const LOOPBACK_MTU: Bench = Bench {
    id: "socket/loopback-mtu",
    asks: "What does the MTU of the loopback device change?",
    op: "32,768 bytes sent, received at the other end, and sent back and received: two sendto(2) \
         and two recvfrom(2) by one process, a child of the worker, which times rounds of 16. Both \
         sockets are in a network namespace of its own, whose loopback device has this MTU. Not \
         included: making the namespace and the connection; the order for a round.",
    expected: "udp: 20 us with 65536, 70 with 1500; tcp: 25 us with either",
    why: "By UDP a message that is larger than a packet is cut into fragments, 23 of 1500 bytes: \
          each is an IP packet that passes the device and waits in a queue, ordered by its offset, \
          until all are there. By TCP segments are cut by the device, if at all: the stack hands \
          over 64 KiB at a time whatever the MTU is (TSO), and loopback hands them to the receiver \
          as they are. So a test of a network program over loopback behaves as one over Ethernet \
          only by UDP, and only with its MTU.",
    axes: &[
        Axis {
            name: "mtu",
            sets: "the most bytes of a packet of the loopback device: those of Ethernet, or the \
                   device's default",
            points: Points::Numbers(&[1_500, 65_536]),
            default_points: Points::Numbers(&[1_500, 65_536]),
        },
        BY,
    ],
    source: "netdevice(7) SIOCSIFMTU, ip(7); net/ipv4/ip_output.c, drivers/net/loopback.c",
    build: |params| {
        let path = Path::Loopback { mtu: params.number("mtu") as u32 };
        round_trips(params, path, LARGE)
    },
    ..DEFAULTS
};

/// Messages of so many bytes in a child.
fn round_trips(params: Params<'_>, path: Path, bytes: usize) -> Result<Work, Errno> {
    let protocol = match params.word("by") {
        "udp" => Protocol::Udp,
        _ => Protocol::Tcp,
    };
    let work = in_helper(params, SLOW_OPS, Duration::ZERO, move || {
        let mut ends = PrivatePath::enter(path, protocol, bytes)?;
        Ok(move || ends.round_trip())
    });
    if_permitted(work, REFUSED)
}
