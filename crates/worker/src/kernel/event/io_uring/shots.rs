//! Operations that wait for what has not come yet: single ones, of which the next is queued with
//! each wait, and multishot ones, which are queued once and complete again and again. What they
//! wait for this process does itself, so that no wait sleeps.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU16, Ordering};

use linux_raw_sys::io_uring::{
    IORING_ACCEPT_MULTISHOT, IORING_CQE_BUFFER_SHIFT, IORING_CQE_F_BUFFER, IORING_CQE_F_MORE,
    IORING_RECV_MULTISHOT, io_uring_buf_reg, io_uring_op, io_uring_register_op,
};

use super::ring::{Completion, Entry, Ring};
use crate::kernel::Errno;
use crate::kernel::memory::mapping::Mapping;
use crate::kernel::net::socket::{self, SocketAddress, SocketKind};

/// Flag of an entry (`IOSQE_BUFFER_SELECT`): the kernel takes a buffer from a group.
const BUFFER_SELECT: u8 = 1 << 5;

/// The number of every entry here: only one is in progress, besides the one that replaces it.
const TOKEN: u64 = 1;

/// Room in the submission ring: for one entry, which is queued with each wait.
const ENTRIES: u32 = 2;

/// How often an operation completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shots {
    /// Once: the next one is queued when it has.
    Single,
    /// For each thing that comes.
    Multi,
}

/// An operation in progress.
struct Pending {
    ring: Ring,
    entry: Entry,
    shots: Shots,
}

impl Pending {
    /// Submits the operation, which must find nothing yet.
    fn submit(ring: Ring, entry: Entry, shots: Shots) -> Result<Self, Errno> {
        let mut pending = Self { ring, entry, shots };
        pending.ring.queue_with_token(entry, TOKEN)?;
        pending.ring.wait_for(0)?;
        match pending.ring.next_completion() {
            None => Ok(pending),
            Some(done) if done.result < 0 => Err(Errno(-done.result)),
            Some(_) => Err(Errno::EPROTO),
        }
    }

    /// One io_uring_enter(2), which submits the next operation, unless it is multishot, and waits
    /// for a completion; returns that.
    #[inline(always)]
    fn wait(&mut self) -> Result<Completion, Errno> {
        if self.shots == Shots::Single {
            self.ring.queue_with_token(self.entry, TOKEN)?;
        }
        self.ring.wait_for(1)?;
        let done = match self.ring.next_completion() {
            Some(done) => done,
            None => self.wait_again()?,
        };
        if done.result < 0 {
            return Err(Errno(-done.result));
        }
        let goes_on = done.flags & IORING_CQE_F_MORE != 0;
        // A multishot operation that has ended would leave the next op waiting.
        if done.user_data == TOKEN && goes_on == (self.shots == Shots::Multi) {
            Ok(done)
        } else {
            Err(Errno::EPROTO)
        }
    }

    /// The completion that has not come yet: a signal has ended the wait.
    #[cold]
    fn wait_again(&mut self) -> Result<Completion, Errno> {
        loop {
            match self.ring.enter(0, 1) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => return Err(error),
            }
            if let Some(done) = self.ring.next_completion() {
                return Ok(done);
            }
        }
    }
}

/// Connections of this process to an AF_UNIX listener of its own, accepted through a ring.
pub struct Accepts {
    // Dropped first: its operation refers to the listener.
    pending: Pending,
    _listener: File,
    address: SocketAddress,
}

impl Accepts {
    /// Listens, and submits the first accept.
    pub fn new(shots: Shots) -> Result<Self, Errno> {
        let (listener, address) = socket::listen_at_any_name(SocketKind::Stream)?;
        let flags = libc::SOCK_CLOEXEC as u64;
        let entry = Entry {
            operation: io_uring_op::IORING_OP_ACCEPT as u8,
            priority: if shots == Shots::Multi { IORING_ACCEPT_MULTISHOT as u16 } else { 0 },
            fd: listener.as_raw_fd(),
            // No address is asked for.
            arguments: [0, 0, flags << 32],
            ..Entry::default()
        };
        let pending = Pending::submit(Ring::new(ENTRIES)?, entry, shots)?;
        Ok(Self { pending, _listener: listener, address })
    }

