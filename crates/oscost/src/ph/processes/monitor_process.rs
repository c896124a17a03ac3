//! The monitor process, and the protocol between it and the tool.
//!
//! The monitor lives in a process of its own: `oscost ph monitor`. It attaches the monitor, reports
//! so, monitors until its input ends, detaches, saves the profiles and reports its totals. Its
//! output are lines of JSON, each a [`MonitorEvent`].

use std::io::{self, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use oscost_model::monitor_report::MonitorReport;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::files::own_program::own_program;
use crate::ph::constants::{ALL, Constants};
use crate::ph::profiles::profile::State;
use crate::treatments::MONITOR_VERB;

/// The options of a monitor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MonitorOptions {
    /// The constants of the rules.
    pub constants: Constants,
    /// The root of the monitored process tree; `None` for all processes.
    pub tree: Option<u32>,
}

impl MonitorOptions {
    /// The arguments of the monitor process.
    pub fn arguments(&self) -> Vec<String> {
        let published = Constants::default();
        let mut arguments = Vec::new();
        for constant in &ALL {
            let value = (constant.get)(&self.constants);
            if value != (constant.get)(&published) {
                arguments.push(format!("--{}={}", constant.name, constant.text(value)));
            }
        }
        arguments.extend(self.tree.map(|pid| format!("--tree={pid}")));
        arguments
    }
}

/// An event that the monitor process reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum MonitorEvent {
    /// The monitor is attached: it observes every system call from now on.
    Ready,
    /// It cannot be attached. This is the last event.
    Missing {
        /// Why, and how to fix it.
        reason: String,
    },
    /// A process made a call that is not normal for its executable.
    Anomaly(Anomaly),
    /// The state of an executable has changed, or it was observed for the first time.
    StateChanged(StateChange),
    /// A note about the directory of profiles for its owner.
    Note {
        /// The note, in one line.
        text: String,
    },
    /// The monitor is detached, and the profiles are saved. This is the last event.
    Ended(MonitorReport),
    /// An event of a newer version.
    #[serde(other)]
    Other,
}

/// A pair of system calls that is not normal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anomaly {
    /// The process.
    pub pid: u32,
    /// Its command name (`comm`).
    pub comm: String,
    /// The path of its executable; empty if unknown.
    pub executable: String,
    /// The number of the call.
    pub current: u16,
    /// The number of the earlier call.
    pub previous: u16,
    /// How many calls earlier: 1 to 8.
    pub position: u8,
    /// The number of anomalies among the task's last calls: its locality count.
    pub locality: u32,
    /// The number of anomalies of the executable since its profile became normal.
    pub anomalies: u64,
}

/// A change of state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateChange {
    /// The path of the executable; empty if unknown.
    pub executable: String,
    /// Its new state.
    pub state: String,
}

impl StateChange {
    /// A change to this state.
    pub fn new(executable: String, state: State) -> Self {
        Self { executable, state: state.text().to_owned() }
    }
}

/// Why a monitor failed.
#[derive(Debug, Error)]
pub enum MonitorError {
    /// A requirement is missing.
    #[error("{0}")]
    Missing(String),
    /// The monitor process could not be started, or its output not be read.
    #[error("cannot communicate with the monitor process: {0}")]
    Io(#[from] io::Error),
    /// The observer failed.
    #[error(transparent)]
    Observer(io::Error),
    /// The output is invalid.
    #[error("the monitor process sent an invalid event: {0}")]
    Protocol(String),
    /// The monitor process ended before its last event.
    #[error("the monitor process ended too early ({0}): what it learned may be lost")]
    ExitedEarly(ExitStatus),
    /// The monitor process did not end when its input was closed.
    #[error("the monitor process did not end within {} s, and was killed", SHUTDOWN_TIMEOUT.as_secs())]
    TimedOut,
}

/// Receives the events of a monitor.
pub trait MonitorObserver {
    /// Handles an event. An error ends the monitor, and is returned.
    fn on_event(&mut self, event: &MonitorEvent) -> io::Result<()>;

