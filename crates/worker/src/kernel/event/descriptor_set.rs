//! Large sets of idle descriptors, for which nothing happens until one is made ready.
//!
//! Most kinds have two ends. The watched ends are numbered consecutively as requested; the other
//! ends must stay open, or the watched ones would become ready. If both do not fit into a process,
//! children hold the other ends.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::fcntl_dupfd_cloexec;

use crate::kernel::event::descriptor_kind::MIN_NUMBER;
use crate::kernel::ipc::context_switch::PeerProcess;
use crate::kernel::ipc::{context_switch, pipe};
use crate::kernel::net::socket::reset_when_closed;
use crate::kernel::process::limits;
use crate::kernel::process::pause_forever;
use crate::kernel::{Errno, arch};

pub use crate::kernel::event::descriptor_kind::{
    DescriptorKind, check_memory, explain_error, max_descriptors,
};
pub use crate::kernel::event::process_state::{ProcessState, wait_until_asleep};

/// Connections per address: with more of the default 28,232 ephemeral ports in use, the search for
/// a free one becomes slow.
const MAX_CONNECTIONS_PER_ADDRESS: u32 = 8_000;

/// Maximum number of children that hold other ends.
const MAX_HOLDERS: u64 = 16;

/// A set of descriptors of one kind.
pub struct DescriptorSet {
    watched: Vec<OwnedFd>,
    others: Vec<OwnedFd>,
    wakeable: Vec<OwnedFd>,
    first_wakeable: usize,
    first: u64,
    kind: DescriptorKind,
    holders: Vec<PeerProcess>,
}

impl DescriptorSet {
    /// Creates `count` descriptors, of which those at the indices `wakeable_range` can be made
    /// ready. The highest is numbered `highest` if given, otherwise as low as possible.
    pub fn new(
        count: u64,
        kind: DescriptorKind,
        wakeable_range: Range<u64>,
        highest: Option<u64>,
    ) -> Result<Self, Errno> {
        let wanted = (MIN_NUMBER + count * kind.descriptors_each() + wakeable_range.end
            - wakeable_range.start
            + MIN_NUMBER)
            .max(highest.map_or(0, |highest| highest + MIN_NUMBER));
        let limit = limits::raise_descriptor_limit_to(wanted)?;
        check_memory(count, kind)?;
        let made = Self::build(count, kind, wakeable_range, highest, limit, 0);
        made.map_err(|error| explain_error(error, count, kind))
    }

    /// The same, with plain errnos. `process_index` distinguishes processes that do so at the same time.
    fn build(
        count: u64,
        kind: DescriptorKind,
        wakeable_range: Range<u64>,
        highest: Option<u64>,
        limit: u64,
        process_index: u32,
    ) -> Result<Self, Errno> {
        let first = match highest {
            Some(highest) => (highest + 1).saturating_sub(count),
            None => first_free_range(count, limit),
        };
        if first < MIN_NUMBER
            || first + count + MIN_NUMBER > limit
            || count > max_descriptors(kind, limit)
        {
            return Err(Errno::EMFILE);
        }
        let mut maker = DescriptorMaker { kind, listener: None, process_index, count: 0 };
        let mut descriptors = Self {
            watched: Vec::new(),
            others: Vec::new(),
            wakeable: Vec::new(),
            first_wakeable: wakeable_range.start as usize,
            first,
            kind,
            holders: Vec::new(),
        };
        // The other ends are placed above the watched ones, or below if there is more room.
        let end = first + count;
        let others_range =
            if limit - end >= first - MIN_NUMBER { end..limit } else { MIN_NUMBER..first };
        for index in 0..count {
            let (watched, other) = maker.make()?;
            descriptors.watched.push(duplicate_at(&watched, first + index)?);
            let Some(other) = other else { continue };
            let other = descriptors.place_other_end(&other, &others_range)?;
            if wakeable_range.contains(&index) {
                descriptors.wakeable.push(other)
            } else {
                descriptors.others.push(other)
            }
        }
        Ok(descriptors)
    }

    /// Moves another end to their range; if that is full, a child takes over those that are there.
    fn place_other_end(&mut self, other: &OwnedFd, within: &Range<u64>) -> Result<OwnedFd, Errno> {
        for _ in 0..2 {
            match duplicate_from(other, within.start) {
                Ok(fd) if within.contains(&(fd.as_raw_fd() as u64)) => return Ok(fd),
                Ok(_) | Err(Errno::EMFILE) => self.hand_to_child()?,
                Err(error) => return Err(error),
            }
        }
        Err(Errno::EMFILE)
    }

