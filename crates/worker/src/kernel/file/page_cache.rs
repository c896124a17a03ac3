//! The page cache: how much of a file it holds, and how a file is evicted.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use crate::kernel::Errno;
use crate::kernel::machine::resources;
use crate::kernel::memory::region::{Access, PAGE_BYTES, PageKind, Region, drop_page_cache};
use crate::kernel::process::{self, WaitTarget};

/// cachestat(2), since Linux 6.5, which the C library does not name: the same number on every
/// architecture.
const CACHESTAT: i64 = 451;
/// Drops the page cache of the whole machine.
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";
/// More memory than this is not filled to evict a file: it would take seconds each time, and evict
/// other programs' caches.
const MAX_FILLED_BYTES: u64 = 2 << 30;
/// Filled between two checks of the file: the last step before it is evicted must fit into memory.
const FILL_STEP_BYTES: usize = 1 << 20;

/// The number of pages of a file's first `bytes` in the cache, by cachestat(2) or, where that is
/// missing, mincore(2).
pub fn cached_pages(file: &File, bytes: u64) -> Result<u64, Errno> {
    let range = [0u64, bytes];
    // `struct cachestat`: the pages in the cache, and four more numbers.
    let mut found = [0u64; 5];
    let args = [file.as_raw_fd() as u64, range.as_ptr() as u64, found.as_mut_ptr() as u64, 0, 0, 0];
    // SAFETY: two words are read and five are written, all locals.
    match unsafe { crate::kernel::arch::syscall(CACHESTAT, args) } {
        0 if found[0] > 0 => Ok(found[0]),
        // An older kernel, or a filter that does not know the call. A count of 0 is also what an
        // overlay file itself has, whose pages are those of the file below.
        _ => Region::shared(file, 0, bytes as usize)?.resident_pages().map(|pages| pages as u64),
    }
}

/// A method to evict a file from the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvictMethod {
    /// posix_fadvise(2): asks the kernel to drop this file's pages.
    Advice,
    /// Drops the machine's whole page cache.
    Drop,
    /// Fills memory until the file is evicted.
    Fill,
}

/// Evicts a file whose pages are all clean and unmapped, and verifies that none is cached.
pub fn evict(file: &File, bytes: u64, method: EvictMethod) -> Result<(), Errno> {
    /// Pages just added by another CPU are in its batch for a moment, and pages that are read ahead
    /// are locked until the disk has delivered them: 8 MiB at once, where `read_ahead_kb` is 8192,
    /// which takes a busy virtual disk some 100 ms.
    const PATIENCE: Duration = Duration::from_secs(3);
    /// Each fills memory.
    const FILL_TRIES: u32 = 3;
    const PAUSE: Duration = Duration::from_millis(2);
    let begun = Instant::now();
    let mut left = u64::MAX;
    let mut tries = 0;
    while tries == 0
        || begun.elapsed() < PATIENCE && (method != EvictMethod::Fill || tries < FILL_TRIES)
    {
        if tries > 0 {
            std::thread::sleep(PAUSE);
        }
        match method {
            EvictMethod::Advice => drop_page_cache(file)?,
            EvictMethod::Drop => drop_all_caches()?,
            EvictMethod::Fill => fill_memory(file, bytes)?,
        }
        left = cached_pages(file, bytes)?;
        if left == 0 {
            return Ok(());
        }
        tries += 1;
    }
    Err(Errno::check_failed(format!(
        "the file is not cold: the cache still holds {left} of its {} pages",
        bytes.div_ceil(PAGE_BYTES as u64)
    )))
}

fn drop_all_caches() -> Result<(), Errno> {
    std::fs::write(DROP_CACHES, "1").map_err(|error| {
        Errno::unavailable(format!(
            "cannot write to {DROP_CACHES}: {error}; run oscost as root, or choose evict=fadvise, \
             which needs no privilege"
        ))
    })
}

/// Allocates memory in a child, step by step, until none of the file is cached or memory runs out.
/// If that is too much, the kernel's OOM killer chooses the child first.
fn fill_memory(file: &File, bytes: u64) -> Result<(), Errno> {
    let max_bytes = resources::memory_bytes().unwrap_or(u64::MAX);
    if max_bytes > MAX_FILLED_BYTES {
        return Err(Errno::unavailable(format!(
            "{} MiB of memory would be filled before each pass, which takes seconds and \
             everybody's caches: `systemd-run --scope -p MemoryMax=512M oscost run ...`, or evict=fadvise",
            max_bytes >> 20
        )));
    }
    let parent = std::process::id();
    let child = process::fork(|| {
        let filled = process::die_with_parent(parent).and_then(|()| {
            std::fs::write("/proc/self/oom_score_adj", "1000")?;
            let mut regions = Vec::new();
            while (regions.len() * FILL_STEP_BYTES) as u64 <= max_bytes
                && cached_pages(file, bytes)? > 0
            {
                let region = Region::anonymous(FILL_STEP_BYTES, PageKind::Small)?;
                region.touch_all(Access::Write);
                regions.push(region);
            }
            Ok(())
        });
        i32::from(filled.is_err())
    })?;
    // Its status does not matter: the file is checked next.
    process::wait(WaitTarget::Child(child), true).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::file::location::{Location, file_system_type, unnamed_file};
    use oscost_model::file::{Backing, file_system};
    use std::os::unix::fs::FileExt;

    #[test]
    fn written_pages_are_cached_and_evicted_pages_are_not() {
        let bytes = 1 << 20;
        let file = unnamed_file(Location::UserFolder, bytes).unwrap();
        file.write_all_at(&vec![7; bytes as usize], 0).unwrap();
        file.sync_all().unwrap();
        assert_eq!(cached_pages(&file, bytes), Ok(256));
        let number = file_system_type(&file).unwrap();
        if file_system(number).backing != Backing::Disk {
            eprintln!("not tested: the sources lie in {}", file_system(number).name);
            return;
        }
        assert_eq!(evict(&file, bytes, EvictMethod::Advice), Ok(()));
        assert_eq!(cached_pages(&file, bytes), Ok(0));
        file.read_exact_at(&mut [0; 4_096], 65_536).unwrap();
        let back = cached_pages(&file, bytes).unwrap();
        assert!(back >= 1, "{back}");
        // By mincore(2) it is the same.
        let mapped = Region::shared(&file, 0, bytes as usize).unwrap();
        assert_eq!(mapped.resident_pages().unwrap() as u64, cached_pages(&file, bytes).unwrap());
    }

    #[test]
    fn a_file_that_stays_in_memory_is_never_called_cold() {
        let bytes = 1 << 20;
        let Ok(file) = unnamed_file(Location::Tmpfs, bytes) else { return };
        file.write_all_at(&vec![7; bytes as usize], 0).unwrap();
        let error = evict(&file, bytes, EvictMethod::Advice).unwrap_err();
        assert_eq!(error, Errno::CHECK_FAILED);
        assert!(error.to_string().contains("holds 256 of its 256 pages"), "{error}");
    }

    #[test]
    fn memory_is_not_filled_where_that_would_take_seconds() {
        if resources::memory_bytes().is_none_or(|bytes| bytes <= MAX_FILLED_BYTES) {
            eprintln!("not tested: there is little memory here");
            return;
        }
        let file = unnamed_file(Location::UserFolder, 1 << 20).unwrap();
        let error = evict(&file, 1 << 20, EvictMethod::Fill).unwrap_err();
        assert_eq!(error, Errno::UNAVAILABLE);
        assert!(error.to_string().contains("MemoryMax=512M"), "{error}");
    }
}
