//! The program that the measured one needs while it runs.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::time::{Duration, Instant};

use oscost_model::program::CompanionProgram;
use oscost_model::protocol::Event;

use super::{ProgramRun, is_zero};
use crate::kernel::process::{self, EndedChild, Termination, WaitTarget};
use crate::supervisor::processes::external_program::{
    self, ExternalProgram, ProgramEnd, SessionEnd, WaitLimit, WaitResult, quoted_command,
};

/// The time within which the companion must be ready.
const COMPANION_READY_TIMEOUT: Duration = Duration::from_secs(30);

impl ProgramRun<'_> {
    /// Starts the companion, and waits for its first line.
    pub(super) fn start_companion(
        &self,
        companion: &CompanionProgram,
    ) -> Result<ExternalProgram, Event> {
        let (lead, command) = ("companion: ", &companion.command);
        let mut child = self.start_helper(lead, command)?;
        let ready_by = Instant::now() + COMPANION_READY_TIMEOUT;
        let deadline = self.deadline.min(ready_by);
        let limit = WaitLimit { deadline, session: SessionEnd::Cancels };
        let line = loop {
            if let Some(line) = child.output.first_line() {
                break line;
            }
            match external_program::wait_for_event(Some(&mut child), None, limit) {
                Ok(WaitResult::Output | WaitResult::Other) => {}
                // The line may still be in the pipe.
                Ok(WaitResult::Exited) => {
                    child.drain_output();
                    match child.output.first_line() {
                        Some(line) => break line,
                        None => return Err(self.companion_failure(companion, &child)),
                    }
                }
                Ok(WaitResult::TimedOut) if deadline == ready_by => {
                    let last = child.output.last_output_clause();
                    let words = " wrote no line within 30 s";
                    return Err(self.failure(&[lead, &quoted_command(command), words, &last]));
                }
                Ok(result) => {
                    return Err(self.interruption(
                        lead,
                        command,
                        &child.output.last_output_clause(),
                        result,
                    ));
                }
                Err(error) => return Err(self.command_failure(lead, command, "waited for", error)),
            }
        };
        if !companion.variable.is_empty() {
            let value = [companion.prefix.as_bytes(), &line].concat();
            self.set_variable(&companion.variable, OsString::from_vec(value))?;
        }
        Ok(child)
    }

    /// The failure of a companion that exited before it was ready.
    fn companion_failure(&self, companion: &CompanionProgram, child: &ExternalProgram) -> Event {
        let (lead, command) = ("companion: ", &companion.command);
        match child.reap() {
            Ok(ProgramEnd { termination: Termination::Exited(0), .. }) => {
                self.failure(&[lead, &quoted_command(command), " exited without writing a line"])
            }
            Ok(ProgramEnd { termination, .. }) => {
                match self.check_end(lead, command, child, termination, is_zero) {
                    Err(reason) => reason,
                    Ok(()) => self.failure(&[lead, &quoted_command(command)]),
                }
            }
            Err(error) => self.command_failure(lead, command, "waited for", error),
        }
    }

    /// Kills the companion. It may also have exited with success by itself.
    pub(super) fn end_companion(
        &self,
        mut child: ExternalProgram,
        companion: &CompanionProgram,
    ) -> Result<(), Event> {
        let early = process::wait(WaitTarget::Child(child.pid), false);
        process::kill_group(child.pid);
        match early {
            Ok(Some(EndedChild { termination, .. })) => {
                child.drain_output();
                self.check_end("companion: ", &companion.command, &child, termination, is_zero)
            }
            _ => Ok(()),
        }
    }
}
