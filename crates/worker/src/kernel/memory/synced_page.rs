//! A page of a file in memory that is written through a mapping and synced: msync(2).

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::kernel::Errno;
use crate::kernel::arch::syscall;
use crate::kernel::errno::raw_result;
use crate::kernel::memory::memory_file;
use crate::kernel::memory::region::{PAGE_BYTES, Region};

/// Whether msync(2) waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncWait {
    /// MS_SYNC: until the file system has the page on its medium.
    Sync,
    /// MS_ASYNC: not at all.
    Async,
}

/// A shared mapping of one page.
pub struct SyncedPage {
    region: Region,
    file: File,
    value: u8,
    flags: u64,
}

impl SyncedPage {
    /// A mapping of a new file in memory; its page is present.
    pub fn new(wait: SyncWait) -> Result<Self, Errno> {
        let file = memory_file::create("oscost", PAGE_BYTES as u64)?;
        file.set_len(PAGE_BYTES as u64)?;
        let region = Region::shared(&file, 0, PAGE_BYTES)?;
        let flags = match wait {
            SyncWait::Sync => libc::MS_SYNC,
            SyncWait::Async => libc::MS_ASYNC,
        };
        let mut page = Self { region, file, value: 0, flags: flags as u64 };
        page.store_and_sync()?;
        Ok(page)
    }

    /// Stores another byte than before, and syncs the page.
    #[inline(always)]
    pub fn store_and_sync(&mut self) -> Result<(), Errno> {
        self.value = self.value.wrapping_add(1);
        self.region.set_byte(0, self.value)?;
        let args = [self.region.address() as u64, PAGE_BYTES as u64, self.flags, 0, 0, 0];
        // SAFETY: the range is the mapping, whose content is kept.
        raw_result(unsafe { syscall(libc::SYS_msync, args) }).map(drop)
    }

    /// Whether the file has what was stored last.
    pub fn is_in_file(&self) -> Result<bool, Errno> {
        let mut found = [0];
        self.file.read_exact_at(&mut found, 0)?;
        Ok(found[0] == self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_in_the_file() {
        for wait in [SyncWait::Sync, SyncWait::Async] {
            let mut page = SyncedPage::new(wait).unwrap();
            for _ in 0..300 {
                assert_eq!(page.store_and_sync(), Ok(()));
                assert_eq!(page.is_in_file(), Ok(true), "{wait:?}");
            }
        }
    }
}
