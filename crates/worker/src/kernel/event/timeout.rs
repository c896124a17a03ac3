//! Waiting with a timeout for a descriptor that never becomes ready, by the raw instruction.

use std::fs::File;
use std::os::fd::AsRawFd;

use crate::kernel::errno::raw_result;
use crate::kernel::event::io_uring::{PollMode, Ring};
use crate::kernel::event::readiness::{Epoll, EpollChange, READABLE};
use crate::kernel::ipc::pipe::pipe;
use crate::kernel::{Errno, arch};

/// The call that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutCall {
    /// select(2), in microseconds.
    Select,
    /// pselect(2), in nanoseconds.
    Pselect,
    /// poll(2), in milliseconds.
    Poll,
    /// ppoll(2), in nanoseconds.
    Ppoll,
    /// epoll_wait(2), in milliseconds.
    Epoll,
    /// epoll_pwait2(2), in nanoseconds (Linux 5.11).
    EpollPwait2,
    /// io_uring_enter(2), in nanoseconds (Linux 5.11).
    Ring,
}

impl TimeoutCall {
    /// The unit of its timeout, in nanoseconds. select(2) has its own only where it is a separate
    /// call.
    pub fn unit_ns(self) -> u64 {
        match self {
            TimeoutCall::Poll | TimeoutCall::Epoll => 1_000_000,
            TimeoutCall::Select if cfg!(target_arch = "x86_64") => 1_000,
            _ => 1,
        }
    }
}

/// How a timeout is rounded to whole units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Up.
    Up,
    /// Down, possibly to 0.
    Down,
}

/// The set to wait on.
enum WaitSet {
    Alone,
    Epoll(Epoll),
    Ring(Ring),
}

/// An empty pipe, and a call that waits for it.
pub struct Timeout {
    call: TimeoutCall,
    set: WaitSet,
    idle: File,
    _other: File,
}

impl Timeout {
    /// Creates the pipe, and a set if the call needs one.
    pub fn new(call: TimeoutCall) -> Result<Self, Errno> {
        let (idle, other) = pipe()?;
        if idle.as_raw_fd() as usize >= 64 * WORDS {
            return Err(Errno::EMFILE);
        }
        let set = match call {
            TimeoutCall::Epoll | TimeoutCall::EpollPwait2 => {
                let set = Epoll::new(1)?;
                set.change(EpollChange::Add, idle.as_raw_fd(), READABLE, 0)?;
                WaitSet::Epoll(set)
            }
            TimeoutCall::Ring => {
                let mut ring = Ring::new(1)?;
                ring.queue_poll(idle.as_raw_fd(), 0, PollMode::OneShot)?;
                ring.wait_for(0)?;
                WaitSet::Ring(ring)
            }
            _ => WaitSet::Alone,
        };
        Ok(Self { call, set, idle, _other: other })
    }

