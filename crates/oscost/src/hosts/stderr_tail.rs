//! The standard error of a child: it is read as it arrives, and its end is kept.

use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Child, ChildStderr};

/// The number of bytes kept.
const MAX_BYTES: usize = 4_096;

/// The end of a child's standard error.
pub(super) struct StderrTail {
    /// The pipe, until its end.
    source: Option<ChildStderr>,
    tail: Vec<u8>,
}

impl StderrTail {
    /// Takes the child's standard error, if it is a pipe.
    pub(super) fn from_child(child: &mut Child) -> Self {
        Self { source: child.stderr.take(), tail: Vec::new() }
    }

    /// The descriptor to poll for new text or the end.
    pub(super) fn source(&self) -> Option<BorrowedFd<'_>> {
        self.source.as_ref().map(AsFd::as_fd)
    }

    /// Reads what is available.
    pub(super) fn read_available(&mut self) {
        let Some(source) = &mut self.source else { return };
        let mut chunk = [0; MAX_BYTES];
        match source.read(&mut chunk) {
            Ok(read @ 1..) => {
                self.tail.extend_from_slice(&chunk[..read]);
                self.tail.drain(..self.tail.len().saturating_sub(MAX_BYTES));
            }
            // End of file, or an error.
            _ => self.source = None,
        }
    }

    /// The text that was kept.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.tail).into_owned()
    }
}
