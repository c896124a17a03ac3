//! The words between the tool and the process that holds the monitor.
//!
//! The monitor lives as long as a process of its own, the holder: `oscost ph hold`. It attaches,
//! says so, holds until its input ends, detaches, keeps the profiles and says how much it has seen.
//! What it says are lines of JSON, one a [`MonitorEvent`].

use std::io::{self, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use oscost_model::monitor_report::MonitorReport;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::constants::{ALL, Constants};
use super::profile::State;

/// What a holder is asked to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MonitorOptions {
    /// The constants of the rules.
    pub constants: Constants,
    /// The process whose tree is monitored; `None` for all processes.
    pub tree: Option<u32>,
}

impl MonitorOptions {
    /// The words behind `oscost ph hold`.
    pub fn arguments(&self) -> Vec<String> {
        let published = Constants::default();
        let mut words = Vec::new();
        for constant in &ALL {
            let value = (constant.get)(&self.constants);
            if value != (constant.get)(&published) {
                words.push(format!("--{}={}", constant.name, constant.text(value)));
            }
        }
        words.extend(self.tree.map(|pid| format!("--tree={pid}")));
        words
    }
}

/// What a holder says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum MonitorEvent {
    /// The monitor is attached: it sees every call from now on.
    Ready,
    /// It cannot be attached. It is the last word.
    Missing {
        /// Why, and what mends it.
        why: String,
    },
    /// A process has done what is not normal for its executable.
    Anomaly(Anomaly),
    /// An executable has come to another state, or is seen for the first time.
    StateChanged(StateChange),
    /// Something of the profiles' folder that its owner should know.
    Note {
        /// What, in a line.
        what: String,
    },
    /// The monitor is detached, and the profiles are kept. It is the last word.
    Ended(MonitorReport),
    /// Words of a newer holder.
    #[serde(other)]
    Other,
}

/// A pair of calls that is not normal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anomaly {
    /// The process.
    pub pid: u32,
    /// What it calls itself.
    pub comm: String,
    /// The path of its executable; empty where it is not known.
    pub executable: String,
    /// The call, by its number.
    pub current: u16,
    /// The earlier call.
    pub previous: u16,
    /// How many calls earlier: 1 to 8.
    pub position: u8,
    /// The anomalies among the process's last calls: its locality count.
    pub locality: u32,
    /// The anomalies of the executable since it was found normal.
    pub anomalies: u64,
}

/// A change of state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateChange {
    /// The path of the executable; empty where it is not known.
    pub executable: String,
    /// The word of its new state.
    pub state: String,
}

impl StateChange {
    /// The words for a change to that state.
    pub fn new(executable: String, state: State) -> Self {
        Self { executable, state: state.text().to_owned() }
    }
}

/// Why a monitor could not be held to its end.
#[derive(Debug, Error)]
pub enum MonitorError {
    /// Something is missing here.
    #[error("{0}")]
    Missing(String),
    /// The holder could not be started, or not be listened to.
    #[error("cannot talk to the monitor's process: {0}")]
    Io(#[from] io::Error),
    /// The audience could not take what was said.
    #[error(transparent)]
    Observer(io::Error),
    /// The holder's words are none.
    #[error("the monitor's process said what is no word of it: {0}")]
    Protocol(String),
    /// It ended before its last word.
    #[error("the monitor's process ended too early ({0}): what it learnt may be lost")]
    ExitedEarly(ExitStatus),
    /// It did not end when it was asked to.
    #[error("the monitor's process did not end in {} s, and was killed", SHUTDOWN_TIMEOUT.as_secs())]
    TimedOut,
}

/// Whoever wants to know what a monitor sees.
pub trait MonitorObserver {
    /// This was said. An error ends the holding, and comes back from it.
    fn on_event(&mut self, said: &MonitorEvent) -> io::Result<()>;

