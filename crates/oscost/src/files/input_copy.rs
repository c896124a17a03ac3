//! What a pipe gives, kept so that it can be read again and again.
//!
//! It is a file in memory (memfd_create(2)), so that nothing is left behind, however this process
//! ends.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};

/// Where the kernel asks for a choice, a file in memory that is never executed. Before Linux 6.3
/// the flag is unknown.
const MFD_NOEXEC_SEAL: MFdFlags = MFdFlags::from_bits_retain(0x8);

/// A copy of what was read.
#[derive(Debug)]
pub struct InputCopy {
    file: File,
}

impl InputCopy {
    /// Reads to the end. More than `max_bytes` are an error.
    pub fn of(source: impl Read, max_bytes: u64) -> io::Result<Self> {
        const FLAGS: MFdFlags = MFdFlags::MFD_CLOEXEC.union(MFdFlags::MFD_ALLOW_SEALING);
        let created = match memfd_create("input", FLAGS | MFD_NOEXEC_SEAL) {
            Err(Errno::EINVAL) => memfd_create("input", FLAGS),
            created => created,
        };
        let mut file = File::from(created?);
        let bytes = io::copy(&mut source.take(max_bytes.saturating_add(1)), &mut file)?;
        if bytes > max_bytes {
            return Err(ErrorKind::FileTooLarge.into());
        }
        // Each reader finds the same, also after one that opened it again to write.
        let seals = SealFlag::F_SEAL_WRITE | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SHRINK;
        fcntl(&file, FcntlArg::F_ADD_SEALS(seals))?;
        Ok(Self { file })
    }

    /// The path at which other processes of this user can open it while it exists, each from its
    /// beginning.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write;

    use super::*;

    #[test]
    fn what_a_pipe_gives_is_read_again_and_again() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"once").unwrap();
        drop(writer);
        let copy = InputCopy::of(reader, 4).unwrap();
        for _ in 0..2 {
            assert_eq!(std::fs::read(copy.path()).unwrap(), b"once");
        }
        let opened = OpenOptions::new().write(true).open(copy.path());
        assert!(opened.and_then(|mut file| file.write_all(b"else")).is_err());
        assert_eq!(std::fs::read(copy.path()).unwrap(), b"once");
    }

    #[test]
    fn more_than_the_limit_is_an_error() {
        let endless = std::io::repeat(7);
        assert_eq!(InputCopy::of(endless, 1_000).unwrap_err().kind(), ErrorKind::FileTooLarge);
        let empty = InputCopy::of(std::io::empty(), 0).unwrap();
        assert_eq!(std::fs::read(empty.path()).unwrap(), b"");
    }
}
