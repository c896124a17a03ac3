//! The descriptor table, and the calls that allocate its lowest free number.

use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::io::dup;

use crate::kernel::event::descriptor_set::wait_until_asleep;
use crate::kernel::ipc::context_switch::{self, PeerProcess};
use crate::kernel::ipc::pipe::pipe;
use crate::kernel::{Errno, arch};

/// A call that returns a new descriptor.
pub enum OpeningCall {
    /// openat(2) of /dev/null.
    Open,
    /// dup(2).
    Dup(OwnedFd),
    /// socket(2) of an AF_UNIX stream.
    Socket,
    /// accept4(2) of a connection over AF_UNIX.
    Accept(AcceptSource),
}

impl OpeningCall {
    /// Makes the call.
    #[inline(always)]
    pub fn open(&self) -> Result<i32, Errno> {
        let cloexec = libc::O_CLOEXEC as u64;
        let (number, args) = match self {
            OpeningCall::Open => {
                let (here, path) = (libc::AT_FDCWD as i64 as u64, c"/dev/null".as_ptr() as u64);
                (libc::SYS_openat, [here, path, libc::O_RDONLY as u64 | cloexec, 0, 0, 0])
            }
            OpeningCall::Dup(of) => (libc::SYS_dup, [of.as_raw_fd() as u64, 0, 0, 0, 0, 0]),
            OpeningCall::Socket => {
                let kind = (libc::SOCK_STREAM | libc::SOCK_CLOEXEC) as u64;
                (libc::SYS_socket, [libc::AF_UNIX as u64, kind, 0, 0, 0, 0])
            }
            OpeningCall::Accept(by) => {
                (libc::SYS_accept4, [by.listener.as_raw_fd() as u64, 0, 0, cloexec, 0, 0])
            }
        };
        // SAFETY: plain numbers, and a NUL-terminated path; the caller closes the descriptor.
        let fd = unsafe { arch::syscall(number, args) };
        if fd < 0 { Err(Errno(-fd as i32)) } else { Ok(fd as i32) }
    }

    /// Prepares for `calls` calls: queues the connections to accept.
    pub fn prepare(&self, calls: u64) -> Result<(), Errno> {
        match self {
            OpeningCall::Accept(by) => by.connect_clients(calls),
            _ => Ok(()),
        }
    }
}

/// Closes what [`OpeningCall::open`] has opened.
#[inline(always)]
pub fn close(fd: i32) -> Result<(), Errno> {
    // SAFETY: a descriptor that the caller was just given and does not share.
    let closed = unsafe { arch::syscall(libc::SYS_close, [fd as u64, 0, 0, 0, 0, 0]) };
    if closed < 0 { Err(Errno(-closed as i32)) } else { Ok(()) }
}

/// A listening socket, and a child that connects to it on request.
pub struct AcceptSource {
    listener: UnixListener,
    request_writer: File,
    replies: File,
    client: PeerProcess,
}

impl AcceptSource {
    /// Listens, and starts the client process.
    pub fn new() -> Result<Self, Errno> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("oscost-{}-{made}", std::process::id());
        let name = SocketAddr::from_abstract_name(name)?;
        let listener = UnixListener::bind_addr(&name)?;
        listener.set_nonblocking(true)?;
        let ((requests, request_writer), (replies, reply_writer)) = (pipe()?, pipe()?);
        let mut own_ends = Some((listener, request_writer, replies));
        let client = {
            let own_ends = &mut own_ends;
            PeerProcess::start(None, move || {
                drop(own_ends.take());
                let (mut request, mut streams) = ([0; size_of::<u64>()], Vec::new());
                while context_switch::read(&requests, &mut request)? == request.len() {
                    streams.clear();
                    for _ in 0..u64::from_ne_bytes(request) {
                        streams.push(UnixStream::connect_addr(&name)?);
                    }
                    context_switch::write(&reply_writer, &[1])?;
                }
                Ok(())
            })?
        };
        // Only the child has taken them.
        let (listener, request_writer, replies) = own_ends.ok_or(Errno::EINVAL)?;
        Ok(Self { listener, request_writer, replies, client })
    }

    /// Queues `count` connections, after discarding any left in the backlog.
    fn connect_clients(&self, count: u64) -> Result<(), Errno> {
        while let Ok((stream, _)) = self.listener.accept() {
            drop(stream);
        }
        context_switch::write(&self.request_writer, &count.to_ne_bytes())?;
        match context_switch::read(&self.replies, &mut [0])? {
            1 => wait_until_asleep(&self.client),
            _ => self.client.check_running().and(Err(Errno::EPIPE)),
        }
    }
}

/// Descriptors that occupy every number below a limit, except two.
pub struct FullTable {
    occupied: Vec<OwnedFd>,
    free: [i32; 2],
}

impl FullTable {
    /// Occupies numbers until `open` descriptors are open in this process; `None` if the program
    /// itself has half as many. Of the two free numbers one is as low as possible; the other is the
    /// next one, in the middle, or after all that are open.
    pub fn fill(open: u64, hole: GapPosition) -> Result<Option<Self>, Errno> {
        let mut occupied: Vec<OwnedFd> = vec![File::open("/dev/null")?.into()];
        // All numbers up to the last one are occupied.
        while occupied.last().is_none_or(|last| (last.as_raw_fd() as u64) < open + 1) {
            let next = &occupied[0];
            occupied.push(dup(next)?);
        }
        if (occupied.len() as u64) < open / 2 || occupied.len() < 4 {
            return Ok(None);
        }
        let second = match hole {
            GapPosition::Low => 1,
            GapPosition::Middle => occupied.len() / 2,
            GapPosition::High => occupied.len() - 1,
        };
        let high = occupied.remove(second).as_raw_fd();
        let low = occupied.remove(0).as_raw_fd();
        Ok(Some(Self { occupied, free: [low, high] }))
    }

    /// Finds which two numbers are free now, the lower one first: another part of the program may
    /// have opened or closed one since, which is compensated.
    pub fn refresh_free(&mut self) -> Result<(), Errno> {
        loop {
            let file = self.occupied.first().ok_or(Errno::EBADF)?;
            let [one, other] = [dup(file)?, dup(file)?];
            let found = [one.as_raw_fd(), other.as_raw_fd()];
            drop([one, other]);
            let last = self.occupied.last().map_or(0, AsRawFd::as_raw_fd);
            // Both are where intended, or as near as other descriptors allow.
            if found[0] < last && found[1] <= last.max(self.free[1]) {
                self.free = found;
                return Ok(());
            }
            // A gap was filled: free the next number instead.
            if self.occupied.len() < 4 {
                return Err(Errno::EMFILE);
            }
            self.occupied.remove(1);
        }
    }

    /// The two numbers that are free, the lower one first.
    #[inline(always)]
    pub fn free(&self) -> [i32; 2] {
        self.free
    }
}

/// Where the second free number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GapPosition {
    /// Directly after the first.
    Low,
    /// In the middle of the table.
    Middle,
    /// After all open descriptors.
    High,
}
