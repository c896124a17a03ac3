//! How the two ends of a socket are connected: directly, or through a listener.

use std::cell::Cell;
use std::fs::File;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use super::super::exchange::{Channel, ControlStream, End, EndPair, LocalPeer, serve};
use super::super::placement::cpu_of_peer;
use super::super::prelude::*;
use super::endpoint::{Socket, Transport, WatchedListener};
use super::packet::PacketEnd;
use super::stream::{CopyEnd, IoUringEnd, SendfileEnd, ZerocopyEnd};
use crate::kernel::PEER_TIMEOUT;
use crate::kernel::ipc::context_switch::PeerProcess;
use crate::kernel::net::socket::{self, SocketKind, SocketOption};
use crate::kernel::net::token_listener::{RemoteEndpoint, TokenListener};

/// Sets the socket buffer sizes that the axis `buffer` selects; the implied value keeps the
/// system's.
pub(super) fn set_buffers(params: Params<'_>, file: &File) -> Result<(), Errno> {
    let Some(&Value::Number(bytes)) = params.value("buffer") else { return Ok(()) };
    let buffers = [
        (SocketOption::SendBuffer, "SO_SNDBUF", "net.core.wmem_max"),
        (SocketOption::ReceiveBuffer, "SO_RCVBUF", "net.core.rmem_max"),
    ];
    for (option, name, limit) in buffers {
        socket::set(file, option, i32::try_from(bytes).map_err(|_| Errno::EINVAL)?)?;
        // The kernel doubles the value, for its own overhead.
        let granted = socket::get(file, option)? / 2;
        if granted < bytes {
            return Err(Errno::unavailable(format!(
                "{name} of {bytes} bytes was requested and {granted} were granted: raise sysctl \
                 {limit}"
            )));
        }
    }
    Ok(())
}

/// Refuses messages that do not fit into an AF_UNIX packet: it has to fit into the send buffer.
fn check_packet_size(size: u64, file: &File) -> Result<(), Errno> {
    /// Overhead of the kernel (net/unix/af_unix.c: unix_dgram_sendmsg).
    const OVERHEAD_BYTES: u64 = 32;
    let max_bytes = socket::get(file, SocketOption::SendBuffer)?.saturating_sub(OVERHEAD_BYTES);
    if size <= max_bytes {
        return Ok(());
    }
    Err(Errno::unavailable(format!(
        "a packet of AF_UNIX has at most {max_bytes} bytes here, the send buffer minus \
         {OVERHEAD_BYTES}: select buffer={size}, or raise net.core.wmem_default"
    )))
}

/// The CPU of the peer; an error that skips the row if it is unavailable.
pub(super) fn required_cpu_of_peer(params: Params<'_>) -> Result<u32, Errno> {
    cpu_of_peer(params).map_err(|work| {
        Errno::unavailable(work.unavailable_reason().unwrap_or_default().to_owned())
    })
}

/// Both ends of a socket that cannot leave the machine.
pub(super) fn local_channel(params: Params<'_>) -> Result<Channel, Errno> {
    let cpu = required_cpu_of_peer(params)?;
    let kind = match params.word("by") {
        "unix-dgram" => SocketKind::Datagram,
        "unix-seqpacket" => SocketKind::Packets,
        _ => SocketKind::Stream,
    };
    let (own, peer) = if params.word("by") == "socketpair" {
        socket::pair(kind)?
    } else {
        connect_by_path(kind)?
    };
    let end = |file: File| {
        set_buffers(params, &file)?;
        if kind != SocketKind::Stream {
            check_packet_size(params.number("size"), &file)?;
        }
        make_end(params, Socket { file, transport: Transport::Unix, listener: None })
    };
    Channel::with_child(cpu, params.context.clock, EndPair { own: end(own)?, peer: end(peer)? })
}

/// Two sockets connected by a path, which is removed.
fn connect_by_path(kind: SocketKind) -> Result<(File, File), Errno> {
    let (peer_path, own_path) = (SocketPath::new(), SocketPath::new());
    let peer_socket = socket::bind_path(&peer_path.0, kind)?;
    let address = socket::SocketAddress::from_path(&peer_path.0)?;
    if kind == SocketKind::Datagram {
        // Each is connected to the other, and accepts packets from no other socket.
        let own = socket::bind_path(&own_path.0, kind)?;
        socket::connect(&own, &address)?;
        socket::connect(&peer_socket, &socket::SocketAddress::from_path(&own_path.0)?)?;
        return Ok((own, peer_socket));
    }
    let own = socket::socket_for(&address, kind)?;
    // connect(2) succeeds before accept(2): the connection waits in the backlog.
    socket::connect(&own, &address)?;
    let (peer, _) = socket::accept(&peer_socket)?;
    Ok((own, peer))
}

/// The path of a socket in the current directory, which is private to a worker: short, since socket
/// addresses are. The socket file is removed on drop.
pub(super) struct SocketPath(pub(super) PathBuf);

impl SocketPath {
    pub(super) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        Self(format!("oscost-{}-{number}.socket", std::process::id()).into())
    }
}

