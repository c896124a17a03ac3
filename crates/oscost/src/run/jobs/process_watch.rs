//! Which running process is watched, for how long, and what was counted of it.

use std::time::Duration;

use oscost_model::program_calls::ProgramCalls;

/// A running process to be watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessWatch {
    /// The process.
    pub pid: u32,
    /// For how long.
    pub duration: Duration,
    /// Whether its descendants are counted with it.
    pub children: bool,
}

/// What was counted of a watched process.
#[derive(Clone, Debug)]
pub struct WatchedCalls {
    /// Its calls.
    pub calls: ProgramCalls,
    /// Whether the user ended the watch: they are those until then.
    pub interrupted: bool,
}
