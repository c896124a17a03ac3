//! Several listeners at one port (SO_REUSEPORT), one per waiting process.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsRawFd;

use rustix::net::sockopt::set_socket_reuseport;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with};

use crate::kernel::Errno;
use crate::kernel::net::socket::reset_when_closed;

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
    /// A connection is pending for one op at most.
    const BACKLOG: i32 = 16;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_reuseport(&socket, true)?;
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))?;
    listen(&socket, BACKLOG)?;
    Ok(TcpListener::from(socket))
}
