//! External programs: start, limits, and waits for their exit and their output.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Instant;

use oscost_model::program::{ProgramLimits, TreeUsage};
use rustix::process::Resource;

use super::program_file::program_file;
use super::program_output::{Capture, ProgramOutput, printable};
use crate::kernel::Errno;
use crate::kernel::event::poll;
use crate::kernel::ipc::pipe::pipe;
use crate::kernel::machine::cpu_group::CpuGroup;
use crate::kernel::process::limits::LoweredLimit;
use crate::kernel::process::signal;
use crate::kernel::process::usage::{self, EndedProcess};
use crate::kernel::process::{self, Termination, WaitTarget};
use crate::kernel::time::clock::monotonic_raw_ns;
use crate::supervisor::protocol::io::time_until;

/// The status of a process that could not enter its control group or execute its program: that of a
/// shell whose command was not found.
const NOT_STARTED: i32 = 127;

/// When to stop waiting for a program.
#[derive(Clone, Copy)]
pub(super) struct WaitLimit {
    pub(crate) deadline: Instant,
    /// Whether the end of the job's own input ends the wait: it ends with the session.
    pub(crate) session: SessionEnd,
}

/// The effect of the end of the session on a wait.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionEnd {
    Cancels,
    Ignored,
}

/// The result of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitResult {
    /// The program may have written something.
    Output,
    /// It has exited, and was not reaped.
    Exited,
    /// The other descriptor is readable.
    Other,
    /// The deadline has passed.
    TimedOut,
    /// The session has ended, or the tool has ordered the job to stop.
    Cancelled,
}

/// A program that is ready to be started: all that is not part of its start has been done.
pub(super) struct PreparedProgram {
    command: Command,
    stdout: Option<File>,
    stderr: File,
}

/// A running program: a child of this process, in a process group of its own.
pub(super) struct ExternalProgram {
    pub(crate) pid: u32,
    /// The time directly before it was spawned.
    pub(super) started_ns: u64,
    pidfd: Option<OwnedFd>,
    stdout: Option<File>,
    stderr: Option<File>,
    /// It owns our copies of the program's descriptors. While they are open, the exit of the program
    /// ends none of its streams, which would wake whoever waits for them.
    command: Option<Command>,
    /// What it was started under, and this process is still.
    lowered: Option<LoweredLimits>,
    pub(crate) output: ProgramOutput,
}

/// The end of a program.
pub(super) struct ProgramEnd {
    pub(crate) termination: Termination,
    /// What the kernel charged it and its descendants.
    pub(super) usage: TreeUsage,
    /// The time at which its exit was noticed.
    pub(super) ended_ns: u64,
}

impl PreparedProgram {
    /// A program with this file as its input, or without input.
    pub(super) fn new(
        words: &[String],
        input: Option<&str>,
        reads: Capture,
    ) -> Result<Self, Errno> {
        let [program, arguments @ ..] = words else { return Err(Errno::ENOENT) };
        let null = File::options().read(true).write(true).open("/dev/null").map_err(|error| {
            Errno::unavailable(format!("/dev/null cannot be opened: {}", Errno::from(error)))
        })?;
        let stdin = match input {
            Some(path) => File::open(path)?,
            None => null.try_clone()?,
        };
        let (stderr, to_stderr) = pipe()?;
        // No further options, so that the library uses posix_spawn and does not fork. The timed start
        // must not try the folders of PATH one by one.
        let mut command = match program_file(program) {
            Some(file) => Command::new(file),
            None => Command::new(program),
        };
        command.arg0(program).args(arguments).process_group(0).stdin(stdin).stderr(to_stderr);
        let stdout = match reads {
            Capture::Stderr => {
                command.stdout(null);
                None
            }
            Capture::Both => {
                let (stdout, to_stdout) = pipe()?;
                command.stdout(to_stdout);
                Some(stdout)
            }
        };
        Ok(Self { command, stdout, stderr })
    }

    /// The end of its standard error from which it is read.
    pub(super) fn stderr(&self) -> BorrowedFd<'_> {
        self.stderr.as_fd()
    }

    /// Starts it under these limits. From the first reading of the clock on it makes no system call
    /// but those of posix_spawn(3).
    pub(super) fn spawn(mut self, limits: &ProgramLimits) -> Result<ExternalProgram, Errno> {
        let lowered = lower_limits(limits)?;
        let started_ns = monotonic_raw_ns();
        let pid = self.command.spawn()?.id();
        Ok(self.started(pid, started_ns, lowered))
    }

    /// Starts it in a control group: its process enters the group first, and then executes it. That is
    /// not how a trial starts; the time is not that of one.
    pub(super) fn spawn_in(
        mut self,
        group: &CpuGroup,
        limits: &ProgramLimits,
    ) -> Result<ExternalProgram, Errno> {
        let lowered = lower_limits(limits)?;
        let started_ns = monotonic_raw_ns();
        let pid = process::fork(|| {
            if group.enter().is_ok() {
                // It returns only if that failed, as the status says.
                let _ = self.command.exec();
            }
            NOT_STARTED
        })?;
        Ok(self.started(pid, started_ns, lowered))
    }

    fn started(self, pid: u32, started_ns: u64, lowered: LoweredLimits) -> ExternalProgram {
        ExternalProgram {
            pid,
            started_ns,
            pidfd: None,
            stdout: self.stdout,
            stderr: Some(self.stderr),
            command: Some(self.command),
            lowered: Some(lowered),
            output: ProgramOutput::default(),
        }
    }
}

