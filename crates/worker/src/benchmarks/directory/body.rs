//! The bodies of ops that need something prepared before each batch, or that are checked by counts
//! after it.

use std::ffi::CString;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use crate::benchmarks::prelude::*;
use crate::kernel::file::entries::{
    Entry, Folder, Listing, Lookup, close, numbered_names, write_first_byte,
};
use crate::kernel::file::inotify::{CREATIONS, EventCounts, Inotify, no_watch_left};
use crate::kernel::file::location::Location;
use crate::kernel::file::temp_folder::TempFolder;
use crate::kernel::process::limits;

/// Batches of this many ops last more than 100 us; more would only add untimed work.
const MAX_OPS: u64 = 256;

/// The timed loop.
#[inline(always)]
fn repeat(
    iterations: u64,
    unroll: u32,
    mut op: impl FnMut() -> Result<(), Errno>,
) -> Result<(), OpError> {
    for index in 0..iterations * u64::from(unroll) {
        op().map_err(|errno| OpError { op: index, errno })?;
    }
    Ok(())
}

/// Look-ups of names that no look-up has named before, in a folder that is new for each batch.
pub(super) struct NewNames {
    // Dropped in this order: a folder is closed before it is removed.
    current: Option<File>,
    parent: Folder,
    names: Vec<CString>,
    next_name: usize,
    by: Lookup,
}

impl NewNames {
    pub(super) fn work(location: Location, by: Lookup) -> Result<Work, Errno> {
        let (parent, names) = (Folder::new(location)?, numbered_names(MAX_OPS as usize)?);
        let body = Self { current: None, parent, names, next_name: 0, by };
        Ok(Work::from_prepared_body(Shape::WithLoop, body).with_max_batch_ops(MAX_OPS))
    }
}

impl WorkBody for NewNames {
    /// Removing a folder removes what is cached of its names.
    fn prepare(&mut self, _ops: u64) -> Result<(), Errno> {
        let entry = self.parent.entry(c"new");
        if self.current.take().is_some() {
            entry.remove_folder()?;
        }
        entry.make_folder()?;
        self.current = Some(entry.open_folder()?.into());
        self.next_name = 0;
        Ok(())
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        let (names, by) = (&self.names, self.by);
        let unprepared = OpError { op: 0, errno: Errno::EBADF };
        let folder = self.current.as_ref().ok_or(unprepared)?;
        let next_name = &mut self.next_name;
        repeat(iterations, unroll, || {
            let name = names.get(*next_name).ok_or(Errno::E2BIG)?;
            *next_name += 1;
            Entry::new(folder, name).look_up_missing(by)
        })
    }
}

/// Renames onto a name that exists; each takes another file with it.
pub(super) struct Replacements {
    folder: Folder,
    names: Vec<CString>,
    next_name: usize,
}

impl Replacements {
    pub(super) fn work(location: Location) -> Result<Work, Errno> {
        let (folder, names) = (Folder::new(location)?, numbered_names(MAX_OPS as usize)?);
        close(folder.entry(c"replaced").create()?)?;
        let body = Self { folder, names, next_name: 0 };
        Ok(Work::from_prepared_body(Shape::WithLoop, body).with_max_batch_ops(MAX_OPS))
    }
}

impl WorkBody for Replacements {
    /// Creates a file for each op; some may be left from a batch that ended early.
    fn prepare(&mut self, ops: u64) -> Result<(), Errno> {
        for name in self.names.iter().take(ops as usize) {
            match self.folder.entry(name).create() {
                Ok(file) => close(file)?,
                Err(Errno(libc::EEXIST)) => {}
                Err(error) => return Err(error),
            }
        }
        self.next_name = 0;
        Ok(())
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        let (folder, names, next_name) = (&self.folder, &self.names, &mut self.next_name);
        repeat(iterations, unroll, || {
            let name = names.get(*next_name).ok_or(Errno::E2BIG)?;
            *next_name += 1;
            folder.entry(name).rename_to(folder.entry(c"replaced"))
        })
    }
}

/// Closes of a folder that was opened once for each op, and read or not.
pub(super) struct Closes {
    // Dropped in this order: the folder is closed before it is removed.
    open: Vec<OwnedFd>,
    listing: Listing,
    folder: Folder,
    is_read: bool,
}

impl Closes {
    /// Names in the folder.
    const FILES: usize = 100;
    /// An upper bound, with a margin, of the descriptors that the worker itself has open.
    const RESERVED_DESCRIPTORS: u64 = 32;

    pub(super) fn work(location: Location, is_read: bool) -> Result<Work, Errno> {
        let limit = limits::raise_descriptor_limit()?;
        let max_ops = limit.saturating_sub(Self::RESERVED_DESCRIPTORS).min(MAX_OPS);
        if max_ops == 0 {
            return Err(Errno::EMFILE);
        }
        let folder = Folder::new(location)?;
        folder.add_files(&numbered_names(Self::FILES)?)?;
        let listing = Listing::new(folder.file().try_clone()?, Self::FILES as u64)?;
        let open = Vec::with_capacity(max_ops as usize);
        let body = Self { open, listing, folder, is_read };
        Ok(Work::from_prepared_body(Shape::WithLoop, body).with_max_batch_ops(max_ops))
    }
}

