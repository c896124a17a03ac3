//! The output of the monitor process: events as lines of JSON.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::ph::processes::monitor_process::MonitorEvent;

/// The output for events.
pub(super) struct Output<'a> {
    to: &'a mut dyn Write,
    /// The pipe that is written to; `None` if writing never blocks.
    pipe: Option<OwnedFd>,
    /// Whether events other than the first and the last are reported.
    report_events: bool,
    /// The number of events that were dropped because the pipe was full.
    dropped: u64,
}

impl<'a> Output<'a> {
    /// Writes to a pipe or a file.
    pub(super) fn new(to: &'a mut (impl Write + AsFd), report_events: bool) -> io::Result<Self> {
        // The same descriptor, to poll it.
        let pipe = Some(to.as_fd().try_clone_to_owned()?);
        Ok(Self { to, pipe, report_events, dropped: 0 })
    }

    /// The number of events that were dropped because the pipe was full.
    pub(super) fn dropped_lines(&self) -> u64 {
        self.dropped
    }

    /// Writes an event, and waits until the reader has read enough.
    pub(super) fn write_event(&mut self, event: &MonitorEvent) -> io::Result<()> {
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        self.to.write_all(&line)?;
        self.to.flush()
    }

    /// Writes an event if events are reported and the pipe has room.
    pub(super) fn report(&mut self, event: &MonitorEvent) -> Result<(), String> {
        if !self.report_events {
            return Ok(());
        }
        // The reader may itself be delayed by the monitor, so waiting for it could last forever. A
        // writable pipe has room for a page, and no line is longer.
        if self.pipe.as_ref().is_some_and(|pipe| !is_writable(pipe.as_fd())) {
            self.dropped += 1;
            return Ok(());
        }
        self.write_event(event).map_err(|error| format!("cannot report an event: {error}"))
    }
}

/// Whether writing does not block. Writing to a closed pipe fails, which is reported then.
fn is_writable(pipe: BorrowedFd<'_>) -> bool {
    let mut polled = [PollFd::new(pipe, PollFlags::POLLOUT)];
    poll(&mut polled, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
}

#[cfg(test)]
mod tests {
    use oscost_model::monitor_report::MonitorReport;

    use super::*;

    #[test]
    fn a_quiet_monitor_reports_only_its_beginning_and_its_end() {
        let mut written = Vec::new();
        let mut output = Output { to: &mut written, pipe: None, report_events: false, dropped: 0 };
        output.write_event(&MonitorEvent::Ready).unwrap();
        output.report(&MonitorEvent::Other).unwrap();
        let mut last =
            MonitorReport { calls: 1, anomalies: 2, lost: 3, ..MonitorReport::default() };
        last.add_marked(4, 5);
        last.profile_state = Some("training".to_owned());
        output.write_event(&MonitorEvent::Ended(last)).unwrap();
        let text = String::from_utf8(written).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert_eq!(lines[0], r#"{"event":"ready"}"#);
        let last = r#"{"event":"ended","calls":1,"lost":3,"marked":[{"pid":4,"calls":5}],"#;
        assert_eq!(lines[1], format!(r#"{last}"profile_state":"training","anomalies":2}}"#));
    }

    #[test]
    fn events_are_dropped_if_the_reader_is_slow() {
        let (reader, writer) = io::pipe().unwrap();
        while is_writable(writer.as_fd()) {
            (&writer).write_all(&[b' '; 4_096]).unwrap();
        }
        let pipe = Some(writer.as_fd().try_clone_to_owned().unwrap());
        let mut output = Output { to: &mut &writer, pipe, report_events: true, dropped: 0 };
        output.report(&MonitorEvent::Other).unwrap();
        output.report(&MonitorEvent::Other).unwrap();
        assert_eq!(output.dropped, 2);
        drop(reader);
        assert!(output.report(&MonitorEvent::Other).is_err(), "the reader is gone");
    }

    #[test]
    fn a_closed_output_ends_the_monitor() {
        struct ClosedOutput;
        impl Write for ClosedOutput {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut output =
            Output { to: &mut ClosedOutput, pipe: None, report_events: true, dropped: 0 };
        assert!(output.report(&MonitorEvent::Ready).is_err());
    }
}
