//! Sockets: created and configured through the C library, used by the raw instruction, so that both
//! ends of a benchmark make the same calls and nothing else.

mod sends_in_place;

use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

pub use self::sends_in_place::{completed_zerocopy_sends, next_zerocopy_completion, send_zerocopy};
use crate::kernel::Errno;
use crate::kernel::arch;
use crate::kernel::errno::raw_result;

/// sendto(2) on a connected socket; returns the bytes accepted. With no reader left it is an error,
/// not SIGPIPE.
#[inline(always)]
pub fn send(to: &File, bytes: &[u8]) -> Result<usize, Errno> {
    send_with(to, bytes, 0)
}

/// The same without blocking: EAGAIN if there is no space.
#[inline(always)]
pub fn send_nonblocking(to: &File, bytes: &[u8]) -> Result<usize, Errno> {
    send_with(to, bytes, libc::MSG_DONTWAIT)
}

#[inline(always)]
fn send_with(to: &File, bytes: &[u8], flags: i32) -> Result<usize, Errno> {
    let flags = (libc::MSG_NOSIGNAL | flags) as u64;
    let args = [to.as_raw_fd() as u64, bytes.as_ptr() as u64, bytes.len() as u64, flags, 0, 0];
    // SAFETY: the kernel reads as many bytes as the slice has.
    raw_result(unsafe { arch::syscall(libc::SYS_sendto, args) }).map(|bytes| bytes as usize)
}

/// recvfrom(2) of a stream: waits until `into` is full, a signal arrives or the stream ends;
/// returns the bytes received.
#[inline(always)]
pub fn receive_all(from: &File, into: &mut [u8]) -> Result<usize, Errno> {
    receive_with(from, into, libc::MSG_WAITALL)
}

/// recvfrom(2) of a packet: waits for the next one; returns its length, which may exceed `into`.
#[inline(always)]
pub fn receive_packet(from: &File, into: &mut [u8]) -> Result<usize, Errno> {
    receive_with(from, into, libc::MSG_TRUNC)
}

/// The same without blocking: EAGAIN if there is none.
#[inline(always)]
pub fn receive_packet_nonblocking(from: &File, into: &mut [u8]) -> Result<usize, Errno> {
    receive_with(from, into, libc::MSG_TRUNC | libc::MSG_DONTWAIT)
}

#[inline(always)]
fn receive_with(from: &File, into: &mut [u8], flags: i32) -> Result<usize, Errno> {
    let address = into.as_mut_ptr() as u64;
    let args = [from.as_raw_fd() as u64, address, into.len() as u64, flags as u64, 0, 0];
    // SAFETY: the kernel writes at most the slice's length, whatever it returns.
    raw_result(unsafe { arch::syscall(libc::SYS_recvfrom, args) }).map(|given| given as usize)
}

/// sendfile(2): sends bytes of a file, from offset `offset` on; returns the bytes accepted.
#[inline(always)]
pub fn send_file(to: &File, file: &File, offset: usize, bytes: usize) -> Result<usize, Errno> {
    let mut offset = offset as i64;
    let args = [
        to.as_raw_fd() as u64,
        file.as_raw_fd() as u64,
        &raw mut offset as u64,
        bytes as u64,
        0,
        0,
    ];
    // SAFETY: the kernel reads and writes one local offset.
    raw_result(unsafe { arch::syscall(libc::SYS_sendfile, args) }).map(|bytes| bytes as usize)
}

/// A socket option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketOption {
    /// `SO_SNDBUF`: set in bytes; reads back doubled.
    SendBuffer,
    /// `SO_RCVBUF`: as above.
    ReceiveBuffer,
    /// `TCP_NODELAY`: a small segment does not wait for the acknowledgement of an earlier one.
    NoDelay,
    /// `SO_ZEROCOPY`: [`send_zerocopy`] is allowed.
    ZeroCopy,
    /// `SO_REUSEPORT`: others of this user may bind to the same port.
    ReusePort,
    /// `TCP_MAXSEG`.
    Segment,
    /// `IP_MTU` of a connected socket of IPv4.
    Mtu,
    /// `IPV6_MTU`.
    Mtu6,
}

