//! Connections: opened, accepted and closed.
//!
//! Thousands of them must not use up the ports of a machine. The end that closes a TCP connection
//! first keeps its address in TIME_WAIT for a minute, unless a reset ends the connection. Here the
//! peer closes first, and this end, which has seen that, closes with a reset (SO_LINGER of 0 s): it
//! is the last packet, no data can be lost by it, and no address stays in use at either end.

use std::fs::File;
use std::net::{IpAddr, TcpListener};
use std::os::fd::AsFd;

use oscost_model::channel::ChannelObservation;

use super::super::exchange::{ControlStream, OnInterrupt, cpu_of_peer};
use super::super::prelude::*;
use super::setup::{SocketPath, cause, start_peer};
use crate::kernel::event::poll;
use crate::kernel::ipc::context_switch::{Alarm, PeerProcess, SignalReceiver};
use crate::kernel::net::control_stream::Pending;
use crate::kernel::net::socket::{self, SocketAddress, SocketKind};
use crate::kernel::net::token_listener::TokenListener;

/// Commands to the peer.
mod command {
    /// Accept that many connections.
    pub(super) const ACCEPT: u64 = 1;
    /// Report how many came since the last command, and the total of unauthorised connections.
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
            // A client that has gone before its byte arrived is unauthorised, and harmless.
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
    /// How many were announced for the last batch, and how many came.
    announced: u64,
    accepted: u64,
    unauthorised: u64,
    /// Connections that the listener refused before.
    refused_before: u64,
}

impl Acceptor {
    /// A peer without connections so far.
    fn new(listens: Listener, friend: Option<IpAddr>, what: Op, before: u64) -> Self {
        Self {
            listener: listens,
            expected_address: friend,
            op: what,
            announced: 0,
            accepted: 0,
            unauthorised: 0,
            refused_before: before,
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
            let before = (self.accepted, self.unauthorised);
            self.accept_one()?;
            if before == (self.accepted, self.unauthorised) && control.pending() == Pending::Closed
            {
                break;
            }
        }
        Ok(())
    }

