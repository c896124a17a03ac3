//! Properties of sockets.

use std::collections::BTreeSet;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use oscost_model::channel::{ChannelObservation, Datagrams};
use oscost_model::point::{Point, Value};

use super::super::exchange::{ControlStream, Sender, fill_message};
use super::super::tests::context;
use super::*;
use crate::bench::Context;
use crate::kernel::ipc::context_switch::PeerProcess;
use crate::kernel::net::control_stream::Pending;
use crate::kernel::net::token_listener::{Token, TokenListener};
use crate::kernel::process::{self, in_own_process};

fn bench(id: &str) -> &'static Bench {
    BENCHES.iter().find(|bench| bench.id == id).unwrap()
}

/// A point from the text of a case.
fn point(text: &str) -> Point {
    text.split(',').fold(Point::none(), |point, part| {
        let (axis, value) = part.split_once('=').unwrap();
        point.with(axis, Value::parse(value))
    })
}

/// Runs some batches at a point, and returns what was observed of the channel; `None` if something
/// is unavailable here.
fn batches(id: &str, at: &str, context: Context) -> Result<Option<ChannelObservation>, Errno> {
    let mut work = match bench(id).work(&point(at), context) {
        Err(Errno::UNAVAILABLE) => return Ok(None),
        work => work?,
    };
    if let Some(unavailable) = work.unavailable_reason() {
        eprintln!("{id}:{at}: {unavailable}");
        return Ok(None);
    }
    for ops in [1, 2, 3].map(|ops: u64| ops.min(work.max_batch_ops())) {
        let done = work.prepare(ops).and_then(|()| work.run(ops, 1));
        done.and_then(|()| work.verify()).map_err(|error| error.errno)?;
    }
    Ok(work.channel_observation())
}

fn open_files() -> BTreeSet<String> {
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.ok()?;
        let to = std::fs::read_link(entry.path()).ok()?;
        Some(format!("{:?} {}", entry.file_name(), to.display()))
    };
    std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(name)
        .filter(|to| to.contains("socket"))
        .collect()
}

#[test]
fn messages_of_every_kind_are_verified_without_leaks() {
    in_own_process(|| {
        let context = context();
        let before = open_files();
        for by in ["tcp", "udp", "unix-stream", "unix-dgram", "unix-seqpacket", "socketpair"] {
            for size in [4, 64, 4_096, 65_536] {
                for peer_cpu in ["same", "other"] {
                    let at = format!("by={by},size={size},peer_cpu={peer_cpu}");
                    for id in ["socket/round-trip", "socket/throughput"] {
                        let observation = batches(id, &at, context);
                        let Some(observation) =
                            observation.unwrap_or_else(|error| panic!("{id}:{at}: {error}"))
                        else {
                            continue;
                        };
                        assert!(observation.verified_messages >= 4, "{id}:{at}: {observation:?}");
                        assert!(
                            observation.send_buffer_bytes > Some(0),
                            "{id}:{at}: {observation:?}"
                        );
                        assert_eq!(observation.unauthorised_connections, 0, "{id}:{at}");
                        if by == "udp" {
                            assert_eq!(
                                observation.datagrams_per_message,
                                Some(1 + u64::from(size == 65_536))
                            );
                            let counted = observation.datagrams.unwrap();
                            assert!(counted.sent >= 6 && counted.arrived > 0, "{counted:?}");
                            assert_eq!(counted.sent, counted.arrived + counted.lost, "{at}");
                        }
                    }
                }
            }
        }
        assert_eq!(open_files(), before);
        let leftovers = std::fs::read_dir(".").unwrap().flatten();
        let leftovers: Vec<_> = leftovers
            .filter(|file| file.file_name().to_string_lossy().starts_with("oscost-"))
            .collect();
        assert!(leftovers.is_empty(), "{leftovers:?}");
    });
}

