//! Which running process is watched, and for how long.

use std::time::Duration;

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
