//! Several listeners at one port (SO_REUSEPORT), one per waiting process.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::kernel::Errno;
use crate::kernel::event::descriptor_set::reset_on_close;

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
        let visitor = TcpStream::connect(self.address)?;
        reset_on_close(&visitor).map(|()| visitor)
    }

    /// Accepts a pending connection, if any; the client must be closed before the accepted end.
    pub fn accept(&self, waiter: usize) -> Result<Option<TcpStream>, Errno> {
        let listener = self.listeners.get(waiter).ok_or(Errno::EINVAL)?;
        match listener.accept().map_err(Errno::from) {
            Ok((guest, _)) => Ok(Some(guest)),
            Err(Errno::EAGAIN) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// A socket that listens at a port of 127.0.0.1 with SO_REUSEPORT.
fn listen_with_reuseport(port: u16) -> Result<TcpListener, Errno> {
    /// A connection is pending for one op at most.
    const BACKLOG: i32 = 16;
    let on = 1i32;
    let at = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from(Ipv4Addr::LOCALHOST).to_be() },
        sin_zero: [0; 8],
    };
    // SAFETY: the descriptor is new and owned here; one local integer and one local address are
    // read.
    unsafe {
        let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
        let socket = OwnedFd::from_raw_fd(Errno::check(libc::socket(libc::AF_INET, kind, 0))?);
        let fd = socket.as_raw_fd();
        let size = |bytes: usize| bytes as libc::socklen_t;
        Errno::check(libc::setsockopt(
            fd,
            libc::SOL_SOCKET,
            libc::SO_REUSEPORT,
            (&raw const on).cast(),
            size(size_of::<i32>()),
        ))?;
        let length = size(size_of::<libc::sockaddr_in>());
        Errno::check(libc::bind(fd, (&raw const at).cast(), length))?;
        Errno::check(libc::listen(fd, BACKLOG))?;
        Ok(TcpListener::from(socket))
    }
}
