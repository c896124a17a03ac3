//! Names in a private folder, and the calls that add, change and remove them, by the raw
//! instruction with paths relative to an open folder.

use std::any::Any;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};

use crate::kernel::Errno;
use crate::kernel::arch::{syscall, syscall_by};
use crate::kernel::errno::raw_result;
use crate::kernel::file::location::{Location, PrivateFolder};
use crate::kernel::file::scratch_file::check_complete;
use crate::kernel::file::temp_folder::TempFolder;

/// A private folder, open for paths relative to it, and removed on drop with all that it contains.
pub struct Folder {
    // Dropped in this order: the folder is closed before it is removed.
    file: File,
    _removed_on_drop: Box<dyn Any>,
}

impl Folder {
    /// An empty folder at a location.
    #[inline(never)]
    pub fn new(location: Location) -> Result<Self, Errno> {
        let folder = PrivateFolder::new(location)?;
        Ok(Self { file: folder.open()?, _removed_on_drop: Box::new(folder) })
    }

    /// A folder among the temporary files, which contains [`TempFolder::SHALLOW_PATH`].
    #[inline(never)]
    pub fn temporary() -> Result<Self, Errno> {
        let folder = TempFolder::new()?;
        Ok(Self { file: File::open(folder.path())?, _removed_on_drop: Box::new(folder) })
    }

    /// An open folder of a mount that ends with its last descriptor.
    pub(in crate::kernel) fn of_mount(file: File) -> Self {
        Self { file, _removed_on_drop: Box::new(()) }
    }

    /// The open folder.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Adds empty files: links of one as far as the file system allows, since deleted files make
    /// later ones more expensive for a minute (see
    /// [`PopulatedFolder`](super::directory::PopulatedFolder)). They are written to the disk at
    /// once, and not during later measurements.
    #[inline(never)]
    pub fn add_files(&self, names: &[CString]) -> Result<(), Errno> {
        let mut last_created: Option<&CString> = None;
        for name in names {
            let new = self.entry(name);
            // Too many links, or a file system without hard links: the next file.
            if last_created.is_some_and(|file| self.entry(file).link_as(new).is_ok()) {
                continue;
            }
            match new.create().and_then(close) {
                Err(Errno::ENOSPC | Errno(libc::EDQUOT)) => {
                    return Err(Errno::unavailable(format!(
                        "no space for {} files: choose fewer `files`, or another directory",
                        names.len()
                    )));
                }
                created => created?,
            }
            last_created = Some(name);
        }
        Ok(rustix::fs::syncfs(&self.file)?)
    }

    /// A name in the folder, whether or not there is anything of that name.
    #[inline(always)]
    pub fn entry<'a>(&'a self, name: &'a CStr) -> Entry<'a> {
        Entry { folder: &self.file, name }
    }
}

/// Names of eight characters, all different.
pub fn numbered_names(count: usize) -> Result<Vec<CString>, Errno> {
    let name = |number: usize| CString::new(format!("f{number:07}")).map_err(|_| Errno::EINVAL);
    (0..count).map(name).collect()
}

/// pwrite64(2) of the first byte of a file.
#[inline(always)]
pub fn write_first_byte(file: &File) -> Result<(), Errno> {
    let byte = 1u8;
    let args = [file.as_raw_fd() as u64, &raw const byte as u64, 1, 0, 0, 0];
    // SAFETY: one byte is read, which is valid.
    check_complete(unsafe { syscall(libc::SYS_pwrite64, args) }, 1)
}

/// Closes a descriptor, by the raw instruction.
#[inline(always)]
pub fn close(fd: OwnedFd) -> Result<(), Errno> {
    let args = [fd.into_raw_fd() as u64, 0, 0, 0, 0, 0];
    // SAFETY: the descriptor was owned here, and nothing else refers to it.
    raw_result(unsafe { syscall(libc::SYS_close, args) }).map(drop)
}

/// How the name of something that does not exist is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// openat(2) for reading.
    Open,
    /// newfstatat(2).
    Stat,
    /// faccessat(2) for existence.
    Access,
}

/// A path relative to an open folder.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    folder: &'a File,
    name: &'a CStr,
}

// Each call reads NUL-terminated names that outlive it.
impl<'a> Entry<'a> {
    /// A path relative to any open folder.
    #[inline(always)]
    pub fn new(folder: &'a File, name: &'a CStr) -> Self {
        Self { folder, name }
    }

    #[inline(always)]
    fn folder_fd(self) -> u64 {
        self.folder.as_raw_fd() as u64
    }

    #[inline(always)]
    fn address(self) -> u64 {
        self.name.as_ptr() as u64
    }

    /// mkdirat(2).
    #[inline(always)]
    pub fn make_folder(self) -> Result<(), Errno> {
        let args = [self.folder_fd(), self.address(), 0o700, 0, 0, 0];
        // SAFETY: the name is NUL-terminated.
        raw_result(unsafe { syscall(libc::SYS_mkdirat, args) }).map(drop)
    }

