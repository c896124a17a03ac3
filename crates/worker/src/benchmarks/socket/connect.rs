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
use super::ends::{Name, cause, way};
use crate::kernel::event::poll;
use crate::kernel::ipc::context_switch::{Alarm, PeerProcess, SignalReceiver};
use crate::kernel::net::control_stream::Pending;
use crate::kernel::net::socket::{self, SocketAddress, SocketKind};
use crate::kernel::net::token_listener::TokenListener;

/// Commands to the peer.
mod order {
    /// Accept that many connections.
    pub(super) const ACCEPT: u64 = 1;
    /// Report how many came since the last command, and the total of unauthorised connections.
    pub(super) const REPORT: u64 = 2;
}

/// Alarms (one per second) that interrupt a wait before the peer is given up.
const ALARMS: u32 = 3;

/// The op.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// A whole connection, until the peer has closed it and this end has closed too.
    Whole,
    /// From connect to the peer's first byte.
    FirstByte,
}

impl What {
    /// What the peer does with an accepted connection.
    fn answer(self, connection: File) -> Result<(), Errno> {
        let sent = match self {
            What::Whole => Ok(1),
            What::FirstByte => socket::send(&connection, &[1]),
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
enum Listens {
    Here(File),
    Door(TcpListener),
}

impl Listens {
    fn accept(&self) -> Result<(File, SocketAddress), Errno> {
        match self {
            Listens::Here(file) => socket::accept(file),
            Listens::Door(listener) => socket::accept(listener),
        }
    }

    fn fd(&self) -> std::os::fd::BorrowedFd<'_> {
        match self {
            Listens::Here(file) => file.as_fd(),
            Listens::Door(listener) => listener.as_fd(),
        }
    }
}

/// The accepting end.
struct Peer {
    listens: Listens,
    friend: Option<IpAddr>,
    what: What,
    /// How many were announced for the last batch, and how many came.
    announced: u64,
    came: u64,
    strangers: u64,
    /// Connections that the listener refused before.
    before: u64,
}

impl Peer {
    /// A peer without connections so far.
    fn new(listens: Listens, friend: Option<IpAddr>, what: What, before: u64) -> Self {
        Self { listens, friend, what, announced: 0, came: 0, strangers: 0, before }
    }

    /// Connections beyond the announced number are unauthorised.
    fn settle(&mut self) {
        self.strangers += self.came.saturating_sub(self.announced);
        self.came = self.came.min(self.announced);
    }

    /// Accepts and answers one connection; one from another address is closed as unauthorised.
    #[inline(always)]
    fn one(&mut self) -> Result<(), Errno> {
        let (connection, from) = match self.listens.accept() {
            Ok(accepted) => accepted,
            // The alarm; or a connection that was aborted before it was accepted.
            Err(Errno::EINTR | Errno::EAGAIN | Errno(libc::ECONNABORTED)) => return Ok(()),
            Err(error) => return Err(error),
        };
        if self.friend.is_some() && from.ip() != self.friend {
            self.strangers += 1;
            return Ok(());
        }
        self.came += 1;
        self.what.answer(connection)
    }

    /// Accepts that many, unless the measured process closes the control stream.
    fn accept(&mut self, connections: u64, control: &ControlStream) -> Result<(), Errno> {
        self.settle();
        (self.announced, self.came) = (connections, 0);
        control.send([order::ACCEPT, 0, 0, 0], &|_| Ok(()))?;
        while self.came < connections {
            let before = (self.came, self.strangers);
            self.one()?;
            if before == (self.came, self.strangers) && control.pending() == Pending::Closed {
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
            let ready = poll::readable(&[control.as_fd(), self.listens.fd()], None)?;
            if ready[1] {
                self.one()?;
            }
            if !ready[0] {
                continue;
            }
            match control.receive(&wait) {
                Ok([order::ACCEPT, connections, ..]) => self.accept(connections, control)?,
                Ok([order::REPORT, ..]) => {
                    self.settle();
                    control.send([self.came, self.strangers, self.before, 0], &wait)?;
                }
                Ok(_) => return Err(Errno::EPROTO),
                Err(Errno::EPIPE | Errno(libc::ECONNRESET)) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
}

/// The peer of TCP: connections come to the same listening socket as the control stream.
pub(super) fn serve(door: &mut TokenListener, what: What) -> Result<(), Errno> {
    let control = door.accept_peer()?;
    control.set_nodelay(true)?;
    let control = ControlStream::from_stream(control);
    let listener = door.listener().try_clone()?;
    listener.set_nonblocking(false)?;
    let (friend, before) = (door.peer(), door.unauthorised());
    Peer::new(Listens::Door(listener), friend, what, before).serve(&control)
}

/// The measured process's end.
struct Own {
    to: SocketAddress,
    what: What,
    by_tcp: bool,
    control: ControlStream,
    child: Option<PeerProcess>,
    peer_cpu: Option<u32>,
    /// Sockets that are ready to be connected, and those that wait to be closed.
    ready: Vec<File>,
    used: Vec<File>,
    tried: u64,
    made: u64,
    /// Unauthorised connections: during the measurement, and to the listener before.
    strangers: u64,
    before: u64,
    _name: Option<Name>,
    _alarm: Alarm,
    _ear: SignalReceiver,
}

/// The work of a benchmark: an op is a connection.
pub(super) fn work(at: Params<'_>, what: What) -> Result<Work, Errno> {
    let ear = SignalReceiver::install()?;
    let by_tcp = at.word("by") == "tcp";
    let (to, control, child, name) = if by_tcp { by_door(at, what)? } else { by_path(at, what)? };
    let (child, peer_cpu) = child.unzip();
    let mut own = Own {
        to,
        what,
        by_tcp,
        control,
        child,
        peer_cpu,
        ready: Vec::new(),
        used: Vec::new(),
        tried: 0,
        made: 0,
        strangers: 0,
        before: 0,
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
        What::Whole => Work::from_prepared_body(Shape::Repeat, own),
        What::FirstByte => {
            Work::from_prepared_body(Shape::SingleShot, own).with_max_batch_ops(MOST)
        }
    })
}

/// The address to connect to, the control stream, and the process that accepts.
type There = (SocketAddress, ControlStream, Option<(PeerProcess, u32)>, Option<Name>);

fn by_door(at: Params<'_>, what: What) -> Result<There, Errno> {
    let way = way(at, if what == What::Whole { serve_whole } else { serve_first_byte })?;
    let control = ControlStream::from_stream(way.go()?);
    Ok((SocketAddress::from_ip(way.far.addr), control, way.child(), None))
}

/// [`serve`], for whole connections.
pub(super) fn serve_whole(_: Params<'_>, door: &mut TokenListener) -> Result<(), Errno> {
    serve(door, What::Whole)
}

/// [`serve`], until the first byte.
pub(super) fn serve_first_byte(_: Params<'_>, door: &mut TokenListener) -> Result<(), Errno> {
    serve(door, What::FirstByte)
}

fn by_path(at: Params<'_>, what: What) -> Result<There, Errno> {
    let cpu = cpu_of_peer(at).map_err(|work| {
        Errno::unavailable(work.unavailable_reason().unwrap_or_default().to_owned())
    })?;
    let name = Name::new();
    let listens = Listens::Here(socket::bind_path(&name.0, SocketKind::Stream)?);
    let (control, theirs) = ControlStream::pair()?;
    let mut own = Some(control);
    let child = {
        let own = &mut own;
        PeerProcess::start(Some(cpu), move || {
            // The child's copy: if it held its parent's end, it would never see end of file.
            drop(own.take());
            Peer::new(listens, None, what, 0).serve(&theirs)
        })?
    };
    let control = own.ok_or(Errno::EINVAL)?; // Taken only in the child.
    Ok((SocketAddress::from_path(&name.0)?, control, Some((child, cpu)), Some(name)))
}

impl Own {
    fn gone(&self) -> impl Fn(u32) -> Result<(), Errno> + use<'_> {
        |times| {
            self.child.as_ref().map_or(Ok(()), PeerProcess::check_running)?;
            if times > ALARMS { Err(Errno::PEER_TIMED_OUT) } else { Ok(()) }
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
    fn meet(&self, socket: &File, bytes: usize) -> Result<(), Errno> {
        waited(&self.gone(), || match socket::connect(socket, &self.to) {
            // The call was interrupted after the connection was established.
            Err(Errno(libc::EISCONN)) => Ok(()),
            done => done,
        })?;
        let given = waited(&self.gone(), || socket::receive_all(socket, &mut [0]))?;
        if given == bytes { Ok(()) } else { Err(Errno::EPROTO) }
    }

    #[inline(always)]
    fn once(&mut self) -> Result<(), Errno> {
        match self.what {
            What::Whole => {
                let socket = self.socket()?;
                self.meet(&socket, 0)?;
                socket::close(socket)
            }
            What::FirstByte => {
                let socket = self.ready.pop().ok_or(Errno::E2BIG)?;
                self.meet(&socket, 1)?;
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
fn waited<T>(gone: OnInterrupt<'_>, mut act: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
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

impl WorkBody for Own {
    fn prepare(&mut self, ops: u64) -> Result<(), Errno> {
        self.used.clear();
        self.ready.clear();
        if self.what == What::FirstByte {
            for _ in 0..ops {
                let socket = self.socket()?;
                self.ready.push(socket);
            }
            self.used.reserve(ops as usize);
        }
        self.tried = ops;
        let asked = self.control.send([order::ACCEPT, ops, 0, 0], &self.gone());
        let answer = asked.and_then(|()| self.control.receive(&self.gone()));
        match answer.map_err(|why| self.cause(why))? {
            [order::ACCEPT, ..] => Ok(()),
            _ => Err(Errno::EPROTO),
        }
    }

    fn run(&mut self, turns: u64, copies: u32) -> Result<(), OpError> {
        for op in 0..turns * u64::from(copies) {
            self.once().map_err(|why| OpError { op, errno: self.cause(why) })?;
        }
        Ok(())
    }

    /// Checks that the peer has accepted as many.
    fn verify(&mut self) -> Result<(), Errno> {
        let asked = self.control.send([order::REPORT, 0, 0, 0], &self.gone());
        let [came, strangers, before, _] = asked
            .and_then(|()| self.control.receive(&self.gone()))
            .map_err(|why| self.cause(why))?;
        if came < self.tried {
            return Err(Errno::check_failed(format!(
                "{} connections were opened, and the peer accepted {came}",
                self.tried
            )));
        }
        self.made += self.tried;
        (self.strangers, self.before) = (strangers, before);
        Ok(())
    }

    fn channel_observation(&self) -> Option<ChannelObservation> {
        // Only a local peer's refused connections are counted here; a remote worker reports its
        // own.
        let turned_away = if self.child.is_some() { self.before } else { 0 };
        Some(ChannelObservation {
            verified: self.made,
            peer_cpu: self.peer_cpu,
            unauthorised_connections: self.strangers + turned_away,
            ..ChannelObservation::default()
        })
    }
}
