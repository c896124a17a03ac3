//! A temporary folder of one process.

use std::ffi::CStr;
use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::kernel::Errno;
use crate::kernel::time::clock::monotonic_raw_ns;

/// A private folder among the temporary files (for a worker, below the supervisor's own), with a file
/// near and a file far. It is removed with the value.
pub struct TempFolder {
    path: PathBuf,
}

impl TempFolder {
    /// The path of one name that leads from the folder to a file.
    pub const SHALLOW_PATH: &CStr = c"file";
    /// The path of eight names that leads from the folder to a file: as far as a source file is
    /// from the root on many machines.
    pub const DEEP_PATH: &CStr = c"1/2/3/4/5/6/7/file";

    /// Makes the folder; it holds [`Self::SHALLOW_PATH`], and the first folder on the way to
    /// [`Self::DEEP_PATH`].
    pub fn new() -> Result<Self, Errno> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("oscost-{}-{made}-{:x}", std::process::id(), monotonic_raw_ns());
        let path = std::env::temp_dir().join(name);
        // Fails where anything of that name is already there, a link too.
        DirBuilder::new().mode(0o700).create(&path)?;
        let folder = Self { path };
        for file in [Self::SHALLOW_PATH, Self::DEEP_PATH] {
            let file = folder.path.join(file.to_str().map_err(|_| Errno::EINVAL)?);
            fs::create_dir_all(file.parent().unwrap_or(&folder.path))?;
            File::create_new(file)?;
        }
        Ok(folder)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        // What cannot be removed here goes with the supervisor's own folder.
        let _ = fs::remove_dir_all(&self.path);
    }
}
