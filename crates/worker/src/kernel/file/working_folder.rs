//! The working folder of the process, changed for as long as a value lives.

use std::ffi::CStr;
use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::kernel::Errno;
use crate::kernel::file::temp_folder::TempFolder;

/// A folder whose path has one component, on every system.
pub const SYSTEM_FOLDER: &CStr = c"/etc";

/// The working folder that this process had: it is restored on drop.
pub struct WorkingFolder {
    before: File,
    // Removed after the process has left it.
    _temporary: Option<TempFolder>,
}

impl WorkingFolder {
    /// Remembers the working folder, for calls that change it.
    pub fn remember() -> Result<Self, Errno> {
        Ok(Self { before: open_current()?, _temporary: None })
    }

    /// Enters a private folder, which contains [`TempFolder::SHALLOW_PATH`].
    pub fn temporary() -> Result<Self, Errno> {
        let (before, folder) = (open_current()?, TempFolder::new()?);
        std::env::set_current_dir(folder.path())?;
        Ok(Self { before, _temporary: Some(folder) })
    }

    /// Enters a folder whose absolute path has so many components: the system's folder of one, or a
    /// private one.
    pub fn at_depth(depth: usize) -> Result<Self, Errno> {
        let before = open_current()?;
        let working = if depth == 1 {
            std::env::set_current_dir("/etc")?;
            Self { before, _temporary: None }
        } else {
            let folder = TempFolder::new()?;
            let path = fs::canonicalize(folder.path())?;
            let Some(further) = depth.checked_sub(components(&path)) else {
                return Err(Errno::unavailable(format!(
                    "the path of the temporary directory, {}, has more than {depth} components: \
                     set TMPDIR to one with fewer",
                    path.display()
                )));
            };
            let inside = (0..further).fold(path, |path, _| path.join("d"));
            fs::create_dir_all(&inside)?;
            std::env::set_current_dir(&inside)?;
            Self { before, _temporary: Some(folder) }
        };
        let path = std::env::current_dir()?;
        if components(&path) != depth {
            return Err(Errno::unavailable(format!(
                "the working directory is {} here, whose path has not {depth} components",
                path.display()
            )));
        }
        Ok(working)
    }
}

impl Drop for WorkingFolder {
    fn drop(&mut self) {
        // A drop cannot report an error; the process may search the folder in which it began.
        let _ = rustix::process::fchdir(&self.before);
    }
}

/// The working folder; no permission to read it is needed.
fn open_current() -> Result<File, Errno> {
    Ok(File::options().read(true).custom_flags(libc::O_PATH).open(".")?)
}

/// The number of components after the root.
fn components(path: &Path) -> usize {
    path.components().count().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::process::in_own_process;

    #[test]
    fn the_working_folder_is_restored_and_a_private_one_is_removed() {
        in_own_process(|| {
            let before = std::env::current_dir().unwrap();
            for depth in [1, 10] {
                let working = match WorkingFolder::at_depth(depth) {
                    Ok(working) => working,
                    Err(Errno::UNAVAILABLE) => continue,
                    Err(error) => panic!("{error}"),
                };
                let inside = std::env::current_dir().unwrap();
                assert_eq!(components(&inside), depth);
                drop(working);
                assert_eq!(std::env::current_dir().unwrap(), before);
                assert_eq!(inside.exists(), depth == 1);
            }
            let working = WorkingFolder::temporary().unwrap();
            assert!(Path::new("file").exists());
            let inside = std::env::current_dir().unwrap();
            drop(working);
            assert_eq!(std::env::current_dir().unwrap(), before);
            assert!(!inside.exists());
        });
    }
}
