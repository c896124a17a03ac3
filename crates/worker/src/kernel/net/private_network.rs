//! Network namespaces of one process, with a socket at each end of a path between or within them:
//! the process sends itself messages, so that the path alone is what they cost.

use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::time::Duration;

use crate::kernel::Errno;
use crate::kernel::net::device::{self, Devices, LOOPBACK};
use crate::kernel::net::socket::{receive_all, receive_packet, send};
use crate::kernel::process::namespace::{self, NamespaceFile, Namespaces};

/// The addresses of the ends of a pair: of the first block for documentation (RFC 5737), so that
/// they are no one's. By their class the other one is on the same network.
const FAR: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const NEAR: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);

/// A message has arrived when it is received. The first one may have to wait until a device is
/// ready and a lost question for the other end's address is repeated, a second later.
const PATIENCE: Duration = Duration::from_secs(3);

/// The kernel starts the queue of a device in a work item, after its other end has been set up.
const START_OF_QUEUES: Duration = Duration::from_millis(20);

/// What messages pass through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// The loopback device of one namespace, with packets of at most so many bytes.
    Loopback {
        /// The device's MTU.
        mtu: u32,
    },
    /// A pair of veth devices, one in each of two namespaces.
    Pair,
}

/// The protocol of both sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// TCP, without Nagle's algorithm.
    Tcp,
    /// UDP.
    Udp,
}

/// Two connected sockets, and the messages between them.
pub struct PrivatePath {
    near: File,
    far: File,
    protocol: Protocol,
    message: Vec<u8>,
    received: Vec<u8>,
}

impl PrivatePath {
    /// Moves the calling process, which must have one thread, into network namespaces of its own,
    /// and connects the ends of a path for messages of `bytes` bytes. There is no way back: a child
    /// calls this.
    pub fn enter(path: Path, protocol: Protocol, bytes: usize) -> Result<Self, Errno> {
        namespace::enter_new_unmapped(Namespaces::NET)?;
        let (near, far) = match path {
            Path::Loopback { mtu } => {
                let devices = Devices::here()?;
                devices.set_mtu(LOOPBACK, i32::try_from(mtu).map_err(|_| Errno::EINVAL)?)?;
                devices.set_up(LOOPBACK, true)?;
                FarEnd::open(protocol, Ipv4Addr::LOCALHOST)?.connect_from(Ipv4Addr::LOCALHOST)?
            }
            Path::Pair => {
                let (near_devices, near) = (Devices::here()?, NamespaceFile::own(Namespaces::NET)?);
                namespace::unshare(Namespaces::NET)?;
                let far_devices = Devices::here()?;
                device::make_pair()?;
                device::move_second_to(&near)?;
                let [first, second] = device::PAIR;
                far_devices.set_address(first, FAR)?;
                far_devices.set_up(first, true)?;
                near_devices.set_address(second, NEAR)?;
                near_devices.set_up(second, true)?;
                std::thread::sleep(START_OF_QUEUES);
                // A socket stays in the namespace in which it was opened.
                let far_end = FarEnd::open(protocol, FAR)?;
                near.enter()?;
                far_end.connect_from(NEAR)?
            }
        };
        // No byte is 0, which is what the buffer begins with.
        let message = (0..bytes).map(|at| 1 + (at % 251) as u8).collect();
        let mut path = Self { near, far, protocol, message, received: vec![0; bytes] };
        path.round_trip().map_err(timeout_of)?;
        if path.received == path.message { Ok(path) } else { Err(Errno::EPROTO) }
    }

    /// A message to the far end, and back: sendto(2) and recvfrom(2) for each way.
    #[inline(always)]
    pub fn round_trip(&mut self) -> Result<(), Errno> {
        pass(&self.near, &self.far, self.protocol, &self.message, &mut self.received)?;
        pass(&self.far, &self.near, self.protocol, &self.message, &mut self.received)
    }
}

/// What the end of a wait for a message means: not that something is to be tried again.
fn timeout_of(error: Errno) -> Errno {
    if error == Errno::EAGAIN { Errno(libc::ETIMEDOUT) } else { error }
}

/// A message from one end to the other.
#[inline(always)]
fn pass(
    from: &File,
    to: &File,
    protocol: Protocol,
    message: &[u8],
    into: &mut [u8],
) -> Result<(), Errno> {
    let sent = send(from, message)?;
    let received = match protocol {
        Protocol::Tcp => receive_all(to, into)?,
        Protocol::Udp => receive_packet(to, into)?,
    };
    if (sent, received) == (message.len(), message.len()) { Ok(()) } else { Err(Errno::EPROTO) }
}

/// The end that is connected to.
enum FarEnd {
    Tcp(TcpListener),
    Udp(UdpSocket),
}

impl FarEnd {
    /// Opens it in the namespace that the process is in.
    fn open(protocol: Protocol, address: Ipv4Addr) -> Result<Self, Errno> {
        Ok(match protocol {
            Protocol::Tcp => Self::Tcp(TcpListener::bind((address, 0))?),
            Protocol::Udp => Self::Udp(UdpSocket::bind((address, 0))?),
        })
    }

    /// Connects from the namespace that the process is in now; returns the near end and this one.
    fn connect_from(self, address: Ipv4Addr) -> Result<(File, File), Errno> {
        match self {
            Self::Tcp(listener) => {
                let near = TcpStream::connect(listener.local_addr()?)?;
                let (far, from) = listener.accept()?;
                if from != near.local_addr()? || from.ip() != IpAddr::V4(address) {
                    return Err(Errno::EPROTO);
                }
                for end in [&near, &far] {
                    end.set_nodelay(true)?;
                    end.set_read_timeout(Some(PATIENCE))?;
                    end.set_write_timeout(Some(PATIENCE))?;
                }
                Ok((OwnedFd::from(near).into(), OwnedFd::from(far).into()))
            }
            Self::Udp(far) => {
                let near = UdpSocket::bind(SocketAddr::from((address, 0)))?;
                near.connect(far.local_addr()?)?;
                far.connect(near.local_addr()?)?;
                for end in [&near, &far] {
                    end.set_read_timeout(Some(PATIENCE))?;
                    end.set_write_timeout(Some(PATIENCE))?;
                }
                Ok((OwnedFd::from(near).into(), OwnedFd::from(far).into()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::process::{fork, in_own_process, spawn};

    /// Ends a child that could not do something here with this status.
    const REFUSED: i32 = 77;

    #[test]
    fn messages_pass_both_ways_on_every_path_and_the_caller_stays_in_its_namespace() {
        in_own_process(|| {
            let namespace = || std::fs::read_link("/proc/self/ns/net").unwrap();
            let before = namespace();
            let loopback = [1_500, 65_536].map(|mtu| Path::Loopback { mtu });
            for path in [Path::Pair, loopback[0], loopback[1]] {
                for protocol in [Protocol::Tcp, Protocol::Udp] {
                    let child = fork(|| match PrivatePath::enter(path, protocol, 32_768) {
                        Ok(mut path) => i32::from((0..5).any(|_| path.round_trip().is_err())),
                        Err(error) => {
                            eprintln!("{path:?} by {protocol:?}: {error}");
                            REFUSED
                        }
                    });
                    match spawn::reap(child.unwrap()) {
                        Err(Errno(REFUSED)) => eprintln!("cannot run here"),
                        done => assert_eq!(done, Ok(()), "{path:?} {protocol:?}"),
                    }
                }
            }
            assert_eq!(namespace(), before);
        });
    }
}