    /// socket(2), connect(2), one io_uring_enter(2) for the accepted end, and close(2) of both.
    #[inline(always)]
    pub fn connect_and_accept(&mut self) -> Result<(), Errno> {
        let client = socket::socket_for(&self.address, SocketKind::Stream)?;
        socket::connect(&client, &self.address)?;
        let done = self.pending.wait()?;
        // SAFETY: the kernel has just opened the descriptor for this process, and nothing else has
        // it.
        let accepted: File = unsafe { OwnedFd::from_raw_fd(done.result) }.into();
        socket::close(accepted)?;
        socket::close(client)
    }
}

/// The bytes of a message, and of a buffer.
const MESSAGE_BYTES: usize = 64;

/// The buffers of a group: a power of two. One is in use at a time.
const BUFFERS: u16 = 8;

/// Where the buffers begin, after the ring of their descriptions.
const BUFFERS_AT: usize = 1_024;

/// The size of the mapping that has both.
const BUFFER_ROOM: usize = 4_096;

/// `struct io_uring_buf`: its size; where its length and its number are; and where, in the first
/// one, the tail of the ring is.
const DESCRIPTION_BYTES: usize = 16;
const LENGTH_AT: usize = 8;
const NUMBER_AT: usize = 12;
const TAIL_AT: usize = 14;

/// Buffers of equal size, and the ring by which the kernel is given them.
struct Buffers {
    mapping: Mapping,
    tail: u16,
}

impl Buffers {
    fn new() -> Result<Self, Errno> {
        Ok(Self { mapping: Mapping::private(BUFFER_ROOM)?, tail: 0 })
    }

    /// The address of a buffer.
    #[inline(always)]
    fn address(&self, number: u16) -> u64 {
        let offset = BUFFERS_AT + usize::from(number % BUFFERS) * MESSAGE_BYTES;
        // SAFETY: the offset is inside the mapping.
        let begin = unsafe { self.mapping.pointer::<u8>(offset) };
        begin.as_ptr() as u64
    }

    /// The first byte of a buffer.
    #[inline(always)]
    fn first_byte(&self, number: u16) -> u8 {
        // SAFETY: the buffer is inside the mapping, and no operation writes to it now.
        unsafe { (self.address(number) as *const u8).read_volatile() }
    }

    /// Registers the ring as group 0, with all buffers in it.
    fn register(&mut self, ring: &Ring) -> Result<(), Errno> {
        // SAFETY: the offset is inside the mapping.
        let ring_addr = unsafe { self.mapping.pointer::<u8>(0) }.as_ptr() as u64;
        let entries = u32::from(BUFFERS);
        let group =
            io_uring_buf_reg { ring_addr, ring_entries: entries, bgid: 0, flags: 0, resv: [0; 3] };
        ring.register(io_uring_register_op::IORING_REGISTER_PBUF_RING, &[group])?;
        (0..BUFFERS).for_each(|number| self.give(number));
        Ok(())
    }

    /// Gives the kernel a buffer.
    #[inline(always)]
    fn give(&mut self, number: u16) {
        let at = usize::from(self.tail % BUFFERS) * DESCRIPTION_BYTES;
        let address = self.address(number);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: all offsets are inside the mapping and aligned; the kernel reads a description
        // only after the tail has passed it.
        unsafe {
            self.mapping.pointer::<u64>(at).write(address);
            self.mapping.pointer::<u32>(at + LENGTH_AT).write(MESSAGE_BYTES as u32);
            self.mapping.pointer::<u16>(at + NUMBER_AT).write(number);
            let tail = self.mapping.pointer::<AtomicU16>(TAIL_AT);
            tail.as_ref().store(self.tail, Ordering::Release);
        }
    }
}