impl SocketOption {
    fn numbers(self) -> (i32, i32) {
        match self {
            SocketOption::SendBuffer => (libc::SOL_SOCKET, libc::SO_SNDBUF),
            SocketOption::ReceiveBuffer => (libc::SOL_SOCKET, libc::SO_RCVBUF),
            SocketOption::NoDelay => (libc::IPPROTO_TCP, libc::TCP_NODELAY),
            SocketOption::ZeroCopy => (libc::SOL_SOCKET, libc::SO_ZEROCOPY),
            SocketOption::ReusePort => (libc::SOL_SOCKET, libc::SO_REUSEPORT),
            SocketOption::Segment => (libc::IPPROTO_TCP, libc::TCP_MAXSEG),
            SocketOption::Mtu => (libc::IPPROTO_IP, libc::IP_MTU),
            SocketOption::Mtu6 => (libc::IPPROTO_IPV6, libc::IPV6_MTU),
        }
    }
}

/// Sets an option.
pub fn set(socket: &impl AsRawFd, option: SocketOption, value: i32) -> Result<(), Errno> {
    let (level, name) = option.numbers();
    set_option(socket.as_raw_fd(), level, name, &value)
}

/// Reads an option.
pub fn get(socket: &impl AsRawFd, option: SocketOption) -> Result<u64, Errno> {
    let (level, name) = option.numbers();
    let mut value = 0i32;
    let mut bytes = size_of::<i32>() as libc::socklen_t;
    // SAFETY: one integer of that size is written.
    Errno::check(unsafe {
        let into = (&raw mut value).cast();
        libc::getsockopt(socket.as_raw_fd(), level, name, into, &raw mut bytes)
    })?;
    u64::try_from(value).map_err(|_| Errno::EPROTO)
}

/// `SO_LINGER` of 0 s: closing resets the connection, and no address stays in TIME_WAIT. One raw
/// call, since it is part of an op.
#[inline(always)]
pub fn reset_when_closed(socket: &impl AsRawFd) -> Result<(), Errno> {
    let value = libc::linger { l_onoff: 1, l_linger: 0 };
    set_option(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_LINGER, &value)
}

#[inline(always)]
fn set_option<T: Copy>(fd: i32, level: i32, name: i32, value: &T) -> Result<(), Errno> {
    let (value, bytes) = (&raw const *value as u64, size_of::<T>() as u64);
    let args = [fd as u64, level as u64, name as u64, value, bytes, 0];
    // SAFETY: the kernel reads one borrowed value.
    raw_result(unsafe { arch::syscall(libc::SYS_setsockopt, args) }).map(drop)
}

/// The type of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketKind {
    /// Bytes: SOCK_STREAM.
    Stream,
    /// Connectionless packets: SOCK_DGRAM. On AF_UNIX none is lost, since a sender waits for space.
    Datagram,
    /// Packets over a connection: SOCK_SEQPACKET.
    Packets,
}

impl SocketKind {
    /// Its number in calls.
    pub(super) fn number(self) -> i32 {
        match self {
            SocketKind::Stream => libc::SOCK_STREAM,
            SocketKind::Datagram => libc::SOCK_DGRAM,
            SocketKind::Packets => libc::SOCK_SEQPACKET,
        }
    }
}

/// Both ends of a pair: socketpair(2).
pub fn pair(kind: SocketKind) -> Result<(File, File), Errno> {
    let kind = SocketType::from_raw(kind.number() as u32);
    let (one, other) = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
    Ok((one.into(), other.into()))
}

/// Both ends of a TCP connection over loopback, on which small segments do not wait for others.
pub fn loopback_connection() -> Result<(File, File), Errno> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let client = TcpStream::connect(listener.local_addr()?)?;
    let (server, from) = listener.accept()?;
    // Another process may have connected first.
    if from != client.local_addr()? {
        return Err(Errno::EPROTO);
    }
    for end in [&client, &server] {
        end.set_nodelay(true)?;
    }
    reset_when_closed(&client)?;
    Ok((OwnedFd::from(client).into(), OwnedFd::from(server).into()))
}

/// A socket address in the kernel's format.
#[derive(Clone, Copy)]
pub struct SocketAddress {
    bytes: [u8; 112],
    length: u32,
    family: i32,
}

impl SocketAddress {
    /// An unset address: a buffer for the kernel to fill.
    pub const EMPTY: SocketAddress = SocketAddress { bytes: [0; 112], length: 112, family: 0 };