    /// Serves as the peer until the measured process closes the control stream.
    fn serve(mut self, control: &ControlStream) -> Result<(), Errno> {
        // The alarm makes it check every second whether that one still exists.
        let _ear = SignalReceiver::install()?;
        let _alarm = Alarm::start()?;
        let wait = |_| Ok(());
        loop {
            // Between batches it listens to both: a connection that comes now is unauthorised.
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
pub(super) fn serve(door: &mut TokenListener, what: Op) -> Result<(), Errno> {
    let control = door.accept_peer()?;
    control.set_nodelay(true)?;
    let control = ControlStream::from_stream(control);
    let listener = door.listener().try_clone()?;
    listener.set_nonblocking(false)?;
    let (friend, before) = (door.peer(), door.unauthorised());
    Acceptor::new(Listener::Tcp(listener), friend, what, before).serve(&control)
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
    made: u64,
    /// Unauthorised connections: during the measurement, and to the listener before.
    unauthorised: u64,
    refused_before: u64,
    _name: Option<SocketPath>,
    _alarm: Alarm,
    _ear: SignalReceiver,
}

/// The work of a benchmark: an op is a connection.
pub(super) fn work(params: Params<'_>, what: Op) -> Result<Work, Errno> {
    let ear = SignalReceiver::install()?;
    let by_tcp = params.word("by") == "tcp";
    let (to, control, child, name) =
        if by_tcp { connect_tcp(params, what)? } else { connect_unix(params, what)? };
    let (child, peer_cpu) = child.unzip();
    let mut own = Connector {
        to,
        op: what,
        by_tcp,
        control,
        child,
        peer_cpu,
        ready: Vec::new(),
        used: Vec::new(),
        attempted: 0,
        made: 0,
        unauthorised: 0,
        refused_before: 0,
        _name: name,
        _alarm: Alarm::start()?,
        _ear: ear,
    };
    // A first one, so that the peer is on its CPU before anything is timed.
    own.prepare(1)?;
    own.run(1, 1).map_err(|failed| failed.errno)?;
    own.verify()?;
    /// Maximum number of sockets that are ready at once, and that wait to be closed.
    const MOST: u64 = 64;
    Ok(match what {
        Op::Connection => Work::from_prepared_body(Shape::Repeat, own),
        Op::FirstByte => Work::from_prepared_body(Shape::SingleShot, own).with_max_batch_ops(MOST),
    })
}

/// The address to connect to, the control stream, and the process that accepts.
type PeerConnection =
    (SocketAddress, ControlStream, Option<(PeerProcess, u32)>, Option<SocketPath>);

fn connect_tcp(params: Params<'_>, what: Op) -> Result<PeerConnection, Errno> {
    let way = start_peer(
        params,
        if what == Op::Connection { serve_connection } else { serve_first_byte },
    )?;
    let control = ControlStream::from_stream(way.connect()?);
    Ok((SocketAddress::from_ip(way.remote.addr), control, way.into_child(), None))
}

/// [`serve`], for whole connections.
pub(super) fn serve_connection(_: Params<'_>, door: &mut TokenListener) -> Result<(), Errno> {
    serve(door, Op::Connection)
}

/// [`serve`], until the first byte.
pub(super) fn serve_first_byte(_: Params<'_>, door: &mut TokenListener) -> Result<(), Errno> {
    serve(door, Op::FirstByte)
}

fn connect_unix(params: Params<'_>, what: Op) -> Result<PeerConnection, Errno> {
    let cpu = cpu_of_peer(params).map_err(|work| {
        Errno::unavailable(work.unavailable_reason().unwrap_or_default().to_owned())
    })?;
    let name = SocketPath::new();
    let listens = Listener::Unix(socket::bind_path(&name.0, SocketKind::Stream)?);
    let (control, theirs) = ControlStream::pair()?;
    let mut own = Some(control);
    let child = {
        let own = &mut own;
        PeerProcess::start(Some(cpu), move || {
            // The child's copy: if it held its parent's end, it would never see end of file.
            drop(own.take());
            Acceptor::new(listens, None, what, 0).serve(&theirs)
        })?
    };
    let control = own.ok_or(Errno::EINVAL)?; // Taken only in the child.
    Ok((SocketAddress::from_path(&name.0)?, control, Some((child, cpu)), Some(name)))
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
        let given =
            retry_interrupted(&self.liveness_check(), || socket::receive_all(socket, &mut [0]))?;
        if given == bytes { Ok(()) } else { Err(Errno::EPROTO) }
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

    fn cause(&self, why: Errno) -> Errno {
        match cause(self.child.as_ref(), why) {
            Errno(libc::EADDRNOTAVAIL) => Errno::check_failed(
                "no port is left for another connection: other processes use the range of \
                 net.ipv4.ip_local_port_range"
                    .to_owned(),
            ),
            why => why,
        }
    }
}

/// Repeats a blocking call while it is interrupted.
#[inline(always)]
fn retry_interrupted<T>(
    gone: OnInterrupt<'_>,
    mut act: impl FnMut() -> Result<T, Errno>,
) -> Result<T, Errno> {
    let mut times = 0;
    loop {
        match act() {
            Err(Errno::EINTR) => {
                times += 1;
                gone(times)?;
            }
            done => return done,
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
        let asked = self.control.send([command::ACCEPT, ops, 0, 0], &self.liveness_check());
        let answer = asked.and_then(|()| self.control.receive(&self.liveness_check()));
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
        let asked = self.control.send([command::REPORT, 0, 0, 0], &self.liveness_check());
        let [came, strangers, before, _] = asked
            .and_then(|()| self.control.receive(&self.liveness_check()))
            .map_err(|errno| self.cause(errno))?;
        if came < self.attempted {
            return Err(Errno::check_failed(format!(
                "{} connections were opened, and the peer accepted {came}",
                self.attempted
            )));
        }
        self.made += self.attempted;
        (self.unauthorised, self.refused_before) = (strangers, before);
        Ok(())
    }

    fn channel_observation(&self) -> Option<ChannelObservation> {
        // Only a local peer's refused connections are counted here; a remote worker reports its
        // own.
        let turned_away = if self.child.is_some() { self.refused_before } else { 0 };
        Some(ChannelObservation {
            verified: self.made,
            peer_cpu: self.peer_cpu,
            unauthorised_connections: self.unauthorised + turned_away,
            ..ChannelObservation::default()
        })
    }
}
