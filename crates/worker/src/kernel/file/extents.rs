//! The extents of a file (FS_IOC_FIEMAP).

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use crate::kernel::Errno;
use crate::kernel::file::location::{Location, unnamed_file};

/// `_IOWR('f', 11, struct fiemap)`.
const FS_IOC_FIEMAP: u32 = 0xc020_660b;

/// `struct fiemap` with room for one extent.
#[repr(C)]
struct OneExtent {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    extent: [u64; 7],
}

/// A file of one extent, in the folder in which oscost was started.
pub struct FileOfOneExtent(File);

impl FileOfOneExtent {
    /// Writes the file, and syncs it: before that it has no place on the disk.
    pub fn new() -> Result<Self, Errno> {
        let file = unnamed_file(Location::UserFolder, 4_096)?;
        file.write_all_at(&[1; 4_096], 0)?;
        file.sync_all()?;
        Ok(Self(file))
    }

    /// Asks for its extents; the number of those found.
    pub fn extents(&self) -> Result<u32, Errno> {
        let mut asked = OneExtent {
            start: 0,
            length: u64::MAX,
            flags: 0,
            mapped_extents: 0,
            extent_count: 1,
            reserved: 0,
            extent: [0; 7],
        };
        // SAFETY: the kernel writes at most one extent, for which there is room, and only during
        // the call.
        Errno::check(unsafe {
            libc::ioctl(self.0.as_raw_fd(), FS_IOC_FIEMAP as _, &raw mut asked)
        })?;
        Ok(asked.mapped_extents)
    }
}