    /// Hands the other ends to a child.
    fn hand_to_child(&mut self) -> Result<(), Errno> {
        if self.others.is_empty() || self.holders.len() as u64 >= MAX_HOLDERS {
            return Err(Errno::EMFILE);
        }
        // The child's copies keep the descriptors open.
        let holder = PeerProcess::start(None, || pause_forever())?;
        wait_until_asleep(&holder)?;
        self.holders.push(holder);
        self.others.clear();
        Ok(())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.watched.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.watched.is_empty()
    }

    /// The descriptor at an index.
    #[inline(always)]
    pub fn fd(&self, index: usize) -> i32 {
        (self.first as usize + index) as i32
    }

    /// The index of a descriptor.
    #[inline(always)]
    pub fn index_of_fd(&self, fd: i32) -> usize {
        (fd as usize).wrapping_sub(self.first as usize)
    }

    /// All descriptors, ascending.
    pub fn fds(&self) -> impl Iterator<Item = i32> + '_ {
        self.watched.iter().map(AsRawFd::as_raw_fd)
    }

    /// Makes one ready: writes a byte, or adds 1.
    #[inline(always)]
    pub fn make_ready(&self, index: usize) -> Result<(), Errno> {
        let (fd, size) = match self.kind {
            DescriptorKind::Eventfd => (self.fd(index), size_of::<u64>()),
            _ => match self.wakeable.get(index.wrapping_sub(self.first_wakeable)) {
                Some(end) => (end.as_raw_fd(), 1),
                None => return Err(Errno::EBADF),
            },
        };
        let one = 1u64;
        let args = [fd as u64, &raw const one as u64, size as u64, 0, 0, 0];
        // SAFETY: the kernel reads at most one local word.
        let written = unsafe { arch::syscall(libc::SYS_write, args) };
        match written {
            written if written == size as i64 => Ok(()),
            written if written < 0 => Err(Errno(-written as i32)),
            _ => Err(Errno::EPIPE),
        }
    }

    /// Consumes what made one ready.
    #[inline(always)]
    pub fn drain(&self, index: usize) -> Result<(), Errno> {
        let size = if self.kind == DescriptorKind::Eventfd { size_of::<u64>() } else { 1 };
        let mut into = 0u64;
        let args = [self.fd(index) as u64, &raw mut into as u64, size as u64, 0, 0, 0];
        // SAFETY: the kernel writes at most one local word.
        let given = unsafe { arch::syscall(libc::SYS_read, args) };
        match given {
            given if given == size as i64 => Ok(()),
            given if given < 0 => Err(Errno(-given as i32)),
            _ => Err(Errno::EPIPE),
        }
    }

    /// Makes one non-blocking.
    pub fn set_nonblocking(&self, index: usize) -> Result<(), Errno> {
        let watched = self.watched.get(index).ok_or(Errno::EBADF)?;
        Ok(fcntl_setfl(watched, OFlags::NONBLOCK)?)
    }
}

/// A child with its own descriptors, for sets that several processes share.
pub struct ChildFiller {
    go: File,
    done: File,
    child: PeerProcess,
}

impl ChildFiller {
    /// Starts a child that waits for [`Self::fill`], then creates `count` descriptors and passes
    /// the set to `add`.
    pub fn start(
        count: u64,
        kind: DescriptorKind,
        process_index: u32,
        mut add: impl FnMut(&DescriptorSet) -> Result<(), Errno>,
    ) -> Result<Self, Errno> {
        let ((from, go), (done, to)) = (pipe::pipe()?, pipe::pipe()?);
        let mut own_ends = Some((go, done));
        let child = {
            let own_ends = &mut own_ends;
            PeerProcess::start(None, move || {
                drop(own_ends.take());
                if context_switch::read(&from, &mut [0])? != 1 {
                    return Err(Errno::EPIPE);
                }
                let limit = limits::raise_descriptor_limit()?;
                let descriptors =
                    DescriptorSet::build(count, kind, 0..0, None, limit, process_index)?;
                add(&descriptors)?;
                context_switch::write(&to, &[1])?;
                pause_forever()
            })?
        };
        // Only the child has taken them.
        let (go, done) = own_ends.ok_or(Errno::EINVAL)?;
        Ok(Self { go, done, child })
    }

