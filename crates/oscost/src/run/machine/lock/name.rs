//! The lock's name: one in the abstract socket namespace. It leaves no file, and the kernel removes
//! it when its holder ends.

use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, UnixAddr, getsockopt, socket, sockopt::PeerCredentials,
};

use oscost_model::machine_lock::LockHolder;

use super::holder::holder;

/// The result of binding the name.
pub(super) enum Attempt {
    /// Bound.
    Bound(UnixListener),
    /// Another process has it; the stream ends when that releases it.
    HeldBy(LockHolder, Option<UnixStream>),
    /// There are no abstract sockets (a sandbox).
    Unavailable(io::Error),
}

/// Binds the name, or finds its holder.
pub(super) fn bind(name: &[u8]) -> Attempt {
    /// Together 1 s: the holder is between two calls for microseconds.
    const ATTEMPTS: u32 = 50;
    const PAUSE: Duration = Duration::from_millis(20);
    let address = match SocketAddr::from_abstract_name(name) {
        Ok(address) => address,
        Err(error) => return Attempt::Unavailable(error),
    };
    for _ in 0..ATTEMPTS {
        match UnixListener::bind_addr(&address) {
            Ok(listener) => return Attempt::Bound(listener),
            Err(error) if error.kind() == ErrorKind::AddrInUse => {}
            Err(error) => return Attempt::Unavailable(error),
        }
        match connect(name) {
            Ok(stream) => {
                let peer = getsockopt(&stream, PeerCredentials).ok();
                let holder =
                    peer.map_or(LockHolder::UNKNOWN, |it| holder(it.pid(), Some(it.uid())));
                return Attempt::HeldBy(holder, Some(stream));
            }
            // The holder has released it between the two calls, or does not listen yet.
            Err(Errno::ECONNREFUSED) => std::thread::sleep(PAUSE),
            // Its backlog is full, or a sandbox forbids to connect.
            Err(_) => return Attempt::HeldBy(LockHolder::UNKNOWN, None),
        }
    }
    Attempt::HeldBy(LockHolder::MUTE, None)
}

/// Connects without blocking, as a holder that never accepts and has a full backlog would make it.
fn connect(name: &[u8]) -> nix::Result<UnixStream> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let connected = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    nix::sys::socket::connect(connected.as_raw_fd(), &UnixAddr::new_abstract(name)?)?;
    Ok(UnixStream::from(connected))
}

#[cfg(test)]
mod tests {
    use nix::sys::socket::{Backlog, bind as bind_socket, listen};
    use std::os::fd::OwnedFd;

    use super::*;

    /// A socket of that name which does not listen.
    fn mute(name: &str) -> OwnedFd {
        let flags = SockFlag::SOCK_CLOEXEC;
        let bound = socket(AddressFamily::Unix, SockType::Stream, flags, None).unwrap();
        let address = UnixAddr::new_abstract(name.as_bytes()).unwrap();
        bind_socket(bound.as_raw_fd(), &address).unwrap();
        bound
    }

    #[test]
    fn a_name_that_nobody_listens_at_is_another_programs() {
        let name = format!("oscost.test.mute.{}", std::process::id());
        let bound = mute(&name);
        let Attempt::HeldBy(holder, None) = bind(name.as_bytes()) else { panic!("it is bound") };
        assert_eq!(holder, LockHolder::MUTE);
        drop(bound);
        assert!(matches!(bind(name.as_bytes()), Attempt::Bound(_)));
    }

    #[test]
    fn a_holder_with_a_full_backlog_does_not_block() {
        let name = format!("oscost.test.full.{}", std::process::id());
        let bound = mute(&name);
        listen(&bound, Backlog::new(0).unwrap()).unwrap();
        let mut connected = Vec::new();
        let refused = (0..10).find_map(|_| match bind(name.as_bytes()) {
            Attempt::HeldBy(_, Some(stream)) => {
                connected.push(stream);
                None
            }
            Attempt::HeldBy(holder, None) => Some(holder),
            _ => panic!("it is bound"),
        });
        assert_eq!(refused, Some(LockHolder::UNKNOWN));
    }
}
