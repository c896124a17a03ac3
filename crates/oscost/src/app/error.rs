//! The errors that have exit statuses of their own.

use thiserror::Error;

use crate::hosts::HostError;
use crate::hosts::slurm::SlurmOptionError;
use crate::plan::SelectorError;
use crate::run::RunError;

/// A request that is invalid as it was made.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct UsageError(pub String);

impl UsageError {
    /// An error with a hint on a line of its own.
    pub fn with_hint(what: &str, hint: &str) -> Self {
        Self(format!("{what}\n  hint: {hint}"))
    }
}

/// Whether the request is at fault, not the machine.
pub fn is_usage(error: &anyhow::Error) -> bool {
    error.is::<SelectorError>() || error.is::<UsageError>() || error.is::<SlurmOptionError>()
}

/// Whether a host could not be used.
pub fn is_of_host(error: &anyhow::Error) -> bool {
    error.is::<HostError>() || error.is::<RunError>()
}

/// Whether the user interrupted it, as the error of the session or of the run says.
pub fn is_interrupted(error: &anyhow::Error) -> bool {
    let host = error.downcast_ref::<HostError>();
    let run = error.downcast_ref::<RunError>();
    matches!(host, Some(HostError::Interrupted))
        || matches!(run, Some(RunError::Host(HostError::Interrupted)))
}
