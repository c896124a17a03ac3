//! Waiting for one of many descriptors: select(2), poll(2), epoll(7), each by the raw instruction.
//!
//! select(2) takes sets of any size here: the kernel reads as many bits as it is given, and only
//! the C library's type ends at 1,024.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::kernel::cpu::black_box::consume;
use crate::kernel::errno::raw_count;
use crate::kernel::{Errno, arch};

/// How long a call waits when nothing is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitLimit {
    /// It returns at once.
    Immediate,
    /// It waits until something is ready.
    Infinite,
}

/// Which of two equivalent calls: they differ in the timeout's type, and the second could take a
/// signal mask, which is not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallVariant {
    /// select(2) or poll(2).
    Plain,
    /// pselect(2), which is pselect6 to the kernel, or ppoll(2).
    WithMask,
}

/// A zero timeval or timespec. select(2) writes back the time left.
type ZeroTime = [u64; 2];

/// The address of the timeout; 0 for an infinite one.
#[inline(always)]
fn timeout_argument(patience: WaitLimit, no_time: &mut ZeroTime) -> u64 {
    match patience {
        WaitLimit::Immediate => no_time.as_mut_ptr() as u64,
        WaitLimit::Infinite => 0,
    }
}

/// A set of descriptors as select(2) takes it, which the call overwrites.
pub struct SelectSet {
    wanted: Vec<u64>,
    ready: Vec<u64>,
    spare: Vec<u64>,
    highest: i32,
}

impl SelectSet {
    /// The set of these descriptors.
    pub fn new(fds: impl Iterator<Item = i32>) -> Self {
        let (mut wanted, mut highest) = (Vec::new(), -1);
        for fd in fds.filter(|&fd| fd >= 0) {
            let word = fd as usize / 64;
            if word >= wanted.len() {
                wanted.resize(word + 1, 0);
            }
            wanted[word] |= 1u64 << (fd % 64);
            highest = highest.max(fd);
        }
        let none = vec![0; wanted.len()];
        Self { ready: none.clone(), spare: none, wanted, highest }
    }

    /// Adds a descriptor.
    pub fn insert(&mut self, fd: i32) {
        let word = fd as usize / 64;
        if word >= self.wanted.len() {
            for bits in [&mut self.wanted, &mut self.ready, &mut self.spare] {
                bits.resize(word + 1, 0);
            }
        }
        self.wanted[word] |= 1u64 << (fd % 64);
        self.highest = self.highest.max(fd);
    }

    /// Removes a descriptor.
    pub fn remove(&mut self, fd: i32) {
        if let Some(word) = self.wanted.get_mut(fd as usize / 64) {
            *word &= !(1u64 << (fd % 64));
        }
        while self.highest >= 0
            && self.wanted[self.highest as usize / 64] >> (self.highest % 64) & 1 == 0
        {
            self.highest -= 1;
        }
    }

    /// Rebuilds the set, as is needed before each call.
    #[inline(always)]
    pub fn rebuild(&mut self) {
        self.ready.copy_from_slice(&self.wanted);
    }

    /// Rebuilds a spare copy: the results of the last call are kept.
    #[inline(always)]
    pub fn rebuild_spare(&mut self) {
        self.spare.copy_from_slice(&self.wanted);
        consume(self.spare.last().copied().unwrap_or(0));
    }

    /// Makes the call; returns how many are readable.
    #[inline(always)]
    pub fn wait(&mut self, call: CallVariant, patience: WaitLimit) -> Result<usize, Errno> {
        let mut no_time = ZeroTime::default();
        let (count, bits) = ((self.highest + 1) as u64, self.ready.as_mut_ptr() as u64);
        let args = [count, bits, 0, 0, timeout_argument(patience, &mut no_time), 0];
        #[cfg(target_arch = "x86_64")]
        let number = if call == CallVariant::Plain { libc::SYS_select } else { libc::SYS_pselect6 };
        #[cfg(not(target_arch = "x86_64"))]
        let number = {
            let _ = call; // There is one call only.
            libc::SYS_pselect6
        };
        // SAFETY: the kernel reads and writes no more bits than the set has words for, and a
        // timeout.
        raw_count(unsafe { arch::syscall(number, args) })
    }

    /// Calls `visit` for each ready descriptor, up to `count`.
    #[inline(always)]
    pub fn each(&self, count: usize, mut visit: impl FnMut(i32)) {
        let mut left = count;
        for (word, &bits) in self.ready.iter().enumerate() {
            let mut bits = bits;
            while bits != 0 && left != 0 {
                visit((word * 64) as i32 + bits.trailing_zeros() as i32);
                bits &= bits - 1;
                left -= 1;
            }
            if left == 0 {
                return;
            }
        }
    }
}

/// Descriptors as poll(2) takes them.
pub struct PollSet(Vec<libc::pollfd>);

