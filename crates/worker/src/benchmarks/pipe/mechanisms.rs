//! The mechanisms that carry messages, and both ends of each.

use std::fs::File;

use super::super::exchange::{
    ACK_BYTES, End, EndPair, InterruptHandler, MessageFile, ReceivedMessages, Stream, check_length,
    retry_interrupted, transfer_rest,
};
use super::super::prelude::*;
use crate::kernel::ipc::channels::{
    PosixQueue, SysvMessage, SysvQueue, allow_reader, fifo_with_capacity, pipe_capacity,
    pipe_with_capacity, read_process_memory, splice, vmsplice,
};
use crate::kernel::ipc::context_switch;
use crate::kernel::ipc::shared_ring::{SharedRing, WaitMode};

/// The capacity of a pipe on most systems, and the default of a ring here.
const DEFAULT_CAPACITY_BYTES: u64 = 65_536;

/// The mechanism that a point selects, for messages of `size` bytes.
pub(super) fn make_ends(params: Params<'_>, size: u64) -> Result<EndPair, Errno> {
    let capacity = match params.value("capacity") {
        Some(Value::Number(bytes)) => Some(*bytes),
        _ => None,
    };
    match params.word("by") {
        "pipe" => stream_ends(|| pipe_with_capacity(capacity)),
        "fifo" => stream_ends(|| fifo_with_capacity(capacity)),
        "vmsplice" => vmsplice_ends(|| pipe_with_capacity(capacity)),
        "splice" => splice_ends(|| pipe_with_capacity(capacity)),
        "shm-futex" => ring_ends(capacity, WaitMode::Sleep),
        "shm-spin" => ring_ends(capacity, WaitMode::Spin),
        _ if capacity.is_some() => Err(Errno::unavailable(
            "only a pipe or a ring has a configurable capacity: leave out capacity".to_owned(),
        )),
        "mq" => posix_queue_ends(size),
        "sysv-mq" => sysv_queue_ends(size),
        _ => process_vm_ends(),
    }
}

/// The observation of a channel with this capacity.
fn capacity_observation(bytes: u64) -> ChannelObservation {
    ChannelObservation { capacity_bytes: Some(bytes), ..ChannelObservation::default() }
}

/// Creates a pipe: the read end, the write end.
type MakePipe<'a> = &'a dyn Fn() -> Result<(File, File), Errno>;

/// Two pipes, one in each direction.
struct PipePair {
    /// The ends of the measured process: to its peer, from its peer.
    own: [File; 2],
    /// The ends of the peer: to the measured process, from it.
    peer: [File; 2],
    observation: ChannelObservation,
}

fn pipes(make: MakePipe<'_>) -> Result<PipePair, Errno> {
    let ((from_own, to_peer), (from_peer, to_own)) = (make()?, make()?);
    let pipe_buf_bytes = Some(libc::PIPE_BUF as u64);
    let observation =
        ChannelObservation { pipe_buf_bytes, ..capacity_observation(pipe_capacity(&to_peer)?) };
    Ok(PipePair { own: [to_peer, from_peer], peer: [to_own, from_own], observation })
}

fn stream_ends(make: impl Fn() -> Result<(File, File), Errno>) -> Result<EndPair, Errno> {
    let PipePair { own, peer, observation } = pipes(&make)?;
    let end = |[to, from]: [File; 2]| Box::new(Stream::new(to, from, observation));
    Ok(EndPair { own: end(own), peer: end(peer) })
}

/// An end that passes references to its pages to a pipe.
struct VmspliceEnd {
    to: File,
    from: File,
    observation: ChannelObservation,
}

fn vmsplice_ends(make: impl Fn() -> Result<(File, File), Errno>) -> Result<EndPair, Errno> {
    let PipePair { own, peer, observation } = pipes(&make)?;
    let end = |[to, from]: [File; 2]| Box::new(VmspliceEnd { to, from, observation });
    Ok(EndPair { own: end(own), peer: end(peer) })
}

