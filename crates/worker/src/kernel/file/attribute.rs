//! An extended attribute of an unnamed file, by the raw instruction.

use std::ffi::CStr;
use std::fs::File;
use std::os::fd::AsRawFd;

use crate::kernel::Errno;
use crate::kernel::arch::syscall;
use crate::kernel::errno::raw_result;
use crate::kernel::file::location::{Location, unnamed_file};

/// Its name: any user may set it on an own file.
pub const ATTRIBUTE_NAME: &CStr = c"user.oscost";

/// The attribute.
pub struct Attribute {
    file: File,
    value: [u8; Self::BYTES],
}

impl Attribute {
    /// Its length: that of a digest or an identifier.
    pub const BYTES: usize = 16;
    /// A file of one page.
    const FILE_BYTES: u64 = 4_096;

    /// Sets it on a new file.
    #[inline(never)]
    pub fn new(location: Location) -> Result<Self, Errno> {
        let file = unnamed_file(location, Self::FILE_BYTES)?;
        let mut attribute = Self { file, value: [0; Self::BYTES] };
        match attribute.set() {
            Ok(()) => Ok(attribute),
            Err(error @ (Errno::EOPNOTSUPP | Errno::EPERM | Errno::ENOSYS)) => {
                Err(Errno::unavailable(format!(
                    "an extended attribute cannot be set in this file system: {error}; tmpfs has \
                     those of users since Linux 6.6; select another directory"
                )))
            }
            Err(error) => Err(error),
        }
    }

    /// fsetxattr(2), each time of another value: file systems do nothing for the same one.
    #[inline(always)]
    pub fn set(&mut self) -> Result<(), Errno> {
        self.value[0] ^= 1;
        let (name, value) = (ATTRIBUTE_NAME.as_ptr() as u64, self.value.as_ptr() as u64);
        let args = [self.file.as_raw_fd() as u64, name, value, Self::BYTES as u64, 0, 0];
        // SAFETY: the name is NUL-terminated, and the value has as many bytes; both are only read.
        raw_result(unsafe { syscall(libc::SYS_fsetxattr, args) }).map(drop)
    }

    /// The file, which has the attribute.
    pub fn into_file(self) -> File {
        self.file
    }
}
