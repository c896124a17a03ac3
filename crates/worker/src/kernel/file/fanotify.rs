//! Notices of fanotify(7): who opens a file in a folder.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};

use crate::kernel::Errno;
use crate::kernel::arch::syscall;
use crate::kernel::errno::raw_result;

/// Flags of fanotify_init(2) and fanotify_mark(2), and events (linux/fanotify.h). A group of the
/// class FAN_CLASS_NOTIF, 0, is told of events, and does not decide about them.
const CLOEXEC: u64 = 0x1;
const NONBLOCK: u64 = 0x2;
const MARK_ADD: u64 = 0x1;
const MARK_ONLYDIR: u64 = 0x8;
const OPEN: u64 = 0x20;
const EVENT_ON_CHILD: u64 = 0x0800_0000;

/// `struct fanotify_event_metadata`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Event {
    bytes: u32,
    version: u8,
    reserved: u8,
    metadata_bytes: u16,
    mask: u64,
    fd: i32,
    pid: i32,
}

/// A group that is told of each opening of a file in a folder, and never blocks.
pub struct OpenNotices(File);

impl OpenNotices {
    /// A group with a mark on the folder.
    #[inline(never)]
    pub fn of(folder: &File) -> Result<Self, Errno> {
        let group = Self::without_mark().map_err(explain_error)?;
        let args = [
            group.0.as_raw_fd() as u64,
            MARK_ADD | MARK_ONLYDIR,
            OPEN | EVENT_ON_CHILD,
            folder.as_raw_fd() as u64,
            0,
            0,
        ];
        // SAFETY: plain numbers: without a path the descriptor itself is meant.
        raw_result(unsafe { syscall(libc::SYS_fanotify_mark, args) }).map_err(explain_error)?;
        Ok(group)
    }

    fn without_mark() -> Result<Self, Errno> {
        let events = (libc::O_RDONLY | libc::O_CLOEXEC) as u64;
        let args = [CLOEXEC | NONBLOCK, events, 0, 0, 0, 0];
        // SAFETY: plain numbers; the descriptor is new and owned here.
        unsafe {
            let fd = raw_result(syscall(libc::SYS_fanotify_init, args))?;
            Ok(Self(File::from_raw_fd(fd as i32)))
        }
    }

    /// read(2) of one event, which opens the file for the reader, and close(2) of that descriptor;
    /// EAGAIN if there is no event, EPROTO if it is not one of an opening.
    #[inline(always)]
    pub fn take_one(&self) -> Result<(), Errno> {
        let mut event = Event::default();
        let bytes = size_of::<Event>();
        let args = [self.0.as_raw_fd() as u64, &raw mut event as u64, bytes as u64, 0, 0, 0];
        // SAFETY: the kernel writes at most as many bytes as the event has.
        let given = raw_result(unsafe { syscall(libc::SYS_read, args) })?;
        // SAFETY: the event is there; the kernel has written it.
        let event = unsafe { (&raw const event).read_volatile() };
        // An overflow of the queue has no file.
        if event.fd >= 0 {
            // SAFETY: the descriptor is new, and nothing else owns it.
            raw_result(unsafe { syscall(libc::SYS_close, [event.fd as u64, 0, 0, 0, 0, 0]) })?;
        }
        let is_whole = given == bytes as i64 && event.fd >= 0 && event.mask & OPEN != 0;
        if is_whole { Ok(()) } else { Err(Errno::EPROTO) }
    }

    /// Takes all events that are queued; returns how many.
    pub fn take_all(&self) -> Result<u64, Errno> {
        let mut taken = 0;
        loop {
            match self.take_one() {
                Ok(()) => taken += 1,
                Err(Errno::EAGAIN) => return Ok(taken),
                Err(error) => return Err(error),
            }
        }
    }
}

/// The reason of a refusal.
fn explain_error(error: Errno) -> Errno {
    let limits = [libc::EMFILE, libc::ENOSPC];
    if !error.is_unavailable() && error != Errno::EINVAL && !limits.contains(&error.0) {
        return error;
    }
    Errno::unavailable(format!(
        "no folder can be watched by fanotify(7) here: {error}; it takes CAP_SYS_ADMIN, a kernel \
         with CONFIG_FANOTIFY, and a filter of system calls that allows it"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::file::entries::{Folder, close};
    use crate::kernel::process::in_own_process;

    #[test]
    fn an_event_has_the_size_of_the_kernels() {
        assert_eq!(size_of::<Event>(), 24);
    }

    #[test]
    fn each_name_that_is_opened_is_an_event() {
        in_own_process(|| {
            let folder = Folder::temporary().unwrap();
            let notices = match OpenNotices::of(folder.file()) {
                Ok(notices) => notices,
                Err(error) => {
                    assert_eq!(error, Errno::UNAVAILABLE);
                    return eprintln!("cannot run here: {error}");
                }
            };
            for name in [c"one", c"two"] {
                close(folder.entry(name).create().unwrap()).unwrap();
            }
            // Each was opened when it was created.
            assert_eq!(notices.take_all(), Ok(2));
            for _ in 0..2 {
                close(folder.entry(c"one").open_to_read().unwrap()).unwrap();
            }
            // Equal events are merged.
            assert_eq!(notices.take_one(), Ok(()));
            assert_eq!(notices.take_one(), Err(Errno::EAGAIN));
        });
    }
}
