//! Files without a name, of which nothing is left when their process has ended.

use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::kernel::Errno;

/// Opens an unnamed file in a folder (O_TMPFILE). Where the file system does not support that, it
/// is created as `fallback`, and that name is unlinked at once.
pub(in crate::kernel) fn open_unnamed(folder: &Path, fallback: &str) -> Result<File, Errno> {
    let mut options = File::options();
    options.read(true).write(true).mode(0o600);
    match options.clone().custom_flags(libc::O_TMPFILE).open(folder).map_err(Errno::from) {
        Err(Errno::EOPNOTSUPP | Errno::EINVAL | Errno(libc::EISDIR)) => {
            let name = folder.join(fallback);
            let file = options.create_new(true).open(&name)?;
            fs::remove_file(&name)?;
            Ok(file)
        }
        other => other,
    }
}
