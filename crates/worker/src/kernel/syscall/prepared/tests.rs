use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::MetadataExt;

use super::call::{Buffer, Call, CallPair};
use super::{
    VECTOR_BYTES, VectorCall, allocate_and_punch, dup_close, flock, futex_requeue, futex_wake,
    getcpu, getdents, invalid, lease, mlock_munlock, mmap_munmap, mprotect, process_vm_readv,
    record_lock, signal_to_self, truncate, uname, vectors, waitid_any,
};
use crate::kernel::Errno;
use crate::kernel::file::record_lock::LockOwner;
use crate::kernel::memory::memory_file;
use crate::kernel::memory::region::{PAGE_BYTES, PageKind, Region};

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
    for call in [uname(), getcpu(), futex_wake(), futex_requeue()] {
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
fn a_lock_is_taken_and_released_each_time() {
    let records = [LockOwner::Process, LockOwner::OpenFile].map(|owner| record_lock(owner, 3));
    for pair in records.into_iter().chain([flock()]) {
        let pair = pair.unwrap();
        for _ in 0..100 {
            assert_eq!(pair.ready().make(), Ok(()));
        }
        // The second call alone: unlocking what is not locked is no error, and holds nothing.
        assert_eq!(pair.second.ready().make(), Ok(0));
    }
    // Not every file system has leases.
    let pair = lease().unwrap();
    if pair.ready().make().is_ok() {
        // There is none to be given back.
        assert_eq!(pair.second.ready().make(), Err(Errno::EAGAIN));
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

#[test]
fn the_first_call_of_a_pair_changes_a_file_and_the_second_undoes_it() {
    const BYTES: u64 = 65_536;
    let new = || {
        let file = memory_file::create("oscost", BYTES).unwrap();
        (file.try_clone().unwrap(), file)
    };
    let (seen, file) = new();
    let pair = truncate(file, 4_096);
    for length in [4_096, 0, 4_096, 0] {
        let call = if length > 0 { &pair.first } else { &pair.second };
        assert_eq!(call.ready().make(), Ok(0));
        let now = seen.metadata().unwrap();
        assert_eq!((now.len(), now.blocks()), (length, 0), "all of it is a hole");
    }
    let (seen, file) = new();
    file.set_len(BYTES).unwrap();
    let pair = allocate_and_punch(file, BYTES);
    for _ in 0..2 {
        assert_eq!(pair.first.ready().make(), Ok(0));
        assert!(seen.metadata().unwrap().blocks() >= BYTES / 512, "all of it is allocated");
        assert_eq!(pair.second.ready().make(), Ok(0));
        assert_eq!(seen.metadata().unwrap().blocks(), 0, "nothing is left");
    }
    assert_eq!(seen.metadata().unwrap().len(), BYTES);
}

#[test]
fn all_vectors_are_transferred() {
    for call in [VectorCall::Preadv, VectorCall::Pwritev] {
        for count in [1, 8, 64] {
            let made = vectors(call, count).unwrap();
            assert_eq!(made.ready().make(), Ok((count * VECTOR_BYTES) as i64), "{call:?}");
        }
    }
}

#[test]
fn what_is_read_of_a_process_is_compared_with_what_it_has() {
    let read = |expected| {
        let mut from = Region::anonymous(PAGE_BYTES, PageKind::Small).unwrap();
        from.set_byte(0, 7).unwrap();
        let call = process_vm_readv(std::process::id(), from, 8, expected, ());
        call.and_then(|call| call.ready().make())
    };
    match read(7) {
        Err(error) if error.is_unavailable() => return eprintln!("not tested: {error}"),
        count => assert_eq!(count, Ok(8)),
    }
    assert_eq!(read(8), Err(Errno::CHECK_FAILED));
}

#[test]
fn a_page_can_be_locked_and_unlocked_and_waiting_for_no_child_is_an_error() {
    crate::kernel::process::in_own_process(|| {
        let region = Region::anonymous(PAGE_BYTES, PageKind::Small).unwrap();
        let pair = mlock_munlock(region);
        for _ in 0..2 {
            assert_eq!(pair.ready().make(), Ok(()));
        }
        assert_eq!(waitid_any().ready().make(), Err(Errno::ECHILD));
    });
}
