//! Which running process is watched, and for how long.

use std::time::Duration;

/// A running process to be watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessWatch {
    /// The process.
    pub pid: u32,
    /// For how long.
    pub duration: Duration,
    /// Whether the processes that it creates meanwhile are counted with it.
    pub children: bool,
}
