//! A virtual machine that takes orders through its serial line: under KVM, where time is measured,
//! or for an inspection.

use std::process::Stdio;
use std::time::Duration;

use oscost_model::protocol::{Event, Hello, Order};

use super::emulator::{self, Emulator, VmFiles};
use super::{Accel, KERNEL_REQUIREMENTS, Kernel, VmSpec, boot_timeout};
use crate::hosts::session::PipeSession;
use crate::hosts::{HostError, Interrupt, Session, WorkerBinary};

/// A supervisor in a virtual machine.
pub struct VmSession<'a> {
    pipes: PipeSession<'a>,
    hello: Hello,
}

impl<'a> VmSession<'a> {
    /// Boots it, and waits for the hello of its supervisor.
    pub fn start(
        (host, wanted, kernel): (&str, &VmSpec, &Kernel),
        (emulator, program): (&Emulator, &WorkerBinary),
        interrupt: &'a Interrupt,
    ) -> Result<Self, HostError> {
        let no_kvm = |why: String| HostError::Unavailable {
            host: host.to_owned(),
            why,
            hint: "leave out `accel=kvm` to count instructions in an emulator".to_owned(),
        };
        if wanted.accel == Accel::Kvm {
            emulator::check_kvm().map_err(no_kvm)?;
        }
        let cannot = |error: std::io::Error| HostError::CannotStart {
            program: emulator.version.clone(),
            why: error.to_string(),
        };
        let files = VmFiles::create(kernel, program, None).map_err(cannot)?;
        let errors = files.errors.try_clone().map_err(cannot)?;
        let mut command = emulator::command((emulator, program), (wanted, false), &files);
        command.stderr(Stdio::from(errors));
        let mut talk = PipeSession::start(&mut command, interrupt).map_err(cannot)?;
        let hello = talk.hello_within(program, boot_timeout());
        match hello {
            Ok(hello) => Ok(Self { pipes: talk, hello }),
            Err(error @ (HostError::SupervisorEnded(_) | HostError::TimedOut(_))) => {
                talk.kill();
                let why = files.explain(&format!("{error}: {}", files.emulator_stderr()));
                Err(HostError::Unreachable {
                    host: host.to_owned(),
                    why,
                    hint: KERNEL_REQUIREMENTS.to_owned(),
                })
            }
            Err(other) => {
                talk.kill();
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

    fn next(&mut self, patience: Duration) -> Result<Event, HostError> {
        self.pipes.next_event(patience)
    }
}

impl Drop for VmSession<'_> {
    /// Killing the emulator leaves nothing of the machine.
    fn drop(&mut self) {
        self.pipes.kill();
    }
}