impl PollSet {
    /// Entries that wait for these descriptors to be readable.
    pub fn new(fds: impl Iterator<Item = i32>) -> Self {
        Self(fds.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }).collect())
    }

    /// Sets the descriptor at an index, or clears it; missing entries before it are added empty.
    pub fn set(&mut self, index: usize, fd: Option<i32>) {
        let empty = libc::pollfd { fd: -1, events: libc::POLLIN, revents: 0 };
        if index >= self.0.len() {
            self.0.resize(index + 1, empty);
        }
        self.0[index] = libc::pollfd { fd: fd.unwrap_or(-1), ..empty };
    }

    /// ppoll(2) with a timeout; returns how many are readable.
    pub fn wait_for(&mut self, ns: u64) -> Result<usize, Errno> {
        let time = [ns / 1_000_000_000, ns % 1_000_000_000];
        let (at, count) = (self.0.as_mut_ptr() as u64, self.0.len() as u64);
        let args = [at, count, time.as_ptr() as u64, 0, 0, 0];
        // SAFETY: the kernel reads and writes as many entries as there are, and reads one timeout.
        raw_count(unsafe { arch::syscall(libc::SYS_ppoll, args) })
    }

    /// Makes the call; returns how many are readable.
    #[inline(always)]
    pub fn wait(&mut self, call: CallVariant, patience: WaitLimit) -> Result<usize, Errno> {
        let (at, count) = (self.0.as_mut_ptr() as u64, self.0.len() as u64);
        #[cfg(target_arch = "x86_64")]
        if call == CallVariant::Plain {
            let ms = if patience == WaitLimit::Immediate { 0 } else { -1i32 };
            let args = [at, count, ms as u32 as u64, 0, 0, 0];
            // SAFETY: the kernel reads and writes as many entries as there are.
            return raw_count(unsafe { arch::syscall(libc::SYS_poll, args) });
        }
        let _ = call;
        let mut no_time = ZeroTime::default();
        let args = [at, count, timeout_argument(patience, &mut no_time), 0, 0, 0];
        // SAFETY: as above; one time is read.
        raw_count(unsafe { arch::syscall(libc::SYS_ppoll, args) })
    }

    /// Calls `visit` with the index of each ready entry, up to `count`.
    #[inline(always)]
    pub fn each(&self, count: usize, mut visit: impl FnMut(usize)) {
        let mut left = count;
        for (index, entry) in self.0.iter().enumerate() {
            if left == 0 {
                return;
            }
            if entry.revents != 0 {
                visit(index);
                left -= 1;
            }
        }
    }
}

/// Readable: what every set here waits for.
pub const READABLE: u32 = libc::EPOLLIN as u32;
/// Urgent data: may be added.
pub const URGENT: u32 = libc::EPOLLPRI as u32;
/// Of a set: edge-triggered.
pub const EDGE: u32 = libc::EPOLLET as u32;
/// Of a set: reported once, then to be rearmed.
pub const ONESHOT: u32 = libc::EPOLLONESHOT as u32;
/// Of a set: wakes not all of several waiters of a descriptor (Linux 4.5).
pub const EXCLUSIVE: u32 = libc::EPOLLEXCLUSIVE as u32;

/// What epoll_ctl(2) does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EpollChange {
    /// Adds a descriptor to the set.
    Add,
    /// Changes its events.
    Modify,
    /// Removes it from the set.
    Delete,
}

/// A set in the kernel: epoll(7).
pub struct Epoll {
    set: OwnedFd,
    events: Vec<libc::epoll_event>,
}

impl Epoll {
    /// An empty set; a call returns at most `max_events` events.
    pub fn new(max_events: usize) -> Result<Self, Errno> {
        // SAFETY: plain numbers; the descriptor is new and owned here.
        let set = unsafe {
            let args = [libc::EPOLL_CLOEXEC as u64, 0, 0, 0, 0, 0];
            OwnedFd::from_raw_fd(raw_count(arch::syscall(libc::SYS_epoll_create1, args))? as i32)
        };
        Ok(Self { set, events: vec![libc::epoll_event { events: 0, u64: 0 }; max_events.max(1)] })
    }

    /// epoll_ctl(2).
    #[inline(always)]
    pub fn change(
        &self,
        operation: EpollChange,
        fd: i32,
        events: u32,
        token: u64,
    ) -> Result<(), Errno> {
        let operation = match operation {
            EpollChange::Add => libc::EPOLL_CTL_ADD,
            EpollChange::Modify => libc::EPOLL_CTL_MOD,
            EpollChange::Delete => libc::EPOLL_CTL_DEL,
        };
        let event = libc::epoll_event { events, u64: token };
        let set = self.set.as_raw_fd() as u64;
        let args = [set, operation as u64, fd as u64, &raw const event as u64, 0, 0];
        // SAFETY: the kernel reads one local event.
        raw_count(unsafe { arch::syscall(libc::SYS_epoll_ctl, args) }).map(drop)
    }

    /// epoll_wait(2); returns the number of events.
    #[inline(always)]
    pub fn wait(&mut self, patience: WaitLimit) -> Result<usize, Errno> {
        let ms = if patience == WaitLimit::Immediate { 0 } else { -1i32 };
        let (at, most) = (self.events.as_mut_ptr() as u64, self.events.len() as u64);
        let args = [self.set.as_raw_fd() as u64, at, most, ms as u32 as u64, 0, 0];
        #[cfg(target_arch = "x86_64")]
        let number = libc::SYS_epoll_wait;
        #[cfg(not(target_arch = "x86_64"))]
        let number = libc::SYS_epoll_pwait;
        // SAFETY: the kernel writes at most as many events as fit; no mask is given.
        raw_count(unsafe { arch::syscall(number, args) })
    }

