//! One run per machine at a time: an abstract socket name that the tool binds on its own machine,
//! bound here where its session runs on another one. Nothing is ever read from it.

use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use oscost_model::protocol::LOCK_NAME;

use crate::kernel::Errno;

/// The machine is locked until this is dropped.
pub struct MachineLock(#[expect(dead_code, reason = "holding it is all it is for")] UnixListener);

/// The holder of a machine's lock.
pub struct Holder {
    /// Its process; 0 if it is in another pid namespace.
    pub pid: i32,
    /// Its command line, if readable.
    pub command: Option<String>,
}

/// The result of trying to lock the machine.
pub enum LockAttempt {
    /// Acquired.
    Acquired(MachineLock),
    /// Held by another process; the stream ends when it is released.
    HeldBy(Holder, UnixStream),
    /// Abstract names are unavailable, or the name cannot be used.
    Unavailable(Errno),
}

impl MachineLock {
    /// Locks the machine, or returns the holder.
    pub fn acquire() -> LockAttempt {
        Self::acquire_named(LOCK_NAME)
    }

    fn acquire_named(name: &str) -> LockAttempt {
        let address = match SocketAddr::from_abstract_name(name) {
            Ok(address) => address,
            Err(error) => return LockAttempt::Unavailable(error.into()),
        };
        loop {
            match UnixListener::bind_addr(&address) {
                Ok(name) => return LockAttempt::Acquired(Self(name)),
                Err(error) if error.kind() == ErrorKind::AddrInUse => {}
                Err(error) => return LockAttempt::Unavailable(error.into()),
            }
            match UnixStream::connect_addr(&address) {
                Ok(stream) => return LockAttempt::HeldBy(holder(&stream), stream),
                // The lock was released between the two calls, or its backlog is full.
                Err(_) => std::thread::sleep(std::time::Duration::from_millis(20)),
            }
        }
    }
}

fn holder(stream: &UnixStream) -> Holder {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut size = size_of::<libc::ucred>() as libc::socklen_t;
    let (level, option) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
    // SAFETY: the kernel writes at most `size` bytes, which `peer` has.
    unsafe {
        let peer = (&raw mut peer).cast();
        // If it fails the pid stays 0.
        let _ = libc::getsockopt(stream.as_raw_fd(), level, option, peer, &raw mut size);
    }
    let command = std::fs::read(format!("/proc/{}/cmdline", peer.pid)).ok().map(|bytes| {
        let text = String::from_utf8_lossy(&bytes).replace('\0', " ");
        // Untrusted text: bounded, without control characters.
        text.trim().chars().filter(|c| !c.is_control()).take(120).collect()
    });
    Holder { pid: peer.pid, command: command.filter(|text: &String| !text.is_empty()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_process_learns_who_holds_the_machine_and_acquires_it_next() {
        use std::io::Read;

        let name = format!("oscost.test.worker.{}", std::process::id());
        let LockAttempt::Acquired(first) = MachineLock::acquire_named(&name) else {
            panic!("the name is free");
        };
        let LockAttempt::HeldBy(holder, mut stream) = MachineLock::acquire_named(&name) else {
            panic!("the machine was given twice");
        };
        assert_eq!(holder.pid, std::process::id() as i32);
        drop(first);
        // The end shows as a reset, since the connection was never accepted.
        assert!(!matches!(stream.read(&mut [0]), Ok(1..)));
        assert!(matches!(MachineLock::acquire_named(&name), LockAttempt::Acquired(_)));
    }
}