/// A peer with its own listener, like a remote worker, in a process that ends with the value.
fn remote_peer(
    id: &str,
    at: &str,
    here: IpAddr,
    serve: impl FnOnce(Params<'_>, &mut TokenListener) -> Result<(), Errno>,
) -> (Context, PeerProcess) {
    let mut listener = TokenListener::bind(here, Token::random().unwrap()).unwrap();
    let remote = listener.endpoint();
    let point_with_implied = bench(id).definition().with_implied(&point(at));
    let child = PeerProcess::start(None, move || {
        serve(Params::new(&point_with_implied, Context::DEFAULT), &mut listener)
    });
    (Context { remote_peer: Some(remote), ..context() }, child.unwrap())
}

#[test]
fn a_remote_peer_is_served_by_the_same_code_over_both_versions_of_ip() {
    in_own_process(|| {
        for here in [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)] {
            if TcpListener::bind((here, 0)).is_err() {
                eprintln!("skipped: no {here}");
                continue;
            }
            for (id, at) in [
                ("socket/round-trip", "by=tcp,size=65536,peer_cpu=other"),
                ("socket/round-trip", "by=udp,size=64,peer_cpu=other"),
                ("socket/throughput", "by=tcp,size=4096,peer_cpu=other"),
                ("socket/throughput", "by=udp,size=4096,peer_cpu=other"),
                ("socket/connect", "by=tcp,peer_cpu=other"),
                ("socket/first-byte", "by=tcp,peer_cpu=other"),
            ] {
                let (context, peer) = remote_peer(id, at, here, bench(id).serve.unwrap());
                let observation =
                    batches(id, at, context).unwrap_or_else(|error| panic!("{id}:{at}: {error}"));
                assert!(observation.unwrap().verified_messages > 0, "{id}:{at}");
                // The measured process has closed its connections: the peer ends by itself, without
                // an error.
                assert_eq!(peer.join(), Ok(()), "{id}:{at} at {here}");
            }
            let at = "by=unix-stream,size=64,peer_cpu=other";
            let (context, _peer) = remote_peer("socket/round-trip", at, here, |_, _| Ok(()));
            let work = bench("socket/round-trip").work(&point(at), context).unwrap();
            assert!(
                work.unavailable_reason().unwrap().contains("does not reach"),
                "{:?}",
                work.unavailable_reason()
            );
        }
    });
}

#[test]
fn unauthorised_connections_are_counted_and_closed_and_the_run_continues() {
    in_own_process(|| {
        for (id, at) in [
            ("socket/round-trip", "by=tcp,size=64,peer_cpu=same"),
            ("socket/round-trip", "by=udp,size=64,peer_cpu=same"),
            ("socket/throughput", "by=tcp,size=4096,peer_cpu=same"),
        ] {
            let mut work = bench(id).work(&point(at), context()).unwrap();
            let mut batch = || {
                let done = work.prepare(1).and_then(|()| work.run(1, 1));
                done.and_then(|()| work.verify()).unwrap();
                work.channel_observation().unwrap().unauthorised_connections
            };
            assert_eq!(batch(), 0);
            // Every listener on loopback that belongs to the run.
            let mut unauthorised: Vec<TcpStream> = listening()
                .into_iter()
                .map(|port| TcpStream::connect(("127.0.0.1", port)).unwrap())
                .collect();
            assert_eq!(unauthorised.len(), 1, "{id}:{at}: exactly one listener");
            assert_eq!(batch(), 1, "{id}:{at}");
            assert_eq!(unauthorised[0].read(&mut [0]).unwrap_or(0), 0, "it received data");
            assert_eq!(batch(), 1);
        }
    });
}

/// The ports on which this process, or a child that inherited its sockets, listens.
fn listening() -> Vec<u16> {
    let own_sockets: BTreeSet<String> = open_files()
        .iter()
        .filter_map(|file| Some(file.split_once("socket:[")?.1.trim_end_matches(']').to_owned()))
        .collect();
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let port = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (words[3] == "0A" && own_sockets.contains(words[9]))
            .then(|| u16::from_str_radix(words[1].split_once(':').unwrap().1, 16).unwrap())
    };
    table.lines().skip(1).filter_map(port).collect()
}

