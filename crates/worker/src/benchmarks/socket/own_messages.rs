//! Messages that a process sends to itself: the calls, without a wait or a switch.

use super::super::prelude::*;
use super::unconnected::{kind, tried, without_work};
use crate::bench::PointFilter;
use crate::kernel::net::messages::{Ends, Messages};
use crate::kernel::net::netlink::{Devices, LinkQuestion};
use crate::kernel::net::socket::SocketKind;
use crate::kernel::net::zerocopy::{LargeMessages, SendMethod};

const ONE: PointFilter = &[("count", "1")];
const EIGHT: PointFilter = &[("count", "8")];
const LOOPBACK: PointFilter = &[("devices", "lo")];
const ALL: PointFilter = &[("devices", "all")];

/// The defaults here.
const DEFAULTS: Bench = Bench { in_price_list: false, ..Bench::DEFAULT };

pub(super) const MESSAGE: Bench = Bench {
    id: "socket/message",
    asks: "What do sendmsg and recvmsg cost, with one vector and with eight?",
    op: "sendmsg(2) of 64 bytes into one end of a pair of AF_UNIX, and recvmsg(2) of them at the \
         other end by the same process, each with `vectors` vectors of equal size; no address, no \
         control data. Not included: creating the pair, and comparing what was received last.",
    expected: "1 vector: stream 750 ns, dgram and seqpacket 850; 8 vectors 150 ns more for both \
               calls",
    why: "A buffer is allocated, charged to the sender, queued at the receiver, copied out and \
          freed; no one waits, so that nothing is woken. Vectors are copied in and checked before \
          the bytes are; each is a copy of its own.",
    compare_with: &["socket/round-trip:by=socketpair,size=64,peer_cpu=same"],
    calls: &[exactly("sendmsg", 1), exactly("recvmsg", 1)],
    floor: &[at_least(2, KERNEL_ENTRY)],
    axes: &[
        Axis {
            name: "kind",
            sets: "type of the sockets: stream, datagram or seqpacket",
            points: Points::Words(&["stream", "dgram", "seqpacket"]),
            default_points: Points::Words(&["stream", "dgram"]),
        },
        Axis {
            name: "vectors",
            sets: "number of parts (struct iovec) in which the bytes are sent and received",
            points: Points::Numbers(&[1, 8]),
            default_points: Points::Numbers(&[1, 8]),
        },
    ],
    source: "sendmsg(2), recvmsg(2); net/socket.c, net/unix/af_unix.c",
    build: |params| {
        let vectors = params.number("vectors") as usize;
        let ends = Ends::unix(kind(params));
        messages(ends.and_then(|ends| Messages::new(ends, 1, vectors)), Passage::One)
    },
    ..DEFAULTS
};

pub(super) const BATCH: Bench = Bench {
    id: "socket/batch",
    asks: "What do sendmmsg and recvmmsg save when several datagrams are sent at once?",
    op: "sendmmsg(2) of `count` datagrams of 64 bytes, and recvmmsg(2) of them by the same \
         process, between two sockets that are connected with each other: a pair of AF_UNIX, or \
         UDP over loopback. The figure is per datagram. Not included: creating the sockets, and \
         comparing what was received last.",
    expected: "unix-dgram: 850 ns alone, 600 of 8; udp: 2.2 us alone, 1.9 of 8",
    why: "Kernel entry and exit and the search for the socket are paid once for all; all else is \
          done for each datagram as by sendmsg(2). By UDP that is the path through the network \
          stack, down and in softirq context up again. More than 8 could fill the queue of an \
          AF_UNIX socket, which has room for 10 by default (net.unix.max_dgram_qlen).",
    compare_with: &["socket/message:kind=dgram,vectors=1"],
    calls: &[
        exactly("sendmmsg", 1).when(ONE),
        exactly("recvmmsg", 1).when(ONE),
        once_per(8, "sendmmsg").when(EIGHT),
        once_per(8, "recvmmsg").when(EIGHT),
    ],
    floor: &[at_least(2, KERNEL_ENTRY).when(ONE)],
    axes: &[
        Axis {
            name: "by",
            sets: "type of the sockets: datagrams of AF_UNIX, or UDP over loopback",
            points: Points::Words(&["unix-dgram", "udp"]),
            default_points: Points::Words(&["unix-dgram", "udp"]),
        },
        Axis {
            name: "count",
            sets: "number of datagrams per call",
            points: Points::Numbers(&[1, 8]),
            default_points: Points::Numbers(&[1, 8]),
        },
    ],
    source: "sendmmsg(2), recvmmsg(2); net/socket.c",
    build: |params| {
        let count = params.number("count");
        let ends = match params.word("by") {
            "udp" => Ends::udp(),
            _ => Ends::unix(SocketKind::Datagram),
        };
        let work =
            messages(ends.and_then(|ends| Messages::new(ends, count as usize, 1)), Passage::All)?;
        Ok(work.with_op_count(count))
    },
    ..DEFAULTS
};