    /// unlinkat(2) with AT_REMOVEDIR.
    #[inline(always)]
    pub fn remove_folder(self) -> Result<(), Errno> {
        let args = [self.folder_fd(), self.address(), libc::AT_REMOVEDIR as u64, 0, 0, 0];
        // SAFETY: the name is NUL-terminated.
        raw_result(unsafe { syscall(libc::SYS_unlinkat, args) }).map(drop)
    }

    /// unlinkat(2).
    #[inline(always)]
    pub fn unlink(self) -> Result<(), Errno> {
        let args = [self.folder_fd(), self.address(), 0, 0, 0, 0];
        // SAFETY: the name is NUL-terminated.
        raw_result(unsafe { syscall(libc::SYS_unlinkat, args) }).map(drop)
    }

    /// linkat(2): `new` becomes another name of this file.
    #[inline(always)]
    pub fn link_as(self, new: Entry<'_>) -> Result<(), Errno> {
        let args = [self.folder_fd(), self.address(), new.folder_fd(), new.address(), 0, 0];
        // SAFETY: both names are NUL-terminated.
        raw_result(unsafe { syscall(libc::SYS_linkat, args) }).map(drop)
    }

    /// symlinkat(2): this becomes a symbolic link with that content.
    #[inline(always)]
    pub fn link_to(self, content: &CStr) -> Result<(), Errno> {
        let args = [content.as_ptr() as u64, self.folder_fd(), self.address(), 0, 0, 0];
        // SAFETY: content and name are NUL-terminated.
        raw_result(unsafe { syscall(libc::SYS_symlinkat, args) }).map(drop)
    }

    /// renameat2(2), which exists on every architecture.
    #[inline(always)]
    pub fn rename_to(self, new: Entry<'_>) -> Result<(), Errno> {
        self.rename(new, 0)
    }

    /// renameat2(2) with RENAME_EXCHANGE: each gets the other's name.
    #[inline(always)]
    pub fn exchange_with(self, other: Entry<'_>) -> Result<(), Errno> {
        self.rename(other, libc::RENAME_EXCHANGE)
    }

    #[inline(always)]
    fn rename(self, new: Entry<'_>, flags: u32) -> Result<(), Errno> {
        let flags = u64::from(flags);
        let args = [self.folder_fd(), self.address(), new.folder_fd(), new.address(), flags, 0];
        // SAFETY: both names are NUL-terminated.
        raw_result(unsafe { syscall(libc::SYS_renameat2, args) }).map(drop)
    }

    #[inline(always)]
    fn open(self, flags: i32) -> Result<OwnedFd, Errno> {
        let flags = (flags | libc::O_CLOEXEC) as u64;
        let args = [self.folder_fd(), self.address(), flags, 0o600, 0, 0];
        // SAFETY: the name is NUL-terminated; the descriptor is new and owned here.
        unsafe { Ok(OwnedFd::from_raw_fd(raw_result(syscall(libc::SYS_openat, args))? as i32)) }
    }

    /// openat(2) of a folder, with O_DIRECTORY.
    #[inline(always)]
    pub fn open_folder(self) -> Result<OwnedFd, Errno> {
        self.open(libc::O_RDONLY | libc::O_DIRECTORY)
    }

    /// openat(2) of a file that exists, for reading.
    #[inline(always)]
    pub fn open_to_read(self) -> Result<OwnedFd, Errno> {
        self.open(libc::O_RDONLY)
    }

    /// openat(2) of a new file, for writing.
    #[inline(always)]
    pub fn create(self) -> Result<OwnedFd, Errno> {
        self.open(libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY)
    }

    /// openat(2) of a new file, for reading and writing.
    pub fn create_to_read_and_write(self) -> Result<OwnedFd, Errno> {
        self.open(libc::O_CREAT | libc::O_EXCL | libc::O_RDWR)
    }

    /// Looks up a name that must not exist: ENOENT is success.
    #[inline(always)]
    pub fn look_up_missing(self, by: Lookup) -> Result<(), Errno> {
        self.look_up_missing_by::<false>(by)
    }

    /// The same by a call in the loop or, with `FUNCTION`, through a function.
    #[inline(always)]
    pub fn look_up_missing_by<const FUNCTION: bool>(self, by: Lookup) -> Result<(), Errno> {
        // Nothing is written to it while the name does not exist.
        let mut stat = std::mem::MaybeUninit::<libc::stat>::uninit();
        let (number, args) = match by {
            Lookup::Open => {
                let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as u64;
                (libc::SYS_openat, [self.folder_fd(), self.address(), flags, 0, 0, 0])
            }
            Lookup::Stat => {
                let to = stat.as_mut_ptr() as u64;
                (libc::SYS_newfstatat, [self.folder_fd(), self.address(), to, 0, 0, 0])
            }
            Lookup::Access => {
                let mode = libc::F_OK as u64;
                (libc::SYS_faccessat, [self.folder_fd(), self.address(), mode, 0, 0, 0])
            }
        };
        // SAFETY: the name is NUL-terminated, and at most one stat is written. A descriptor would
        // only be returned for a file of that name, which fails the row.
        match raw_result(unsafe { syscall_by::<FUNCTION>(number, args) }) {
            Err(Errno::ENOENT) => Ok(()),
            Err(other) => Err(other),
            Ok(_) => Err(Errno::EPROTO),
        }
    }
}

