//! A program of the tool's that attaches something itself, and holds it: the monitor pH.
//!
//! It says `ready`, or what is `missing`; when its input ends it undoes what it did, and says what
//! it has seen. Whoever ends us ends its input, too.

use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use oscost_model::monitor_report::MonitorReport;
use serde::Deserialize;

use crate::kernel::Errno;
use crate::kernel::because::{lacking, unfit};
use crate::kernel::event::poll;
use crate::kernel::process::{self, Whose};

/// What it may take to load and to attach, or to undo and to keep what it has learnt.
const TIMEOUT: Duration = Duration::from_secs(15);

/// A holder that is ready. Dropping it ends it.
pub(super) struct MonitorProcess {
    child: Child,
    messages: BufReader<ChildStdout>,
}

/// What it says, as far as it matters here.
#[derive(Deserialize)]
#[serde(tag = "said", rename_all = "kebab-case")]
enum MonitorMessage {
    Ready,
    Missing {
        why: String,
    },
    Ended(MonitorReport),
    #[serde(other)]
    Other,
}

impl MonitorProcess {
    /// Starts it, and waits until it holds.
    pub(super) fn start(command: &[String]) -> Result<Self, Errno> {
        let Some((program, arguments)) = command.split_first() else { return Err(Errno::EINVAL) };
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| unfit(format!("cannot start the monitor's holder: {error}")))?;
        let Some(output) = child.stdout.take() else { return Err(Errno::EINVAL) };
        let mut holder = Self { child, messages: BufReader::new(output) };
        match holder.next_message() {
            Some(MonitorMessage::Ready) => Ok(holder),
            Some(MonitorMessage::Missing { why }) => {
                Err(lacking(format!("the monitor pH cannot run: {why}")))
            }
            _ => Err(unfit("the monitor's holder did not say that it is ready".to_owned())),
        }
    }

    /// Has it undo what it did; what it has seen.
    pub(super) fn end(mut self) -> Result<MonitorReport, Errno> {
        self.child.stdin = None;
        loop {
            match self.next_message() {
                Some(MonitorMessage::Ended(monitor_report)) => return Ok(monitor_report),
                Some(MonitorMessage::Missing { why }) => {
                    return Err(unfit(format!("the monitor pH: {why}")));
                }
                Some(MonitorMessage::Ready | MonitorMessage::Other) => {}
                None => {
                    return Err(unfit("the monitor's holder ended before its time".to_owned()));
                }
            }
        }
    }

    /// What it says next; `None` where it says nothing more, or nothing in time.
    fn next_message(&mut self) -> Option<MonitorMessage> {
        let until = Instant::now() + TIMEOUT;
        let mut line = Vec::new();
        while !line.ends_with(b"\n") {
            let left = until.saturating_duration_since(Instant::now());
            if self.messages.buffer().is_empty() && !self.wait_readable(left)? {
                return None;
            }
            let some = self.messages.fill_buf().ok().filter(|some| !some.is_empty())?;
            let end = some.iter().position(|&byte| byte == b'\n').map_or(some.len(), |at| at + 1);
            line.extend_from_slice(&some[..end]);
            self.messages.consume(end);
        }
        serde_json::from_slice(&line).ok()
    }

    /// Whether it says something, or ends, within that time.
    fn wait_readable(&self, time: Duration) -> Option<bool> {
        let can = poll::readable(&[self.messages.get_ref().as_fd()], Some(time)).ok()?;
        can.first().copied()
    }
}

impl Drop for MonitorProcess {
    fn drop(&mut self) {
        self.child.stdin = None;
        // It has said its last word, or will not any more: it ends within moments, or is ended.
        let until = Instant::now() + TIMEOUT;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() >= until {
                process::kill(self.child.id());
                let _ = process::wait(Whose::Child(self.child.id()), true);
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
