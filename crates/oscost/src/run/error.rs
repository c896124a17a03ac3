//! How a run ends.

use thiserror::Error;

use crate::hosts::HostError;

/// Why a run failed as a whole.
#[derive(Debug, Error)]
pub enum RunError {
    /// The session failed.
    #[error(transparent)]
    Host(#[from] HostError),
    /// No CPU could be probed.
    #[error(
        "cannot measure on {0}\n  hint: `--cpu` takes one of the CPUs available to this process"
    )]
    NoCpu(String),
    /// The peer cannot run on the requested CPU.
    #[error(
        "cannot run the peer on {0}\n  hint: `--peer-cpu` takes an available CPU other than that \
         of `--cpu`"
    )]
    NoPeerCpu(String),
    /// No clock could be calibrated.
    #[error("cannot calibrate any clock: {0}")]
    NoClock(String),
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// It ran to its end.
    Completed,
    /// The user interrupted it.
    Interrupted,
}
