//! Pipes.

use std::fs::File;

use rustix::io::ioctl_fionread;
use rustix::pipe::{PipeFlags, pipe_with};

use crate::kernel::Errno;

/// The end to read from, the end to write to.
pub fn pipe() -> Result<(File, File), Errno> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    Ok((reader.into(), writer.into()))
}

/// The bytes that a pipe holds, asked at either end.
pub fn unread_bytes(end: &File) -> Result<u64, Errno> {
    Ok(ioctl_fionread(end)?)
}
