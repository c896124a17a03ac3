//! The calls of a running process, counted by a worker that traces it.

use oscost_model::program_calls::ProgramCalls;

use crate::hosts::{HostError, Session};
use crate::run::jobs::process_watch::ProcessWatch;
use crate::run::jobs::workers::Workers;

/// Counts the calls of a process; `on_ready` is called when all of its threads are traced. The inner
/// error is why they cannot be counted.
pub fn count_process(
    session: &mut dyn Session,
    watch: ProcessWatch,
    on_ready: impl FnOnce(),
) -> Result<Result<ProgramCalls, String>, HostError> {
    let counted = Workers::new(session).count_process(watch, on_ready)?;
    Ok(counted.map_err(|failure| failure.reason))
}