impl End for VmspliceEnd {
    fn send(&mut self, message: &[u8], on_interrupt: InterruptHandler<'_>) -> Result<(), Errno> {
        let more = |done: usize| vmsplice(&self.to, &message[done..]);
        transfer_rest(message.len(), more(0), on_interrupt, more).map(drop)
    }

    fn receive(
        &mut self,
        into: &mut [u8],
        on_interrupt: InterruptHandler<'_>,
    ) -> Result<usize, Errno> {
        let first = context_switch::read(&self.from, into);
        transfer_rest(into.len(), first, on_interrupt, |done| {
            context_switch::read(&self.from, &mut into[done..])
        })
    }

    fn observation(&self) -> ChannelObservation {
        self.observation
    }
}

/// An end whose messages are in a memory file: a pipe is given references to the pages of the file.
struct SpliceEnd {
    to: File,
    from: File,
    messages: MessageFile,
    observation: ChannelObservation,
}

fn splice_ends(make: impl Fn() -> Result<(File, File), Errno>) -> Result<EndPair, Errno> {
    let PipePair { own, peer, observation } = pipes(&make)?;
    let end = |[to, from]: [File; 2]| {
        Ok::<_, Errno>(Box::new(SpliceEnd { to, from, messages: MessageFile::new()?, observation }))
    };
    Ok(EndPair { own: end(own)?, peer: end(peer)? })
}

impl SpliceEnd {
    /// Sends the message that is in the file.
    #[inline(always)]
    fn send_from_file(
        &self,
        bytes: usize,
        on_interrupt: InterruptHandler<'_>,
    ) -> Result<(), Errno> {
        let messages = &self.messages;
        let more = |done: usize| {
            splice(&self.to, &messages.file, messages.offset_of_rest(done), bytes - done)
        };
        match more(0) {
            Ok(sent) if sent == bytes => Ok(()),
            first => transfer_rest(bytes, first, on_interrupt, more).map(drop),
        }
    }
}

impl End for SpliceEnd {
    fn send(&mut self, message: &[u8], on_interrupt: InterruptHandler<'_>) -> Result<(), Errno> {
        self.messages.write_message(message)?;
        self.send_from_file(message.len(), on_interrupt)
    }

    fn receive(
        &mut self,
        into: &mut [u8],
        on_interrupt: InterruptHandler<'_>,
    ) -> Result<usize, Errno> {
        let first = context_switch::read(&self.from, into);
        transfer_rest(into.len(), first, on_interrupt, |done| {
            context_switch::read(&self.from, &mut into[done..])
        })
    }

    fn send_many(
        &mut self,
        messages: u64,
        message: &[u8],
        on_interrupt: InterruptHandler<'_>,
    ) -> Result<(), OpError> {
        self.messages.ensure_length(message)?;
        for op in 0..messages {
            self.send_from_file(message.len(), on_interrupt)
                .map_err(|errno| OpError { op, errno })?;
        }
        self.receive(&mut [0; ACK_BYTES], on_interrupt)
            .and_then(|bytes| check_length(bytes, ACK_BYTES))
            .map_err(|errno| OpError { op: messages, errno })
    }

    /// The acknowledgement is written directly, without the file.
    fn receive_many(
        &mut self,
        messages: u64,
        into: &mut [u8],
        on_interrupt: InterruptHandler<'_>,
    ) -> Result<ReceivedMessages, Errno> {
        let mut bytes = 0;
        for _ in 0..messages {
            bytes += self.receive(into, on_interrupt)? as u64;
        }
        match retry_interrupted(on_interrupt, || context_switch::write(&self.to, &[0; ACK_BYTES]))?
        {
            ACK_BYTES => Ok(ReceivedMessages { messages, bytes }),
            _ => Err(Errno::EPIPE),
        }
    }

