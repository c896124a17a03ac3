//! Several listeners at one port (SO_REUSEPORT), one per waiting process.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsRawFd;

use rustix::net::sockopt::set_socket_reuseport;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with};

use crate::kernel::Errno;
use crate::kernel::net::socket::{
    self, SocketAddress, SocketKind, SocketOption, reset_when_closed,
};

/// A connection is pending for one op at most.
const BACKLOG: i32 = 16;

/// Sockets that listen at one port of 127.0.0.1 (SO_REUSEPORT): the kernel assigns each connection
/// to one of them.
pub struct ReuseportListeners {
    listeners: Vec<TcpListener>,
    address: SocketAddr,
}

impl ReuseportListeners {
    /// Creates `count` listeners.
    pub fn new(count: usize) -> Result<Self, Errno> {
        let mut at = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0));
        let mut listeners = Vec::new();
        for _ in 0..count {
            let listener = listen_with_reuseport(at.port())?;
            // The first one's port is used for all.
            at = listener.local_addr()?;
            listener.set_nonblocking(true)?;
            listeners.push(listener);
        }
        Ok(Self { listeners, address: at })
    }

    /// The descriptor of a waiter's listener.
    pub fn fd(&self, waiter: usize) -> Result<i32, Errno> {
        self.listeners.get(waiter).map(AsRawFd::as_raw_fd).ok_or(Errno::EINVAL)
    }

    /// Connects a client, which resets the connection when closed: no TIME_WAIT, and no port stays
    /// taken.
    pub fn connect(&self) -> Result<TcpStream, Errno> {
        let client = TcpStream::connect(self.address)?;
        reset_when_closed(&client).map(|()| client)
    }

    /// Accepts a pending connection, if any; the client must be closed before the accepted end.
    pub fn accept(&self, waiter: usize) -> Result<Option<TcpStream>, Errno> {
        let listener = self.listeners.get(waiter).ok_or(Errno::EINVAL)?;
        match listener.accept().map_err(Errno::from) {
            Ok((connection, _)) => Ok(Some(connection)),
            Err(Errno::EAGAIN) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// A socket that listens at a port of 127.0.0.1 with SO_REUSEPORT.
fn listen_with_reuseport(port: u16) -> Result<TcpListener, Errno> {
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_reuseport(&socket, true)?;
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))?;
    listen(&socket, BACKLOG)?;
    Ok(TcpListener::from(socket))
}

/// Listeners at one port of 127.0.0.1, which another one joins and leaves.
pub struct ListenerGroup {
    _others: Vec<TcpListener>,
    address: SocketAddress,
}

impl ListenerGroup {
    /// Creates `others` listeners.
    pub fn new(others: usize) -> Result<Self, Errno> {
        let mut at = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0));
        let mut listeners = Vec::new();
        for _ in 0..others {
            let listener = listen_with_reuseport(at.port())?;
            // The first one's port is used for all.
            at = listener.local_addr()?;
            listeners.push(listener);
        }
        Ok(Self { _others: listeners, address: SocketAddress::from_ip(at) })
    }

    /// socket(2), setsockopt(2) SO_REUSEPORT, bind(2) to the port, listen(2) and close(2).
    #[inline(always)]
    pub fn join_and_leave(&self) -> Result<(), Errno> {
        let socket = socket::socket_for(&self.address, SocketKind::Stream)?;
        socket::set(&socket, SocketOption::ReusePort, 1)?;
        socket::bind(&socket, &self.address)?;
        listen(&socket, BACKLOG)?;
        socket::close(socket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_joins_the_others_at_their_port_and_leaves_them() {
        for others in [1, 64] {
            let group = ListenerGroup::new(others).unwrap();
            for _ in 0..3 {
                assert_eq!(group.join_and_leave(), Ok(()), "{others}");
            }
            let ports = group._others.iter().map(|other| other.local_addr().unwrap().port());
            let ports: std::collections::BTreeSet<u16> = ports.collect();
            assert_eq!((group._others.len(), ports.len()), (others, 1));
        }
    }
}
