//! The mechanisms that carry messages, and both ends of each.

use std::fs::File;

use oscost_model::channel::ChannelObservation;
use oscost_model::point::Value;

use super::super::exchange::{
    ACK_BYTES, End, MessageFile, OnInterrupt, Stream, check_length, transfer_rest,
};
use super::super::prelude::*;
use crate::kernel::ipc::channels::{
    PosixQueue, SysvMessage, SysvQueue, allow_reader, fifo_with_capacity, pipe_capacity,
    pipe_with_capacity, read_process_memory, splice, vmsplice,
};
use crate::kernel::ipc::context_switch;
use crate::kernel::ipc::shared_ring::{SharedRing, WaitMode};

/// Both ends of a channel, the measured process's first.
pub(super) type EndPair = (Box<dyn End>, Box<dyn End>);

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

/// Two pipes, and the capacity of each.
fn pipes(make: MakePipe<'_>) -> Result<([File; 2], [File; 2], ChannelObservation), Errno> {
    let ((from_own, to_peer), (from_peer, to_own)) = (make()?, make()?);
    let pipe_buf_bytes = Some(libc::PIPE_BUF as u64);
    let seen =
        ChannelObservation { pipe_buf_bytes, ..capacity_observation(pipe_capacity(&to_peer)?) };
    Ok(([to_peer, from_peer], [to_own, from_own], seen))
}

fn stream_ends(make: impl Fn() -> Result<(File, File), Errno>) -> Result<EndPair, Errno> {
    let (own, peer, seen) = pipes(&make)?;
    let end = |[to, from]: [File; 2]| Box::new(Stream::new(to, from, seen));
    Ok((end(own), end(peer)))
}

/// An end that passes references to its pages to a pipe.
struct VmspliceEnd {
    to: File,
    from: File,
    observation: ChannelObservation,
}

fn vmsplice_ends(make: impl Fn() -> Result<(File, File), Errno>) -> Result<EndPair, Errno> {
    let (own, peer, seen) = pipes(&make)?;
    let end = |[to, from]: [File; 2]| Box::new(VmspliceEnd { to, from, observation: seen });
    Ok((end(own), end(peer)))
}

impl End for VmspliceEnd {
    fn send(&mut self, message: &[u8], gone: OnInterrupt<'_>) -> Result<(), Errno> {
        let more = |done: usize| vmsplice(&self.to, &message[done..]);
        transfer_rest(message.len(), more(0), gone, more).map(drop)
    }

