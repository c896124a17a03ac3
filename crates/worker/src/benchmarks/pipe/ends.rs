//! The mechanisms that carry messages, and both ends of each.

use std::fs::File;

use oscost_model::channel::ChannelObservation;
use oscost_model::point::Value;

use super::super::exchange::{ACKNOWLEDGEMENT, End, Held, OnInterrupt, Stream, go_on, whole};
use super::super::prelude::*;
use crate::kernel::ipc::channels::{
    PosixQueue, SysvMessage, SysvQueue, allow_reader, fifo_with_capacity, pipe_capacity,
    pipe_with_capacity, read_process_memory, splice, vmsplice,
};
use crate::kernel::ipc::context_switch;
use crate::kernel::ipc::shared_ring::{SharedRing, WaitMode};

/// Both ends of a channel, the measured process's first.
pub(super) type Ends = (Box<dyn End>, Box<dyn End>);

/// The capacity of a pipe on most systems, and the default of a ring here.
const USUAL_CAPACITY: u64 = 65_536;

/// The mechanism that a point selects, for messages of `size` bytes.
pub(super) fn ends(at: Params<'_>, size: u64) -> Result<Ends, Errno> {
    let capacity = match at.value("capacity") {
        Some(Value::Number(bytes)) => Some(*bytes),
        _ => None,
    };
    match at.word("by") {
        "pipe" => streams(|| pipe_with_capacity(capacity)),
        "fifo" => streams(|| fifo_with_capacity(capacity)),
        "vmsplice" => lenders(|| pipe_with_capacity(capacity)),
        "splice" => from_files(|| pipe_with_capacity(capacity)),
        "shm-futex" => rings(capacity, WaitMode::Sleep),
        "shm-spin" => rings(capacity, WaitMode::Spin),
        _ if capacity.is_some() => Err(Errno::unavailable(
            "only a pipe or a ring has a configurable capacity: leave out capacity".to_owned(),
        )),
        "mq" => queues(size),
        "sysv-mq" => letters(size),
        _ => readers(),
    }
}

/// The observation of a channel with this capacity.
fn holds(bytes: u64) -> ChannelObservation {
    ChannelObservation { capacity_bytes: Some(bytes), ..ChannelObservation::default() }
}

/// Creates a pipe: the read end, the write end.
type Make<'a> = &'a dyn Fn() -> Result<(File, File), Errno>;

/// Two pipes, and the capacity of each.
fn pipes(make: Make<'_>) -> Result<([File; 2], [File; 2], ChannelObservation), Errno> {
    let ((from_own, to_peer), (from_peer, to_own)) = (make()?, make()?);
    let pipe_buf_bytes = Some(libc::PIPE_BUF as u64);
    let seen = ChannelObservation { pipe_buf_bytes, ..holds(pipe_capacity(&to_peer)?) };
    Ok(([to_peer, from_peer], [to_own, from_own], seen))
}

fn streams(make: impl Fn() -> Result<(File, File), Errno>) -> Result<Ends, Errno> {
    let (own, peer, seen) = pipes(&make)?;
    let end = |[to, from]: [File; 2]| Box::new(Stream::new(to, from, seen));
    Ok((end(own), end(peer)))
}

/// An end that passes references to its pages to a pipe.
struct Lender {
    to: File,
    from: File,
    seen: ChannelObservation,
}

fn lenders(make: impl Fn() -> Result<(File, File), Errno>) -> Result<Ends, Errno> {
    let (own, peer, seen) = pipes(&make)?;
    let end = |[to, from]: [File; 2]| Box::new(Lender { to, from, seen });
    Ok((end(own), end(peer)))
}

impl End for Lender {
    fn send(&mut self, message: &[u8], gone: OnInterrupt<'_>) -> Result<(), Errno> {
        let more = |done: usize| vmsplice(&self.to, &message[done..]);
        go_on(message.len(), more(0), gone, more).map(drop)
    }

    fn receive(&mut self, into: &mut [u8], gone: OnInterrupt<'_>) -> Result<usize, Errno> {
        let first = context_switch::read(&self.from, into);
        go_on(into.len(), first, gone, |done| context_switch::read(&self.from, &mut into[done..]))
    }

    fn seen(&self) -> ChannelObservation {
        self.seen
    }
}

/// An end whose messages are in a memory file: a pipe is given references to the pages of the file.
struct FromFile {
    to: File,
    from: File,
    held: Held,
    seen: ChannelObservation,
}

