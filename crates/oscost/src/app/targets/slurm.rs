//! Nodes of Slurm as targets.

use oscost_model::target::Host;
use oscost_model::untrusted_text::display_text;

use crate::app::error::UsageError;
use crate::app::observer::Observer;
use crate::hosts::slurm::{SLURM_OPTIONS, SlurmJob, SlurmSession, SlurmSpec, SlurmSpecError};
use crate::hosts::{HostError, Interrupt, Session, WorkerBinary};
use crate::plan::{nearest_hint, nearest_names};

/// The longest text of a node or of Slurm that is shown.
const MAX_LETTERS: usize = 400;

/// Refuses a request for a node that srun(1) would not get as it was written.
pub(crate) fn check(host: &Host) -> Result<(), UsageError> {
    let Host::Slurm(text) = host else { return Ok(()) };
    parse(text).map(drop)
}

fn parse(text: &str) -> Result<SlurmSpec, UsageError> {
    SlurmSpec::parse(text).map_err(|error| {
        let SlurmSpecError::UnknownOption { name, .. } = &error else {
            return UsageError(error.to_string());
        };
        let nearest = nearest_names(name, SLURM_OPTIONS.into_iter());
        let hint = match nearest.is_empty() {
            true => format!("the options are `{}`", SLURM_OPTIONS.join("`, `")),
            false => nearest_hint(&nearest),
        };
        UsageError::with_hint(&error.to_string(), &hint)
    })
}

/// How a node is asked for.
pub(super) struct NodeRequest<'a, 'o> {
    /// Ends waiting and the session.
    pub(super) interrupt: &'a Interrupt,
    pub(super) observer: &'o dyn Observer,
    /// Whether to wait in the queue.
    pub(super) waits: bool,
}

/// Waits for a node and starts a session with it; `text` is what follows `slurm:`.
pub(super) fn open<'a>(
    text: &str,
    worker: &WorkerBinary,
    request: NodeRequest<'a, '_>,
) -> anyhow::Result<SlurmSession<'a>> {
    let (spec, host) = (parse(text)?, Host::Slurm(text.to_owned()).to_string());
    let NodeRequest { interrupt, observer, waits } = request;
    let variables = spec.variables_in_force(&|name| std::env::var(name).ok());
    if !variables.is_empty() {
        let variables = display_text(&variables.join(", "), MAX_LETTERS);
        observer.note(&format!("`{host}` has options of srun from variables: {variables}"));
    }
    let on_queued = |words: &str| {
        let words = display_text(words, MAX_LETTERS);
        observer.note(&format!("waiting for a node: {words}; Ctrl-C leaves the queue"));
    };
    let job = SlurmJob { host: &host, spec: &spec, waits, on_queued: &on_queued };
    let session = SlurmSession::open(&job, worker, interrupt)?;
    match &session.hello().slurm_node {
        Some(node) => {
            let name = display_text(&node.name, MAX_LETTERS);
            observer.status(&format!("`{host}` is node {name}"));
            Ok(session)
        }
        None => Err(HostError::Unreachable {
            host,
            why: "its task has no SLURMD_NODENAME".to_owned(),
            hint: "a prolog of the tasks must not remove the variables of Slurm".to_owned(),
        }
        .into()),
    }
}
