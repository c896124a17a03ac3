//! How the two ends of a socket are connected: directly, or through a listener.

use std::cell::Cell;
use std::fs::File;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use oscost_model::point::Value;

use super::super::exchange::{ControlStream, End, Two, cpu_of_peer, serve};
use super::super::prelude::*;
use super::endpoint::{Over, Socket, Watched};
use super::packet::Packets;
use super::stream::{Copied, FromFile, Lent, Ringed};
use crate::kernel::PEER_TIMEOUT;
use crate::kernel::ipc::context_switch::PeerProcess;
use crate::kernel::net::socket::{self, SocketKind, SocketOption};
use crate::kernel::net::token_listener::{RemoteEndpoint, TokenListener};

/// Sets the socket buffers that the axis `buffer` selects; the implied value keeps the system's.
pub(super) fn with_buffers(at: Params<'_>, file: &File) -> Result<(), Errno> {
    let Some(&Value::Number(bytes)) = at.value("buffer") else { return Ok(()) };
    let sides = [
        (SocketOption::SendBuffer, "SO_SNDBUF", "net.core.wmem_max"),
        (SocketOption::ReceiveBuffer, "SO_RCVBUF", "net.core.rmem_max"),
    ];
    for (what, name, limit) in sides {
        socket::set(file, what, i32::try_from(bytes).map_err(|_| Errno::EINVAL)?)?;
        // The kernel doubles the value, for its own overhead.
        let given = socket::get(file, what)? / 2;
        if given < bytes {
            return Err(Errno::unavailable(format!(
                "{name} of {bytes} bytes was requested and {given} were granted: raise sysctl \
                 {limit}"
            )));
        }
    }
    Ok(())
}

/// Refuses messages that do not fit into an AF_UNIX packet: it has to fit into the send buffer.
fn with_room(size: u64, file: &File) -> Result<(), Errno> {
    /// Overhead of the kernel (net/unix/af_unix.c: unix_dgram_sendmsg).
    const KEPT: u64 = 32;
    let holds = socket::get(file, SocketOption::SendBuffer)?.saturating_sub(KEPT);
    if size <= holds {
        return Ok(());
    }
    Err(Errno::unavailable(format!(
        "a packet of AF_UNIX has at most {holds} bytes here, the send buffer minus {KEPT}: select \
         buffer={size}, or raise net.core.wmem_default"
    )))
}

/// Both ends of a socket that cannot leave the machine.
pub(super) fn here(at: Params<'_>) -> Result<Two, Errno> {
    let cpu = match cpu_of_peer(at) {
        Ok(cpu) => cpu,
        Err(work) => {
            return Err(Errno::unavailable(
                work.unavailable_reason().unwrap_or_default().to_owned(),
            ));
        }
    };
    let kind = match at.word("by") {
        "unix-dgram" => SocketKind::Datagram,
        "unix-seqpacket" => SocketKind::Packets,
        _ => SocketKind::Stream,
    };
    let (own, peer) =
        if at.word("by") == "socketpair" { socket::pair(kind)? } else { by_path(kind)? };
    let end = |file: File| {
        with_buffers(at, &file)?;
        if kind != SocketKind::Stream {
            with_room(at.number("size"), &file)?;
        }
        end_of(at, Socket { file, over: Over::Nothing, door: None })
    };
    Two::here(cpu, at.context.clock, (end(own)?, end(peer)?))
}

/// Two sockets connected by a path, which is removed.
fn by_path(kind: SocketKind) -> Result<(File, File), Errno> {
    let (there, here) = (Name::new(), Name::new());
    let listens = socket::bind_path(&there.0, kind)?;
    let address = socket::SocketAddress::from_path(&there.0)?;
    if kind == SocketKind::Datagram {
        // Each is connected to the other, and accepts packets from no other socket.
        let own = socket::bind_path(&here.0, kind)?;
        socket::connect(&own, &address)?;
        socket::connect(&listens, &socket::SocketAddress::from_path(&here.0)?)?;
        return Ok((own, listens));
    }
    let own = socket::socket_for(&address, kind)?;
    // connect(2) succeeds before accept(2): the connection waits in the backlog.
    socket::connect(&own, &address)?;
    let (peer, _) = socket::accept(&listens)?;
    Ok((own, peer))
}

/// The path of a socket in the current directory, which is private to a worker: short, since socket
/// addresses are. The socket file is removed on drop.
pub(super) struct Name(pub(super) PathBuf);