fn from_files(make: impl Fn() -> Result<(File, File), Errno>) -> Result<Ends, Errno> {
    let (own, peer, seen) = pipes(&make)?;
    let end = |[to, from]: [File; 2]| {
        Ok::<_, Errno>(Box::new(FromFile { to, from, held: Held::new()?, seen }))
    };
    Ok((end(own)?, end(peer)?))
}

impl FromFile {
    /// Sends the message that is in the file.
    #[inline(always)]
    fn send_held(&self, bytes: usize, gone: OnInterrupt<'_>) -> Result<(), Errno> {
        let held = &self.held;
        let more = |done: usize| splice(&self.to, &held.file, held.place(done), bytes - done);
        match more(0) {
            Ok(taken) if taken == bytes => Ok(()),
            partly => go_on(bytes, partly, gone, more).map(drop),
        }
    }
}

impl End for FromFile {
    fn send(&mut self, message: &[u8], gone: OnInterrupt<'_>) -> Result<(), Errno> {
        self.held.hold(message)?;
        self.send_held(message.len(), gone)
    }

    fn receive(&mut self, into: &mut [u8], gone: OnInterrupt<'_>) -> Result<usize, Errno> {
        let first = context_switch::read(&self.from, into);
        go_on(into.len(), first, gone, |done| context_switch::read(&self.from, &mut into[done..]))
    }

    fn pour(
        &mut self,
        messages: u64,
        message: &[u8],
        gone: OnInterrupt<'_>,
    ) -> Result<(), OpError> {
        self.held.hold_as_long(message)?;
        for op in 0..messages {
            self.send_held(message.len(), gone).map_err(|why| OpError { op, errno: why })?;
        }
        self.receive(&mut [0; ACKNOWLEDGEMENT], gone)
            .and_then(|bytes| whole(bytes, ACKNOWLEDGEMENT))
            .map_err(|why| OpError { op: messages, errno: why })
    }

    /// The acknowledgement is written directly, without the file.
    fn drain(
        &mut self,
        messages: u64,
        into: &mut [u8],
        gone: OnInterrupt<'_>,
    ) -> Result<(u64, u64), Errno> {
        let mut bytes = 0;
        for _ in 0..messages {
            bytes += self.receive(into, gone)? as u64;
        }
        match uninterrupted(gone, || context_switch::write(&self.to, &[0; ACKNOWLEDGEMENT]))? {
            ACKNOWLEDGEMENT => Ok((messages, bytes)),
            _ => Err(Errno::EPIPE),
        }
    }

    fn seen(&self) -> ChannelObservation {
        self.seen
    }
}

/// Repeats a call until no alarm interrupts it.
#[inline(always)]
fn uninterrupted<T>(
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
struct Queues {
    to: PosixQueue,
    from: PosixQueue,
    /// mq_receive(3) requires a buffer for the largest message.
    room: Vec<u8>,
    seen: ChannelObservation,
}

/// The acknowledgement goes through the same queue, so a queue's messages are at least this large.
const LEAST: u64 = 4;

fn queues(size: u64) -> Result<Ends, Errno> {
    let size = size.max(LEAST);
    let (there, back) = (PosixQueue::new(size)?, PosixQueue::new(size)?);
    let seen = holds(there.capacity());
    let end = |to, from| Box::new(Queues { to, from, room: vec![0; size as usize], seen });
    let (to_peer, from_peer) = (there.try_clone()?, back.try_clone()?);
    Ok((end(to_peer, from_peer), end(back, there)))
}

impl End for Queues {
    fn send(&mut self, message: &[u8], gone: OnInterrupt<'_>) -> Result<(), Errno> {
        uninterrupted(gone, || self.to.send(message))
    }

    fn receive(&mut self, into: &mut [u8], gone: OnInterrupt<'_>) -> Result<usize, Errno> {
        if into.len() >= self.room.len() {
            return uninterrupted(gone, || self.from.receive(into));
        }
        let came = uninterrupted(gone, || self.from.receive(&mut self.room))?;
        let most = came.min(into.len());
        into[..most].copy_from_slice(&self.room[..most]);
        Ok(came)
    }

    fn seen(&self) -> ChannelObservation {
        self.seen
    }
}

/// An end of two System V queues.
struct Letters {
    to: i32,
    from: i32,
    letter: SysvMessage,
    seen: ChannelObservation,
    /// The process that created them removes them.
    _queues: Option<(SysvQueue, SysvQueue)>,
}

fn letters(size: u64) -> Result<Ends, Errno> {
    let size = size.max(LEAST);
    let (there, back) = (SysvQueue::new(0, size)?, SysvQueue::new(1, size)?);
    let (to, from, seen) = (there.id(), back.id(), holds(there.capacity()));
    let letter = || SysvMessage::new(size as usize);
    let peer = Letters { to: from, from: to, letter: letter(), seen, _queues: None };
    let own = Letters { to, from, letter: letter(), seen, _queues: Some((there, back)) };
    Ok((Box::new(own), Box::new(peer)))
}

impl End for Letters {
    fn send(&mut self, message: &[u8], gone: OnInterrupt<'_>) -> Result<(), Errno> {
        match self.letter.send(self.to, message) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Errno::E2BIG),
            Err(Errno::EINTR) => {
                gone(1)?;
                uninterrupted(gone, || self.letter.resend(self.to, message.len()))
            }
            Err(error) => Err(error),
        }
    }

    fn receive(&mut self, into: &mut [u8], gone: OnInterrupt<'_>) -> Result<usize, Errno> {
        uninterrupted(gone, || self.letter.receive(self.from, into))
    }

    fn seen(&self) -> ChannelObservation {
        self.seen
    }
}

