//! Files of /proc that describe the calling process, read by raw calls.

use std::ffi::CStr;

use crate::kernel::errno::raw_count;
use crate::kernel::syscall;
use crate::kernel::{Errno, arch};

/// The most that a read returns: the size of the kernel's buffer for such a file.
const BUFFER_BYTES: usize = 4_096;

/// A file of /proc, and the buffer that it is read into.
pub struct ProcFile {
    path: &'static CStr,
    buffer: Box<[u8; BUFFER_BYTES]>,
}

impl ProcFile {
    /// The file at an absolute path.
    pub fn new(path: &'static CStr) -> Self {
        Self { path, buffer: Box::new([0; BUFFER_BYTES]) }
    }

    /// openat(2), one read(2) of up to 4096 bytes, and close(2); returns the bytes read. An empty
    /// file is an error: no file that is read here is empty.
    #[inline(always)]
    pub fn read(&mut self) -> Result<usize, Errno> {
        let fd = syscall::open(self.path)?;
        let args = [fd as u64, self.buffer.as_mut_ptr() as u64, BUFFER_BYTES as u64, 0, 0, 0];
        // SAFETY: at most as many bytes are written as the buffer has.
        let count = raw_count(unsafe { arch::syscall(libc::SYS_read, args) });
        syscall::close(fd)?;
        match count {
            Ok(0) => Err(Errno::EPROTO),
            count => count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_proc_is_read_anew_each_time() {
        let mut file = ProcFile::new(c"/proc/self/stat");
        for _ in 0..2 {
            let count = file.read().unwrap();
            let text = std::str::from_utf8(&file.buffer[..count]).unwrap();
            assert!(text.starts_with(&format!("{} (", std::process::id())), "{text}");
        }
        assert_eq!(ProcFile::new(c"/proc/self/no-such-file").read(), Err(Errno::ENOENT));
    }
}