    fn receive(&mut self, into: &mut [u8], gone: OnInterrupt<'_>) -> Result<usize, Errno> {
        let first = context_switch::read(&self.from, into);
        transfer_rest(into.len(), first, gone, |done| {
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
    let (own, peer, seen) = pipes(&make)?;
    let end = |[to, from]: [File; 2]| {
        Ok::<_, Errno>(Box::new(SpliceEnd {
            to,
            from,
            messages: MessageFile::new()?,
            observation: seen,
        }))
    };
    Ok((end(own)?, end(peer)?))
}

impl SpliceEnd {
    /// Sends the message that is in the file.
    #[inline(always)]
    fn send_from_file(&self, bytes: usize, gone: OnInterrupt<'_>) -> Result<(), Errno> {
        let held = &self.messages;
        let more = |done: usize| splice(&self.to, &held.file, held.offset(done), bytes - done);
        match more(0) {
            Ok(taken) if taken == bytes => Ok(()),
            partly => transfer_rest(bytes, partly, gone, more).map(drop),
        }
    }
}

impl End for SpliceEnd {
    fn send(&mut self, message: &[u8], gone: OnInterrupt<'_>) -> Result<(), Errno> {
        self.messages.write_message(message)?;
        self.send_from_file(message.len(), gone)
    }

    fn receive(&mut self, into: &mut [u8], gone: OnInterrupt<'_>) -> Result<usize, Errno> {
        let first = context_switch::read(&self.from, into);
        transfer_rest(into.len(), first, gone, |done| {
            context_switch::read(&self.from, &mut into[done..])
        })
    }

    fn send_many(
        &mut self,
        messages: u64,
        message: &[u8],
        gone: OnInterrupt<'_>,
    ) -> Result<(), OpError> {
        self.messages.ensure_length(message)?;
        for op in 0..messages {
            self.send_from_file(message.len(), gone).map_err(|errno| OpError { op, errno })?;
        }
        self.receive(&mut [0; ACK_BYTES], gone)
            .and_then(|bytes| check_length(bytes, ACK_BYTES))
            .map_err(|errno| OpError { op: messages, errno })
    }

    /// The acknowledgement is written directly, without the file.
    fn receive_many(
        &mut self,
        messages: u64,
        into: &mut [u8],
        gone: OnInterrupt<'_>,
    ) -> Result<(u64, u64), Errno> {
        let mut bytes = 0;
        for _ in 0..messages {
            bytes += self.receive(into, gone)? as u64;
        }
        match retry_interrupted(gone, || context_switch::write(&self.to, &[0; ACK_BYTES]))? {
            ACK_BYTES => Ok((messages, bytes)),
            _ => Err(Errno::EPIPE),
        }
    }

    fn observation(&self) -> ChannelObservation {
        self.observation
    }
}

/// Repeats a call until no alarm interrupts it.
#[inline(always)]
fn retry_interrupted<T>(
    gone: OnInterrupt<'_>,
    mut call: impl FnMut() -> Result<T, Errno>,
) -> Result<T, Errno> {
    let mut times = 0;
    loop {
        match call() {
            Err(Errno::EINTR) => {
                times += 1;
                gone(times)?;
            }
            done => return done,
        }
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
    let (there, back) = (PosixQueue::new(size)?, PosixQueue::new(size)?);
    let seen = capacity_observation(there.capacity());
    let end = |to, from| {
        Box::new(PosixQueueEnd { to, from, buffer: vec![0; size as usize], observation: seen })
    };
    let (to_peer, from_peer) = (there.try_clone()?, back.try_clone()?);
    Ok((end(to_peer, from_peer), end(back, there)))
}

impl End for PosixQueueEnd {
    fn send(&mut self, message: &[u8], gone: OnInterrupt<'_>) -> Result<(), Errno> {
        retry_interrupted(gone, || self.to.send(message))
    }

    fn receive(&mut self, into: &mut [u8], gone: OnInterrupt<'_>) -> Result<usize, Errno> {
        if into.len() >= self.buffer.len() {
            return retry_interrupted(gone, || self.from.receive(into));
        }
        let came = retry_interrupted(gone, || self.from.receive(&mut self.buffer))?;
        let most = came.min(into.len());
        into[..most].copy_from_slice(&self.buffer[..most]);
        Ok(came)
    }

    fn observation(&self) -> ChannelObservation {
        self.observation
    }
}

/// An end of two System V queues.
struct SysvQueueEnd {
    to: i32,
    from: i32,
    letter: SysvMessage,
    observation: ChannelObservation,
    /// The process that created them removes them.
    _queues: Option<(SysvQueue, SysvQueue)>,
}

fn sysv_queue_ends(size: u64) -> Result<EndPair, Errno> {
    let size = size.max(MIN_MESSAGE_BYTES);
    let (there, back) = (SysvQueue::new(0, size)?, SysvQueue::new(1, size)?);
    let (to, from, seen) = (there.id(), back.id(), capacity_observation(there.capacity()));
    let letter = || SysvMessage::new(size as usize);
    let peer =
        SysvQueueEnd { to: from, from: to, letter: letter(), observation: seen, _queues: None };
    let own = SysvQueueEnd {
        to,
        from,
        letter: letter(),
        observation: seen,
        _queues: Some((there, back)),
    };
    Ok((Box::new(own), Box::new(peer)))
}

impl End for SysvQueueEnd {
    fn send(&mut self, message: &[u8], gone: OnInterrupt<'_>) -> Result<(), Errno> {
        match self.letter.send(self.to, message) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Errno::E2BIG),
            Err(Errno::EINTR) => {
                gone(1)?;
                retry_interrupted(gone, || self.letter.resend(self.to, message.len()))
            }
            Err(error) => Err(error),
        }
    }

    fn receive(&mut self, into: &mut [u8], gone: OnInterrupt<'_>) -> Result<usize, Errno> {
        retry_interrupted(gone, || self.letter.receive(self.from, into))
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

fn ring_ends(capacity: Option<u64>, waiting: WaitMode) -> Result<EndPair, Errno> {
    let bytes = capacity.unwrap_or(DEFAULT_CAPACITY_BYTES) as usize;
    let ring = || Ok::<_, Errno>(std::rc::Rc::new(SharedRing::new(bytes, waiting)?));
    let (there, back) = (ring()?, ring()?);
    let (to, from) = (std::rc::Rc::clone(&there), std::rc::Rc::clone(&back));
    Ok((Box::new(RingEnd { to, from }), Box::new(RingEnd { to: back, from: there })))
}

impl End for RingEnd {
    fn send(&mut self, message: &[u8], gone: OnInterrupt<'_>) -> Result<(), Errno> {
        self.to.write(message, gone)
    }

    fn receive(&mut self, into: &mut [u8], gone: OnInterrupt<'_>) -> Result<usize, Errno> {
        self.from.read(into, gone).map(|()| into.len())
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
const NOTE_BYTES: usize = 16;

fn process_vm_ends() -> Result<EndPair, Errno> {
    let (own, peer, _) = pipes(&|| pipe_with_capacity(None))?;
    // The peer is a child of this process, and reads its memory; the child's ID is set once it
    // exists.
    let end = |[to, from]: [File; 2], other| Box::new(ProcessVmEnd { to, from, peer: other });
    Ok((end(own, 0), end(peer, std::process::id())))
}

impl End for ProcessVmEnd {
    fn send(&mut self, message: &[u8], gone: OnInterrupt<'_>) -> Result<(), Errno> {
        let mut note = [0; NOTE_BYTES];
        note[..8].copy_from_slice(&(message.as_ptr() as u64).to_ne_bytes());
        note[8..].copy_from_slice(&(message.len() as u64).to_ne_bytes());
        // A note is smaller than PIPE_BUF, so it is written as a whole.
        match retry_interrupted(gone, || context_switch::write(&self.to, &note))? {
            NOTE_BYTES => Ok(()),
            _ => Err(Errno::EPIPE),
        }
    }

    fn receive(&mut self, into: &mut [u8], gone: OnInterrupt<'_>) -> Result<usize, Errno> {
        let mut note = [0; NOTE_BYTES];
        if retry_interrupted(gone, || context_switch::read(&self.from, &mut note))? != NOTE_BYTES {
            return Err(Errno::EPIPE);
        }
        let number = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&note[at..at + 8]);
            u64::from_ne_bytes(bytes)
        };
        let (address, bytes) = (number(0), number(8));
        let most = into.len().min(bytes as usize);
        let mut done = 0;
        while done < most {
            match read_process_memory(self.peer, address + done as u64, &mut into[done..most])? {
                0 => return Err(Errno::EPIPE),
                given => done += given,
            }
        }
        Ok(bytes as usize)
    }

    fn set_peer(&mut self, peer: u32) {
        self.peer = peer;
        allow_reader(peer);
    }
}