    fn observation(&self) -> ChannelObservation {
        self.observation
    }
}

/// An end of two POSIX queues.
struct PosixQueueEnd {
    to: PosixQueue,
    from: PosixQueue,
    /// mq_receive(3) requires a buffer for the largest message.
    buffer: Vec<u8>,
    observation: ChannelObservation,
}

/// The acknowledgement goes through the same queue, so a queue's messages are at least this large.
const MIN_MESSAGE_BYTES: u64 = 4;

fn posix_queue_ends(size: u64) -> Result<EndPair, Errno> {
    let size = size.max(MIN_MESSAGE_BYTES);
    let (to_peer_queue, from_peer_queue) = (PosixQueue::new(size)?, PosixQueue::new(size)?);
    let observation = capacity_observation(to_peer_queue.capacity());
    let end = |to, from| {
        Box::new(PosixQueueEnd { to, from, buffer: vec![0; size as usize], observation })
    };
    let (to_peer, from_peer) = (to_peer_queue.try_clone()?, from_peer_queue.try_clone()?);
    Ok(EndPair { own: end(to_peer, from_peer), peer: end(from_peer_queue, to_peer_queue) })
}

impl End for PosixQueueEnd {
    fn send(&mut self, message: &[u8], on_interrupt: InterruptHandler<'_>) -> Result<(), Errno> {
        retry_interrupted(on_interrupt, || self.to.send(message))
    }

    fn receive(
        &mut self,
        into: &mut [u8],
        on_interrupt: InterruptHandler<'_>,
    ) -> Result<usize, Errno> {
        if into.len() >= self.buffer.len() {
            return retry_interrupted(on_interrupt, || self.from.receive(into));
        }
        let received = retry_interrupted(on_interrupt, || self.from.receive(&mut self.buffer))?;
        let max_bytes = received.min(into.len());
        into[..max_bytes].copy_from_slice(&self.buffer[..max_bytes]);
        Ok(received)
    }

    fn observation(&self) -> ChannelObservation {
        self.observation
    }
}

/// An end of two System V queues.
struct SysvQueueEnd {
    to: i32,
    from: i32,
    message_buffer: SysvMessage,
    observation: ChannelObservation,
    /// The process that created them removes them.
    _queues: Option<(SysvQueue, SysvQueue)>,
}

fn sysv_queue_ends(size: u64) -> Result<EndPair, Errno> {
    let size = size.max(MIN_MESSAGE_BYTES);
    let (to_peer_queue, from_peer_queue) = (SysvQueue::new(0, size)?, SysvQueue::new(1, size)?);
    let (to, from, observation) =
        (to_peer_queue.id(), from_peer_queue.id(), capacity_observation(to_peer_queue.capacity()));
    let message_buffer = || SysvMessage::new(size as usize);
    let peer = SysvQueueEnd {
        to: from,
        from: to,
        message_buffer: message_buffer(),
        observation,
        _queues: None,
    };
    let own = SysvQueueEnd {
        to,
        from,
        message_buffer: message_buffer(),
        observation,
        _queues: Some((to_peer_queue, from_peer_queue)),
    };
    Ok(EndPair { own: Box::new(own), peer: Box::new(peer) })
}

impl End for SysvQueueEnd {
    fn send(&mut self, message: &[u8], on_interrupt: InterruptHandler<'_>) -> Result<(), Errno> {
        match self.message_buffer.send(self.to, message) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Errno::E2BIG),
            Err(Errno::EINTR) => {
                on_interrupt(1)?;
                retry_interrupted(on_interrupt, || {
                    self.message_buffer.resend(self.to, message.len())
                })
            }
            Err(error) => Err(error),
        }
    }

    fn receive(
        &mut self,
        into: &mut [u8],
        on_interrupt: InterruptHandler<'_>,
    ) -> Result<usize, Errno> {
        retry_interrupted(on_interrupt, || self.message_buffer.receive(self.from, into))
    }

    fn observation(&self) -> ChannelObservation {
        self.observation
    }
}

