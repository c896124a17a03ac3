//! Calls that move pages between files and pipes without copying their bytes: sendfile(2),
//! splice(2), tee(2), vmsplice(2).

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;

use crate::kernel::Errno;
use crate::kernel::arch::syscall;
use crate::kernel::file::scratch_file::check_complete;
use crate::kernel::ipc::pipe::pipe;
use crate::kernel::memory::region::{Access, PAGE_BYTES, PageKind, Region};

fn number(file: &File) -> u64 {
    file.as_raw_fd() as u64
}

/// /dev/null, which takes pages and releases them.
fn open_null() -> Result<File, Errno> {
    Ok(File::options().write(true).open("/dev/null")?)
}

/// Sends the start of a file to /dev/null.
pub struct NullSender {
    from: File,
    null: File,
    bytes: u64,
}

impl NullSender {
    /// A sender of the first `bytes` bytes of a file of that length at least.
    pub fn new(from: File, bytes: u64) -> Result<Self, Errno> {
        Ok(Self { from, null: open_null()?, bytes })
    }

    /// sendfile(2); fails unless all bytes were sent.
    #[inline(always)]
    pub fn send(&self) -> Result<(), Errno> {
        let mut offset = 0i64;
        let to = [number(&self.null), number(&self.from)];
        let args = [to[0], to[1], &raw mut offset as u64, self.bytes, 0, 0];
        // SAFETY: the offset is read and written, and is a local.
        check_complete(unsafe { syscall(libc::SYS_sendfile, args) }, self.bytes)
    }
}

/// The call that fills a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipeCall {
    /// splice(2) from another pipe, which is empty afterwards.
    Splice,
    /// tee(2) from another pipe, which keeps its content.
    Tee,
    /// vmsplice(2) of pages of the program.
    Vmsplice,
}

/// Two pipes, between which pages move.
pub struct PipeMover {
    call: PipeCall,
    bytes: u64,
    pipes: [(File, File); 2],
    null: File,
    /// What vmsplice(2) passes on; and the vector that says so, at an address that stays.
    _pages: Region,
    vector: Box<libc::iovec>,
    /// The pipe that has the content.
    full: usize,
}

/// No call waits: what does not fit is an error.
const NO_WAIT: u64 = libc::SPLICE_F_NONBLOCK as u64;

impl PipeMover {
    /// Pipes for `bytes` bytes, whole pages. The first one is filled, unless pages of the program
    /// are passed on.
    pub fn new(call: PipeCall, bytes: usize) -> Result<Self, Errno> {
        let pipes = [pipe()?, pipe()?];
        for (reader, _) in &pipes {
            // A pipe of a user who has many holds a page or two alone, and cannot be made larger.
            rustix::pipe::fcntl_setpipe_size(reader, bytes.max(PAGE_BYTES))?;
        }
        let pages = Region::anonymous(bytes.next_multiple_of(PAGE_BYTES), PageKind::Small)?;
        pages.touch_all(Access::Write);
        let base = pages.address() as *mut libc::c_void;
        let vector = Box::new(libc::iovec { iov_base: base, iov_len: bytes });
        if call != PipeCall::Vmsplice {
            (&pipes[0].1).write_all(&vec![1u8; bytes])?;
        }
        let (null, bytes) = (open_null()?, bytes as u64);
        Ok(Self { call, bytes, pipes, null, _pages: pages, vector, full: 0 })
    }

    /// Makes the call. What tee(2) and vmsplice(2) put into a pipe moves on to /dev/null, by
    /// splice(2), so that it is empty again.
    #[inline(always)]
    pub fn run(&mut self) -> Result<(), Errno> {
        let bytes = self.bytes;
        let [one, other] = [self.full, self.full ^ 1];
        let (from, to) = (number(&self.pipes[one].0), number(&self.pipes[other].1));
        let done = match self.call {
            PipeCall::Splice => {
                self.full = other;
                // SAFETY: plain numbers: pipes have no offsets.
                return check_complete(
                    unsafe { syscall(libc::SYS_splice, [from, 0, to, 0, bytes, NO_WAIT]) },
                    bytes,
                );
            }
            // SAFETY: plain numbers.
            PipeCall::Tee => unsafe { syscall(libc::SYS_tee, [from, to, bytes, NO_WAIT, 0, 0]) },
            PipeCall::Vmsplice => {
                let vector = &raw const *self.vector as u64;
                // SAFETY: one vector is read. Its pages are mapped for as long as this lives, and
                // the pipe has released them when this function returns.
                unsafe { syscall(libc::SYS_vmsplice, [to, vector, 1, NO_WAIT, 0, 0]) }
            }
        };
        check_complete(done, bytes)?;
        let out = [number(&self.pipes[other].0), 0, number(&self.null), 0, bytes, NO_WAIT];
        // SAFETY: plain numbers.
        check_complete(unsafe { syscall(libc::SYS_splice, out) }, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::ioctl_fionread;

    #[test]
    fn pages_are_where_each_call_leaves_them() {
        for bytes in [4_096u64, 65_536] {
            for (call, [first, second], [after_one, after_two]) in [
                (PipeCall::Splice, [bytes, 0], [[0, bytes], [bytes, 0]]),
                (PipeCall::Tee, [bytes, 0], [[bytes, 0]; 2]),
                (PipeCall::Vmsplice, [0, 0], [[0, 0]; 2]),
            ] {
                let mut mover = match PipeMover::new(call, bytes as usize) {
                    Err(error) => return eprintln!("skipped: {error}"),
                    Ok(mover) => mover,
                };
                let held = |mover: &PipeMover| {
                    [0, 1].map(|which| ioctl_fionread(&mover.pipes[which].0).unwrap())
                };
                assert_eq!(held(&mover), [first, second], "{call:?}");
                assert_eq!(mover.run(), Ok(()), "{call:?}");
                assert_eq!(held(&mover), after_one, "{call:?}");
                assert_eq!(mover.run(), Ok(()), "{call:?}");
                assert_eq!(held(&mover), after_two, "{call:?}");
            }
        }
    }
}