    /// Waits until the timeout has passed; returning for any other reason is an error.
    #[inline(always)]
    pub fn wait(&mut self, asked_ns: u64, rounding: Rounding) -> Result<(), Errno> {
        let unit_ns = self.call.unit_ns();
        let units = match rounding {
            Rounding::Up => asked_ns.div_ceil(unit_ns),
            Rounding::Down => asked_ns / unit_ns,
        };
        let asked_ns = units * unit_ns;
        let mut time = [asked_ns / 1_000_000_000, asked_ns % 1_000_000_000];
        let fd = self.idle.as_raw_fd();
        let ready = match &mut self.set {
            WaitSet::Epoll(set) => {
                set.wait_for(self.call == TimeoutCall::EpollPwait2, units, &time)? as i64
            }
            WaitSet::Ring(ring) => i64::from(ring.wait_until(&time)?),
            WaitSet::Alone if matches!(self.call, TimeoutCall::Poll | TimeoutCall::Ppoll) => {
                let mut entry = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
                let at = &raw mut entry as u64;
                #[cfg(target_arch = "x86_64")]
                let (number, until) = match self.call {
                    TimeoutCall::Poll => (libc::SYS_poll, units),
                    _ => (libc::SYS_ppoll, &raw const time as u64),
                };
                #[cfg(not(target_arch = "x86_64"))]
                let (number, until) = (libc::SYS_ppoll, &raw const time as u64);
                // SAFETY: the kernel reads and writes one entry, and reads one timeout if given by
                // address; no mask is given.
                raw_result(unsafe { arch::syscall(number, [at, 1, until, 0, 0, 0]) })?
            }
            WaitSet::Alone => {
                let mut bits = bit_of(fd);
                #[cfg(target_arch = "x86_64")]
                let number = match self.call {
                    TimeoutCall::Select => {
                        time[1] /= 1_000;
                        libc::SYS_select
                    }
                    _ => libc::SYS_pselect6,
                };
                #[cfg(not(target_arch = "x86_64"))]
                let number = libc::SYS_pselect6;
                let (count, at) = (fd as u64 + 1, bits.as_mut_ptr() as u64);
                let args = [count, at, 0, 0, &raw mut time as u64, 0];
                // SAFETY: the kernel reads and writes no more bits than the array has, and one
                // timeout.
                raw_result(unsafe { arch::syscall(number, args) })?
            }
        };
        if ready == 0 { Ok(()) } else { Err(Errno::EPROTO) }
    }
}

/// The words of a select(2) set: a pipe that is created first has a low number.
const WORDS: usize = 16;

fn bit_of(fd: i32) -> [u64; WORDS] {
    let mut bits = [0; WORDS];
    if let Some(word) = bits.get_mut(fd as usize / 64) {
        *word = 1 << (fd % 64);
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::time::clock::{ClockId, gettime};

    const ALL: [TimeoutCall; 7] = [
        TimeoutCall::Select,
        TimeoutCall::Pselect,
        TimeoutCall::Poll,
        TimeoutCall::Ppoll,
        TimeoutCall::Epoll,
        TimeoutCall::EpollPwait2,
        TimeoutCall::Ring,
    ];

    #[test]
    fn every_call_waits_and_comes_back_with_nothing() {
        for by in ALL {
            let mut timeout = match Timeout::new(by) {
                Ok(timeout) => timeout,
                Err(error) => {
                    eprintln!("{by:?}: {error}");
                    continue;
                }
            };
            let before = gettime(ClockId::MONOTONIC).unwrap();
            match timeout.wait(2_000_000, Rounding::Up) {
                Err(Errno::ENOSYS | Errno::EINVAL)
                    if matches!(by, TimeoutCall::Ring | TimeoutCall::EpollPwait2) => {}
                done => {
                    assert_eq!(done, Ok(()), "{by:?}");
                    // By this clock the wait may end a little early.
                    assert!(gettime(ClockId::MONOTONIC).unwrap() - before > 1_000_000, "{by:?}");
                }
            }
        }
    }

    #[test]
    fn a_ready_descriptor_is_not_a_timeout() {
        use std::io::Write;
        for by in [TimeoutCall::Select, TimeoutCall::Poll, TimeoutCall::Epoll, TimeoutCall::Ring] {
            let Ok(mut timeout) = Timeout::new(by) else { continue };
            timeout._other.write_all(&[1]).unwrap();
            assert_eq!(timeout.wait(1_000_000, Rounding::Up), Err(Errno::EPROTO), "{by:?}");
        }
    }

    #[test]
    fn a_call_that_counts_milliseconds_can_be_asked_for_none() {
        let mut timeout = Timeout::new(TimeoutCall::Poll).unwrap();
        assert_eq!(timeout.wait(999_999, Rounding::Down), Ok(()));
        assert_eq!(
            [TimeoutCall::Poll, TimeoutCall::Epoll, TimeoutCall::Ppoll].map(TimeoutCall::unit_ns),
            [1_000_000, 1_000_000, 1]
        );
    }
}
