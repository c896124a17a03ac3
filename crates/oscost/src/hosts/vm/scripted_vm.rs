//! A virtual machine that gets all its orders before it boots, and only sends events.

use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use oscost_model::protocol::{Event, Hello, MAX_LINE_BYTES, Order};

use super::KERNEL_REQUIREMENTS;
use super::emulator::{self, VmFiles, VmMode, VmSetup};
use crate::files::null_device::null_device;
use crate::hosts::session::parse_event;
use crate::hosts::{HostError, Interrupt, WorkerBinary};

/// The interval of checks for new events: a regular file cannot be polled for growth.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A machine that executes a script of orders.
pub struct ScriptedVm<'a> {
    host: String,
    child: Child,
    files: VmFiles,
    /// The number of bytes of its events that were read.
    read: u64,
    unread: Vec<u8>,
    interrupt: &'a Interrupt,
}

impl<'a> ScriptedVm<'a> {
    /// Boots it. Each block of orders begins after the last event of the block before.
    pub fn start(
        setup: &VmSetup<'_>,
        orders: &[Vec<Order>],
        interrupt: &'a Interrupt,
    ) -> Result<Self, HostError> {
        let cannot_start = |error: std::io::Error| setup.cannot_start(&error);
        let orders = script(orders).map_err(|error| cannot_start(error.into()))?;
        let files = VmFiles::create(setup, Some(&orders)).map_err(cannot_start)?;
        let mut command = emulator::command(setup, VmMode::Scripted, &files);
        let errors = files.errors.try_clone().map_err(cannot_start)?;
        command.stdin(null_device().map_err(cannot_start)?);
        command.stdout(null_device().map_err(cannot_start)?).stderr(Stdio::from(errors));
        let child = command.spawn().map_err(cannot_start)?;
        let host = setup.host.to_owned();
        Ok(Self { host, child, files, read: 0, unread: Vec::new(), interrupt })
    }

    /// Reads the hello of its supervisor, and checks that it is the expected one.
    pub fn hello(&mut self, program: &WorkerBinary, timeout: Duration) -> Result<Hello, HostError> {
        match self.next(timeout)? {
            Event::Hello(hello) => {
                program.check_hello(&hello)?;
                self.check_counter(&hello)?;
                Ok(*hello)
            }
            other => Err(HostError::InvalidMessage(format!("expected a hello, got {other:?}"))),
        }
    }

    /// Checks that its processor has the instruction that reads the counter: some emulated ones are
    /// older (`cpu=Nehalem`), and each worker would be killed by SIGILL.
    fn check_counter(&self, hello: &Hello) -> Result<(), HostError> {
        const INSTRUCTION: &str = "rdtscp";
        match &hello.facts.cpu.flags {
            Some(flags) if flags.iter().all(|flag| flag != INSTRUCTION) => {
                Err(HostError::Unreachable {
                    host: self.host.clone(),
                    why: format!(
                        "its processor lacks `{INSTRUCTION}`, which reads the time stamp counter"
                    ),
                    hint: "choose another `cpu=`, or leave it out: the default `max` has it"
                        .to_owned(),
                })
            }
            _ => Ok(()),
        }
    }

    /// Sleeps until the next event. A machine that sends none within `timeout` is killed.
    pub fn next(&mut self, timeout: Duration) -> Result<Event, HostError> {
        let deadline = Instant::now() + timeout;
        loop {
            if let Some(end) = self.unread.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                return parse_event(&line);
            }
            if self.unread.len() > MAX_LINE_BYTES {
                return Err(HostError::InvalidMessage("a line that is too long".to_owned()));
            }
            // Checked before reading: when the emulator has ended, all events are in the file.
            let ended = self.child.try_wait().ok().flatten();
            if self.read_events()? {
                continue;
            }
            if let Some(status) = ended {
                return Err(self.ended_early(status));
            }
            if Instant::now() >= deadline {
                self.end();
                let why = format!("no event within {timeout:?}");
                return Err(self.unreachable(&why));
            }
            self.wait()?;
        }
    }

    /// Reads new events; returns whether there were any.
    fn read_events(&mut self) -> Result<bool, HostError> {
        let mut chunk = [0; 64 << 10];
        let read = self.files.events.read_at(&mut chunk, self.read);
        let read = read.map_err(|error| {
            HostError::SupervisorEnded(format!("has events that cannot be read: {error}"))
        })?;
        self.read += read as u64;
        self.unread.extend_from_slice(&chunk[..read]);
        Ok(read > 0)
    }

    fn wait(&self) -> Result<(), HostError> {
        let mut fds = [PollFd::new(self.interrupt.as_fd(), PollFlags::POLLIN)];
        let timeout = PollTimeout::try_from(POLL_INTERVAL).unwrap_or(PollTimeout::MAX);
        match poll(&mut fds, timeout) {
            Ok(1..) => Err(HostError::Interrupted),
            _ => Ok(()),
        }
    }

    /// The error for a machine that ended early.
    fn ended_early(&self, status: ExitStatus) -> HostError {
        let stderr = self.files.emulator_stderr();
        match status.success() {
            true => self.unreachable("the machine ended before it had executed all its orders"),
            false => self.unreachable(&format!("the emulator ended with {status}: {stderr}")),
        }
    }

    /// The error for a machine that sends no more events, with the end of its console.
    fn unreachable(&self, why: &str) -> HostError {
        let why = self.files.explain(why);
        HostError::Unreachable {
            host: self.host.clone(),
            why,
            hint: KERNEL_REQUIREMENTS.to_owned(),
        }
    }

    fn end(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for ScriptedVm<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

/// Orders in the format that the first process reads: one line each, and a zero byte between
/// blocks.
fn script(blocks: &[Vec<Order>]) -> serde_json::Result<Vec<u8>> {
    let mut script = Vec::new();
    for (number, block) in blocks.iter().enumerate() {
        if number > 0 {
            script.push(0);
        }
        for order in block {
            serde_json::to_writer(&mut script, order)?;
            script.push(b'\n');
        }
    }
    Ok(script)
}