    /// Lets the child fill the set, and waits until it has.
    pub fn fill(self, count: u64, kind: DescriptorKind) -> Result<PeerProcess, Errno> {
        context_switch::write(&self.go, &[1])?;
        if context_switch::read(&self.done, &mut [0])? != 1 {
            // Its pipe was closed because it is exiting.
            let errno = self.child.join().err().unwrap_or(Errno::ESRCH);
            return Err(explain_error(errno, count, kind));
        }
        wait_until_asleep(&self.child)?;
        Ok(self.child)
    }
}

/// Creates descriptors of a kind, one at a time.
struct DescriptorMaker {
    kind: DescriptorKind,
    listener: Option<TcpListener>,
    /// Distinguishes processes that make descriptors at the same time.
    process_index: u32,
    /// The number of descriptors made so far.
    count: u32,
}

impl DescriptorMaker {
    /// The watched end, and the other one.
    fn make(&mut self) -> Result<(OwnedFd, Option<OwnedFd>), Errno> {
        match self.kind {
            DescriptorKind::Eventfd => Ok((context_switch::eventfd()?.into(), None)),
            DescriptorKind::Pipe => {
                let (from, to) = pipe::pipe()?;
                Ok((from.into(), Some(to.into())))
            }
            DescriptorKind::SocketPair => {
                let (own, other) = context_switch::socket_pair()?;
                Ok((own.into(), Some(other.into())))
            }
            DescriptorKind::Tcp => {
                let (served, client) = self.connection()?;
                Ok((served.into(), Some(client.into())))
            }
        }
    }

    /// A connection over loopback, the accepted end first. Closing either end resets it: no port
    /// stays in TIME_WAIT.
    fn connection(&mut self) -> Result<(TcpStream, TcpStream), Errno> {
        if self.count.is_multiple_of(MAX_CONNECTIONS_PER_ADDRESS) {
            let batch = self.count / MAX_CONNECTIONS_PER_ADDRESS;
            let at = Ipv4Addr::new(
                127,
                0,
                1 + (self.process_index % 250) as u8,
                1 + (batch % 250) as u8,
            );
            self.listener = Some(TcpListener::bind(SocketAddrV4::new(at, 0))?);
        }
        self.count += 1;
        let listener = self.listener.as_ref().ok_or(Errno::EINVAL)?;
        let client = TcpStream::connect(listener.local_addr()?)?;
        let own = client.local_addr()?;
        let (served, from) = listener.accept()?;
        if from != own {
            // Another program has connected to the port.
            return Err(Errno::EPROTO);
        }
        for end in [&client, &served] {
            reset_when_closed(end)?;
        }
        Ok((served, client))
    }
}

/// Duplicates a descriptor to the lowest free number from `min_number` on.
fn duplicate_from(fd: &OwnedFd, min_number: u64) -> Result<OwnedFd, Errno> {
    match fcntl_dupfd_cloexec(fd, min_number as i32) {
        // No number is left.
        Err(rustix::io::Errno::INVAL) => Err(Errno::EMFILE),
        result => Ok(result?),
    }
}

/// Duplicates a descriptor to a number that must be free.
fn duplicate_at(fd: &OwnedFd, number: u64) -> Result<OwnedFd, Errno> {
    let fd = duplicate_from(fd, number)?;
    if fd.as_raw_fd() as u64 == number { Ok(fd) } else { Err(Errno::EPROTO) }
}

/// The lowest number from [`MIN_NUMBER`] on that begins a free range of `count`: the parent process
/// may have left descriptors open anywhere.
fn first_free_range(count: u64, limit: u64) -> u64 {
    /// Inherited descriptors are below this.
    const MAX_INHERITED: u64 = 1_024;
    // SAFETY: the command only queries.
    let is_open = |fd: &u64| unsafe { libc::fcntl(*fd as i32, libc::F_GETFD) } >= 0;
    let mut first = MIN_NUMBER;
    for open in (MIN_NUMBER..MAX_INHERITED.min(limit)).filter(is_open) {
        if open - first >= count {
            break;
        }
        first = open + 1;
    }
    first
}

#[cfg(test)]
mod tests;