#[test]
fn a_peer_that_dies_is_reported_and_not_waited_for() {
    in_own_process(|| {
        for (id, by) in [
            ("socket/round-trip", "tcp"),
            ("socket/round-trip", "udp"),
            ("socket/round-trip", "unix-stream"),
            ("socket/round-trip", "unix-dgram"),
            ("socket/round-trip", "unix-seqpacket"),
            ("socket/throughput", "tcp"),
            ("socket/throughput", "udp"),
            ("socket/connect", "tcp"),
            ("socket/connect", "unix-stream"),
        ] {
            let size = if id == "socket/connect" { "" } else { "size=64," };
            let mut work =
                bench(id).work(&point(&format!("by={by},{size}peer_cpu=same")), context()).unwrap();
            work.prepare(1).and_then(|()| work.run(1, 1)).and_then(|()| work.verify()).unwrap();
            let children = std::fs::read_to_string("/proc/thread-self/children").unwrap();
            let peer: u32 = children.split_whitespace().next().unwrap().parse().unwrap();
            process::kill(peer);
            // Until it has exited: otherwise it is a matter of chance which end is noticed first.
            let stat = || std::fs::read_to_string(format!("/proc/{peer}/stat")).unwrap();
            while !stat().contains(") Z ") {
                std::thread::sleep(Duration::from_millis(1));
            }
            let done = work.prepare(1).and_then(|()| work.run(1, 1)).and_then(|()| work.verify());
            let message = done.expect_err(by).errno.to_string();
            assert!(message.contains("was killed"), "{id} by {by}: {message}");
        }
    });
}

/// A UDP peer that treats datagrams like an unreliable network: it speaks the protocol of the
/// control stream and misbehaves as `act` says.
fn unreliable_peer(
    params: Params<'_>,
    listener: &mut TokenListener,
    act: fn(&mut UnreliablePeer, &[u8]),
) -> Result<(), Errno> {
    let control = listener.accept_peer()?;
    let here = control.local_addr()?.ip();
    let socket = UdpSocket::bind((here, 0))?;
    socket.set_read_timeout(Some(Duration::from_millis(20)))?;
    let control = ControlStream::from_stream(control);
    let wait = |_| Ok(());
    let [port, ..] = control.receive(&wait)?;
    socket.connect((here, port as u16))?;
    control.send([u64::from(socket.local_addr()?.port()), 0, 0, 0], &wait)?;
    let mut peer = UnreliablePeer {
        socket,
        number: 0,
        arrived: 0,
        ends: 0,
        delayed: Vec::new(),
        first: 0,
        messages: 0,
        size: params.number("size") as usize,
    };
    let mut command_code = 0;
    let mut datagram = [0; 1 << 16];
    loop {
        match control.pending() {
            Pending::Closed => return Ok(()),
            Pending::Nothing => {}
            Pending::Message => {
                let words = control.receive(&wait)?;
                let answer = match (words[0], command_code) {
                    (5, 4) => [peer.arrived, peer.arrived, 0, 0],
                    (5, _) => [0, 0, 3 << 32 | 2, 1],
                    _ => [6, 0, 0, 0],
                };
                if words[0] != 5 {
                    (command_code, peer.messages, peer.first) =
                        (words[0], words[2], words[3] as u32);
                    (peer.number, peer.arrived, peer.ends) = (0, 0, 0);
                }
                control.send(answer, &wait)?;
            }
        }
        let Ok(bytes) = peer.socket.recv(&mut datagram) else { continue };
        match command_code {
            _ if bytes == 0 => {}
            // Verification: each message is answered correctly.
            1 => {
                let id = u32::from_le_bytes(*datagram.first_chunk().unwrap());
                let mut message = vec![0; peer.size];
                fill_message(&mut message, u64::from(id.wrapping_sub(peer.first)), Sender::Peer);
                message[..4].copy_from_slice(&id.to_le_bytes());
                peer.socket.send(&message)?;
            }
            _ => act(&mut peer, &datagram[..bytes]),
        }
    }
}

struct UnreliablePeer {
    socket: UdpSocket,
    number: u64,
    arrived: u64,
    ends: u64,
    delayed: Vec<u8>,
    first: u32,
    messages: u64,
    size: usize,
}

impl UnreliablePeer {
    fn send(&self, datagram: &[u8]) {
        self.socket.send(datagram).unwrap();
    }
}

/// One round trip per batch, `count` batches; returns the number of samples, and the counters.
fn trips_with(count: u64, act: fn(&mut UnreliablePeer, &[u8])) -> (u64, Datagrams) {
    let (id, at) = ("socket/round-trip", "by=udp,size=64,peer_cpu=other");
    let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let (context, _peer) =
        remote_peer(id, at, here, |at, listener| unreliable_peer(at, listener, act));
    let mut work = bench(id).work(&point(at), context).unwrap();
    let mut samples = 0;
    for _ in 0..count {
        work.prepare(1).and_then(|()| work.run(1, 1)).and_then(|()| work.verify()).unwrap();
        samples += u64::from(!work.is_batch_lost());
    }
    // What the peer reports at the end: three duplicates, two reordered, one late.
    (samples, work.channel_observation().unwrap().datagrams.unwrap())
}