pub(super) const ZEROCOPY: Bench = Bench {
    id: "socket/zerocopy",
    asks: "What does MSG_ZEROCOPY save or cost for one message, with its completion?",
    op: "sendto(2) of `size` bytes over TCP on 127.0.0.1, recvfrom(2) of all of them by the same \
         process, and with via=zerocopy recvmsg(2) of the completion from the error queue \
         (MSG_ERRQUEUE), which ppoll(2) waits for if it is not there yet. Not included: \
         connecting, and comparing what was received last.",
    expected: "65536 bytes: copy 16 us, zerocopy 20; four times as much for 262144",
    why: "Without MSG_ZEROCOPY the bytes are copied into the kernel and out of it. With it pages \
          are pinned instead of the first copy, and the receiver's acknowledgement lets go of them \
          and queues the completion. Over loopback that saves nothing: before the kernel queues \
          the packet at a socket of the same machine it copies the pages after all, so that the \
          sender may write to them again. The saving is for devices, and from some 10 KB on; what \
          is paid here for pinning and completion is paid there too.",
    compare_with: &["socket/throughput:by=tcp,size=65536,peer_cpu=same,via=zerocopy"],
    calls: &[
        exactly("sendto", 1),
        exactly("recvfrom", 1),
        up_to("recvmsg", 4).when(&[("via", "zerocopy")]),
        up_to("ppoll", 4).when(&[("via", "zerocopy")]),
    ],
    floor: &[at_least(2, KERNEL_ENTRY)],
    axes: &[
        Axis {
            name: "via",
            sets: "whether the message is copied when it is sent, or sent from the user's pages",
            points: Points::Words(&["copy", "zerocopy"]),
            default_points: Points::Words(&["copy", "zerocopy"]),
        },
        Axis {
            name: "size",
            sets: "bytes of the message",
            points: Points::Numbers(&[65_536, 262_144]),
            default_points: Points::Numbers(&[65_536]),
        },
    ],
    bytes_axis: "size",
    switches: true,
    source: "send(2), tcp(7); Documentation/networking/msg_zerocopy.rst; net/core/skbuff.c: \
             skb_orphan_frags_rx",
    build: |params| {
        let method = match params.word("via") {
            "zerocopy" => SendMethod::InPlace,
            _ => SendMethod::Copy,
        };
        large_messages(LargeMessages::new(method, params.number("size") as usize))
    },
    ..DEFAULTS
};

