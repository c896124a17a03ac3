//! What a child says to people, on its standard error: taken in as it comes, and the end of it kept.

use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Child, ChildStderr};

/// So much of it is kept.
const MAX_BYTES: usize = 4_096;

/// The words of a child.
pub(super) struct StderrTail {
    /// Where they come from, until there will be no more.
    source: Option<ChildStderr>,
    kept: Vec<u8>,
}

impl StderrTail {
    /// Those of a child, if they are not said on our own standard error.
    pub(super) fn from_child(child: &mut Child) -> Self {
        Self { source: child.stderr.take(), kept: Vec::new() }
    }

    /// What to wait for: there is something new, or the end.
    pub(super) fn source(&self) -> Option<BorrowedFd<'_>> {
        self.source.as_ref().map(AsFd::as_fd)
    }

    /// Takes in what is there.
    pub(super) fn read_available(&mut self) {
        let Some(source) = &mut self.source else { return };
        let mut chunk = [0; MAX_BYTES];
        match source.read(&mut chunk) {
            Ok(read @ 1..) => {
                self.kept.extend_from_slice(&chunk[..read]);
                self.kept.drain(..self.kept.len().saturating_sub(MAX_BYTES));
            }
            // It will say nothing more.
            _ => self.source = None,
        }
    }

    /// The end of what was heard, as it was said.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.kept).into_owned()
    }
}