const AT_PEER: Datagrams =
    Datagrams { sent: 0, arrived: 0, lost: 0, late: 1, duplicate: 3, reordered: 2, end_markers: 0 };

#[test]
fn lost_late_and_duplicate_datagrams_are_counted_and_are_not_samples() {
    in_own_process(|| {
        let (samples, counted) = trips_with(6, |peer, datagram| {
            peer.number += 1;
            // The second one is lost.
            if peer.number != 2 {
                peer.send(datagram);
            }
        });
        assert_eq!(samples, 5);
        assert_eq!(
            counted,
            AT_PEER.merged_with(Datagrams { sent: 6, arrived: 5, lost: 1, ..Datagrams::default() })
        );
        let (samples, counted) = trips_with(6, |peer, datagram| {
            peer.number += 1;
            match peer.number {
                // The second one arrives too late, before the third.
                2 => peer.delayed = datagram.to_vec(),
                3 => {
                    peer.send(&peer.delayed);
                    peer.send(datagram);
                }
                _ => peer.send(datagram),
            }
        });
        assert_eq!(samples, 5);
        assert_eq!(
            counted,
            AT_PEER.merged_with(Datagrams {
                sent: 6,
                arrived: 5,
                lost: 1,
                late: 1,
                ..Datagrams::default()
            })
        );
        let (samples, counted) = trips_with(6, |peer, datagram| {
            peer.number += 1;
            peer.send(datagram);
            if peer.number == 2 {
                peer.send(datagram);
            }
        });
        assert_eq!(samples, 6);
        assert_eq!(
            counted,
            AT_PEER.merged_with(Datagrams {
                sent: 6,
                arrived: 6,
                duplicate: 1,
                ..Datagrams::default()
            })
        );
    });
}

#[test]
fn a_silent_peer_is_timed_out() {
    in_own_process(|| {
        let (id, at) = ("socket/round-trip", "by=udp,size=64,peer_cpu=other");
        let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let (context, _peer) =
            remote_peer(id, at, here, |at, listener| unreliable_peer(at, listener, |_, _| ()));
        let mut work = bench(id).work(&point(at), context).unwrap();
        let error = (0..100).find_map(|_| {
            work.prepare(1).and_then(|()| work.run(1, 1)).err().map(|error| error.errno)
        });
        assert_eq!(error, Some(Errno::PEER_TIMED_OUT));
    });
}

#[test]
fn udp_throughput_counts_what_arrived_and_repeats_the_end_marker_until_acknowledged() {
    in_own_process(|| {
        let (id, at) = ("socket/throughput", "by=udp,size=64,peer_cpu=other");
        let act = |peer: &mut UnreliablePeer, datagram: &[u8]| {
            let id = u32::from_le_bytes(*datagram.first_chunk().unwrap());
            if u64::from(id.wrapping_sub(peer.first)) < peer.messages {
                // Every other one is lost.
                peer.number += 1;
                peer.arrived += peer.number % 2;
                return;
            }
            // So is the end marker, twice.
            peer.ends += 1;
            if peer.ends == 3 {
                peer.send(datagram);
            }
        };
        let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let (context, _peer) =
            remote_peer(id, at, here, move |at, listener| unreliable_peer(at, listener, act));
        let mut work = bench(id).work(&point(at), context).unwrap();
        for batch in 1..=2 {
            let done = work.prepare(10).and_then(|()| work.run(10, 1));
            done.and_then(|()| work.verify()).unwrap();
            assert_eq!((work.actual_ops(), work.is_batch_lost()), (Some(5 * 64), false));
            let counted = work.channel_observation().unwrap().datagrams.unwrap();
            // The end marker may be repeated while the answer to it is in transit.
            assert!(counted.end_markers >= 3 * batch, "{counted:?}");
            let expected = Datagrams {
                sent: 10 * batch,
                arrived: 5 * batch,
                lost: 5 * batch,
                end_markers: counted.end_markers,
                ..Datagrams::default()
            };
            assert_eq!(counted, expected);
        }
    });
}