/// Messages through a pair of AF_UNIX stream sockets, received through a ring.
pub struct Receives {
    // Dropped first: its operation refers to the buffers.
    pending: Pending,
    sender: File,
    _receiver: File,
    buffers: Buffers,
    /// The first byte is another one in each message.
    message: [u8; MESSAGE_BYTES],
}

impl Receives {
    /// Makes the pair, and submits the first receive: into a buffer of its own, or, multishot, into
    /// one of a registered ring.
    pub fn new(shots: Shots) -> Result<Self, Errno> {
        let (sender, receiver) = socket::pair(SocketKind::Stream)?;
        let (ring, mut buffers) = (Ring::new(ENTRIES)?, Buffers::new()?);
        let receive = Entry {
            operation: io_uring_op::IORING_OP_RECV as u8,
            fd: receiver.as_raw_fd(),
            ..Entry::default()
        };
        let entry = match shots {
            Shots::Single => {
                Entry { arguments: [0, buffers.address(0), MESSAGE_BYTES as u64], ..receive }
            }
            Shots::Multi => {
                buffers.register(&ring)?;
                // Of group 0; as many bytes as a buffer has.
                Entry { flags: BUFFER_SELECT, priority: IORING_RECV_MULTISHOT as u16, ..receive }
            }
        };
        let pending = Pending::submit(ring, entry, shots)?;
        Ok(Self { pending, sender, _receiver: receiver, buffers, message: [7; MESSAGE_BYTES] })
    }

    /// sendto(2) of a message, and one io_uring_enter(2) for its arrival. A buffer of the ring is
    /// given back.
    #[inline(always)]
    pub fn send_and_receive(&mut self) -> Result<(), Errno> {
        self.message[0] = self.message[0].wrapping_add(1);
        let sent = socket::send(&self.sender, &self.message)?;
        let done = self.pending.wait()?;
        let number = if done.flags & IORING_CQE_F_BUFFER == 0 {
            0
        } else {
            (done.flags >> IORING_CQE_BUFFER_SHIFT) as u16
        };
        let is_whole = sent == MESSAGE_BYTES && done.result as usize == MESSAGE_BYTES;
        let is_right = is_whole && self.buffers.first_byte(number) == self.message[0];
        if self.pending.shots == Shots::Multi {
            self.buffers.give(number);
        }
        if is_right { Ok(()) } else { Err(Errno::EPROTO) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More than there are buffers.
    const OPS: usize = 50;

    /// Whether this kernel has the operation.
    fn is_there<T>(made: &Result<T, Errno>) -> bool {
        if let Err(error) = made {
            assert!(*error == Errno::EINVAL || error.is_unavailable(), "{error}");
            eprintln!("cannot run here: {error}");
        }
        made.is_ok()
    }

    #[test]
    fn each_connection_is_accepted_once_by_single_and_by_multishot_operations() {
        for shots in [Shots::Single, Shots::Multi] {
            let made = Accepts::new(shots);
            if !is_there(&made) {
                continue;
            }
            let mut accepts = made.unwrap();
            for op in 0..OPS {
                assert_eq!(accepts.connect_and_accept(), Ok(()), "{shots:?} {op}");
                assert_eq!(accepts.pending.ring.available_completions(), 0);
            }
        }
    }

    #[test]
    fn each_message_is_received_once_by_single_and_by_multishot_operations() {
        for shots in [Shots::Single, Shots::Multi] {
            let made = Receives::new(shots);
            if !is_there(&made) {
                continue;
            }
            let mut receives = made.unwrap();
            for op in 0..OPS {
                assert_eq!(receives.send_and_receive(), Ok(()), "{shots:?} {op}");
                assert_eq!(receives.pending.ring.available_completions(), 0);
            }
        }
    }
}
