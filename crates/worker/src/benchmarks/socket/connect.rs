//! Connections: opened, accepted and closed.
//!
//! Thousands of them must not use up the ports of a machine. The end that closes a TCP connection
//! first keeps its address in TIME_WAIT for a minute, unless a reset ends the connection. Here the
//! peer closes first, and this end, which has seen that, closes with a reset (SO_LINGER of 0 s): it
//! is the last packet, no data can be lost by it, and no address stays in use at either end.

use std::fs::File;
use std::net::{IpAddr, TcpListener};
use std::os::fd::AsFd;

use super::super::exchange::{ControlStream, LocalPeer, failure_cause, retry_interrupted};
use super::super::prelude::*;
use super::setup::{SocketPath, required_cpu_of_peer, start_peer};
use crate::kernel::event::poll;
use crate::kernel::ipc::context_switch::{Alarm, PeerProcess, SignalReceiver};
use crate::kernel::net::control_stream::Pending;
use crate::kernel::net::socket::{self, SocketAddress, SocketKind};
use crate::kernel::net::token_listener::TokenListener;

/// Commands to the peer.
mod command {
    /// Accept that many connections.
    pub(super) const ACCEPT: u64 = 1;
    /// Report how many arrived since the last command, and the total of unauthorised connections.
    pub(super) const REPORT: u64 = 2;
}

/// Alarms (one per second) that interrupt a wait before the peer is given up.
const MAX_ALARMS: u32 = 3;

/// The op.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    /// A whole connection, until the peer has closed it and this end has closed too.
    Connection,
    /// From connect to the peer's first byte.
    FirstByte,
}