impl WorkBody for Closes {
    fn prepare(&mut self, ops: u64) -> Result<(), Errno> {
        self.open.clear();
        for _ in 0..ops {
            let opened = self.folder.entry(c".").open_folder()?;
            let opened = if self.is_read { self.listing.read_another(opened)? } else { opened };
            self.open.push(opened);
        }
        Ok(())
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        let open = &mut self.open;
        repeat(iterations, unroll, || close(open.pop().ok_or(Errno::EBADF)?))
    }
}

/// What changes in a folder that may be watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// A file is created, closed and unlinked.
    CreateUnlink,
    /// A byte of a file is overwritten.
    Write,
}

/// Changes in a folder, and the events that a watch of it queues.
pub(super) struct Changes {
    // Dropped in this order: the folder is closed before it is removed.
    written: File,
    folder: Folder,
    inotify: Option<Inotify>,
    change: Change,
    /// Ops since events were last read.
    done: u64,
}

impl Changes {
    /// Half of it as ops, each of which may queue two events.
    const MAX_EVENTS: u64 = 2 * 1_024;

    pub(super) fn work(location: Location, change: Change, watch: bool) -> Result<Work, Errno> {
        let folder = Folder::new(location)?;
        let written = File::from(folder.entry(c"written").create()?);
        write_first_byte(&written)?;
        let inotify = match watch {
            true => {
                let inotify = Inotify::new()?;
                inotify.watch_folder(folder.file())?;
                Some(inotify)
            }
            false => None,
        };
        let max_ops = Inotify::max_events().min(Self::MAX_EVENTS) / 2;
        let body = Self { written, folder, inotify, change, done: 0 };
        Ok(Work::from_prepared_body(Shape::WithLoop, body).with_max_batch_ops(max_ops))
    }
}

impl WorkBody for Changes {
    fn prepare(&mut self, _ops: u64) -> Result<(), Errno> {
        self.done = 0;
        self.inotify.as_ref().map_or(Ok(()), |inotify| inotify.take_events().map(drop))
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        self.done += iterations * u64::from(unroll);
        let (folder, written) = (&self.folder, &self.written);
        match self.change {
            Change::CreateUnlink => repeat(iterations, unroll, || {
                let entry = folder.entry(c"created");
                close(entry.create()?)?;
                entry.unlink()
            }),
            Change::Write => repeat(iterations, unroll, || write_first_byte(written)),
        }
    }

    /// Equal events in succession are merged: a file that is written again and again is one.
    fn verify(&mut self) -> Result<(), Errno> {
        let Some(inotify) = &self.inotify else { return Ok(()) };
        let done = std::mem::take(&mut self.done);
        let expected = match self.change {
            Change::CreateUnlink => {
                EventCounts { created: done, deleted: done, ..EventCounts::default() }
            }
            Change::Write => EventCounts { modified: done.min(1), ..EventCounts::default() },
        };
        expect_events(inotify, expected)
    }
}

/// Watches of a folder of their own, each added and removed.
pub(super) struct Watches {
    // Dropped in this order: the instance ends before the folder is removed.
    inotify: Inotify,
    path: CString,
    _folder: TempFolder,
    /// Ops since events were last read.
    done: u64,
}

impl Watches {
    /// Each removed watch queues an event.
    const MAX_OPS: u64 = 1_024;

    pub(super) fn work() -> Result<Work, Errno> {
        let (inotify, folder) = (Inotify::new()?, TempFolder::new()?);
        // A worker's working folder is the one of its temporary files: a path of one component.
        let here = std::env::current_dir()?;
        let path = folder.path().strip_prefix(here).unwrap_or(folder.path());
        let path = CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno::EINVAL)?;
        let mut body = Self { inotify, path, _folder: folder, done: 0 };
        match body.add_and_remove() {
            Err(Errno::ENOSPC) => return Err(no_watch_left()),
            tried => tried?,
        }
        let max_ops = Inotify::max_events().min(Self::MAX_OPS);
        Ok(Work::from_prepared_body(Shape::WithLoop, body).with_max_batch_ops(max_ops))
    }

    #[inline(always)]
    fn add_and_remove(&mut self) -> Result<(), Errno> {
        let watch = self.inotify.add(&self.path, CREATIONS)?;
        self.inotify.remove(watch)
    }
}

impl WorkBody for Watches {
    fn prepare(&mut self, _ops: u64) -> Result<(), Errno> {
        self.done = 0;
        self.inotify.take_events().map(drop)
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        self.done += iterations * u64::from(unroll);
        repeat(iterations, unroll, || self.add_and_remove())
    }

    fn verify(&mut self) -> Result<(), Errno> {
        let ignored = std::mem::take(&mut self.done);
        expect_events(&self.inotify, EventCounts { ignored, ..EventCounts::default() })
    }
}

/// Reads the events that a batch has queued, which must be these.
fn expect_events(inotify: &Inotify, expected: EventCounts) -> Result<(), Errno> {
    match inotify.take_events()? {
        events if events == expected => Ok(()),
        events => Err(Errno::check_failed(format!(
            "the ops of a batch should have queued {expected:?}, and queued {events:?}"
        ))),
    }
}
