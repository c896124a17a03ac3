//! Watches of inotify(7), and the events that they queue.

use std::ffi::{CStr, CString};
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd};

use crate::kernel::Errno;
use crate::kernel::arch::syscall;
use crate::kernel::errno::raw_result;

/// What a watch of a folder reports: names that are added and removed, and files that are written.
pub const CHANGES: u32 = libc::IN_CREATE | libc::IN_DELETE | libc::IN_MODIFY;

/// Names that are added to a folder.
pub const CREATIONS: u32 = libc::IN_CREATE;

/// An inotify instance.
pub struct Inotify(File);

/// The events that were queued, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventCounts {
    /// IN_CREATE.
    pub created: u64,
    /// IN_DELETE.
    pub deleted: u64,
    /// IN_MODIFY.
    pub modified: u64,
    /// IN_IGNORED: a watch was removed.
    pub ignored: u64,
    /// All others, such as IN_Q_OVERFLOW.
    pub others: u64,
}

/// The number of a watch.
#[derive(Clone, Copy)]
pub struct Watch(i64);

impl Inotify {
    /// An instance without watches, which never blocks.
    #[inline(never)]
    pub fn new() -> Result<Self, Errno> {
        // SAFETY: plain numbers.
        let fd = Errno::check(unsafe { libc::inotify_init1(libc::IN_NONBLOCK | libc::IN_CLOEXEC) });
        match fd {
            // SAFETY: the descriptor is new and owned here.
            Ok(fd) => Ok(Self(unsafe { File::from_raw_fd(fd) })),
            Err(Errno::EMFILE) => Err(Errno::unavailable(
                "this user has no inotify instance left: `sudo sysctl \
                 fs.inotify.max_user_instances=256`"
                    .to_owned(),
            )),
            Err(error) => Err(error),
        }
    }

    /// How many events this system queues at most for an instance; 16384 if it does not say.
    pub fn max_events() -> u64 {
        let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events");
        limit.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(16_384)
    }

    /// inotify_add_watch(2), by the raw instruction.
    #[inline(always)]
    pub fn add(&self, path: &CStr, events: u32) -> Result<Watch, Errno> {
        let args = [self.0.as_raw_fd() as u64, path.as_ptr() as u64, u64::from(events), 0, 0, 0];
        // SAFETY: the path is NUL-terminated; the kernel only reads it.
        raw_result(unsafe { syscall(libc::SYS_inotify_add_watch, args) }).map(Watch)
    }

    /// inotify_rm_watch(2), by the raw instruction.
    #[inline(always)]
    pub fn remove(&self, watch: Watch) -> Result<(), Errno> {
        let args = [self.0.as_raw_fd() as u64, watch.0 as u64, 0, 0, 0, 0];
        // SAFETY: plain numbers.
        raw_result(unsafe { syscall(libc::SYS_inotify_rm_watch, args) }).map(drop)
    }

    /// Watches an open folder, untimed.
    #[inline(never)]
    pub fn watch_folder(&self, folder: &File) -> Result<(), Errno> {
        let path = CString::new(format!("/proc/self/fd/{}", folder.as_raw_fd()));
        match self.add(&path.map_err(|_| Errno::EINVAL)?, CHANGES) {
            Ok(_) => Ok(()),
            Err(Errno::ENOSPC) => Err(no_watch_left()),
            Err(error) => Err(error),
        }
    }

    /// Reads and counts all events that are queued.
    pub fn take_events(&self) -> Result<EventCounts, Errno> {
        /// Two thousand events with short names.
        const BUFFER_BYTES: usize = 65_536;
        /// Watch, mask, cookie and length of the name: `struct inotify_event`.
        const HEADER_BYTES: usize = 16;
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut counts = EventCounts::default();
        loop {
            let bytes = match (&self.0).read(&mut buffer).map_err(Errno::from) {
                Ok(bytes) => bytes,
                Err(Errno::EAGAIN) => return Ok(counts),
                Err(error) => return Err(error),
            };
            let mut rest = &buffer[..bytes];
            while let Some((header, names)) = rest.split_at_checked(HEADER_BYTES) {
                let word = |at: usize| {
                    u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
                };
                counts.add(word(4));
                rest = names.get(word(12) as usize..).unwrap_or_default();
            }
        }
    }
}

impl EventCounts {
    fn add(&mut self, mask: u32) {
        let count = match mask {
            libc::IN_CREATE => &mut self.created,
            libc::IN_DELETE => &mut self.deleted,
            libc::IN_MODIFY => &mut self.modified,
            libc::IN_IGNORED => &mut self.ignored,
            _ => &mut self.others,
        };
        *count += 1;
    }
}

/// The reason of ENOSPC.
pub fn no_watch_left() -> Errno {
    Errno::unavailable(
        "this user has no inotify watch left: `sudo sysctl fs.inotify.max_user_watches=65536`"
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::file::entries::{Folder, close};
    use crate::kernel::file::location::Location;
    use crate::kernel::process::in_own_process;

    #[test]
    fn every_change_of_a_watched_folder_is_an_event() {
        in_own_process(|| {
            let folder = Folder::new(Location::Tmpfs).unwrap();
            let inotify = Inotify::new().unwrap();
            inotify.watch_folder(folder.file()).unwrap();
            for _ in 0..1_000 {
                close(folder.entry(c"name").create().unwrap()).unwrap();
                folder.entry(c"name").unlink().unwrap();
            }
            let expected = EventCounts { created: 1_000, deleted: 1_000, ..Default::default() };
            assert_eq!(inotify.take_events(), Ok(expected));
            assert_eq!(inotify.take_events(), Ok(EventCounts::default()));
        });
    }

    #[test]
    fn every_watch_that_is_removed_is_an_event() {
        in_own_process(|| {
            let inotify = Inotify::new().unwrap();
            for _ in 0..100 {
                inotify.remove(inotify.add(c".", libc::IN_CREATE).unwrap()).unwrap();
            }
            let expected = EventCounts { ignored: 100, ..Default::default() };
            assert_eq!(inotify.take_events(), Ok(expected));
        });
    }
}
