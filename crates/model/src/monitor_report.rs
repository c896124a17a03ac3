//! What a monitor of calls says when it is taken off: what it saw, so that it can be held against
//! what was made.

use serde::{Deserialize, Serialize};

/// The last words of whoever held a monitor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MonitorReport {
    /// The calls that it saw, of all processes.
    pub calls: u64,
    /// What it saw and did not look at, or did not say, for lack of room.
    #[serde(default)]
    pub lost: u64,
    /// What it saw of the copies whose calls were counted meanwhile.
    #[serde(default)]
    pub marked: Vec<MarkedProcess>,
    /// The state of its profile of the program that measures: `training`, `frozen` or `normal`;
    /// null where it saw none of its calls.
    #[serde(default)]
    pub profile_state: Option<String>,
    /// The anomalies that it saw, of all processes.
    #[serde(default)]
    pub anomalies: u64,
}

/// A counted copy, as a monitor saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkedProcess {
    /// Its process: [`crate::calls::CallCount::copy`].
    pub pid: u32,
    /// The calls between its marks, of it and of what it started there.
    pub calls: u64,
}

impl MonitorReport {
    /// The calls that it saw of a counted copy; `None` where it saw none of its marks.
    pub fn calls_of_pid(&self, process: u32) -> Option<u64> {
        self.marked.iter().find(|it| it.pid == process).map(|it| it.calls)
    }

    /// Takes in that a copy came to its second mark, again maybe.
    pub fn add_marked(&mut self, process: u32, calls: u64) {
        if let Some(it) = self.marked.iter_mut().find(|it| it.pid == process) {
            it.calls += calls;
        } else if self.marked.len() < MAX_MARKED_PROCESSES {
            self.marked.push(MarkedProcess { pid: process, calls });
        } else {
            self.lost += 1;
        }
    }
}

/// Copies that one monitor is asked about: a run has some hundred rows. Marks cost whoever makes
/// them nothing.
const MAX_MARKED_PROCESSES: usize = 4_096;