/// An end of two rings in shared memory.
struct Rings {
    to: std::rc::Rc<SharedRing>,
    from: std::rc::Rc<SharedRing>,
}

fn rings(capacity: Option<u64>, waiting: WaitMode) -> Result<Ends, Errno> {
    let bytes = capacity.unwrap_or(USUAL_CAPACITY) as usize;
    let ring = || Ok::<_, Errno>(std::rc::Rc::new(SharedRing::new(bytes, waiting)?));
    let (there, back) = (ring()?, ring()?);
    let (to, from) = (std::rc::Rc::clone(&there), std::rc::Rc::clone(&back));
    Ok((Box::new(Rings { to, from }), Box::new(Rings { to: back, from: there })))
}

impl End for Rings {
    fn send(&mut self, message: &[u8], gone: OnInterrupt<'_>) -> Result<(), Errno> {
        self.to.write(message, gone)
    }

    fn receive(&mut self, into: &mut [u8], gone: OnInterrupt<'_>) -> Result<usize, Errno> {
        self.from.read(into, gone).map(|()| into.len())
    }

    fn seen(&self) -> ChannelObservation {
        holds(self.to.capacity() as u64)
    }
}

/// An end that sends the address of its message, and copies a message from the address it receives.
struct Readers {
    to: File,
    from: File,
    /// The process whose memory it reads.
    other: u32,
}

/// The location of a message: its address and its length.
const NOTE: usize = 16;

fn readers() -> Result<Ends, Errno> {
    let (own, peer, _) = pipes(&|| pipe_with_capacity(None))?;
    // The peer is a child of this process, and reads its memory; the child's ID is set once it
    // exists.
    let end = |[to, from]: [File; 2], other| Box::new(Readers { to, from, other });
    Ok((end(own, 0), end(peer, std::process::id())))
}

impl End for Readers {
    fn send(&mut self, message: &[u8], gone: OnInterrupt<'_>) -> Result<(), Errno> {
        let mut note = [0; NOTE];
        note[..8].copy_from_slice(&(message.as_ptr() as u64).to_ne_bytes());
        note[8..].copy_from_slice(&(message.len() as u64).to_ne_bytes());
        // A note is smaller than PIPE_BUF, so it is written as a whole.
        match uninterrupted(gone, || context_switch::write(&self.to, &note))? {
            NOTE => Ok(()),
            _ => Err(Errno::EPIPE),
        }
    }

    fn receive(&mut self, into: &mut [u8], gone: OnInterrupt<'_>) -> Result<usize, Errno> {
        let mut note = [0; NOTE];
        if uninterrupted(gone, || context_switch::read(&self.from, &mut note))? != NOTE {
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
            match read_process_memory(self.other, address + done as u64, &mut into[done..most])? {
                0 => return Err(Errno::EPIPE),
                given => done += given,
            }
        }
        Ok(bytes as usize)
    }

    fn meet(&mut self, peer: u32) {
        self.other = peer;
        allow_reader(peer);
    }
}
