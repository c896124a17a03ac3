//! The lock's name: one in the abstract socket namespace. It leaves no file, and the kernel removes
//! it when its holder ends.

use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

use oscost_model::machine_lock::LockHolder;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

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
        match connect_to(name) {
            Ok(stream) => {
                let holder = peer(&stream).unwrap_or(LockHolder::UNKNOWN);
                return Attempt::HeldBy(holder, Some(stream));
            }
            // The holder has released it between the two calls, or does not listen yet.
            Err(Errno::CONNREFUSED) => std::thread::sleep(PAUSE),
            // Its backlog is full, or a sandbox forbids to connect.
            Err(_) => return Attempt::HeldBy(LockHolder::UNKNOWN, None),
        }
    }
    Attempt::HeldBy(LockHolder::MUTE, None)
}

/// Connects without blocking, as a holder that never accepts and has a full backlog would make it.
fn connect_to(name: &[u8]) -> rustix::io::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let connected = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(&connected, &SocketAddrUnix::new_abstract_name(name)?)?;
    Ok(UnixStream::from(connected))
}

/// The process that listens at the other end. Not by `rustix`, whose process ids cannot be 0: that of
/// a process in another PID namespace is.
fn peer(stream: &UnixStream) -> Option<LockHolder> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut size = size_of::<libc::ucred>() as libc::socklen_t;
    let (level, option) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
    // SAFETY: the kernel writes at most `size` bytes, which `peer` has.
    let result = unsafe {
        let peer = (&raw mut peer).cast();
        libc::getsockopt(stream.as_raw_fd(), level, option, peer, &raw mut size)
    };
    (result == 0).then(|| holder(peer.pid, Some(peer.uid)))
}
