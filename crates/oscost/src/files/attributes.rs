//! The access control list of a file and the attributes that users gave it (xattr(7), acl(5)).

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{XattrFlags, fsetxattr, getxattr, listxattr};
use rustix::io::Errno;

/// The most bytes of the names of a file's attributes together, and of one value (xattr(7)).
const MAX_BYTES: usize = 64 << 10;

/// The access control list. What else the system keeps with a file is of its content (capabilities), or
/// follows from the policy for new files (labels).
const ACCESS_LIST: &[u8] = b"system.posix_acl_access";
/// What names of users begin with.
const OF_USERS: &[u8] = b"user.";

/// Gives an open file what an older one has of both; nothing where the file system has neither.
pub(super) fn keep(old: &Path, new: &File) -> io::Result<()> {
    let mut names = vec![0u8; MAX_BYTES];
    let length = match listxattr(old, &mut names[..]) {
        Err(Errno::NOTSUP | Errno::NOSYS) => return Ok(()),
        listed => listed?,
    };
    let is_kept = |name: &&[u8]| *name == ACCESS_LIST || name.starts_with(OF_USERS);
    for name in names[..length].split(|&byte| byte == 0).filter(is_kept) {
        let mut value = vec![0u8; MAX_BYTES];
        match getxattr(old, name, &mut value[..]) {
            // It was removed meanwhile.
            Err(Errno::NODATA) => {}
            read => set(new, name, &value[..read?])?,
        }
    }
    Ok(())
}

/// What may not be set here, as a list with a user whom this user namespace does not know, is like what
/// is forbidden: such a file is written in place, which keeps it.
fn set(new: &File, name: &[u8], value: &[u8]) -> Result<(), Errno> {
    fsetxattr(new, name, value, XattrFlags::empty()).map_err(|error| match error {
        Errno::INVAL | Errno::NOTSUP => Errno::ACCESS,
        other => other,
    })
}
