use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd};

use super::call::{Buffer, Call, CallPair};
use super::{
    dup_close, futex_wake, getcpu, getdents, invalid, mmap_munmap, mprotect, signal_to_self, uname,
};
use crate::kernel::Errno;

/// A counter in the kernel (eventfd(2)) of how often a call was made.
pub(crate) struct CallCounter {
    file: File,
    began_with: std::cell::Cell<u64>,
}

impl CallCounter {
    pub(crate) fn new() -> Result<Self, Errno> {
        let flags = libc::EFD_CLOEXEC | libc::EFD_NONBLOCK;
        // SAFETY: the descriptor is new and ours.
        let file = unsafe { File::from_raw_fd(Errno::check(libc::eventfd(0, flags))?) };
        Ok(Self { file, began_with: 0.into() })
    }

    fn add(&self, count: u64) -> Call {
        let (file, room) = (self.file.try_clone().unwrap(), Buffer::containing(count));
        let args = [file.as_raw_fd() as u64, room.address(), 8];
        // SAFETY: eight bytes are read; the call owns them and the descriptor.
        let call = unsafe { Call::new(libc::SYS_write, &args) };
        call.with_results(8..=8).with_owned(room).with_owned(file)
    }

    /// A call that adds one.
    pub(crate) fn add_one(&self) -> Call {
        self.add(1)
    }

    /// Two calls that add one each.
    pub(crate) fn add_two(&self) -> CallPair {
        CallPair { first: self.add(1), second: self.add(1), pass_result: false }
    }

    /// A call that adds one, and fails after `most` times.
    pub(crate) fn add_until_full(&self, most: u64) -> Call {
        self.began_with.set(u64::MAX - 1 - most);
        assert_eq!(self.add(self.began_with.get()).ready().make(), Ok(8));
        self.add(1)
    }

    /// How often a call has added one since this was last called.
    pub(crate) fn take_count(&self) -> u64 {
        let mut count = [0; 8];
        let read = (&self.file).read(&mut count);
        let count = if read.is_ok() { u64::from_ne_bytes(count) } else { 0 };
        count - self.began_with.take()
    }
}

#[test]
fn a_result_that_is_not_good_is_an_error() {
    let good = invalid().ready().make();
    assert_eq!(good, Ok(-i64::from(libc::ENOSYS)), "no kernel has the call");
    // SAFETY: there is no such call.
    let unknown = unsafe { Call::new(65_535, &[]) };
    assert_eq!(unknown.ready().make(), Err(Errno::ENOSYS));
    // SAFETY: it takes no argument.
    let pid_0 = unsafe { Call::new(libc::SYS_getpid, &[]) };
    assert_eq!(pid_0.ready().make(), Err(Errno::EPROTO), "it returned something else");
}

#[test]
fn what_a_call_points_to_lives_as_long_as_the_call() {
    let calls: Vec<Call> = [uname(), getcpu(), futex_wake()].into_iter().collect();
    for call in calls {
        assert_eq!(call.ready().make(), Ok(0));
    }
}

#[test]
fn a_pair_hands_on_what_the_first_call_gave() {
    for pair in [dup_close().unwrap(), mmap_munmap(), mprotect().unwrap()] {
        for _ in 0..100 {
            assert_eq!(pair.ready().make(), Ok(()));
        }
    }
}

#[test]
fn a_signal_to_oneself_runs_the_handler_exactly_once_each_time() {
    let handler = signal_to_self().unwrap();
    let before = handler.handler_runs();
    for delivered in 1..=1_000 {
        assert_eq!(handler.send(), Ok(()));
        assert_eq!(handler.handler_runs(), before + delivered);
    }
}

#[test]
fn a_folder_is_listed_whole_each_time() {
    let pair = getdents(crate::kernel::file::temp_folder::TempFolder::new().unwrap()).unwrap();
    for _ in 0..3 {
        assert_eq!(pair.ready().make(), Ok(()));
        // The rest is empty: one call returned everything.
        assert_eq!(pair.second.ready().make(), Err(Errno::EPROTO));
    }
}
