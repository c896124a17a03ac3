//! Pairs of connected ends, and a descriptor that is passed between two of them (SCM_RIGHTS), by
//! the raw instruction.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::kernel::Errno;
use crate::kernel::arch::syscall;
use crate::kernel::errno::raw_result;
use crate::kernel::net::socket::{self, SocketKind};

/// What two connected ends are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// A pipe: pipe2(2).
    Pipe,
    /// AF_UNIX sockets of a stream: socketpair(2).
    StreamSockets,
    /// AF_UNIX sockets of datagrams.
    DatagramSockets,
    /// AF_UNIX sockets of packets.
    PacketSockets,
}

/// Creates both ends and closes them.
#[inline(always)]
pub fn create_and_close(ends: Ends) -> Result<(), Errno> {
    let mut fds = [-1i32; 2];
    let to = &raw mut fds as u64;
    let sockets = |kind: i32| {
        let kind = (kind | libc::SOCK_CLOEXEC) as u64;
        (libc::SYS_socketpair, [libc::AF_UNIX as u64, kind, 0, to, 0, 0])
    };
    let (number, args) = match ends {
        Ends::Pipe => (libc::SYS_pipe2, [to, libc::O_CLOEXEC as u64, 0, 0, 0, 0]),
        Ends::StreamSockets => sockets(libc::SOCK_STREAM),
        Ends::DatagramSockets => sockets(libc::SOCK_DGRAM),
        Ends::PacketSockets => sockets(libc::SOCK_SEQPACKET),
    };
    // SAFETY: two descriptors are written to the array.
    raw_result(unsafe { syscall(number, args) })?;
    let [one, other] = fds;
    // SAFETY: both were just created, and nothing else refers to them.
    unsafe {
        let closed = syscall(libc::SYS_close, [one as u64, 0, 0, 0, 0, 0]);
        let other_closed = syscall(libc::SYS_close, [other as u64, 0, 0, 0, 0, 0]);
        raw_result(closed)?;
        raw_result(other_closed).map(drop)
    }
}

/// The control part of a message that carries one descriptor.
#[repr(C)]
struct Control {
    header: libc::cmsghdr,
    fd: i32,
    /// To the alignment of the next header.
    _padding: i32,
}

/// A message of one byte and one descriptor.
struct Message {
    header: libc::msghdr,
    byte: u8,
    part: libc::iovec,
    control: Control,
}

impl Message {
    /// In a box, since its parts point to each other.
    fn new(fd: i32) -> Box<Self> {
        // SAFETY: all-zero bits are valid for every field.
        let mut message: Box<Self> = Box::new(unsafe { std::mem::zeroed() });
        message.control.header.cmsg_len =
            (size_of::<libc::cmsghdr>() + size_of::<libc::c_int>()) as _;
        message.control.header.cmsg_level = libc::SOL_SOCKET;
        message.control.header.cmsg_type = libc::SCM_RIGHTS;
        message.control.fd = fd;
        message.part = libc::iovec { iov_base: (&raw mut message.byte).cast(), iov_len: 1 };
        message.header.msg_iov = &raw mut message.part;
        message.header.msg_iovlen = 1;
        message.header.msg_control = (&raw mut message.control).cast();
        message.header.msg_controllen = size_of::<Control>() as _;
        message
    }

    #[inline(always)]
    fn address(&mut self) -> u64 {
        &raw mut self.header as u64
    }

    /// The descriptor that the kernel has stored there.
    #[inline(always)]
    fn descriptor(&self) -> Result<i32, Errno> {
        // SAFETY: the pointers are valid; the kernel has written there, unseen by the compiler.
        let (kind, fd, flags) = unsafe {
            (
                (&raw const self.control.header.cmsg_type).read_volatile(),
                (&raw const self.control.fd).read_volatile(),
                (&raw const self.header.msg_flags).read_volatile(),
            )
        };
        let is_complete = flags & libc::MSG_CTRUNC == 0;
        if is_complete && kind == libc::SCM_RIGHTS && fd >= 0 { Ok(fd) } else { Err(Errno::EPROTO) }
    }
}

/// Sends a byte and a descriptor: sendmsg(2).
pub(in crate::kernel) fn send(socket: &File, passed: &File) -> Result<(), Errno> {
    let mut message = Message::new(passed.as_raw_fd());
    let flags = libc::MSG_NOSIGNAL as u64;
    let args = [socket.as_raw_fd() as u64, message.address(), flags, 0, 0, 0];
    // SAFETY: the message is valid, with all that it points to, and only read.
    match raw_result(unsafe { syscall(libc::SYS_sendmsg, args) })? {
        1 => Ok(()),
        _ => Err(Errno::EPROTO),
    }
}