impl Op {
    /// What the peer does with an accepted connection.
    fn answer(self, connection: File) -> Result<(), Errno> {
        let sent = match self {
            Op::Connection => Ok(1),
            Op::FirstByte => socket::send(&connection, &[1]),
        };
        socket::close(connection)?;
        match sent {
            // A client that has disconnected before its byte arrived is unauthorised, and harmless.
            Ok(_) | Err(Errno::EPIPE | Errno(libc::ECONNRESET)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Where connections are accepted.
enum Listener {
    Unix(File),
    Tcp(TcpListener),
}

impl Listener {
    fn accept(&self) -> Result<(File, SocketAddress), Errno> {
        match self {
            Listener::Unix(file) => socket::accept(file),
            Listener::Tcp(listener) => socket::accept(listener),
        }
    }

    fn fd(&self) -> std::os::fd::BorrowedFd<'_> {
        match self {
            Listener::Unix(file) => file.as_fd(),
            Listener::Tcp(listener) => listener.as_fd(),
        }
    }
}

/// The accepting end.
struct Acceptor {
    listener: Listener,
    expected_address: Option<IpAddr>,
    op: Op,
    /// How many were announced for the last batch, and how many arrived.
    announced: u64,
    accepted: u64,
    unauthorised: u64,
    /// Connections that the listener refused before.
    refused_before: u64,
}

impl Acceptor {
    /// A peer without connections so far.
    fn new(
        listener: Listener,
        expected_address: Option<IpAddr>,
        op: Op,
        refused_before: u64,
    ) -> Self {
        Self {
            listener,
            expected_address,
            op,
            announced: 0,
            accepted: 0,
            unauthorised: 0,
            refused_before,
        }
    }

    /// Connections beyond the announced number are unauthorised.
    fn count_surplus(&mut self) {
        self.unauthorised += self.accepted.saturating_sub(self.announced);
        self.accepted = self.accepted.min(self.announced);
    }

    /// Accepts and answers one connection; one from another address is closed as unauthorised.
    #[inline(always)]
    fn accept_one(&mut self) -> Result<(), Errno> {
        let (connection, from) = match self.listener.accept() {
            Ok(accepted) => accepted,
            // The alarm; or a connection that was aborted before it was accepted.
            Err(Errno::EINTR | Errno::EAGAIN | Errno(libc::ECONNABORTED)) => return Ok(()),
            Err(error) => return Err(error),
        };
        if self.expected_address.is_some() && from.ip() != self.expected_address {
            self.unauthorised += 1;
            return Ok(());
        }
        self.accepted += 1;
        self.op.answer(connection)
    }

    /// Accepts that many, unless the measured process closes the control stream.
    fn accept(&mut self, connections: u64, control: &ControlStream) -> Result<(), Errno> {
        self.count_surplus();
        (self.announced, self.accepted) = (connections, 0);
        control.send([command::ACCEPT, 0, 0, 0], &|_| Ok(()))?;
        while self.accepted < connections {
            let counts = (self.accepted, self.unauthorised);
            self.accept_one()?;
            if counts == (self.accepted, self.unauthorised) && control.pending() == Pending::Closed
            {
                break;
            }
        }
        Ok(())
    }

    /// Serves as the peer until the measured process closes the control stream.
    fn serve(mut self, control: &ControlStream) -> Result<(), Errno> {
        // The alarm makes it check every second whether that process still runs.
        let _signals = SignalReceiver::install()?;
        let _alarm = Alarm::start()?;
        let wait = |_| Ok(());
        loop {
            // Between batches it waits for both: a connection that arrives now is unauthorised.
            let ready = poll::readable(&[control.as_fd(), self.listener.fd()], None)?;
            if ready[1] {
                self.accept_one()?;
            }
            if !ready[0] {
                continue;
            }
            match control.receive(&wait) {
                Ok([command::ACCEPT, connections, ..]) => self.accept(connections, control)?,
                Ok([command::REPORT, ..]) => {
                    self.count_surplus();
                    control
                        .send([self.accepted, self.unauthorised, self.refused_before, 0], &wait)?;
                }
                Ok(_) => return Err(Errno::EPROTO),
                Err(Errno::EPIPE | Errno(libc::ECONNRESET)) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
}

/// The peer of TCP: connections come to the same listening socket as the control stream.
pub(super) fn serve(token_listener: &mut TokenListener, op: Op) -> Result<(), Errno> {
    let control = token_listener.accept_peer()?;
    control.set_nodelay(true)?;
    let control = ControlStream::from_stream(control);
    let listener = token_listener.listener().try_clone()?;
    listener.set_nonblocking(false)?;
    let (expected_address, refused_before) =
        (token_listener.peer(), token_listener.unauthorised_count());
    Acceptor::new(Listener::Tcp(listener), expected_address, op, refused_before).serve(&control)
}

/// The measured process's end.
struct Connector {
    to: SocketAddress,
    op: Op,
    by_tcp: bool,
    control: ControlStream,
    child: Option<PeerProcess>,
    peer_cpu: Option<u32>,
    /// Sockets that are ready to be connected, and those that wait to be closed.
    ready: Vec<File>,
    used: Vec<File>,
    attempted: u64,
    completed: u64,
    /// Unauthorised connections: during the measurement, and to the listener before.
    unauthorised: u64,
    refused_before: u64,
    _path: Option<SocketPath>,
    _alarm: Alarm,
    _signals: SignalReceiver,
}

/// The work of a benchmark: an op is a connection.
pub(super) fn work(params: Params<'_>, op: Op) -> Result<Work, Errno> {
    let signals = SignalReceiver::install()?;
    let by_tcp = params.word("by") == "tcp";
    let PeerConnection { to, control, peer, path } =
        if by_tcp { connect_tcp(params, op)? } else { connect_unix(params, op)? };
    let (child, peer_cpu) = peer.map(|peer| (peer.process, peer.cpu)).unzip();
    let mut own = Connector {
        to,
        op,
        by_tcp,
        control,
        child,
        peer_cpu,
        ready: Vec::new(),
        used: Vec::new(),
        attempted: 0,
        completed: 0,
        unauthorised: 0,
        refused_before: 0,
        _path: path,
        _alarm: Alarm::start()?,
        _signals: signals,
    };
    // A first one, so that the peer is on its CPU before anything is timed.
    own.prepare(1)?;
    own.run(1, 1).map_err(|error| error.errno)?;
    own.verify()?;
    /// Maximum number of sockets that are ready at once, and that wait to be closed.
    const MAX_READY: u64 = 64;
    Ok(match op {
        Op::Connection => Work::from_prepared_body(Shape::Repeat, own),
        Op::FirstByte => {
            Work::from_prepared_body(Shape::SingleShot, own).with_max_batch_ops(MAX_READY)
        }
    })
}

/// A peer that is ready to accept connections.
struct PeerConnection {
    /// The address to connect to.
    to: SocketAddress,
    control: ControlStream,
    /// The process that accepts, if it is a child.
    peer: Option<LocalPeer>,
    /// The path of an AF_UNIX address.
    path: Option<SocketPath>,
}

fn connect_tcp(params: Params<'_>, op: Op) -> Result<PeerConnection, Errno> {
    let link =
        start_peer(params, if op == Op::Connection { serve_connection } else { serve_first_byte })?;
    let control = ControlStream::from_stream(link.connect()?);
    let to = SocketAddress::from_ip(link.remote.addr);
    Ok(PeerConnection { to, control, peer: link.into_child(), path: None })
}

/// [`serve`], for whole connections.
pub(super) fn serve_connection(_: Params<'_>, listener: &mut TokenListener) -> Result<(), Errno> {
    serve(listener, Op::Connection)
}

/// [`serve`], until the first byte.
pub(super) fn serve_first_byte(_: Params<'_>, listener: &mut TokenListener) -> Result<(), Errno> {
    serve(listener, Op::FirstByte)
}

fn connect_unix(params: Params<'_>, op: Op) -> Result<PeerConnection, Errno> {
    let cpu = required_cpu_of_peer(params)?;
    let path = SocketPath::new();
    let listener = Listener::Unix(socket::bind_path(&path.0, SocketKind::Stream)?);
    let (control, peer_control) = ControlStream::pair()?;
    let mut own = Some(control);
    let process = {
        let own = &mut own;
        PeerProcess::start(Some(cpu), move || {
            // The child's copy: if it held its parent's end, it would never see end of file.
            drop(own.take());
            Acceptor::new(listener, None, op, 0).serve(&peer_control)
        })?
    };
    let control = own.ok_or(Errno::EINVAL)?; // `None` in the child only.
    let to = SocketAddress::from_path(&path.0)?;
    Ok(PeerConnection { to, control, peer: Some(LocalPeer { process, cpu }), path: Some(path) })
}

impl Connector {
    fn liveness_check(&self) -> impl Fn(u32) -> Result<(), Errno> + use<'_> {
        |times| {
            self.child.as_ref().map_or(Ok(()), PeerProcess::check_running)?;
            if times > MAX_ALARMS { Err(Errno::PEER_TIMED_OUT) } else { Ok(()) }
        }
    }

    /// A new socket.
    #[inline(always)]
    fn socket(&self) -> Result<File, Errno> {
        let socket = socket::socket_for(&self.to, SocketKind::Stream)?;
        if self.by_tcp {
            socket::reset_when_closed(&socket)?;
        }
        Ok(socket)
    }

    /// Connects, and waits for the peer, which sends that many bytes, or closes.
    #[inline(always)]
    fn connect_and_wait(&self, socket: &File, bytes: usize) -> Result<(), Errno> {
        retry_interrupted(&self.liveness_check(), || match socket::connect(socket, &self.to) {
            // The call was interrupted after the connection was established.
            Err(Errno(libc::EISCONN)) => Ok(()),
            done => done,
        })?;
        let bytes_received =
            retry_interrupted(&self.liveness_check(), || socket::receive_all(socket, &mut [0]))?;
        if bytes_received == bytes { Ok(()) } else { Err(Errno::EPROTO) }
    }

    #[inline(always)]
    fn run_once(&mut self) -> Result<(), Errno> {
        match self.op {
            Op::Connection => {
                let socket = self.socket()?;
                self.connect_and_wait(&socket, 0)?;
                socket::close(socket)
            }
            Op::FirstByte => {
                let socket = self.ready.pop().ok_or(Errno::E2BIG)?;
                self.connect_and_wait(&socket, 1)?;
                self.used.push(socket);
                Ok(())
            }
        }
    }

    fn cause(&self, errno: Errno) -> Errno {
        match failure_cause(self.child.as_ref(), errno) {
            Errno(libc::EADDRNOTAVAIL) => Errno::check_failed(
                "no port is left for another connection: other processes use the range of \
                 net.ipv4.ip_local_port_range"
                    .to_owned(),
            ),
            errno => errno,
        }
    }
}

impl WorkBody for Connector {
    fn prepare(&mut self, ops: u64) -> Result<(), Errno> {
        self.used.clear();
        self.ready.clear();
        if self.op == Op::FirstByte {
            for _ in 0..ops {
                let socket = self.socket()?;
                self.ready.push(socket);
            }
            self.used.reserve(ops as usize);
        }
        self.attempted = ops;
        let result = self.control.send([command::ACCEPT, ops, 0, 0], &self.liveness_check());
        let answer = result.and_then(|()| self.control.receive(&self.liveness_check()));
        match answer.map_err(|errno| self.cause(errno))? {
            [command::ACCEPT, ..] => Ok(()),
            _ => Err(Errno::EPROTO),
        }
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        for op in 0..iterations * u64::from(unroll) {
            self.run_once().map_err(|errno| OpError { op, errno: self.cause(errno) })?;
        }
        Ok(())
    }

    /// Checks that the peer has accepted as many.
    fn verify(&mut self) -> Result<(), Errno> {
        let result = self.control.send([command::REPORT, 0, 0, 0], &self.liveness_check());
        let [accepted, unauthorised, refused_before, _] = result
            .and_then(|()| self.control.receive(&self.liveness_check()))
            .map_err(|errno| self.cause(errno))?;
        if accepted < self.attempted {
            return Err(Errno::check_failed(format!(
                "{} connections were opened, and the peer accepted {accepted}",
                self.attempted
            )));
        }
        self.completed += self.attempted;
        (self.unauthorised, self.refused_before) = (unauthorised, refused_before);
        Ok(())
    }

    fn channel_observation(&self) -> Option<ChannelObservation> {
        // Only a local peer's refused connections are counted here; a remote worker reports its
        // own.
        let refused = if self.child.is_some() { self.refused_before } else { 0 };
        Some(ChannelObservation {
            verified_messages: self.completed,
            peer_cpu: self.peer_cpu,
            unauthorised_connections: self.unauthorised + refused,
            ..ChannelObservation::default()
        })
    }
}
