//! The answer of a job.

use oscost_model::protocol::Event;

use super::wire::Wire;
use crate::kernel::Errno;

/// What a job comes to.
pub(super) enum Answer {
    /// This is to be said.
    Say(Event),
    /// Another process of the job's says this: a line to pass on.
    Pass(Vec<u8>),
    /// Another process of the job's has said it.
    Said,
}

impl Answer {
    pub(super) fn say(self, wire: &mut Wire) -> Result<(), Errno> {
        match self {
            Answer::Say(event) => wire.say(&event),
            Answer::Pass(line) => wire.pass(line),
            Answer::Said => Ok(()),
        }
    }
}

impl From<Event> for Answer {
    fn from(event: Event) -> Self {
        Answer::Say(event)
    }
}
