//! The two sockets and the control stream that connect both ends.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;

use super::super::super::exchange::ControlStream;
use super::super::super::prelude::*;
use super::super::endpoint::{Socket, WatchedListener};
use super::super::setup::{read_first_reply, set_buffers, start_peer};
use super::peer;
use crate::kernel::ipc::context_switch::PeerProcess;
use crate::kernel::net::socket;
use crate::kernel::net::token_listener::TokenListener;

/// What both ends have: a socket connected to the other end, and the control stream.
pub(super) struct Link {
    pub(super) socket: Socket,
    pub(super) control: ControlStream,
    pub(super) child: Option<PeerProcess>,
    pub(super) peer_cpu: Option<u32>,
}

/// Connects the measured process's end.
pub(super) fn connect(params: Params<'_>) -> Result<Link, Errno> {
    let mut link = start_peer(params, serve)?;
    let stream = link.connect()?;
    let (own_address, peer_address) = (stream.local_addr()?.ip(), stream.peer_addr()?.ip());
    let (socket, port) = bind(own_address)?;
    let control = ControlStream::from_stream(stream.try_clone()?);
    control.send([u64::from(port), 0, 0, 0], &|_| Ok(()))?;
    let [port, refused_before, ..] = read_first_reply(&stream)?;
    let listener = link.watch_listener(refused_before);
    let socket =
        connect_socket(params, socket, SocketAddr::new(peer_address, port as u16), listener)?;
    let (child, peer_cpu) = link.into_child().map(|peer| (peer.process, peer.cpu)).unzip();
    Ok(Link { socket, control, child, peer_cpu })
}

/// The peer, behind a listener.
pub(crate) fn serve(params: Params<'_>, listener: &mut TokenListener) -> Result<(), Errno> {
    let stream = listener.accept_peer()?;
    stream.set_nodelay(true)?;
    let (own_address, peer_address) = (stream.local_addr()?.ip(), stream.peer_addr()?.ip());
    let (socket, own_port) = bind(own_address)?;
    let [port, ..] = read_first_reply(&stream)?;
    let control = ControlStream::from_stream(stream);
    // Connected before its port is announced: no datagram of the peer arrives too early.
    let socket = connect_socket(params, socket, SocketAddr::new(peer_address, port as u16), None)?;
    control.send([u64::from(own_port), listener.unauthorised_count(), 0, 0], &|_| Ok(()))?;
    peer::serve(&socket, &control, params.context.clock)
}

/// A socket bound to this address, and its port.
fn bind(own_address: IpAddr) -> Result<(UdpSocket, u16), Errno> {
    let socket = UdpSocket::bind(SocketAddr::new(own_address, 0))?;
    let port = socket.local_addr()?.port();
    Ok((socket, port))
}

/// Connects the socket: from now on the kernel drops datagrams from other addresses.
fn connect_socket(
    params: Params<'_>,
    socket: UdpSocket,
    to: SocketAddr,
    listener: Option<WatchedListener>,
) -> Result<Socket, Errno> {
    socket.connect(to)?;
    let own_address = socket.local_addr()?.ip();
    let file = OwnedFd::from(socket).into();
    set_buffers(params, &file)?;
    // Datagrams that arrived before may have come from any address.
    while socket::receive_packet_nonblocking(&file, &mut []).is_ok() {}
    Ok(Socket::udp(file, own_address, listener))
}
