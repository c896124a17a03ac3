//! Sockets that carry nothing: opened, bound, listening, refused, asked for names and options, and
//! pairs that are shut down. By the raw instruction, as the subject of a measurement.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::kernel::errno::raw_result;
use crate::kernel::net::socket::SocketKind;
use crate::kernel::{Errno, arch};

/// Room for the address of any domain here: `sockaddr_un` has 110 bytes.
const ADDRESS_BYTES: usize = 112;

/// The domain of a socket, with the type and the protocol that are usual in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// TCP over IPv4.
    InetTcp,
    /// UDP over IPv4.
    InetUdp,
    /// A stream of AF_UNIX.
    UnixStream,
    /// Routing messages of the kernel: NETLINK_ROUTE.
    Netlink,
}

/// An address that binds to any free port or name.
#[derive(Clone, Copy)]
struct Address {
    bytes: [u8; ADDRESS_BYTES],
    length: u32,
}

impl Address {
    const EMPTY: Address = Address { bytes: [0; ADDRESS_BYTES], length: 0 };

    /// The family alone, followed by `length - 2` zeros.
    fn of_family(family: i32, length: u32) -> Self {
        let mut address = Self { length, ..Self::EMPTY };
        address.bytes[..2].copy_from_slice(&(family as u16).to_ne_bytes());
        address
    }

    /// The address of 127.0.0.1 at a port.
    fn of_loopback(port: u16) -> Self {
        let mut address = Self::of_family(libc::AF_INET, 16);
        address.bytes[2..4].copy_from_slice(&port.to_be_bytes());
        address.bytes[4..8].copy_from_slice(&Ipv4Addr::LOCALHOST.octets());
        address
    }
}

impl Domain {
    /// The arguments of socket(2).
    fn arguments(self) -> [u64; 3] {
        let (domain, kind) = match self {
            Domain::InetTcp => (libc::AF_INET, libc::SOCK_STREAM),
            Domain::InetUdp => (libc::AF_INET, libc::SOCK_DGRAM),
            Domain::UnixStream => (libc::AF_UNIX, libc::SOCK_STREAM),
            Domain::Netlink => (libc::AF_NETLINK, libc::SOCK_RAW),
        };
        // Protocol 0 is TCP, UDP and NETLINK_ROUTE.
        [domain as u64, (kind | libc::SOCK_CLOEXEC) as u64, 0]
    }

    /// Any free port of 127.0.0.1; any free abstract name, which is gone with its socket; any free
    /// port of netlink.
    fn any_address(self) -> Address {
        match self {
            Domain::InetTcp | Domain::InetUdp => Address::of_loopback(0),
            Domain::UnixStream => Address::of_family(libc::AF_UNIX, 2),
            Domain::Netlink => Address::of_family(libc::AF_NETLINK, 12),
        }
    }
}

/// Ops that each open a socket and close it.
pub struct FreshSocket {
    arguments: [u64; 3],
    address: Address,
}

impl FreshSocket {
    /// Ops on sockets of a domain.
    pub fn new(domain: Domain) -> Self {
        Self { arguments: domain.arguments(), address: domain.any_address() }
    }

    /// socket(2) and close(2).
    #[inline(always)]
    pub fn open_and_close(&self) -> Result<(), Errno> {
        self.with_socket(|_| Ok(()))
    }

    /// socket(2), bind(2) to an address that the kernel chooses, and close(2).
    #[inline(always)]
    pub fn bind_and_close(&self) -> Result<(), Errno> {
        self.with_socket(|fd| call_with_address(libc::SYS_bind, fd, &self.address))
    }

    /// The same, with listen(2) before close(2).
    #[inline(always)]
    pub fn listen_and_close(&self) -> Result<(), Errno> {
        /// As long as no one connects any number does.
        const BACKLOG: u64 = 16;
        self.with_socket(|fd| {
            call_with_address(libc::SYS_bind, fd, &self.address)?;
            // SAFETY: plain numbers.
            raw_result(unsafe { arch::syscall(libc::SYS_listen, [fd, BACKLOG, 0, 0, 0, 0]) })
                .map(drop)
        })
    }

    /// Opens a socket, does something with it, and closes it.
    #[inline(always)]
    fn with_socket(&self, act: impl FnOnce(u64) -> Result<(), Errno>) -> Result<(), Errno> {
        let fd = open(self.arguments)?;
        let done = act(fd);
        close(fd)?;
        done
    }
}

/// Connections to an address where no one listens.
pub struct Refusal {
    socket: FreshSocket,
    to: Address,
    /// It keeps others from using the address, and does not listen.
    _bound: OwnedFd,
}

impl Refusal {
    /// Binds the address.
    pub fn new(domain: Domain) -> Result<Self, Errno> {
        let socket = FreshSocket::new(domain);
        // SAFETY: the descriptor is new and owned here.
        let bound = unsafe { OwnedFd::from_raw_fd(open(socket.arguments)? as i32) };
        let fd = bound.as_raw_fd() as u64;
        call_with_address(libc::SYS_bind, fd, &socket.address)?;
        let mut to = Address::EMPTY;
        read_name(libc::SYS_getsockname, fd, &mut to)?;
        Ok(Self { socket, to, _bound: bound })
    }

