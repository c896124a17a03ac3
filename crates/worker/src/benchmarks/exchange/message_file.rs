//! Messages that are sent from a memory file: references to its pages go through the channel.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};

use super::super::prelude::*;
use crate::kernel::memory::region::memory_file;

/// Number of messages in the file at the same time: those still in transit keep their pages.
const SLOTS: usize = 4;
/// No page contains bytes of two messages.
const PAGE: usize = 4_096;

/// A memory file that holds the messages of one end.
pub(crate) struct MessageFile {
    pub(crate) file: File,
    /// Offset and length of the last message.
    offset: usize,
    bytes: usize,
    next: usize,
}

impl MessageFile {
    pub(crate) fn new() -> Result<Self, Errno> {
        Ok(Self { file: memory_file(0)?, offset: 0, bytes: 0, next: 0 })
    }

    /// Writes a message to the next slot of the file.
    pub(crate) fn write_message(&mut self, message: &[u8]) -> Result<(), Errno> {
        let offset = self.next % SLOTS * message.len().next_multiple_of(PAGE);
        self.next += 1;
        self.file.seek(SeekFrom::Start(offset as u64))?;
        self.file.write_all(message)?;
        (self.offset, self.bytes) = (offset, message.len());
        Ok(())
    }

    /// Ensures that a message of this length is in the file: the verified one, if it has this
    /// length. The timed messages are that one, and the file is not written meanwhile.
    pub(crate) fn ensure_length(&mut self, message: &[u8]) -> Result<(), OpError> {
        if self.bytes == message.len() {
            return Ok(());
        }
        self.write_message(message).map_err(|errno| OpError { op: 0, errno })
    }

    /// The file offset of the rest of the message, of which `done` bytes are sent.
    #[inline(always)]
    pub(crate) fn offset_of_rest(&self, done: usize) -> usize {
        self.offset + done
    }
}
