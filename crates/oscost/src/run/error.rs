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
    /// The requested CPU cannot be used.
    #[error(
        "cannot measure on CPU {cpu}\n  hint: `--cpu` takes one of the CPUs available to this \
         process{}",
        available(allowed)
    )]
    UnavailableCpu {
        /// The CPU.
        cpu: u32,
        /// Those that can be; empty if they are not known.
        allowed: Vec<u32>,
    },
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

/// The most CPUs that an error lists.
const MAX_LISTED_CPUS: usize = 16;

/// The CPUs that are available, after a colon.
fn available(cpus: &[u32]) -> String {
    let listed: Vec<String> = cpus.iter().take(MAX_LISTED_CPUS).map(u32::to_string).collect();
    let more = if cpus.len() > MAX_LISTED_CPUS { ", ..." } else { "" };
    if listed.is_empty() { String::new() } else { format!(": {}{more}", listed.join(", ")) }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// It ran to its end.
    Completed,
    /// It ran to its end, but without a machine that was lost on the way: rows say why.
    MachineLost,
    /// The user interrupted it.
    Interrupted,
}