impl Name {
    pub(super) fn new() -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        Self(format!("oscost-{}-{made}.socket", std::process::id()).into())
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        // The socket may not have been created.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// An end over a socket, by the mechanism that the axis `via` selects.
fn end_of(at: Params<'_>, socket: Socket) -> Result<Box<dyn End>, Errno> {
    // One-way messages are measured by copy only.
    let via = match at.value("via") {
        Some(Value::Word(via)) => via,
        _ => "copy",
    };
    Ok(match (at.word("by"), via) {
        ("unix-dgram" | "unix-seqpacket", _) => Box::new(Packets(socket)),
        (_, "io-uring") => Box::new(Ringed::new(socket)?),
        (_, "sendfile") => Box::new(FromFile::new(socket)?),
        (_, "zerocopy") => Box::new(Lent::new(socket)?),
        _ => Box::new(Copied(socket)),
    })
}

/// A connection to the peer: the peer process, if it is local, and its address.
pub(super) struct Way {
    child: Option<(PeerProcess, u32)>,
    pub(super) far: RemoteEndpoint,
    listener: Option<TcpListener>,
}

/// Connects to the peer: on another machine if it is remote, otherwise a child that listens on
/// loopback like a remote worker would.
pub(super) fn way(
    at: Params<'_>,
    serve: fn(Params<'_>, &mut TokenListener) -> Result<(), Errno>,
) -> Result<Way, Errno> {
    if let Some(far) = at.context.remote_peer {
        return Ok(Way { child: None, far, listener: None });
    }
    let cpu = match cpu_of_peer(at) {
        Ok(cpu) => cpu,
        Err(work) => {
            return Err(Errno::unavailable(
                work.unavailable_reason().unwrap_or_default().to_owned(),
            ));
        }
    };
    let mut door = TokenListener::on_loopback()?;
    let (far, listener) = (door.endpoint(), door.listener().try_clone()?);
    let child = PeerProcess::start(Some(cpu), move || serve(at, &mut door))?;
    Ok(Way { child: Some((child, cpu)), far, listener: Some(listener) })
}

impl Way {
    /// Opens a connection: the first one is the control stream.
    pub(super) fn go(&self) -> Result<TcpStream, Errno> {
        let stream = self.far.connect().map_err(|error| self.cause(error))?;
        // A command is one small segment, and the peer waits for it.
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    /// The cause of a failure: that the peer has exited is more specific than a refused connection.
    fn cause(&self, error: Errno) -> Errno {
        self.child.as_ref().and_then(|(child, _)| child.check_running().err()).unwrap_or(error)
    }

    /// The listener of a local peer, from now on watched for unauthorised connections; the peer has
    /// refused `before` of them.
    pub(super) fn watched(&mut self, before: u64) -> Option<Watched> {
        let listener = self.listener.take()?;
        Some(Watched { listener, strangers: Cell::new(before) })
    }

    /// The peer, if it is a child.
    pub(super) fn child(self) -> Option<(PeerProcess, u32)> {
        self.child
    }
}

/// The cause of a failure: that the peer has died is more specific than a closed connection.
pub(super) fn cause(child: Option<&PeerProcess>, why: Errno) -> Errno {
    /// An exiting process closes its descriptors some time before its parent is notified.
    const LOOKS: u32 = 50;
    let gone =
        matches!(why, Errno::EPIPE | Errno::ESRCH | Errno(libc::ECONNRESET | libc::ECONNREFUSED));
    let Some(child) = child.filter(|_| gone) else { return why };
    for _ in 0..LOOKS {
        match child.check_running() {
            Ok(()) => std::thread::sleep(Duration::from_millis(2)),
            Err(Errno::ESRCH) => {
                return Errno::check_failed(
                    "the peer was killed during the measurement".to_owned(),
                );
            }
            Err(error) => return Errno::check_failed(format!("the peer has failed: {error}")),
        }
    }
    why
}

/// The first message of the peer, with a time limit.
pub(super) fn first_words(stream: &TcpStream) -> Result<[u64; 4], Errno> {
    stream.set_read_timeout(Some(PEER_TIMEOUT))?;
    let words = ControlStream::from_stream(stream.try_clone()?).receive(&|_| Ok(()));
    stream.set_read_timeout(None)?;
    words.map_err(|error| if error == Errno::EAGAIN { Errno::PEER_TIMED_OUT } else { error })
}

/// Both ends of TCP.
pub(super) fn tcp(at: Params<'_>) -> Result<Two, Errno> {
    let mut way = way(at, serve_tcp)?;
    let control = way.go()?;
    let stream = way.go()?;
    let [before, ..] = first_words(&control)?;
    let control = ControlStream::from_stream(control);
    let end = tcp_end(at, stream, way.watched(before))?;
    match way.child() {
        Some(child) => Two::beside(child, end, control),
        None => Two::far(end, control),
    }
}

/// The peer of TCP, behind a listener.
pub(super) fn serve_tcp(at: Params<'_>, door: &mut TokenListener) -> Result<(), Errno> {
    let (mut end, control) = enter_tcp(at, door)?;
    serve(&mut *end, &control, at.context.clock)
}

/// Accepts the control stream, and then the connection that carries messages.
fn enter_tcp(
    at: Params<'_>,
    door: &mut TokenListener,
) -> Result<(Box<dyn End>, ControlStream), Errno> {
    let control = door.accept_peer()?;
    control.set_nodelay(true)?;
    let control = ControlStream::from_stream(control);
    let stream = door.accept_peer()?;
    control.send([door.unauthorised(), 0, 0, 0], &|_| Ok(()))?;
    Ok((tcp_end(at, stream, None)?, control))
}

fn tcp_end(
    at: Params<'_>,
    stream: TcpStream,
    door: Option<Watched>,
) -> Result<Box<dyn End>, Errno> {
    stream.set_nodelay(at.word("nodelay") == "on")?;
    let here = stream.local_addr()?.ip();
    let file = File::from(OwnedFd::from(stream));
    with_buffers(at, &file)?;
    end_of(at, Socket { file, over: Over::Tcp(here), door })
}