/// An open folder that is read as a whole, again and again, with a buffer as large as the C
/// library's.
pub struct Listing {
    folder: File,
    buffer: Box<[u8]>,
    /// The bytes of all entries.
    bytes: u64,
}

/// A pass over a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListingPass {
    /// All entries, with `.` and `..`.
    pub entries: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How many calls returned them; the last one returns 0.
    pub calls: u64,
}

impl Listing {
    /// The buffer of opendir(3) where the file system's block is not larger (glibc and musl use at
    /// least 32 and 2 KiB).
    pub const BUFFER_BYTES: usize = 32_768;
    /// Where the length of an entry stands: after inode number and offset (`linux_dirent64`).
    const LENGTH_AT: usize = 16;

    /// Reads a folder for the first time, which must have so many entries besides `.` and `..`.
    #[inline(never)]
    pub fn new(folder: File, files: u64) -> Result<Self, Errno> {
        let buffer = vec![0; Self::BUFFER_BYTES].into_boxed_slice();
        let mut listing = Self { folder, buffer, bytes: 0 };
        let pass = listing.count()?;
        if pass.entries != files + 2 {
            return Err(Errno::check_failed(format!(
                "a directory of {files} files lists {} entries, and should list two more: `.` and \
                 `..`",
                pass.entries
            )));
        }
        listing.bytes = pass.bytes;
        Ok(listing)
    }

    /// Reads all of it and counts.
    pub fn count(&mut self) -> Result<ListingPass, Errno> {
        let mut pass = ListingPass::default();
        self.rewind::<false>()?;
        loop {
            let bytes = self.next_entries::<false>()? as usize;
            pass.calls += 1;
            if bytes == 0 {
                return Ok(pass);
            }
            pass.bytes += bytes as u64;
            let mut rest = &self.buffer[..bytes];
            while let Some(&[low, high]) = rest.get(Self::LENGTH_AT..Self::LENGTH_AT + 2) {
                let length = usize::from(u16::from_ne_bytes([low, high]));
                rest = rest.get(length.max(1)..).unwrap_or_default();
                pass.entries += 1;
            }
        }
    }

    #[inline(always)]
    fn rewind<const FUNCTION: bool>(&self) -> Result<(), Errno> {
        let args = [self.folder.as_raw_fd() as u64, 0, libc::SEEK_SET as u64, 0, 0, 0];
        // SAFETY: plain numbers; the descriptor is owned here.
        raw_result(unsafe { syscall_by::<FUNCTION>(libc::SYS_lseek, args) }).map(drop)
    }

    /// getdents64(2): the bytes of the next entries.
    #[inline(always)]
    fn next_entries<const FUNCTION: bool>(&mut self) -> Result<i64, Errno> {
        let (to, room) = (self.buffer.as_mut_ptr() as u64, self.buffer.len() as u64);
        let args = [self.folder.as_raw_fd() as u64, to, room, 0, 0, 0];
        // SAFETY: at most `room` bytes are written to the buffer.
        raw_result(unsafe { syscall_by::<FUNCTION>(libc::SYS_getdents64, args) })
    }

    /// Reads all of it: lseek(2) to the start, and getdents64(2) until it returns nothing.
    #[inline(always)]
    pub fn read(&mut self) -> Result<(), Errno> {
        self.read_by::<false>()
    }

    /// The same by calls in the loop or, with `FUNCTION`, through a function.
    #[inline(always)]
    pub fn read_by<const FUNCTION: bool>(&mut self) -> Result<(), Errno> {
        self.rewind::<FUNCTION>()?;
        let mut total = 0;
        loop {
            match self.next_entries::<FUNCTION>()? {
                0 if total == self.bytes => return Ok(()),
                0 => return Err(Errno::EPROTO),
                bytes => total += bytes as u64,
            }
        }
    }

    /// Reads, once, all of what another descriptor of the same folder lists.
    pub fn read_another(&mut self, folder: OwnedFd) -> Result<OwnedFd, Errno> {
        let own = std::mem::replace(&mut self.folder, folder.into());
        let read = self.read();
        let other = std::mem::replace(&mut self.folder, own);
        read.map(|()| other.into())
    }
}

#[cfg(test)]
mod tests;