    /// epoll_wait(2) with a timeout in milliseconds, or epoll_pwait2(2) with one in seconds and
    /// nanoseconds; returns the number of events.
    #[inline(always)]
    pub fn wait_for(&mut self, by_time: bool, ms: u64, time: &[u64; 2]) -> Result<usize, Errno> {
        let (at, most) = (self.events.as_mut_ptr() as u64, self.events.len() as u64);
        #[cfg(target_arch = "x86_64")]
        let counting = libc::SYS_epoll_wait;
        #[cfg(not(target_arch = "x86_64"))]
        let counting = libc::SYS_epoll_pwait;
        let (number, until) = match by_time {
            true => (libc::SYS_epoll_pwait2, time.as_ptr() as u64),
            false => (counting, ms),
        };
        let args = [self.fd() as u64, at, most, until, 0, 0];
        // SAFETY: as above; two words of the timeout are read.
        raw_count(unsafe { arch::syscall(number, args) })
    }

    /// The set's own descriptor, which another set may contain.
    pub fn fd(&self) -> i32 {
        self.set.as_raw_fd()
    }

    /// Calls `visit` with the tokens of the first `count` events of the last call.
    #[inline(always)]
    pub fn each(&self, count: usize, mut visit: impl FnMut(u64)) {
        for event in self.events.iter().take(count) {
            visit(event.u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::ipc::pipe::pipe;
    use std::io::Write;

    #[test]
    fn each_call_finds_what_is_ready_and_nothing_else() {
        let pipes: Vec<_> = (0..70).map(|_| pipe().unwrap()).collect();
        let fds = || pipes.iter().map(|(from, _)| from.as_raw_fd());
        let (mut bits, mut entries) = (SelectSet::new(fds()), PollSet::new(fds()));
        let mut epoll = Epoll::new(70).unwrap();
        for (token, fd) in fds().enumerate() {
            epoll.change(EpollChange::Add, fd, READABLE, token as u64).unwrap();
        }
        for ready in [None, Some(69), Some(3)] {
            if let Some(index) = ready {
                (&pipes[index].1).write_all(&[1]).unwrap();
            }
            let right: Vec<usize> = match ready {
                None => vec![],
                Some(69) => vec![69],
                Some(_) => vec![3, 69],
            };
            let fds: Vec<i32> = fds().collect();
            for by in [CallVariant::Plain, CallVariant::WithMask] {
                bits.rebuild();
                let mut reported = Vec::new();
                let count = bits.wait(by, WaitLimit::Immediate).unwrap();
                bits.each(count, |fd| reported.push(fds.iter().position(|&at| at == fd).unwrap()));
                assert_eq!((count, &reported), (right.len(), &right));
                let count = entries.wait(by, WaitLimit::Immediate).unwrap();
                reported.clear();
                entries.each(count, |index| reported.push(index));
                assert_eq!((count, &reported), (right.len(), &right));
            }
            let count = epoll.wait(WaitLimit::Immediate).unwrap();
            let mut reported = Vec::new();
            epoll.each(count, |token| reported.push(token as usize));
            reported.sort_unstable();
            assert_eq!(reported, right);
        }
    }

    #[test]
    fn sets_grow_and_shrink_and_report_their_members() {
        let pipes: Vec<_> = (0..70).map(|_| pipe().unwrap()).collect();
        let fds: Vec<i32> = pipes.iter().map(|(from, _)| from.as_raw_fd()).collect();
        pipes.iter().for_each(|(_, to)| (&*to).write_all(&[1]).unwrap());
        let (mut bits, mut entries) =
            (SelectSet::new([].into_iter()), PollSet::new([].into_iter()));
        for (index, &fd) in fds.iter().enumerate() {
            bits.insert(fd);
            entries.set(index, Some(fd));
        }
        let tell = |bits: &mut SelectSet, entries: &mut PollSet| {
            let mut reported = (Vec::new(), Vec::new());
            bits.rebuild();
            let count = bits.wait(CallVariant::Plain, WaitLimit::Immediate).unwrap();
            bits.each(count, |fd| reported.0.push(fds.iter().position(|&at| at == fd).unwrap()));
            let count = entries.wait_for(0).unwrap();
            entries.each(count, |index| reported.1.push(index));
            reported
        };
        let all: Vec<usize> = (0..70).collect();
        assert_eq!(tell(&mut bits, &mut entries), (all.clone(), all));
        for index in (1..70).rev() {
            bits.remove(fds[index]);
            entries.set(index, None);
        }
        assert_eq!(tell(&mut bits, &mut entries), (vec![0], vec![0]));
        bits.remove(fds[0]);
        entries.set(0, None);
        assert_eq!(tell(&mut bits, &mut entries), (vec![], vec![]));
    }
}