impl ExternalProgram {
    /// Starts a program without input and without limits, whose exit can be waited for with its
    /// output.
    pub(super) fn start(words: &[String]) -> Result<Self, Errno> {
        let prepared = PreparedProgram::new(words, None, Capture::Both)?;
        let mut started = prepared.spawn(&ProgramLimits::default())?;
        started.watch_exit()?;
        Ok(started)
    }

    /// From now on a wait for events sees its exit, and the end of its streams.
    pub(super) fn watch_exit(&mut self) -> Result<(), Errno> {
        self.release_start();
        let opened = process::open_pidfd(self.pid);
        self.pidfd = Some(opened.inspect_err(|_| process::kill_and_reap(self.pid))?);
        Ok(())
    }

    /// Lets go of what its start needed: the limits, and our copies of its descriptors.
    pub(super) fn release_start(&mut self) {
        self.restore_limits();
        drop(self.command.take());
    }

    /// Restores the limits of this process.
    pub(super) fn restore_limits(&mut self) {
        drop(self.lowered.take());
    }

    /// Waits for its exit.
    pub(crate) fn reap(&self) -> Result<ProgramEnd, Errno> {
        let ended = usage::wait(WaitTarget::Child(self.pid), true)?;
        let ended_ns = monotonic_raw_ns();
        let EndedProcess { termination, usage } = ended.ok_or(Errno::ECHILD)?;
        Ok(ProgramEnd { termination, usage, ended_ns })
    }

    /// Reads the output that is still in the pipes, without waiting for other writers.
    pub(super) fn drain_output(&mut self) {
        // More remains only if another process keeps writing.
        const TRIES: u32 = 64;
        self.pidfd = None;
        let now = WaitLimit { deadline: Instant::now(), session: SessionEnd::Ignored };
        for _ in 0..TRIES {
            if wait_for_event(Some(self), None, now) != Ok(WaitResult::Output) {
                return;
            }
        }
    }
}

/// The resource limits of a program that this process has lowered; restored on drop.
type LoweredLimits = [Option<LoweredLimit>; 2];

/// Lowers the resource limits under which a program is started.
pub(crate) fn lower_limits(limits: &ProgramLimits) -> Result<LoweredLimits, Errno> {
    let lowered =
        |resource, mib: Option<u32>| mib.map(|mib| LoweredLimit::new(resource, mib)).transpose();
    Ok([lowered(Resource::As, limits.memory_mib)?, lowered(Resource::Fsize, limits.file_mib)?])
}

/// Waits until a program writes or exits, or `other` is readable.
pub(super) fn wait_for_event(
    program: Option<&mut ExternalProgram>,
    other: Option<BorrowedFd<'_>>,
    limit: WaitLimit,
) -> Result<WaitResult, Errno> {
    let left = time_until(limit.deadline);
    let input = std::io::stdin();
    let session_input = (limit.session == SessionEnd::Cancels).then(|| input.as_fd());
    let (is_open, ready) = {
        let program = program.as_deref();
        let streams =
            |is_open: fn(&ExternalProgram) -> Option<BorrowedFd<'_>>| program.and_then(is_open);
        let all = [
            session_input,
            streams(|program| Some(program.pidfd.as_ref()?.as_fd())),
            other,
            streams(|program| Some(program.stdout.as_ref()?.as_fd())),
            streams(|program| Some(program.stderr.as_ref()?.as_fd())),
        ];
        let fds: Vec<_> = all.into_iter().flatten().collect();
        (all.map(|fd| fd.is_some()), poll::readable(&fds, Some(left))?)
    };
    let mut ready = ready.into_iter();
    let [cancelled, ended, other, output, errors] =
        is_open.map(|is_there| is_there && ready.next() == Some(true));
    if cancelled {
        return Ok(WaitResult::Cancelled);
    }
    if let Some(program) = program {
        if ended {
            // Its output can wait: the exit is being timed.
            program.pidfd = None;
            return Ok(WaitResult::Exited);
        }
        if output {
            program.output.read_from(&mut program.stdout, Capture::Both);
        }
        if errors {
            program.output.read_from(&mut program.stderr, Capture::Stderr);
        }
        if other {
            return Ok(WaitResult::Other);
        }
        if output || errors {
            // A program that writes all the time must still time out.
            return Ok(if left.is_zero() && program.pidfd.is_some() {
                WaitResult::TimedOut
            } else {
                WaitResult::Output
            });
        }
    }
    Ok(match (other, left.is_zero()) {
        (true, _) => WaitResult::Other,
        (_, true) => WaitResult::TimedOut,
        _ => WaitResult::Output,
    })
}

/// How a program ended that should have succeeded.
pub(crate) fn describe_end(termination: Termination, limits: &ProgramLimits) -> String {
    match (termination, limits.file_mib) {
        (Termination::Exited(status), _) => format!("exited with status {status}"),
        (Termination::Killed(libc::SIGXFSZ), Some(mib)) => {
            format!("was killed by SIGXFSZ: a file exceeded its limit of {mib} MiB")
        }
        // Only the kernel's log names the call: a copy under a filter that raises signals, as of a
        // worker, would run the program once more, and execve(2) resets the handler.
        (Termination::Killed(libc::SIGSYS), _) => {
            let filter = "a seccomp filter forbids a call that it made";
            let log = "`dmesg | grep type=1326`, after `syscall=`";
            format!("was killed by SIGSYS: {filter}; the kernel's log has its number ({log})")
        }
        (Termination::Killed(by), _) => ["was killed by ", &signal::name(by)].concat(),
    }
}

/// A command, quoted for a message.
pub(crate) fn quoted_command(words: &[String]) -> String {
    const LETTERS: usize = 80;
    ["`", &printable(words.join(" ").chars().take(LETTERS)), "`"].concat()
}