/// The port of the peer's listener, from the system's connection table.
fn peer_port() -> String {
    let own_sockets: BTreeSet<String> = open_files();
    let is_own = |inode: &str| own_sockets.iter().any(|file| file.contains(&format!("[{inode}]")));
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let control = table.lines().skip(1).map(words).find(|words| is_own(&words[9])).unwrap();
    format!(":{}", control[2].split_once(':').unwrap().1)
}

/// Both addresses of each connection with this port in one of these states.
fn connections_at(port: &str, states: impl Fn(&str) -> bool) -> BTreeSet<[String; 2]> {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let lines = table.lines().skip(1).map(words).filter(|words| states(&words[3]));
    let ends = lines.map(|words| [words[1].clone(), words[2].clone()]);
    ends.filter(|ends| ends.iter().any(|end| end.ends_with(port))).collect()
}

#[test]
fn thousands_of_connections_leave_no_address_in_use() {
    in_own_process(|| {
        let at = point("by=tcp,peer_cpu=same");
        let mut work = bench("socket/connect").work(&at, context()).unwrap();
        // Another process may have used the same port, or may be about to.
        let port = peer_port();
        let other_connections = connections_at(&port, |_| true);
        for _ in 0..20 {
            let done = work.prepare(100).and_then(|()| work.run(100, 1));
            done.and_then(|()| work.verify()).unwrap();
        }
        let observation = work.channel_observation().unwrap();
        assert_eq!(
            (observation.verified_messages, observation.unauthorised_connections),
            (2_001, 0)
        );
        // 06 is TIME_WAIT.
        let waiting = connections_at(&port, |state| state == "06");
        let leftovers: Vec<_> = waiting.difference(&other_connections).collect();
        assert!(leftovers.is_empty(), "{leftovers:?}");
        // A connection between batches is unauthorised.
        let port = u16::from_str_radix(&port[1..], 16).unwrap();
        let mut unauthorised = TcpStream::connect(("127.0.0.1", port)).unwrap();
        assert_eq!(unauthorised.read(&mut [0]).unwrap_or(0), 0);
        let done = work.prepare(100).and_then(|()| work.run(100, 1));
        done.and_then(|()| work.verify()).unwrap();
        assert_eq!(work.channel_observation().unwrap().unauthorised_connections, 1);
    });
}

#[test]
fn zerocopy_sendfile_and_io_uring_deliver_the_right_messages() {
    in_own_process(|| {
        for via in ["zerocopy", "sendfile", "io-uring"] {
            for by in ["tcp", "unix-stream", "socketpair"] {
                if via == "zerocopy" && by != "tcp" {
                    continue;
                }
                for size in [1, 4_096, 65_536, 524_288] {
                    let at = format!("by={by},size={size},peer_cpu=same,via={via}");
                    match batches("socket/throughput", &at, context()) {
                        Ok(Some(observation)) => {
                            assert!(observation.verified_messages >= 4, "{at}: {observation:?}")
                        }
                        Ok(None) => {}
                        // io_uring is not available everywhere.
                        Err(Errno::EPERM | Errno::ENOSYS) if via == "io-uring" => {}
                        Err(error) => panic!("{at}: {error}"),
                    }
                }
            }
        }
    });
}

#[test]
fn messages_to_oneself_are_quoted_one_by_one_and_compared() {
    in_own_process(|| {
        for (id, at, ops) in [
            ("socket/batch", "by=unix-dgram,count=8", 8),
            ("socket/batch", "by=udp,count=8", 8),
            ("socket/message", "kind=seqpacket,vectors=8", 1),
        ] {
            let mut work = bench(id).work(&point(at), context()).unwrap();
            if let Some(lacks) = work.unavailable_reason() {
                eprintln!("{id}:{at} cannot run here: {lacks}");
                continue;
            }
            assert_eq!(work.op_count(), ops, "{id}:{at}");
            for ops in [0, 1, 3] {
                let done = work.prepare(ops).and_then(|()| work.run(ops, 1));
                assert_eq!(done.and_then(|()| work.verify()), Ok(()), "{id}:{at}");
            }
        }
    });
}
