//! A virtual machine that takes orders through its serial line: under KVM, where time is measured,
//! or for an inspection.

use std::process::Stdio;
use std::time::Duration;

use oscost_model::protocol::{Event, Hello, Order};

use super::emulator::{self, VmFiles, VmMode, VmSetup};
use super::{Accel, KERNEL_REQUIREMENTS, boot_timeout};
use crate::hosts::session::PipeSession;
use crate::hosts::{HostError, Interrupt, Session};

/// A supervisor in a virtual machine.
pub struct VmSession<'a> {
    pipes: PipeSession<'a>,
    hello: Hello,
}

impl<'a> VmSession<'a> {
    /// Boots it, and waits for the hello of its supervisor.
    pub fn start(setup: &VmSetup<'_>, interrupt: &'a Interrupt) -> Result<Self, HostError> {
        if setup.spec.accel == Accel::Kvm {
            emulator::check_kvm().map_err(|why| HostError::Unavailable {
                host: setup.host.to_owned(),
                why,
                hint: "leave out `accel=kvm` to count instructions in an emulator".to_owned(),
            })?;
        }
        let cannot_start = |error: std::io::Error| setup.cannot_start(&error);
        let files = VmFiles::create(setup, None).map_err(cannot_start)?;
        let errors = files.errors.try_clone().map_err(cannot_start)?;
        let mut command = emulator::command(setup, VmMode::Interactive, &files);
        command.stderr(Stdio::from(errors));
        let mut pipes = PipeSession::start(&mut command, interrupt).map_err(cannot_start)?;
        match pipes.hello_within(setup.worker, boot_timeout()) {
            Ok(hello) => Ok(Self { pipes, hello }),
            Err(error @ (HostError::SupervisorEnded(_) | HostError::TimedOut(_))) => {
                pipes.kill();
                let what = match error {
                    HostError::SupervisorEnded(how) => format!("the emulator {how}"),
                    HostError::TimedOut(timeout) => format!("no answer within {timeout:?}"),
                    error => error.to_string(),
                };
                let why = files.explain(&format!("{what}: {}", files.emulator_stderr()));
                Err(HostError::Unreachable {
                    host: setup.host.to_owned(),
                    why,
                    hint: KERNEL_REQUIREMENTS.to_owned(),
                })
            }
            Err(other) => {
                pipes.kill();
                Err(other)
            }
        }
    }
}

impl Session for VmSession<'_> {
    fn hello(&self) -> &Hello {
        &self.hello
    }

    fn send(&mut self, order: &Order) -> Result<(), HostError> {
        self.pipes.send(order)
    }

    fn next(&mut self, timeout: Duration) -> Result<Event, HostError> {
        self.pipes.next_event(timeout)
    }
}

impl Drop for VmSession<'_> {
    /// The machine has nothing to undo: it disappears with the emulator.
    fn drop(&mut self) {
        self.pipes.kill();
    }
}
