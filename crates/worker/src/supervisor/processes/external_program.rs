//! External programs: start, output, limits, and the end of everything that they leave running.

use std::fs::{self, File};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

use oscost_model::program::{OutputDigest, ProgramLimits, TreeUsage};
use rustix::process::Resource;

use crate::kernel::Errno;
use crate::kernel::event::poll;
use crate::kernel::ipc::pipe::pipe;
use crate::kernel::process::limits::LoweredLimit;
use crate::kernel::process::signal;
use crate::kernel::process::usage::{self, EndedProcess};
use crate::kernel::process::{self, Termination, WaitTarget};
use crate::kernel::time::clock::monotonic_raw_ns;
use crate::supervisor::protocol::io::{read_some, time_until};

/// The number of last bytes of output that are kept.
const MAX_TAIL_BYTES: usize = 16 << 10;
/// The number of first bytes of standard output that are kept.
const MAX_HEAD_BYTES: usize = 4 << 10;

/// Which output of a program is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Capture {
    /// Standard error; its standard output goes to /dev/null.
    Stderr,
    /// Standard output, too.
    Both,
}

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

/// A running program: a child of this process, in a process group of its own.
pub(super) struct ExternalProgram {
    pub(crate) pid: u32,
    /// The time directly before it was spawned.
    pub(super) started_ns: u64,
    pidfd: Option<OwnedFd>,
    stdout: Option<File>,
    stderr: Option<File>,
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

/// The output of a program.
#[derive(Default)]
pub(super) struct ProgramOutput {
    head: Vec<u8>,
    tail: Vec<u8>,
    pub(crate) bytes: u64,
    newlines: u64,
    has_partial_line: bool,
    /// Of standard output.
    pub(super) digest: OutputDigest,
}

impl ExternalProgram {
    /// Starts a program with this file as its input, or without input. Everything that is not part of
    /// starting it is done before the clock is read.
    pub(crate) fn start(
        words: &[String],
        input: Option<&str>,
        reads: Capture,
        limits: &ProgramLimits,
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
        let mut command = Command::new(program);
        command.args(arguments).process_group(0).stdin(stdin).stderr(to_stderr);
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
        // No further options, so that the library uses posix_spawn and does not fork.
        let lowered = lower_limits(limits)?;
        let started_ns = monotonic_raw_ns();
        let spawned = command.spawn();
        drop(lowered);
        let pid = spawned?.id();
        let pidfd = process::open_pidfd(pid).inspect_err(|_| process::kill_and_reap(pid))?;
        let output = ProgramOutput::default();
        Ok(Self { pid, started_ns, pidfd: Some(pidfd), stdout, stderr: Some(stderr), output })
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

/// Lowers the resource limits under which a program is started.
pub(crate) fn lower_limits(limits: &ProgramLimits) -> Result<[Option<LoweredLimit>; 2], Errno> {
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

impl ProgramOutput {
    /// Reads once from a stream, and closes it at its end.
    fn read_from(&mut self, from: &mut Option<File>, is_open: Capture) {
        let Some(stream) = from else { return };
        let before = self.tail.len();
        let Ok(read @ 1..) = read_some(stream, &mut self.tail) else {
            *from = None;
            return;
        };
        self.bytes += read as u64;
        let new = &self.tail[before..];
        if is_open == Capture::Both {
            let room = MAX_HEAD_BYTES.saturating_sub(self.head.len());
            self.head.extend_from_slice(&new[..room.min(read)]);
            self.digest.add(new);
            self.newlines += new.iter().filter(|&&byte| byte == b'\n').count() as u64;
            self.has_partial_line = new.last() != Some(&b'\n');
        }
        let surplus = self.tail.len().saturating_sub(MAX_TAIL_BYTES);
        if surplus > 0 {
            // Drops the partial line: half of a number would look like a number.
            let rest = self.tail[surplus..].iter().position(|&byte| byte == b'\n');
            self.tail.drain(..surplus + rest.map_or(0, |end| end + 1));
        }
    }

    /// The first line of standard output, without newline; `None` while it is incomplete.
    pub(super) fn first_line(&self) -> Option<Vec<u8>> {
        let end = self.head.iter().position(|&byte| byte == b'\n');
        let end = end.or((self.head.len() == MAX_HEAD_BYTES).then_some(MAX_HEAD_BYTES))?;
        Some(self.head[..end].trim_ascii_end().to_vec())
    }

    /// The number of lines on standard output.
    pub(super) fn line_count(&self) -> u64 {
        self.newlines + u64::from(self.has_partial_line)
    }

    /// The last output.
    pub(super) fn tail_text(&self) -> String {
        String::from_utf8_lossy(&self.tail).into_owned()
    }

    /// The last output as the end of a message about a program that was stopped.
    pub(super) fn last_output_clause(&self) -> String {
        self.tail_clause("; last output: ")
    }

    /// `lead` and the last lines of output, as the end of a message; empty without output.
    pub(super) fn tail_clause(&self, lead: &str) -> String {
        const LINES: usize = 5;
        const LETTERS: usize = 600;
        let last = self.tail_text();
        let lines = last.lines().map(str::trim).filter(|line| !line.is_empty());
        let lines: Vec<&str> = lines.collect();
        let lines = lines[lines.len().saturating_sub(LINES)..].join("; ");
        let surplus = lines.chars().count().saturating_sub(LETTERS);
        match lines.is_empty() {
            true => String::new(),
            false => [lead, &printable(lines.chars().skip(surplus))].concat(),
        }
    }
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

/// Foreign text without characters that a terminal would interpret.
fn printable(letters: impl Iterator<Item = char>) -> String {
    let mut shown = String::new();
    for letter in letters {
        match letter {
            '\'' | '"' | '\\' => shown.push(letter),
            _ => shown.extend(letter.escape_debug()),
        }
    }
    shown
}

/// Kills every child of this process, and the orphans that are reparented to it; returns the names
/// of those that were still running.
pub(super) fn kill_children() -> Vec<String> {
    kill_children_except(&[])
}

/// The same, except for these children.
pub(super) fn kill_children_except(kept: &[u32]) -> Vec<String> {
    // A program that forks faster than it can be killed is left to the supervisor.
    const PATIENCE: Duration = Duration::from_secs(2);
    let deadline = Instant::now() + PATIENCE;
    let (mut names, mut killed) = (Vec::new(), Vec::new());
    loop {
        let mut children = process::children();
        children.retain(|pid| !kept.contains(pid));
        if children.is_empty() || time_until(deadline).is_zero() {
            return names;
        }
        // All are killed before any is waited for: one may wait for another, and a set-uid program
        // cannot be killed.
        for pid in children {
            if let Ok(None) = process::wait(WaitTarget::Child(pid), false)
                && !killed.contains(&pid)
            {
                let name = fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
                process::kill(pid);
                names.push(String::from_utf8_lossy(name.trim_ascii_end()).into_owned());
                killed.push(pid);
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Those names in a message; `None` if there are none.
pub(super) fn describe_leftovers(names: &[String]) -> Option<String> {
    const NAMED: usize = 5;
    let shown: Vec<String> =
        names.iter().take(NAMED).map(|name| quoted_command(std::slice::from_ref(name))).collect();
    let count = match names {
        [] => return None,
        [_] => "a process".to_owned(),
        _ => format!("{} processes", names.len()),
    };
    let more = if names.len() > NAMED { ", ..." } else { "" };
    Some(format!("left {count} running: {}{more}", shown.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(words: &str) -> ProgramOutput {
        ProgramOutput { tail: words.as_bytes().to_vec(), ..ProgramOutput::default() }
    }

    #[test]
    fn a_message_has_the_last_five_lines_of_output_and_no_control_characters() {
        assert_eq!(output("a\n\n  b \r\nc\nd\ne\nf\n").tail_clause(": "), ": b; c; d; e; f");
        assert_eq!(output("\x1b[2J'\"\\\u{202e}").tail_clause(": "), r#": \u{1b}[2J'"\\u{202e}"#);
        assert_eq!((output("").tail_clause(": "), output(" \n").tail_clause(": ")), <_>::default());
        assert_eq!(output(&"x".repeat(700)).tail_clause("").len(), 600);
    }

    #[test]
    fn a_first_line_is_complete_or_of_the_maximum_length() {
        let first = |words: &str| {
            ProgramOutput { head: words.into(), ..ProgramOutput::default() }.first_line()
        };
        assert_eq!(first("port 7 \r\nmore"), Some(b"port 7".to_vec()));
        assert_eq!((first(""), first("port")), (None, None));
        assert_eq!(first(&"x".repeat(MAX_HEAD_BYTES)).map(|line| line.len()), Some(MAX_HEAD_BYTES));
    }

    #[test]
    fn leftover_processes_are_named_up_to_five() {
        let names = |count: usize| vec!["a\nb".to_owned(); count];
        assert_eq!(describe_leftovers(&[]), None);
        assert_eq!(describe_leftovers(&names(1)).unwrap(), r"left a process running: `a\nb`");
        let many = describe_leftovers(&names(7)).unwrap();
        assert!(many.starts_with("left 7 processes running: ") && many.ends_with("`, ..."));
        assert_eq!(many.matches('`').count(), 10);
        assert_eq!(quoted_command(&["x".repeat(99)]).len(), 82);
    }
}
