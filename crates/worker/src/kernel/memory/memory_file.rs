//! Files in memory (memfd_create(2)).

use std::fs::File;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io;
use rustix::process::{Resource, getrlimit};

use crate::kernel::Errno;

/// A new file in memory that will have so many bytes, empty so far and closed at exec(2). Where the
/// limit of file sizes is lower it is refused: to exceed it would end the process (SIGXFSZ).
///
/// It is one that cannot be executed: with `vm.memfd_noexec` at 2, Linux 6.3 to 6.5 refuse any that
/// does not say so. Earlier ones do not know the flag.
pub(crate) fn create(name: &str, bytes: u64) -> Result<File, Errno> {
    if getrlimit(Resource::Fsize).current.is_some_and(|limit| limit < bytes) {
        return Err(io::Errno::FBIG.into());
    }
    let created = match memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::NOEXEC_SEAL) {
        Err(io::Errno::INVAL) => memfd_create(name, MemfdFlags::CLOEXEC),
        created => created,
    };
    Ok(File::from(created?))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_in_memory_cannot_be_executed_where_the_kernel_knows_such_files() {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::NOEXEC_SEAL;
        if matches!(memfd_create("asked", flags), Err(io::Errno::INVAL)) {
            create("old", 0).unwrap();
            return eprintln!("not tested: a kernel before Linux 6.3");
        }
        let mode = create("new", 0).unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o111, 0, "{mode:o}");
    }
}
