//! A temporary folder of one process.

use std::ffi::CStr;
use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::kernel::Errno;
use crate::kernel::time::clock::monotonic_raw_ns;

/// A private folder among the temporary files (for a worker, below the supervisor's own), with a
/// file at a shallow and one at a deep path. It is removed when dropped.
pub struct TempFolder {
    path: PathBuf,
}

impl TempFolder {
    /// A path of one component to a file in the folder.
    pub const SHALLOW_PATH: &CStr = c"file";
    /// A path of eight components to a file: as deep as source files on many machines.
    pub const DEEP_PATH: &CStr = c"1/2/3/4/5/6/7/file";

    /// Creates the folder with both files.
    pub fn new() -> Result<Self, Errno> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("oscost-{}-{made}-{:x}", std::process::id(), monotonic_raw_ns());
        let path = std::env::temp_dir().join(name);
        // Fails if anything of that name exists, symbolic links included.
        DirBuilder::new().mode(0o700).create(&path)?;
        let folder = Self { path };
        for file in [Self::SHALLOW_PATH, Self::DEEP_PATH] {
            let file = folder.path.join(file.to_str().map_err(|_| Errno::EINVAL)?);
            fs::create_dir_all(file.parent().unwrap_or(&folder.path))?;
            File::create_new(file)?;
        }
        Ok(folder)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        // Whatever cannot be removed here is removed with the supervisor's folder.
        let _ = fs::remove_dir_all(&self.path);
    }
}
