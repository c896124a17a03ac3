//! A machine that was given all its orders before it was booted: it says what it has to say, and
//! nothing reaches it.

use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use oscost_model::protocol::{Event, Hello, MAX_LINE_BYTES, Order};

use super::emulator::{self, Emulator, VmFiles};
use super::{KERNEL_REQUIREMENTS, Kernel, VmSpec};
use crate::hosts::session::parse_event;
use crate::hosts::{HostError, Interrupt, WorkerBinary};

/// How often we look whether there is something new: no descriptor tells that a file has grown.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A machine that does what it was told.
pub struct ScriptedVm<'a> {
    host: String,
    child: Child,
    files: VmFiles,
    /// How much of what it has said was read.
    read: u64,
    unread: Vec<u8>,
    interrupt: &'a Interrupt,
}

impl<'a> ScriptedVm<'a> {
    /// Boots it. Each block of orders begins when the last event of the one before has come.
    pub fn start(
        (host, wanted, kernel): (&str, &VmSpec, &Kernel),
        (emulator, program): (&Emulator, &WorkerBinary),
        orders: &[Vec<Order>],
        interrupt: &'a Interrupt,
    ) -> Result<Self, HostError> {
        let cannot = |error: std::io::Error| HostError::CannotStart {
            program: emulator.version.clone(),
            why: error.to_string(),
        };
        let orders = script(orders).map_err(|error| cannot(error.into()))?;
        let files = VmFiles::create(kernel, program, Some(&orders)).map_err(cannot)?;
        let mut command = emulator::command((emulator, program), (wanted, true), &files);
        let errors = files.errors.try_clone().map_err(cannot)?;
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null());
        let child = quiet.stderr(Stdio::from(errors)).spawn().map_err(cannot)?;
        let host = host.to_owned();
        Ok(Self { host, child, files, read: 0, unread: Vec::new(), interrupt })
    }

    /// Hears who its supervisor is, and checks that it is the one that is expected.
    pub fn hello(
        &mut self,
        program: &WorkerBinary,
        patience: Duration,
    ) -> Result<Hello, HostError> {
        match self.next(patience)? {
            Event::Hello(hello) => {
                program.check_hello(&hello)?;
                self.check_counter(&hello)?;
                Ok(*hello)
            }
            other => Err(HostError::InvalidMessage(format!("no hello, but {other:?}"))),
        }
    }

    /// Whether its processor has the instruction that reads the counter: some that an emulator can
    /// play are older than it (`cpu=Nehalem`), and each worker would end by SIGILL.
    fn check_counter(&self, hello: &Hello) -> Result<(), HostError> {
        const READS: &str = "rdtscp";
        match &hello.facts.cpu.flags {
            Some(flags) if flags.iter().all(|flag| flag != READS) => Err(HostError::Unreachable {
                host: self.host.clone(),
                why: format!("its processor has no `{READS}`, which reads the counter"),
                hint: "another `cpu=` in the place, or none: `max` has all".to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// Sleeps until the next event. A machine that says nothing for so long is ended.
    pub fn next(&mut self, patience: Duration) -> Result<Event, HostError> {
        let until = Instant::now() + patience;
        loop {
            if let Some(end) = self.unread.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                return parse_event(&line);
            }
            if self.unread.len() > MAX_LINE_BYTES {
                return Err(HostError::InvalidMessage("a line without an end".to_owned()));
            }
            // First whether it lives: what it said before it ended is in the file by then.
            let ended = self.child.try_wait().ok().flatten();
            if self.read_events()? {
                continue;
            }
            if let Some(status) = ended {
                return Err(self.ended_early(status));
            }
            if Instant::now() >= until {
                self.end();
                let why = format!("nothing was heard of it for {patience:?}");
                return Err(self.unreachable(&why));
            }
            self.wait()?;
        }
    }

    /// Reads what is new; whether there was anything.
    fn read_events(&mut self) -> Result<bool, HostError> {
        let mut chunk = [0; 64 << 10];
        let read = self.files.events.read_at(&mut chunk, self.read);
        let read = read.map_err(|error| HostError::SupervisorEnded(error.to_string()))?;
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

    /// How a machine ended that had more to say.
    fn ended_early(&self, status: ExitStatus) -> HostError {
        let words = self.files.emulator_stderr();
        match status.success() {
            true => self.unreachable("the machine ended before it had done what it was told"),
            false => self.unreachable(&format!("the emulator ended with {status}: {words}")),
        }
    }

    /// Why a machine has no more to say, with what it said to people last.
    fn unreachable(&self, why: &str) -> HostError {
        let why = self.files.explain(why);
        HostError::Unreachable {
            host: self.host.clone(),
            why,
            hint: KERNEL_REQUIREMENTS.to_owned(),
        }
    }

    fn end(&mut self) {
        // It has ended already, or it must now.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for ScriptedVm<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

/// Orders as the first process reads them: a line each, and a zero byte between blocks.
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
