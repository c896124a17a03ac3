//! The monitor process of pH: a program of the tool that attaches its own eBPF programs.
//!
//! It reports `ready`, or what is `missing`. At the end of its input it detaches and reports what
//! it has observed. If this process dies, the monitor's input ends, too.

use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use oscost_model::monitor_report::MonitorReport;
use serde::Deserialize;

use crate::kernel::Errno;
use crate::kernel::event::poll;
use crate::kernel::process;

/// The time limit for loading and attaching, and for detaching and saving the profiles.
const TIMEOUT: Duration = Duration::from_secs(15);

/// A monitor process that is ready. Dropping it ends it.
pub(super) struct MonitorProcess {
    child: Child,
    messages: BufReader<ChildStdout>,
}

/// A message of the monitor process.
#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum MonitorMessage {
    Ready,
    Missing {
        reason: String,
    },
    Ended(MonitorReport),
    #[serde(other)]
    Other,
}

impl MonitorProcess {
    /// Starts it, and waits until it has attached.
    pub(super) fn start(command: &[String]) -> Result<Self, Errno> {
        let Some((program, arguments)) = command.split_first() else { return Err(Errno::EINVAL) };
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| {
                Errno::check_failed(format!("cannot start the monitor process: {error}"))
            })?;
        let Some(output) = child.stdout.take() else { return Err(Errno::EINVAL) };
        let mut monitor = Self { child, messages: BufReader::new(output) };
        match monitor.next_message() {
            Some(MonitorMessage::Ready) => Ok(monitor),
            Some(MonitorMessage::Missing { reason }) => {
                Err(Errno::unavailable(format!("the monitor pH is not available: {reason}")))
            }
            _ => Err(Errno::check_failed(
                "the monitor process did not report that it is ready".to_owned(),
            )),
        }
    }

    /// Ends it: it detaches, and reports what it has observed.
    pub(super) fn end(mut self) -> Result<MonitorReport, Errno> {
        self.child.stdin = None;
        loop {
            match self.next_message() {
                Some(MonitorMessage::Ended(monitor_report)) => return Ok(monitor_report),
                Some(MonitorMessage::Missing { reason }) => {
                    return Err(Errno::check_failed(format!("the monitor pH: {reason}")));
                }
                Some(MonitorMessage::Ready | MonitorMessage::Other) => {}
                None => {
                    return Err(Errno::check_failed(
                        "the monitor process ended before the measurement was over".to_owned(),
                    ));
                }
            }
        }
    }

    /// The next message; `None` at the end of its output or after the time limit.
    fn next_message(&mut self) -> Option<MonitorMessage> {
        let deadline = Instant::now() + TIMEOUT;
        let mut line = Vec::new();
        while !line.ends_with(b"\n") {
            let left = deadline.saturating_duration_since(Instant::now());
            if self.messages.buffer().is_empty() && !self.wait_readable(left)? {
                return None;
            }
            let bytes = self.messages.fill_buf().ok().filter(|bytes| !bytes.is_empty())?;
            let end = bytes.iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |at| at + 1);
            line.extend_from_slice(&bytes[..end]);
            self.messages.consume(end);
        }
        serde_json::from_slice(&line).ok()
    }

    /// Waits until there is output or the end of it; false after the time limit.
    fn wait_readable(&self, time: Duration) -> Option<bool> {
        let can = poll::readable(&[self.messages.get_ref().as_fd()], Some(time)).ok()?;
        can.first().copied()
    }
}

impl Drop for MonitorProcess {
    fn drop(&mut self) {
        self.child.stdin = None;
        // Its input has ended: it exits within moments, or is killed.
        let deadline = Instant::now() + TIMEOUT;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() >= deadline {
                process::kill_and_reap(self.child.id());
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