impl Drop for SocketPath {
    fn drop(&mut self) {
        // The socket may not have been created.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// An end over a socket, by the mechanism that the axis `via` selects.
fn make_end(params: Params<'_>, socket: Socket) -> Result<Box<dyn End>, Errno> {
    // One-way messages are measured by copy only.
    let via = match params.value("via") {
        Some(Value::Word(via)) => via,
        _ => "copy",
    };
    Ok(match (params.word("by"), via) {
        ("unix-dgram" | "unix-seqpacket", _) => Box::new(PacketEnd(socket)),
        (_, "io-uring") => Box::new(IoUringEnd::new(socket)?),
        (_, "sendfile") => Box::new(SendfileEnd::new(socket)?),
        (_, "zerocopy") => Box::new(ZerocopyEnd::new(socket)?),
        _ => Box::new(CopyEnd(socket)),
    })
}

/// A connection to the peer: the peer process, if it is local, and its address.
pub(super) struct PeerLink {
    child: Option<LocalPeer>,
    pub(super) remote: RemoteEndpoint,
    listener: Option<TcpListener>,
}

/// Connects to the peer: on another machine if it is remote, otherwise a child that listens on
/// loopback like a remote worker would.
pub(super) fn start_peer(
    params: Params<'_>,
    serve: fn(Params<'_>, &mut TokenListener) -> Result<(), Errno>,
) -> Result<PeerLink, Errno> {
    if let Some(remote) = params.context.remote_peer {
        return Ok(PeerLink { child: None, remote, listener: None });
    }
    let cpu = required_cpu_of_peer(params)?;
    let mut token_listener = TokenListener::on_loopback()?;
    let (remote, listener) = (token_listener.endpoint(), token_listener.listener().try_clone()?);
    let process = PeerProcess::start(Some(cpu), move || serve(params, &mut token_listener))?;
    Ok(PeerLink { child: Some(LocalPeer { process, cpu }), remote, listener: Some(listener) })
}

impl PeerLink {
    /// Opens a connection: the first one is the control stream.
    pub(super) fn connect(&self) -> Result<TcpStream, Errno> {
        let stream = self.remote.connect().map_err(|error| self.failure_cause(error))?;
        // A command is one small segment, and the peer waits for it.
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    /// The cause of a failure: that the peer has exited is more specific than a refused connection.
    fn failure_cause(&self, error: Errno) -> Errno {
        self.child.as_ref().and_then(|peer| peer.process.check_running().err()).unwrap_or(error)
    }

    /// The listener of a local peer, from now on watched for unauthorised connections; the peer has
    /// refused `refused_before` of them.
    pub(super) fn watch_listener(&mut self, refused_before: u64) -> Option<WatchedListener> {
        let listener = self.listener.take()?;
        Some(WatchedListener { listener, unauthorised: Cell::new(refused_before) })
    }

    /// The peer, if it is a child.
    pub(super) fn into_child(self) -> Option<LocalPeer> {
        self.child
    }
}

/// The first message of the peer, with a time limit.
pub(super) fn read_first_reply(stream: &TcpStream) -> Result<[u64; 4], Errno> {
    stream.set_read_timeout(Some(PEER_TIMEOUT))?;
    let words = ControlStream::from_stream(stream.try_clone()?).receive(&|_| Ok(()));
    stream.set_read_timeout(None)?;
    words.map_err(|error| if error == Errno::EAGAIN { Errno::PEER_TIMED_OUT } else { error })
}

/// Both ends of TCP.
pub(super) fn tcp_channel(params: Params<'_>) -> Result<Channel, Errno> {
    let mut link = start_peer(params, serve_tcp)?;
    let control = link.connect()?;
    let stream = link.connect()?;
    let [refused_before, ..] = read_first_reply(&control)?;
    let control = ControlStream::from_stream(control);
    let end = tcp_end(params, stream, link.watch_listener(refused_before))?;
    match link.into_child() {
        Some(child) => Channel::with_connected_child(child, end, control),
        None => Channel::with_remote_peer(end, control),
    }
}

/// The peer of TCP, behind a listener.
pub(super) fn serve_tcp(params: Params<'_>, listener: &mut TokenListener) -> Result<(), Errno> {
    let (mut end, control) = accept_tcp(params, listener)?;
    serve(&mut *end, &control, params.context.clock)
}

/// Accepts the control stream, and then the connection that carries messages.
fn accept_tcp(
    params: Params<'_>,
    listener: &mut TokenListener,
) -> Result<(Box<dyn End>, ControlStream), Errno> {
    let control = listener.accept_peer()?;
    control.set_nodelay(true)?;
    let control = ControlStream::from_stream(control);
    let stream = listener.accept_peer()?;
    control.send([listener.unauthorised_count(), 0, 0, 0], &|_| Ok(()))?;
    Ok((tcp_end(params, stream, None)?, control))
}

fn tcp_end(
    params: Params<'_>,
    stream: TcpStream,
    listener: Option<WatchedListener>,
) -> Result<Box<dyn End>, Errno> {
    stream.set_nodelay(params.word("nodelay") == "on")?;
    let here = stream.local_addr()?.ip();
    let file = File::from(OwnedFd::from(stream));
    set_buffers(params, &file)?;
    make_end(params, Socket { file, transport: Transport::Tcp(here), listener })
}
