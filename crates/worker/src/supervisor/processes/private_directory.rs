//! The private directory of a run, which is removed with all that the program has written there.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use oscost_model::program::Program;

use crate::kernel::Errno;
use crate::kernel::file::location;
use crate::kernel::process;

/// The private directory of a run, with one for temporary files and one as the working directory.
pub(super) struct PrivateDirectory(PathBuf);

impl PrivateDirectory {
    /// Creates them, and changes to the program's working directory.
    pub(super) fn create(program: &Program) -> Result<Self, Errno> {
        // The supervisor removes it by this name if this process is killed.
        let made = Self(std::env::temp_dir().join(location::own_leftover_name()));
        let make = |folder: &PathBuf| DirBuilder::new().mode(0o700).create(folder);
        make(&made.0)?;
        let (temporary, here) = (made.0.join("tmp"), made.0.join("here"));
        make(&temporary)?;
        make(&here)?;
        process::set_environment_variable("TMPDIR", temporary.as_os_str())?;
        std::env::set_current_dir(program.working_directory.as_ref().map_or(here, PathBuf::from))?;
        Ok(made)
    }

    /// Removes the temporary files of a trial, so that the next one finds none.
    pub(super) fn clear(&self) -> Result<(), Errno> {
        let temporary = self.0.join("tmp");
        // Most programs leave it empty.
        if fs::remove_dir(&temporary).is_err() {
            remove_all(&temporary);
        }
        DirBuilder::new().mode(0o700).create(&temporary).map_err(Errno::from)
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        remove_all(&self.0);
    }
}

fn remove_all(directory: &Path) {
    if fs::remove_dir_all(directory).is_err() {
        // Some programs create directories without write permission, which cannot be emptied.
        let mut command = Command::new("chmod");
        command.args(["-R", "u+rwx"]).arg(directory).stderr(Stdio::null());
        let _ = command.status();
        // The rest is removed with the supervisor's own directory, if possible.
        let _ = fs::remove_dir_all(directory);
    }
}