/// An end of two rings in shared memory.
struct RingEnd {
    to: std::rc::Rc<SharedRing>,
    from: std::rc::Rc<SharedRing>,
}

fn ring_ends(capacity: Option<u64>, wait_mode: WaitMode) -> Result<EndPair, Errno> {
    let bytes = capacity.unwrap_or(DEFAULT_CAPACITY_BYTES) as usize;
    let ring = || Ok::<_, Errno>(std::rc::Rc::new(SharedRing::new(bytes, wait_mode)?));
    let (to_peer, from_peer) = (ring()?, ring()?);
    let (to, from) = (std::rc::Rc::clone(&to_peer), std::rc::Rc::clone(&from_peer));
    Ok(EndPair {
        own: Box::new(RingEnd { to, from }),
        peer: Box::new(RingEnd { to: from_peer, from: to_peer }),
    })
}

impl End for RingEnd {
    fn send(&mut self, message: &[u8], on_interrupt: InterruptHandler<'_>) -> Result<(), Errno> {
        self.to.write(message, on_interrupt)
    }

    fn receive(
        &mut self,
        into: &mut [u8],
        on_interrupt: InterruptHandler<'_>,
    ) -> Result<usize, Errno> {
        self.from.read(into, on_interrupt).map(|()| into.len())
    }

    fn observation(&self) -> ChannelObservation {
        capacity_observation(self.to.capacity() as u64)
    }
}

/// An end that sends the address of its message, and copies a message from the address it receives.
struct ProcessVmEnd {
    to: File,
    from: File,
    /// The process whose memory it reads.
    peer: u32,
}

/// The location of a message: its address and its length.
const LOCATION_BYTES: usize = 16;

fn process_vm_ends() -> Result<EndPair, Errno> {
    let PipePair { own, peer, .. } = pipes(&|| pipe_with_capacity(None))?;
    // The peer is a child of this process, and reads its memory; the child's ID is set once it
    // exists.
    let end = |[to, from]: [File; 2], other| Box::new(ProcessVmEnd { to, from, peer: other });
    Ok(EndPair { own: end(own, 0), peer: end(peer, std::process::id()) })
}

impl End for ProcessVmEnd {
    fn send(&mut self, message: &[u8], on_interrupt: InterruptHandler<'_>) -> Result<(), Errno> {
        let mut location = [0; LOCATION_BYTES];
        location[..8].copy_from_slice(&(message.as_ptr() as u64).to_ne_bytes());
        location[8..].copy_from_slice(&(message.len() as u64).to_ne_bytes());
        // It is smaller than PIPE_BUF, so it is written as a whole.
        match retry_interrupted(on_interrupt, || context_switch::write(&self.to, &location))? {
            LOCATION_BYTES => Ok(()),
            _ => Err(Errno::EPIPE),
        }
    }

    fn receive(
        &mut self,
        into: &mut [u8],
        on_interrupt: InterruptHandler<'_>,
    ) -> Result<usize, Errno> {
        let mut location = [0; LOCATION_BYTES];
        if retry_interrupted(on_interrupt, || context_switch::read(&self.from, &mut location))?
            != LOCATION_BYTES
        {
            return Err(Errno::EPIPE);
        }
        let number = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&location[at..at + 8]);
            u64::from_ne_bytes(bytes)
        };
        let (address, length) = (number(0), number(8));
        let max_bytes = into.len().min(length as usize);
        let mut done = 0;
        while done < max_bytes {
            match read_process_memory(self.peer, address + done as u64, &mut into[done..max_bytes])?
            {
                0 => return Err(Errno::EPIPE),
                bytes => done += bytes,
            }
        }
        Ok(length as usize)
    }

    fn set_peer(&mut self, peer: u32) {
        self.peer = peer;
        allow_reader(peer);
    }
}