pub(super) const NETLINK: Bench = Bench {
    id: "socket/netlink",
    asks: "What does asking the kernel about its network devices cost?",
    op: "RTM_GETLINK sent to the kernel (sendto(2) on a netlink socket), and its answer received \
         and read message by message: devices=lo: about the loopback device, one recvfrom(2); \
         devices=all: a dump of all devices of this network namespace, recvfrom(2) until \
         NLMSG_DONE, so that the figure grows with their number. Not included: opening the socket.",
    expected: "lo 5 us; all 12 us with two devices",
    why: "The kernel answers within the call that sends, in a buffer of its own: a message of some \
          1,400 bytes per device, most of it statistics that are summed up over all CPUs. A dump \
          is produced in parts, the next one when the last was received; its end is a message of \
          its own.",
    calls: &[
        exactly("sendto", 1),
        exactly("recvfrom", 1).when(LOOPBACK),
        // A part has some 20 devices at least.
        up_to("recvfrom", 64).when(ALL),
    ],
    floor: &[at_least(2, KERNEL_ENTRY)],
    axes: &[Axis {
        name: "devices",
        sets: "the devices that are asked about: the loopback device, or all",
        points: Points::Words(&["lo", "all"]),
        default_points: Points::Words(&["lo", "all"]),
    }],
    source: "netlink(7), rtnetlink(7); net/core/rtnetlink.c: rtnl_getlink, rtnl_dump_ifinfo",
    build: |params| {
        let devices = match params.word("devices") {
            "all" => Devices::All,
            _ => Devices::Loopback,
        };
        match LinkQuestion::new(devices) {
            Ok(mut question) => tried(move || question.ask().map(drop)),
            Err(error) => without_work(error),
        }
    },
    ..DEFAULTS
};

/// The calls by which messages are passed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Passage {
    /// sendmsg(2) and recvmsg(2) of one.
    One,
    /// sendmmsg(2) and recvmmsg(2) of all.
    All,
}

/// The ops on some messages.
struct OwnMessages<const BATCHED: bool> {
    messages: Messages,
    /// Whether ops were run since the content was checked.
    has_run: bool,
}

impl<const BATCHED: bool> WorkBody for OwnMessages<BATCHED> {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        for op in 0..iterations * u64::from(unroll) {
            let done = if BATCHED { self.messages.pass_all() } else { self.messages.pass_one() };
            done.map_err(|errno| OpError { op, errno })?;
            self.has_run = true;
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Errno> {
        match std::mem::take(&mut self.has_run) {
            true => self.messages.check_and_clear(),
            false => Ok(()),
        }
    }
}

/// Work on messages, once a first op has succeeded.
fn messages(messages: Result<Messages, Errno>, passage: Passage) -> Result<Work, Errno> {
    let tried = messages.and_then(|mut messages| {
        match passage {
            Passage::One => messages.pass_one()?,
            Passage::All => messages.pass_all()?,
        }
        messages.check_and_clear().map(|()| messages)
    });
    let messages = match tried {
        Ok(messages) => messages,
        Err(error) => return without_work(error),
    };
    Ok(match passage {
        Passage::One => {
            Work::from_body(Shape::WithLoop, OwnMessages::<false> { messages, has_run: false })
        }
        Passage::All => {
            Work::from_body(Shape::WithLoop, OwnMessages::<true> { messages, has_run: false })
        }
    })
}

/// The ops on a large message.
struct OwnLargeMessages {
    messages: LargeMessages,
    /// Whether ops were run since the content was checked.
    has_run: bool,
}

impl WorkBody for OwnLargeMessages {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        for op in 0..iterations * u64::from(unroll) {
            self.messages.pass().map_err(|errno| OpError { op, errno })?;
            self.has_run = true;
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Errno> {
        match std::mem::take(&mut self.has_run) {
            true => self.messages.check_and_clear(),
            false => Ok(()),
        }
    }
}

/// Work on a large message, once a first op has succeeded.
fn large_messages(messages: Result<LargeMessages, Errno>) -> Result<Work, Errno> {
    let tried = messages.and_then(|mut messages| {
        messages.pass()?;
        messages.check_and_clear().map(|()| messages)
    });
    match tried {
        Ok(messages) => {
            let body = OwnLargeMessages { messages, has_run: false };
            Ok(Work::from_body(Shape::WithLoop, body))
        }
        Err(Errno(libc::ENOBUFS)) => Ok(Work::unavailable(
            "the pages of a message cannot be pinned here: RLIMIT_MEMLOCK (`ulimit -l`) or the \
             sysctl net.core.optmem_max sets the limit",
        )),
        Err(Errno(libc::ENOPROTOOPT)) => {
            Ok(Work::unavailable("this kernel has no MSG_ZEROCOPY, which is of Linux 4.14"))
        }
        Err(error) => without_work(error),
    }
}
