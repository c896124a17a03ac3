//! The answer of a job.

use oscost_model::protocol::Event;

use super::wire::Wire;
use crate::kernel::Errno;

/// The answer of a job.
pub(crate) enum Answer {
    /// An event to send.
    Event(Event),
    /// The line of another process of the job, to be forwarded.
    Line(Vec<u8>),
    /// Another process of the job has sent it.
    Sent,
}

impl Answer {
    pub(crate) fn send(self, wire: &mut Wire) -> Result<(), Errno> {
        match self {
            Answer::Event(event) => wire.send(&event),
            Answer::Line(line) => wire.send_line(line),
            Answer::Sent => Ok(()),
        }
    }
}

impl From<Event> for Answer {
    fn from(event: Event) -> Self {
        Answer::Event(event)
    }
}
