//! Pipes.

use std::fs::File;

use rustix::pipe::{PipeFlags, pipe_with};

use crate::kernel::Errno;

/// The end to read from, the end to write to.
pub fn pipe() -> Result<(File, File), Errno> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    Ok((reader.into(), writer.into()))
}
