//! Random bytes from the kernel.

use std::fs::File;
use std::os::fd::AsRawFd;

use super::call::{Buffer, Call};
use crate::kernel::Errno;

/// `getrandom(buffer, bytes, 0)`.
pub fn getrandom(bytes: usize) -> Call {
    let room = Buffer::zeroed(bytes);
    // SAFETY: as many bytes are written as the buffer has; the call owns it.
    let call = unsafe { Call::new(libc::SYS_getrandom, &[room.address(), bytes as u64, 0]) };
    call.with_results(bytes as i64..=bytes as i64).with_owned(room)
}

/// `read(fd, buffer, bytes)` from /dev/urandom.
pub fn read_urandom(bytes: usize) -> Result<Call, Errno> {
    let (file, room) = (File::open("/dev/urandom")?, Buffer::zeroed(bytes));
    let args = [file.as_raw_fd() as u64, room.address(), bytes as u64];
    // SAFETY: as many bytes are written as the buffer has; the call owns it and the descriptor.
    let call = unsafe { Call::new(libc::SYS_read, &args) };
    Ok(call.with_results(bytes as i64..=bytes as i64).with_owned(room).with_owned(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_bytes_come_in_the_number_that_was_asked_for() {
        for bytes in [8, 32, 256, 4_096] {
            assert_eq!(getrandom(bytes).ready().make(), Ok(bytes as i64));
            assert_eq!(read_urandom(bytes).unwrap().ready().make(), Ok(bytes as i64));
        }
    }
}
