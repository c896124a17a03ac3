//! Messages that are sent out of a file in memory: the pages of the file go through the channel.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};

use super::super::prelude::*;
use crate::kernel::memory::region::memory_file;

/// As many messages lie in the file side by side: what is still under way keeps its pages.
const SIDE_BY_SIDE: usize = 4;
/// Of no two messages does a page hold bytes.
const PAGE: usize = 4_096;

/// A file that holds the messages of one end.
pub(in super::super) struct Held {
    pub(in super::super) file: File,
    /// Where the last message begins, and how long it is.
    from: usize,
    bytes: usize,
    next: usize,
}

impl Held {
    pub(in super::super) fn new() -> Result<Self, Errno> {
        Ok(Self { file: memory_file(0)?, from: 0, bytes: 0, next: 0 })
    }

    /// Writes a message to its place in the file.
    pub(in super::super) fn hold(&mut self, message: &[u8]) -> Result<(), Errno> {
        let from = self.next % SIDE_BY_SIDE * message.len().next_multiple_of(PAGE);
        self.next += 1;
        self.file.seek(SeekFrom::Start(from as u64))?;
        self.file.write_all(message)?;
        (self.from, self.bytes) = (from, message.len());
        Ok(())
    }

    /// Sees to it that a message of this length is held: the one that was verified, if it is as
    /// long. What is poured is that one, and nothing is written to it.
    pub(in super::super) fn hold_as_long(&mut self, message: &[u8]) -> Result<(), OpError> {
        if self.bytes == message.len() {
            return Ok(());
        }
        self.hold(message).map_err(|why| OpError { op: 0, errno: why })
    }

    /// Where the rest of the message begins of which so many bytes are done.
    #[inline(always)]
    pub(in super::super) fn place(&self, done: usize) -> usize {
        self.from + done
    }
}
