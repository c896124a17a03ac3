//! The lines between a job and the supervisor: orders in, events out.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;

use oscost_model::protocol::{Event, Order};

use crate::kernel::Errno;

/// The lines between a job and the supervisor.
pub(crate) struct Wire {
    input: BufReader<File>,
    output: File,
}

impl Wire {
    /// Standard input and output.
    pub(crate) fn stdio() -> Result<Self, Errno> {
        Ok(Self {
            input: BufReader::new(std::io::stdin().as_fd().try_clone_to_owned()?.into()),
            output: std::io::stdout().as_fd().try_clone_to_owned()?.into(),
        })
    }

    /// The two ends of a pair of pipes.
    pub(crate) fn new(input: File, output: File) -> Self {
        Self { input: BufReader::new(input), output }
    }

    /// The next order; `None` at the end of input.
    pub(crate) fn next_order(&mut self) -> Result<Option<Order>, Errno> {
        parse_order(&self.next_line()?)
    }

    /// The next line; empty at the end of input.
    pub(crate) fn next_line(&mut self) -> Result<Vec<u8>, Errno> {
        let mut line = Vec::new();
        self.input.read_until(b'\n', &mut line)?;
        Ok(line)
    }

    /// Sends one event.
    pub(crate) fn send(&mut self, event: &Event) -> Result<(), Errno> {
        self.send_line(serde_json::to_vec(event).map_err(|_| Errno::EINVAL)?)
    }

    /// Sends a line, in one write.
    pub(crate) fn send_line(&mut self, mut line: Vec<u8>) -> Result<(), Errno> {
        line.push(b'\n');
        self.output.write_all(&line).map_err(Errno::from)
    }
}

/// Parses a line, which the supervisor has already validated; `None` for an empty one.
pub(crate) fn parse_order(line: &[u8]) -> Result<Option<Order>, Errno> {
    if line.is_empty() {
        return Ok(None);
    }
    serde_json::from_slice(line).map(Some).map_err(|_| Errno::EINVAL)
}