    /// A path, for AF_UNIX.
    pub fn from_path(path: &Path) -> Result<Self, Errno> {
        let path = path.as_os_str().as_bytes();
        // sun_path has 108 bytes, the last of which ends it.
        if path.is_empty() || path.len() > 107 || path.contains(&0) {
            return Err(Errno::EINVAL);
        }
        let mut address = Self { family: libc::AF_UNIX, ..Self::EMPTY };
        address.bytes[..2].copy_from_slice(&(libc::AF_UNIX as u16).to_ne_bytes());
        address.bytes[2..2 + path.len()].copy_from_slice(path);
        address.length = 2 + path.len() as u32 + 1;
        Ok(address)
    }

    /// An address and a port.
    pub fn from_ip(addr: SocketAddr) -> Self {
        let mut address = Self::EMPTY;
        match addr {
            SocketAddr::V4(addr) => {
                address.family = libc::AF_INET;
                address.bytes[4..8].copy_from_slice(&addr.ip().octets());
                address.length = 16;
            }
            SocketAddr::V6(addr) => {
                address.family = libc::AF_INET6;
                address.bytes[8..24].copy_from_slice(&addr.ip().octets());
                address.bytes[24..28].copy_from_slice(&addr.scope_id().to_ne_bytes());
                address.length = 28;
            }
        }
        address.bytes[..2].copy_from_slice(&(address.family as u16).to_ne_bytes());
        address.bytes[2..4].copy_from_slice(&addr.port().to_be_bytes());
        address
    }

    /// Its IP address, if it is IPv4 or IPv6.
    pub fn ip(&self) -> Option<IpAddr> {
        let bytes = &self.bytes;
        match i32::from(u16::from_ne_bytes([bytes[0], bytes[1]])) {
            libc::AF_INET => Some(Ipv4Addr::new(bytes[4], bytes[5], bytes[6], bytes[7]).into()),
            libc::AF_INET6 => {
                let mut octets = [0; 16];
                octets.copy_from_slice(&bytes[8..24]);
                Some(Ipv6Addr::from(octets).into())
            }
            _ => None,
        }
    }
}

/// socket(2), of the family of an address.
#[inline(always)]
pub fn socket_for(address: &SocketAddress, kind: SocketKind) -> Result<File, Errno> {
    let kind = (kind.number() | libc::SOCK_CLOEXEC) as u64;
    let args = [address.family as u64, kind, 0, 0, 0, 0];
    // SAFETY: plain numbers; the descriptor is new and ours.
    unsafe {
        let fd = raw_result(arch::syscall(libc::SYS_socket, args))?;
        Ok(OwnedFd::from_raw_fd(fd as i32).into())
    }
}

/// connect(2).
#[inline(always)]
pub fn connect(socket: &File, to: &SocketAddress) -> Result<(), Errno> {
    call_with_address(libc::SYS_connect, socket, to)
}

/// bind(2).
pub fn bind(socket: &File, to: &SocketAddress) -> Result<(), Errno> {
    call_with_address(libc::SYS_bind, socket, to)
}

#[inline(always)]
fn call_with_address(call: i64, socket: &File, to: &SocketAddress) -> Result<(), Errno> {
    let address = to.bytes.as_ptr() as u64;
    let args = [socket.as_raw_fd() as u64, address, u64::from(to.length), 0, 0, 0];
    // SAFETY: both calls read as many bytes as the address has.
    raw_result(unsafe { arch::syscall(call, args) }).map(drop)
}

/// A bound AF_UNIX socket at a path; it listens unless it is SOCK_DGRAM.
pub fn bind_path(path: &Path, kind: SocketKind) -> Result<File, Errno> {
    let address = SocketAddress::from_path(path)?;
    let socket = socket_for(&address, kind)?;
    bind(&socket, &address)?;
    if kind != SocketKind::Datagram {
        rustix::net::listen(&socket, BACKLOG)?;
    }
    Ok(socket)
}