    /// Whether it has been enough; asked again and again.
    fn should_stop(&mut self) -> bool;
}

/// Whatever can hold a monitor.
pub trait MonitorRunner {
    /// Attaches as asked, tells the audience all that is seen until it has enough, and detaches.
    fn run(
        &mut self,
        asked: &MonitorOptions,
        audience: &mut dyn MonitorObserver,
    ) -> Result<(), MonitorError>;
}

/// How long a holder may take to keep what it learnt: a second is plenty for a thousand profiles.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(30);
/// How often the audience is asked whether it has enough.
const POLL_INTERVAL_MS: u16 = 50;
/// The longest line: two paths, escaped, and some numbers are far below.
const MAX_LINE_BYTES: usize = 1 << 20;

/// A monitor that runs as a process of its own.
#[derive(Clone, Debug)]
pub struct MonitorProcess {
    /// The program.
    pub program: PathBuf,
    /// The arguments before those of [`MonitorOptions`].
    pub leading_arguments: Vec<String>,
}

impl MonitorProcess {
    /// This program once more.
    pub fn this_program() -> io::Result<Self> {
        Ok(Self {
            program: std::env::current_exe()?,
            leading_arguments: ["ph", "monitor"].map(str::to_owned).into(),
        })
    }
}

impl MonitorRunner for MonitorProcess {
    fn run(
        &mut self,
        asked: &MonitorOptions,
        audience: &mut dyn MonitorObserver,
    ) -> Result<(), MonitorError> {
        let mut command = Command::new(&self.program);
        command.args(&self.leading_arguments).args(asked.arguments());
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        RunningMonitor::new(child).wait(audience)
    }
}

/// A holder that runs. Whatever happens it is not left behind: its input ends with this.
struct RunningMonitor {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<ChildStdout>,
    /// What it said that is not yet a line.
    partial_line: Vec<u8>,
}

impl RunningMonitor {
    fn new(mut child: Child) -> Self {
        let (input, output) = (child.stdin.take(), child.stdout.take());
        Self { child, input, output, partial_line: Vec::new() }
    }

    fn wait(mut self, audience: &mut dyn MonitorObserver) -> Result<(), MonitorError> {
        let mut asked_to_end: Option<Instant> = None;
        let mut first: Option<MonitorError> = None;
        let mut is_last = false;
        while let Some(lines) = self.lines()? {
            for line in lines {
                let heard = match serde_json::from_slice::<MonitorEvent>(&line) {
                    Ok(MonitorEvent::Missing { why }) => {
                        is_last = true;
                        Err(MonitorError::Missing(why))
                    }
                    Ok(said) => {
                        is_last |= matches!(said, MonitorEvent::Ended(_));
                        audience.on_event(&said).map_err(MonitorError::Observer)
                    }
                    Err(error) => {
                        Err(MonitorError::Protocol(error.to_string().chars().take(200).collect()))
                    }
                };
                if let Err(error) = heard {
                    first.get_or_insert(error);
                }
            }
            if asked_to_end.is_none() && (first.is_some() || audience.should_stop()) {
                self.input = None;
                asked_to_end = Some(Instant::now());
            }
            if asked_to_end.is_some_and(|at| at.elapsed() > SHUTDOWN_TIMEOUT) {
                return Err(MonitorError::TimedOut); // Dropping it kills it.
            }
        }
        self.input = None;
        let status = self.child.wait()?;
        match first {
            Some(error) => Err(error),
            None if is_last => Ok(()),
            None => Err(MonitorError::ExitedEarly(status)),
        }
    }

    /// The lines that have come within a step; `None` at the end of its output.
    fn lines(&mut self) -> Result<Option<Vec<Vec<u8>>>, MonitorError> {
        let Some(output) = &mut self.output else { return Ok(None) };
        let mut polled = [PollFd::new(std::os::fd::AsFd::as_fd(output), PollFlags::POLLIN)];
        match poll(&mut polled, PollTimeout::from(POLL_INTERVAL_MS)) {
            Ok(0) | Err(nix::errno::Errno::EINTR) => return Ok(Some(Vec::new())),
            Ok(_) => {}
            Err(error) => return Err(MonitorError::Io(error.into())),
        }
        let mut some = [0; 1 << 16];
        let length = match output.read(&mut some) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(Some(vec![])),
            read => read?,
        };
        if length == 0 {
            self.output = None;
        }
        self.partial_line.extend_from_slice(some.get(..length).unwrap_or_default());
        let mut lines: Vec<Vec<u8>> =
            self.partial_line.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
        self.partial_line = lines.pop().unwrap_or_default();
        if self.partial_line.len() > MAX_LINE_BYTES {
            return Err(MonitorError::Protocol("a line without an end".to_owned()));
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
            // It has been asked to end, or was heard to talk nonsense.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

#[cfg(test)]
mod tests;
