//! The calls of a running process, counted by a worker that traces it.

use crate::hosts::{HostError, Interrupt, Session};
use crate::run::jobs::process_watch::{ProcessWatch, WatchedCalls};
use crate::run::jobs::workers::Workers;

/// Counts the calls of a process; `on_ready` is called when all of its threads are traced. From then on
/// the interrupt ends the watch. The inner error is why they cannot be counted.
pub fn count_process(
    session: &mut dyn Session,
    watch: ProcessWatch,
    interrupt: &Interrupt,
    on_ready: impl FnOnce(),
) -> Result<Result<WatchedCalls, String>, HostError> {
    let counted = Workers::new(session).count_process(watch, interrupt, on_ready)?;
    Ok(counted.map_err(|failure| failure.reason))
}
