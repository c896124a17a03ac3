//! The answer of a job.

use oscost_model::protocol::Event;

use super::wire::Wire;
use crate::kernel::Errno;

/// What a job comes to.
pub(super) enum Answer {
    /// This is to be said.
    Event(Event),
    /// Another process of the job's says this: a line to pass on.
    Line(Vec<u8>),
    /// Another process of the job's has said it.
    Sent,
}

impl Answer {
    pub(super) fn send(self, wire: &mut Wire) -> Result<(), Errno> {
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