/// An AF_UNIX socket that listens at an abstract name of the kernel's choice, which is gone with
/// the socket; and that name.
pub fn listen_at_any_name(kind: SocketKind) -> Result<(File, SocketAddress), Errno> {
    let mut address = SocketAddress { family: libc::AF_UNIX, ..SocketAddress::EMPTY };
    address.bytes[..2].copy_from_slice(&(libc::AF_UNIX as u16).to_ne_bytes());
    let socket = socket_for(&address, kind)?;
    // The family alone.
    bind(&socket, &SocketAddress { length: 2, ..address })?;
    rustix::net::listen(&socket, BACKLOG)?;
    let (bytes, length) = (address.bytes.as_mut_ptr() as u64, &raw mut address.length as u64);
    let args = [socket.as_raw_fd() as u64, bytes, length, 0, 0, 0];
    // SAFETY: the kernel writes at most as many bytes as the address has room for, and its length.
    raw_result(unsafe { arch::syscall(libc::SYS_getsockname, args) })?;
    Ok((socket, address))
}

/// A TCP listener at an address.
pub fn listen(endpoint: SocketAddr) -> Result<TcpListener, Errno> {
    let address = SocketAddress::from_ip(endpoint);
    let socket = socket_for(&address, SocketKind::Stream)?;
    bind(&socket, &address)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(TcpListener::from(OwnedFd::from(socket)))
}

/// A TCP connection from a local address to a listener. Closing it resets the connection.
pub fn connect_from(from: IpAddr, to: SocketAddr) -> Result<TcpStream, Errno> {
    let from = SocketAddress::from_ip(SocketAddr::new(from, 0));
    let socket = socket_for(&from, SocketKind::Stream)?;
    bind(&socket, &from)?;
    connect(&socket, &SocketAddress::from_ip(to))?;
    reset_when_closed(&socket)?;
    Ok(TcpStream::from(OwnedFd::from(socket)))
}

/// The listen(2) backlog; the kernel caps it at `somaxconn`.
const BACKLOG: i32 = 4_096;

/// accept4(2): the connection and the peer's address.
#[inline(always)]
pub fn accept(listener: &impl AsRawFd) -> Result<(File, SocketAddress), Errno> {
    let mut from = SocketAddress::EMPTY;
    let args = [
        listener.as_raw_fd() as u64,
        from.bytes.as_mut_ptr() as u64,
        &raw mut from.length as u64,
        libc::SOCK_CLOEXEC as u64,
        0,
        0,
    ];
    // SAFETY: the kernel writes at most as many bytes as the address has room for, and its length;
    // the descriptor is new and ours.
    unsafe {
        let fd = raw_result(arch::syscall(libc::SYS_accept4, args))?;
        Ok((OwnedFd::from_raw_fd(fd as i32).into(), from))
    }
}

/// close(2) by the raw instruction: an op's count must not include the C library's.
#[inline(always)]
pub fn close(socket: File) -> Result<(), Errno> {
    let fd = std::os::fd::IntoRawFd::into_raw_fd(socket);
    // SAFETY: the descriptor was owned here and is no longer used.
    raw_result(unsafe { arch::syscall(libc::SYS_close, [fd as u64, 0, 0, 0, 0, 0]) }).map(drop)
}

/// ppoll(2): waits up to `most_ns` until something can be received; returns whether it can. A
/// signal ends the wait.
#[inline(always)]
pub fn poll_readable(from: &File, most_ns: u64) -> Result<bool, Errno> {
    let mut polled = libc::pollfd { fd: from.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let time = libc::timespec {
        tv_sec: (most_ns / 1_000_000_000) as i64,
        tv_nsec: (most_ns % 1_000_000_000) as i64,
    };
    let args = [&raw mut polled as u64, 1, &raw const time as u64, 0, 8, 0];
    // SAFETY: the kernel reads one time, and reads and writes one entry: both are there.
    match raw_result(unsafe { arch::syscall(libc::SYS_ppoll, args) }) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::EINTR) => Ok(false),
        Err(error) => Err(error),
    }
}

/// setitimer(2): interrupts the calling process periodically, until set to 0: a waiting call
/// returns EINTR. SIGALRM must have a handler: see
/// [`crate::kernel::ipc::context_switch::SignalReceiver`].
pub fn set_interval_timer(time: std::time::Duration) -> Result<(), Errno> {
    let time =
        libc::timeval { tv_sec: time.as_secs() as i64, tv_usec: i64::from(time.subsec_micros()) };
    let timer = libc::itimerval { it_interval: time, it_value: time };
    let args = [libc::ITIMER_REAL as u64, &raw const timer as u64, 0, 0, 0, 0];
    // SAFETY: one timer is read, which is there.
    raw_result(unsafe { arch::syscall(libc::SYS_setitimer, args) }).map(drop)
}