    /// socket(2), connect(2), which must be refused, and close(2).
    #[inline(always)]
    pub fn connect_and_close(&self) -> Result<(), Errno> {
        self.socket.with_socket(|fd| match call_with_address(libc::SYS_connect, fd, &self.to) {
            Err(Errno(libc::ECONNREFUSED)) => Ok(()),
            Err(error) => Err(error),
            Ok(()) => Err(Errno::EPROTO),
        })
    }
}

/// Which end's name is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameOf {
    /// getsockname(2).
    Socket,
    /// getpeername(2).
    Peer,
}

/// A connected UDP socket whose names are known.
pub struct NamedSocket {
    socket: UdpSocket,
    _peer: UdpSocket,
    call: i64,
    expected: Address,
}

impl NamedSocket {
    /// Connects two UDP sockets of 127.0.0.1 with each other.
    pub fn new(of: NameOf) -> Result<Self, Errno> {
        let (socket, peer) = connected_udp_pair()?;
        let (call, named) = match of {
            NameOf::Socket => (libc::SYS_getsockname, &socket),
            NameOf::Peer => (libc::SYS_getpeername, &peer),
        };
        let expected = Address::of_loopback(named.local_addr()?.port());
        Ok(Self { socket, _peer: peer, call, expected })
    }

    /// getsockname(2) or getpeername(2), whose answer must be the name.
    #[inline(always)]
    pub fn ask(&self) -> Result<(), Errno> {
        let mut name = [0u64; 2];
        let mut bytes = size_of_val(&name) as u32;
        let at = &raw mut name;
        let fd = self.socket.as_raw_fd() as u64;
        let args = [fd, at as u64, &raw mut bytes as u64, 0, 0, 0];
        // SAFETY: the kernel writes one address of that length, and its length.
        raw_result(unsafe { arch::syscall(self.call, args) })?;
        let [one, other] = name.map(u64::to_ne_bytes);
        let is_right = bytes == self.expected.length
            && self.expected.bytes[..8] == one
            && self.expected.bytes[8..16] == other;
        if is_right { Ok(()) } else { Err(Errno::EPROTO) }
    }
}

/// Two UDP sockets of 127.0.0.1 that are connected with each other.
pub(super) fn connected_udp_pair() -> Result<(UdpSocket, UdpSocket), Errno> {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let (one, other) = (UdpSocket::bind(any)?, UdpSocket::bind(any)?);
    one.connect(other.local_addr()?)?;
    other.connect(one.local_addr()?)?;
    Ok((one, other))
}

/// A socket option that is on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// SO_KEEPALIVE, of all sockets.
    KeepAlive,
    /// TCP_NODELAY, of TCP.
    NoDelay,
}

/// A TCP socket whose option is set and read.
pub struct SwitchedSocket {
    socket: OwnedFd,
    level: u64,
    option: u64,
    value: i32,
}

impl SwitchedSocket {
    /// Opens the socket.
    pub fn new(switch: Switch) -> Result<Self, Errno> {
        let (level, option) = match switch {
            Switch::KeepAlive => (libc::SOL_SOCKET, libc::SO_KEEPALIVE),
            Switch::NoDelay => (libc::IPPROTO_TCP, libc::TCP_NODELAY),
        };
        // SAFETY: the descriptor is new and owned here.
        let socket = unsafe { OwnedFd::from_raw_fd(open(Domain::InetTcp.arguments())? as i32) };
        Ok(Self { socket, level: level as u64, option: option as u64, value: 0 })
    }

    /// setsockopt(2) to the other value, and getsockopt(2), which must return it.
    #[inline(always)]
    pub fn flip_and_read(&mut self) -> Result<(), Errno> {
        self.value ^= 1;
        let (fd, value) = (self.socket.as_raw_fd() as u64, self.value);
        let mut found = -1i32;
        let mut bytes = size_of::<i32>() as u32;
        let set = [fd, self.level, self.option, &raw const value as u64, u64::from(bytes), 0];
        let get = [fd, self.level, self.option, &raw mut found as u64, &raw mut bytes as u64, 0];
        // SAFETY: the first call reads one integer; the second one writes one, and its length.
        unsafe {
            raw_result(arch::syscall(libc::SYS_setsockopt, set))?;
            raw_result(arch::syscall(libc::SYS_getsockopt, get))?;
        }
        if found == value { Ok(()) } else { Err(Errno::EPROTO) }
    }
}

