//! The errors that the command line tells apart by their exit status.

use thiserror::Error;

use crate::hosts::HostError;
use crate::plan::SelectorError;
use crate::run::RunError;

/// A request that cannot be followed as it was made.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct UsageError(pub String);

impl UsageError {
    /// With a hint on a line of its own.
    pub(super) fn with_hint(what: &str, hint: &str) -> Self {
        Self(format!("{what}\n  hint: {hint}"))
    }
}

/// Whether the request is at fault, not the machine.
pub fn is_usage(error: &anyhow::Error) -> bool {
    error.is::<SelectorError>() || error.is::<UsageError>()
}

/// Whether the user stopped it: the session says so, or the run that it was part of.
pub fn is_interrupted(error: &anyhow::Error) -> bool {
    let host = error.downcast_ref::<HostError>();
    let run = error.downcast_ref::<RunError>();
    matches!(host, Some(HostError::Interrupted))
        || matches!(run, Some(RunError::Host(HostError::Interrupted)))
}
