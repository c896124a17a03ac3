//! The timed program: how it is started, waited for, and what is left of it.

use std::fs;
use std::time::{Duration, Instant};

use oscost_model::program::{ProgramLimits, ProgramResult};
use oscost_model::protocol::Event;

use super::ProgramRun;
use crate::kernel::Errno;
use crate::kernel::cpu::affinity;
use crate::kernel::machine::cpu_group::CpuGroup;
use crate::kernel::process::usage;
use crate::kernel::process::{self, WaitTarget};
use crate::supervisor::processes::external_program::{
    self, PreparedProgram, ProgramEnd, SessionEnd, WaitLimit, WaitResult, quoted_command,
};
use crate::supervisor::processes::leftovers;
use crate::supervisor::processes::program_output::Capture;
use crate::supervisor::processes::timed_wait::{self, StopRules, TimedWait};
use crate::supervisor::processes::tree_counters::TreeCounters;
use crate::supervisor::protocol::failure::failure;
use crate::supervisor::protocol::io::time_until;

/// The time that a process which outlives the program may take to exit.
const ORPHAN_GRACE: Duration = Duration::from_millis(200);

impl ProgramRun<'_> {
    /// Makes this fork the process that starts the program and reaps all that it leaves.
    pub(in crate::supervisor::processes) fn become_starter(&self) -> Result<(), Event> {
        process::become_subreaper()
            .map_err(|error| failure(self.id, format!("become a subreaper: {error}")))?;
        if let Some(cpu) = self.spec.cpu {
            affinity::pin(cpu)
                .map_err(|error| failure(self.id, format!("pin to CPU {cpu}: {error}")))?;
        }
        // A fork copies each page at its first write. A failing start touches the pages that the
        // timed start needs, so that these copies are not timed.
        let limits = ProgramLimits::default();
        let prepared = PreparedProgram::new(&[String::new()], None, Capture::Both);
        let _ = prepared.and_then(|prepared| prepared.spawn(&limits));
        Ok(())
    }

    /// Runs and times the program, in the fork, whose counters it inherits, or in a control group.
    pub(in crate::supervisor::processes) fn time_program(
        &self,
        warm_up: bool,
        counters: Option<TreeCounters>,
        group: Option<&CpuGroup>,
    ) -> Result<ProgramResult, Event> {
        let program = self.program;
        let (command, limits) = (&program.command, &program.limits);
        let is_read = warm_up || program.captures_output;
        let reads = if is_read { Capture::Both } else { Capture::Stderr };
        let cannot_start = |error: Errno| match &program.input {
            // Only one of the two is wrong.
            Some(path) if fs::File::open(path).is_err() => {
                self.failure(&["open its standard input ", path, ": ", &error.to_string()])
            }
            _ => self.command_failure("", command, "started", error),
        };
        let max_bytes = u64::from(self.max_output_mib()) << 20;
        let limit = WaitLimit { deadline: self.deadline, session: SessionEnd::Cancels };
        let prepared = PreparedProgram::new(command, program.input.as_deref(), reads);
        let prepared = prepared.map_err(cannot_start)?;
        let interrupts = match (reads, group) {
            (Capture::Stderr, None) => timed_wait::arm_interrupts(&prepared, limit),
            // What is read, or whose real time is not that of a trial, need not be waited for alone.
            _ => None,
        };
        let started = match group {
            Some(group) => prepared.spawn_in(group, limits),
            None => prepared.spawn(limits),
        };
        let mut child = started.map_err(cannot_start)?;
        let rules = StopRules { limit, max_output_bytes: max_bytes };
        let waited = match interrupts {
            Some(interrupts) => timed_wait::wait_blocked(&mut child, &interrupts, rules),
            None => timed_wait::wait_polled(&mut child, rules),
        };
        let waited = waited.inspect_err(|_| drop(leftovers::kill_children()));
        let waited =
            waited.map_err(|error| self.command_failure("", command, "waited for", error))?;
        let ProgramEnd { termination, mut usage, ended_ns } = match waited {
            TimedWait::Ended(end) => end,
            TimedWait::Stopped(result) => {
                process::kill_group(child.pid);
                leftovers::kill_children();
                let last = child.output.last_output_clause();
                return Err(self.interruption("", command, &last, result));
            }
        };
        let grace_limit =
            WaitLimit { deadline: Instant::now() + ORPHAN_GRACE, session: SessionEnd::Ignored };
        while let Ok(left) = usage::wait(WaitTarget::Any, false) {
            match left {
                Some(orphan) => usage = usage.merged_with(orphan.usage),
                None if time_until(grace_limit.deadline).is_zero() => break,
                None => {
                    let soon = Instant::now() + Duration::from_millis(1);
                    let limit = WaitLimit { deadline: soon, ..grace_limit };
                    // They may write until then, and must not block on a full pipe.
                    let _ = external_program::wait_for_event(Some(&mut child), None, limit);
                }
            }
        }
        let names = leftovers::kill_children();
        child.drain_output();
        if child.output.bytes > max_bytes {
            return Err(self.interruption("", command, "", WaitResult::Output));
        }
        self.check_end("", command, &child, termination, |status| program.accepts(status))?;
        if !program.may_leave_processes
            && let Some(left) = leftovers::describe_leftovers(&names)
        {
            return Err(self.failure(&[&quoted_command(command), " ", &left]));
        }
        let counts = counters.map(|counters| counters.totals(usage));
        // At the exec it was no larger than it is now.
        usage.starter_peak_bytes = usage::own_peak_bytes().ok();
        Ok(ProgramResult {
            real_ns: ended_ns.saturating_sub(child.started_ns),
            usage,
            lines: is_read.then(|| child.output.line_count()),
            output: child.output.tail_text(),
            digest: is_read.then_some(child.output.digest),
            counts,
        })
    }
}