    /// Whether the monitor should end; called periodically.
    fn should_stop(&mut self) -> bool;
}

/// Runs monitors.
pub trait MonitorRunner {
    /// Attaches a monitor, passes its events to the observer until that wants to stop, and
    /// detaches.
    fn run(
        &mut self,
        options: &MonitorOptions,
        observer: &mut dyn MonitorObserver,
    ) -> Result<(), MonitorError>;
}

/// The time limit for saving profiles: a thousand take less than a second.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(30);
/// The interval at which the observer is asked whether to stop.
const POLL_INTERVAL_MS: u16 = 50;
/// The longest line: events with two escaped paths are much shorter.
const MAX_LINE_BYTES: usize = 1 << 20;

/// Runs a monitor as a process of its own.
#[derive(Clone, Debug)]
pub struct MonitorProcess {
    /// The program.
    pub program: PathBuf,
    /// The arguments before those of [`MonitorOptions`].
    pub leading_arguments: Vec<String>,
}

impl MonitorProcess {
    /// The monitor process of this program.
    pub fn this_program() -> io::Result<Self> {
        Ok(Self {
            program: own_program()?,
            leading_arguments: ["ph", MONITOR_VERB].map(str::to_owned).into(),
        })
    }
}

impl MonitorRunner for MonitorProcess {
    fn run(
        &mut self,
        options: &MonitorOptions,
        observer: &mut dyn MonitorObserver,
    ) -> Result<(), MonitorError> {
        let mut command = Command::new(&self.program);
        command.args(&self.leading_arguments).args(options.arguments());
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        RunningMonitor::new(child).wait(observer)
    }
}

/// A running monitor process. It ends when this is dropped, since its input is closed.
struct RunningMonitor {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<ChildStdout>,
    /// Output that is not yet a complete line.
    partial_line: Vec<u8>,
}

impl RunningMonitor {
    fn new(mut child: Child) -> Self {
        let (input, output) = (child.stdin.take(), child.stdout.take());
        Self { child, input, output, partial_line: Vec::new() }
    }

    fn wait(mut self, observer: &mut dyn MonitorObserver) -> Result<(), MonitorError> {
        let mut closed_at: Option<Instant> = None;
        let mut first_error: Option<MonitorError> = None;
        let mut is_complete = false;
        while let Some(lines) = self.lines()? {
            for line in lines {
                let handled = match serde_json::from_slice::<MonitorEvent>(&line) {
                    Ok(MonitorEvent::Missing { reason }) => {
                        is_complete = true;
                        Err(MonitorError::Missing(reason))
                    }
                    Ok(event) => {
                        is_complete |= matches!(event, MonitorEvent::Ended(_));
                        observer.on_event(&event).map_err(MonitorError::Observer)
                    }
                    Err(error) => {
                        Err(MonitorError::Protocol(error.to_string().chars().take(200).collect()))
                    }
                };
                if let Err(error) = handled {
                    first_error.get_or_insert(error);
                }
            }
            if closed_at.is_none() && (first_error.is_some() || observer.should_stop()) {
                self.input = None;
                closed_at = Some(Instant::now());
            }
            if closed_at.is_some_and(|at| at.elapsed() > SHUTDOWN_TIMEOUT) {
                return Err(MonitorError::TimedOut); // The drop kills it.
            }
        }
        self.input = None;
        let status = self.child.wait()?;
        match first_error {
            Some(error) => Err(error),
            None if is_complete => Ok(()),
            None => Err(MonitorError::ExitedEarly(status)),
        }
    }

    /// The lines that arrive within one poll interval; `None` at the end of the output.
    fn lines(&mut self) -> Result<Option<Vec<Vec<u8>>>, MonitorError> {
        let Some(output) = &mut self.output else { return Ok(None) };
        let mut polled = [PollFd::new(std::os::fd::AsFd::as_fd(output), PollFlags::POLLIN)];
        match poll(&mut polled, PollTimeout::from(POLL_INTERVAL_MS)) {
            Ok(0) | Err(nix::errno::Errno::EINTR) => return Ok(Some(Vec::new())),
            Ok(_) => {}
            Err(error) => return Err(MonitorError::Io(error.into())),
        }
        let mut chunk = [0; 1 << 16];
        let length = match output.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(Some(vec![])),
            read => read?,
        };
        if length == 0 {
            self.output = None;
        }
        self.partial_line.extend_from_slice(chunk.get(..length).unwrap_or_default());
        let mut lines: Vec<Vec<u8>> =
            self.partial_line.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
        self.partial_line = lines.pop().unwrap_or_default();
        if self.partial_line.len() > MAX_LINE_BYTES {
            return Err(MonitorError::Protocol("a line that is too long".to_owned()));
        }
        if self.output.is_none() && lines.is_empty() {
            return Ok(None);
        }
        Ok(Some(lines))
    }
}

impl Drop for RunningMonitor {
    fn drop(&mut self) {
        self.input = None;
        if matches!(self.child.try_wait(), Ok(None)) {
            // It did not end in time, or sent invalid events.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

#[cfg(test)]
mod tests;