/// Receives what [`send`] has sent: recvmsg(2). EPIPE if the other end was closed without that.
pub(in crate::kernel) fn receive(socket: &File) -> Result<File, Errno> {
    let mut message = Message::new(-1);
    let flags = libc::MSG_CMSG_CLOEXEC as u64;
    let args = [socket.as_raw_fd() as u64, message.address(), flags, 0, 0, 0];
    let received = loop {
        // SAFETY: the message is valid, and what is written fits into what it points to.
        match raw_result(unsafe { syscall(libc::SYS_recvmsg, args) }) {
            Err(Errno::EINTR) => {}
            other => break other?,
        }
    };
    if received == 0 {
        return Err(Errno::EPIPE);
    }
    let fd = message.descriptor()?;
    // SAFETY: the descriptor is new and owned here.
    Ok(File::from(unsafe { OwnedFd::from_raw_fd(fd) }))
}

/// Two connected sockets in one process, and a descriptor that is passed from one to the other.
pub struct DescriptorPassing {
    sender: File,
    receiver: File,
    passed: File,
    sent: Box<Message>,
    received: Box<Message>,
}

impl DescriptorPassing {
    /// The sockets, and a descriptor of /dev/null.
    #[inline(never)]
    pub fn new() -> Result<Self, Errno> {
        let (sender, receiver) = socket::pair(SocketKind::Stream)?;
        let passed = File::open("/dev/null")?;
        let (sent, received) = (Message::new(passed.as_raw_fd()), Message::new(-1));
        Ok(Self { sender, receiver, passed, sent, received })
    }

    /// Passes it: sendmsg(2), recvmsg(2), and close(2) of what was received.
    #[inline(always)]
    pub fn pass(&mut self) -> Result<(), Errno> {
        let received = self.receive_one()?;
        // SAFETY: it is new, and nothing else refers to it.
        raw_result(unsafe { syscall(libc::SYS_close, [received as u64, 0, 0, 0, 0, 0]) }).map(drop)
    }

    #[inline(always)]
    fn receive_one(&mut self) -> Result<i32, Errno> {
        let send = [self.sender.as_raw_fd() as u64, self.sent.address(), 0, 0, 0, 0];
        // SAFETY: the message is valid, with all that it points to, and only read.
        let sent = raw_result(unsafe { syscall(libc::SYS_sendmsg, send) })?;
        // The kernel stores the length that it filled, and the flags.
        self.received.header.msg_controllen = size_of::<Control>() as _;
        let flags = libc::MSG_CMSG_CLOEXEC as u64;
        let receive = [self.receiver.as_raw_fd() as u64, self.received.address(), flags, 0, 0, 0];
        // SAFETY: the message is valid, and what is written fits into what it points to.
        let received = raw_result(unsafe { syscall(libc::SYS_recvmsg, receive) })?;
        let fd = self.received.descriptor()?;
        if (sent, received) == (1, 1) { Ok(fd) } else { Err(Errno::EPROTO) }
    }

    /// Passes it once, and checks that what was received is another descriptor of the same file.
    pub fn check(&mut self) -> Result<(), Errno> {
        let fd = self.receive_one()?;
        // SAFETY: the descriptor is new and owned here.
        let received = File::from(unsafe { OwnedFd::from_raw_fd(fd) });
        let inode = |file: &File| rustix::fs::fstat(file).map(|stat| (stat.st_dev, stat.st_ino));
        let is_it = inode(&received)? == inode(&self.passed)? && fd != self.passed.as_raw_fd();
        if is_it { Ok(()) } else { Err(Errno::EPROTO) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::process::in_own_process;

    fn open_descriptors() -> usize {
        std::fs::read_dir("/proc/self/fd").unwrap().count()
    }

    #[test]
    fn a_descriptor_is_passed_and_closed_as_often_as_wanted() {
        in_own_process(|| {
            let mut passing = DescriptorPassing::new().unwrap();
            let before = open_descriptors();
            for _ in 0..1_000 {
                assert_eq!(passing.pass(), Ok(()));
            }
            assert_eq!(passing.check(), Ok(()));
            assert_eq!(open_descriptors(), before);
        });
    }

    #[test]
    fn both_ends_are_closed() {
        in_own_process(|| {
            let before = open_descriptors();
            let all = [Ends::Pipe, Ends::StreamSockets, Ends::DatagramSockets, Ends::PacketSockets];
            for ends in all {
                for _ in 0..100 {
                    assert_eq!(create_and_close(ends), Ok(()), "{ends:?}");
                }
            }
            assert_eq!(open_descriptors(), before);
        });
    }
}
