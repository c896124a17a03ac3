//! Files to be mapped, and their cached pages.

use std::fs::File;
use std::path::Path;

use rustix::fs::{Advice, fadvise};

use crate::kernel::Errno;
use crate::kernel::file::unnamed_file::open_unnamed;
use crate::kernel::memory::memory_file as anonymous_file;
use crate::kernel::time::clock::monotonic_raw_ns;

/// An anonymous file in memory (memfd_create(2)) of `bytes` bytes.
pub fn memory_file(bytes: u64) -> Result<File, Errno> {
    let file = anonymous_file::create("oscost", bytes)?;
    file.set_len(bytes)?;
    Ok(file)
}

/// An unnamed file in the working folder.
pub fn unnamed_file() -> Result<File, Errno> {
    let fallback = format!("pages-{}-{:x}", std::process::id(), monotonic_raw_ns());
    open_unnamed(Path::new("."), &fallback)
}

/// Asks the kernel to drop a file's cached pages; dirty pages stay.
pub fn drop_page_cache(file: &File) -> Result<(), Errno> {
    Ok(fadvise(file, 0, None, Advice::DontNeed)?)
}
