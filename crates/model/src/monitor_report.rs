//! The report of a system-call monitor when it is detached: how many calls it observed, to be
//! checked against the calls that were made.

use serde::{Deserialize, Serialize};

/// The final report of a monitor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MonitorReport {
    /// Observed calls of all processes.
    pub calls: u64,
    /// Calls and events that were dropped for lack of space.
    #[serde(default)]
    pub lost: u64,
    /// Observed calls of the processes whose calls were counted meanwhile.
    #[serde(default)]
    pub marked: Vec<MarkedProcess>,
    /// The state of the worker program's profile: `training`, `frozen` or `normal`; null if none of
    /// its calls were observed.
    #[serde(default)]
    pub profile_state: Option<String>,
    /// Anomalies of all processes.
    #[serde(default)]
    pub anomalies: u64,
}

/// A process whose calls were counted, as the monitor observed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkedProcess {
    /// Its pid: [`crate::calls::CallCount::counted_pid`].
    pub pid: u32,
    /// Calls between its marks, including those of the tasks it started there.
    pub calls: u64,
}

impl MonitorReport {
    /// The observed calls of a counted process; `None` if its marks were not observed.
    pub fn calls_of_pid(&self, process: u32) -> Option<u64> {
        self.marked.iter().find(|it| it.pid == process).map(|it| it.calls)
    }

    /// Adds the calls of a process that reached its end mark; a process may do so repeatedly.
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

/// Bounds the memory of the report: a run counts some hundred processes, but any process can make
/// marks.
const MAX_MARKED_PROCESSES: usize = 4_096;