/// socketpair(2) of AF_UNIX, shutdown(2) of one end in both directions, recvfrom(2) at the other,
/// which must find the end of the stream, and close(2) of both.
#[inline(always)]
pub fn shut_down_pair(kind: SocketKind) -> Result<(), Errno> {
    let mut ends = [-1i32; 2];
    let at = &raw mut ends;
    let kind = (kind.number() | libc::SOCK_CLOEXEC) as u64;
    let args = [libc::AF_UNIX as u64, kind, 0, at as u64, 0, 0];
    // SAFETY: the kernel writes two descriptors.
    raw_result(unsafe { arch::syscall(libc::SYS_socketpair, args) })?;
    let [one, other] = ends.map(|fd| fd as u64);
    let done = shut_down(one, other);
    close(one)?;
    close(other)?;
    done
}

#[inline(always)]
fn shut_down(one: u64, other: u64) -> Result<(), Errno> {
    let mut byte = 0u8;
    let flags = libc::MSG_DONTWAIT as u64;
    let receive = [other, &raw mut byte as u64, 1, flags, 0, 0];
    // SAFETY: plain numbers in the first call; the second one writes one byte at most.
    let received = unsafe {
        raw_result(arch::syscall(libc::SYS_shutdown, [one, libc::SHUT_RDWR as u64, 0, 0, 0, 0]))?;
        raw_result(arch::syscall(libc::SYS_recvfrom, receive))?
    };
    if received == 0 { Ok(()) } else { Err(Errno::EPROTO) }
}

/// socket(2): a descriptor that the caller closes.
#[inline(always)]
fn open([domain, kind, protocol]: [u64; 3]) -> Result<u64, Errno> {
    // SAFETY: plain numbers.
    let fd = unsafe { arch::syscall(libc::SYS_socket, [domain, kind, protocol, 0, 0, 0]) };
    raw_result(fd).map(|fd| fd as u64)
}

/// close(2) of a descriptor that was opened here.
#[inline(always)]
fn close(fd: u64) -> Result<(), Errno> {
    // SAFETY: nothing else owns it.
    raw_result(unsafe { arch::syscall(libc::SYS_close, [fd, 0, 0, 0, 0, 0]) }).map(drop)
}

/// bind(2) or connect(2).
#[inline(always)]
fn call_with_address(call: i64, fd: u64, to: &Address) -> Result<(), Errno> {
    let args = [fd, to.bytes.as_ptr() as u64, u64::from(to.length), 0, 0, 0];
    // SAFETY: both calls read as many bytes as the address has.
    raw_result(unsafe { arch::syscall(call, args) }).map(drop)
}

/// getsockname(2) or getpeername(2).
fn read_name(call: i64, fd: u64, into: &mut Address) -> Result<(), Errno> {
    into.length = ADDRESS_BYTES as u32;
    let args = [fd, into.bytes.as_mut_ptr() as u64, &raw mut into.length as u64, 0, 0, 0];
    // SAFETY: the kernel writes at most as many bytes as there is room for, and the length.
    raw_result(unsafe { arch::syscall(call, args) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOMAINS: [Domain; 4] =
        [Domain::InetTcp, Domain::InetUdp, Domain::UnixStream, Domain::Netlink];

    #[test]
    fn sockets_of_every_domain_are_opened_and_bound() {
        for domain in DOMAINS {
            let socket = FreshSocket::new(domain);
            for _ in 0..3 {
                assert_eq!(socket.open_and_close(), Ok(()), "{domain:?}");
                assert_eq!(socket.bind_and_close(), Ok(()), "{domain:?}");
            }
        }
        for domain in [Domain::InetTcp, Domain::UnixStream] {
            assert_eq!(FreshSocket::new(domain).listen_and_close(), Ok(()), "{domain:?}");
        }
        let cannot_listen = FreshSocket::new(Domain::InetUdp).listen_and_close();
        assert_eq!(cannot_listen, Err(Errno(libc::EOPNOTSUPP)));
    }

    #[test]
    fn a_connection_is_refused_until_someone_listens() {
        for domain in [Domain::InetTcp, Domain::UnixStream] {
            let refusal = Refusal::new(domain).unwrap();
            assert_eq!(refusal.connect_and_close(), Ok(()), "{domain:?}");
            rustix::net::listen(&refusal._bound, 1).unwrap();
            assert_eq!(refusal.connect_and_close(), Err(Errno::EPROTO), "{domain:?}");
        }
    }

    #[test]
    fn names_options_and_ends_are_what_they_should_be() {
        for of in [NameOf::Socket, NameOf::Peer] {
            let mut named = NamedSocket::new(of).unwrap();
            assert_eq!(named.ask(), Ok(()), "{of:?}");
            named.expected = Address::of_loopback(1);
            assert_eq!(named.ask(), Err(Errno::EPROTO), "{of:?}");
        }
        for switch in [Switch::KeepAlive, Switch::NoDelay] {
            let mut switched = SwitchedSocket::new(switch).unwrap();
            for _ in 0..3 {
                assert_eq!(switched.flip_and_read(), Ok(()), "{switch:?}");
            }
        }
        for kind in [SocketKind::Stream, SocketKind::Packets] {
            assert_eq!(shut_down_pair(kind), Ok(()), "{kind:?}");
        }
    }
}
