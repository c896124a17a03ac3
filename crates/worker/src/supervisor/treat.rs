//! Runs any command under treatments: `oscost-worker treat TREATMENTS COMMAND...`, for `oscost
//! treat`. Without a command it only tries the treatments, on a process that exits at once.
//!
//! The command keeps its user's terminal, directory, environment and signals, and is not pinned.
//! Besides the command there are up to three kinds of process: this one, which waits and passes the
//! exit status on; monitors, if a treatment needs one; and a cleanup process, if something is
//! attached to the system, which undoes that when this process has ended, however it ended.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::process::CommandExt;
use std::process::Command;

use oscost_model::protocol::EventKind;
use oscost_model::treatment::{AppliedTreatment, TreatmentSet};
use serde::Deserialize;

use super::attach;
use super::protocol::wire::Wire;
use crate::kernel::Errno;
use crate::kernel::file::location;
use crate::kernel::ipc::pipe::pipe;
use crate::kernel::process::signal;
use crate::kernel::process::{self, Termination, WaitTarget};
use crate::treatments::system::{AntagonistCpus, RestorePlan};
use crate::treatments::{self, Refusal, Treatments};

/// The exit statuses by which a shell, env(1) and nice(1) tell their own failures from those of the
/// command.
const EXIT_TREATMENT_FAILED: u8 = 125;
const EXIT_CANNOT_RUN: u8 = 126;
const EXIT_NOT_FOUND: u8 = 127;
/// What a shell adds to the number of the signal that killed a command.
const EXIT_SIGNAL_BASE: u8 = 128;

/// Why `sud` is possible only for a process that is already running.
const NO_SUD: &str = "cannot treat a command with `sud`: execve(2) disables Syscall User Dispatch";

/// Why `cool` is possible only for ops.
const NO_COOL: &str =
    "cannot treat a command with `cool`: the walk is between ops of a benchmark, and it has none";

/// Why `call` is possible only for ops.
const NO_CALL: &str =
    "cannot treat a command with `call`: a program makes its calls as it was compiled";

/// Why these treatments cannot be those of a command; `None` if they can.
pub(super) fn why_no_command(applied: &[AppliedTreatment]) -> Option<&'static str> {
    applied.iter().find_map(|one| match one {
        AppliedTreatment::Sud => Some(NO_SUD),
        AppliedTreatment::Cool { .. } => Some(NO_COOL),
        AppliedTreatment::Call { .. } => Some(NO_CALL),
        _ => None,
    })
}

/// Runs the command under the treatments; returns the exit status.
pub fn run_treat() -> u8 {
    let mut arguments = std::env::args_os().skip(2);
    let text = arguments.next().unwrap_or_default();
    let treatment_set = serde_json::from_slice(text.as_encoded_bytes());
    let command: Vec<OsString> = arguments.collect();
    match treatment_set {
        Ok(treatment_set) => run(treatment_set, command),
        Err(error) => {
            report_error(EXIT_TREATMENT_FAILED, &format!("cannot parse the treatments: {error}"))
        }
    }
}

fn run(mut treatment_set: TreatmentSet, command: Vec<OsString>) -> u8 {
    if let Some(why) = why_no_command(&treatment_set.applied)
        && !command.is_empty()
    {
        let hint = "\n  hint: `oscost run --treat` treats benchmarks";
        return report_error(EXIT_TREATMENT_FAILED, &(why.to_owned() + hint));
    }
    let command = take_wrapper(&mut treatment_set.applied, command);
    let (attached, applied) = (&treatment_set.attached, &treatment_set.applied);
    let treatments = Treatments { applied, cpu: None, arm: 0 };
    // With nothing to undo and no end to report, this process becomes the command.
    let is_simple = |one: &AppliedTreatment| {
        matches!(one, AppliedTreatment::Env { .. } | AppliedTreatment::Nice { .. })
    };
    if attached.is_empty() && applied.iter().all(is_simple) {
        return match treatments::install(&treatments) {
            Ok(()) => exec(&command, applied),
            Err(reason) => report_refusal(&reason),
        };
    }
    let has_group = applied.iter().any(|one| matches!(one, AppliedTreatment::Cgroup { .. }));
    let cleanup = match CleanupProcess::start(&treatment_set, has_group) {
        Ok(cleanup) => cleanup,
        Err(message) => return report_error(EXIT_TREATMENT_FAILED, &message),
    };
    let blocked = signal::block_forwarded();
    let started = treatments.start(&mut |_| {
        blocked.unblock();
        i32::from(exec(&command, applied))
    });
    if started.is_err() {
        blocked.unblock();
    }
    let ended = started.and_then(|running| {
        signal::forward_to(running.pid());
        blocked.unblock();
        let ended = running.wait();
        signal::forward_to(0);
        ended
    });
    if let Some(cleanup) = cleanup {
        cleanup.end(!command.is_empty());
    }
    match ended {
        Ok(Termination::Exited(status)) => status as u8,
        Ok(Termination::Killed(by)) => report_signal(by, &command, applied),
        Err(reason) => report_refusal(&reason),
    }
}

/// Takes the first wrapper, and all treatments after it, out of `applied`; returns the command line
/// with the wrapper. The wrapper starts this program again if further treatments follow it.
fn take_wrapper(applied: &mut Vec<AppliedTreatment>, command: Vec<OsString>) -> Vec<OsString> {
    let at = applied.iter().position(|one| matches!(one, AppliedTreatment::Wrapper { .. }));
    let mut rest = at.map(|at| applied.split_off(at)).unwrap_or_default().into_iter();
    let Some(AppliedTreatment::Wrapper { command: wrapper }) = rest.next() else { return command };
    let mut message: Vec<OsString> = wrapper.into_iter().map(OsString::from).collect();
    let inside = TreatmentSet { applied: rest.collect(), attached: Vec::new() };
    if !inside.applied.is_empty() {
        let program = process::own_executable();
        // To the wrapper, /proc/self/exe is the wrapper itself.
        message.push(program.read_link().unwrap_or(program).into());
        message.push("treat".into());
        message.push(serde_json::to_string(&inside).unwrap_or_default().into());
    }
    message.extend(command);
    message
}

/// Executes the command as execvp(3) does; returns the exit status if that fails or if there is no
/// command.
fn exec(command: &[OsString], applied: &[AppliedTreatment]) -> u8 {
    let Some((program, arguments)) = command.split_first() else { return 0 };
    let variables = applied.iter().filter_map(|one| match one {
        AppliedTreatment::Env { name, value } => Some((name, value)),
        _ => None,
    });
    let error = Command::new(program).args(arguments).envs(variables).exec();
    let (status, hint) = match error.kind() {
        ErrorKind::NotFound => (EXIT_NOT_FOUND, "give its path, or install it"),
        _ => (EXIT_CANNOT_RUN, "`chmod +x` makes a script a program"),
    };
    let (program, error) = (printable(program), Errno::from(error));
    report_error(status, &format!("cannot run `{program}`: {error}\n  hint: {hint}"))
}

/// A word of a command, without characters that a terminal would interpret.
fn printable(word: &OsString) -> String {
    word.to_string_lossy().chars().take(80).collect::<String>().escape_debug().to_string()
}

/// The exit status of a command that was killed; the signal is reported unless the user sent it.
fn report_signal(signal: i32, command: &[OsString], applied: &[AppliedTreatment]) -> u8 {
    let status = EXIT_SIGNAL_BASE + signal as u8;
    let has_filter = applied.iter().any(|one| matches!(one, AppliedTreatment::Seccomp { .. }));
    let reason = match signal {
        libc::SIGINT | libc::SIGPIPE => return status,
        libc::SIGSYS if has_filter => {
            ": its seccomp filter forbids a system call that it made\n  hint: the action \
             SCMP_ACT_LOG writes the call to the kernel's log instead"
        }
        _ => "",
    };
    let program = command.first().map(printable).unwrap_or_default();
    report_error(status, &format!("`{program}` was killed by {}{reason}", signal::name(signal)))
}

fn report_refusal(reason: &Refusal) -> u8 {
    let (Refusal::Unavailable(message) | Refusal::Failed(message)) = reason;
    report_error(EXIT_TREATMENT_FAILED, message)
}

fn report_error(status: u8, message: &str) -> u8 {
    // Standard error may be closed; the exit status reports the same.
    let _ = writeln!(std::io::stderr(), "error: {message}");
    status
}

/// The process that keeps system treatments attached while the command runs, and undoes them.
struct CleanupProcess {
    pid: u32,
    /// Its input: no other process has it open, so that its end means the end of this process.
    input: Option<File>,
    events: BufReader<File>,
    restore: RestorePlan,
}

/// An event of the cleanup process.
#[derive(Deserialize)]
struct CleanupEvent {
    event: EventKind,
    missing: Option<String>,
    reason: Option<String>,
    counted: Option<u64>,
}

impl CleanupProcess {
    /// Attaches the system treatments; `None` if there is nothing to clean up.
    fn start(
        treatment_set: &TreatmentSet,
        has_group: bool,
    ) -> Result<Option<CleanupProcess>, String> {
        if treatment_set.attached.is_empty() && !has_group {
            return Ok(None);
        }
        let failed = |error: Errno| format!("cannot start the cleanup process: {error}");
        let (order_reader, order_writer) = pipe().map_err(failed)?;
        let (event_reader, event) = pipe().map_err(failed)?;
        let name = location::own_leftover_name();
        let group = location::cgroup_name(0);
        let put_back = RestorePlan::of(&treatment_set.attached, &name);
        let mut ends = Some((order_reader, order_writer, event_reader, event));
        let pid = process::fork(|| {
            // Signals to the old session no longer reach it. It fails only for a group leader,
            // which a new process is not.
            let _ = rustix::process::setsid();
            let Some((order_reader, _, _, event)) = ends.take() else { return 1 };
            let mut wire = Wire::new(order_reader, event);
            let cpus = AntagonistCpus::default();
            let event =
                attach::attach_until_stop(0, &treatment_set.attached, cpus, &name, &mut wire);
            if has_group {
                treatments::remove_group(&group);
            }
            // A parent that no longer reads was killed.
            i32::from(wire.send(&event).is_err())
        });
        let pid = pid.map_err(failed)?;
        let Some((_, order_writer, event_reader, _)) = ends.take() else { return Ok(None) };
        let mut cleanup = CleanupProcess {
            pid,
            input: Some(order_writer),
            events: BufReader::new(event_reader),
            restore: put_back,
        };
        match cleanup.next_event() {
            Some(CleanupEvent { event: EventKind::Ready, .. }) => Ok(Some(cleanup)),
            event => Err(failure_text(event)),
        }
    }

    /// Ends it, which undoes what it has attached; prints the number of counted calls if `verbose`.
    fn end(mut self, verbose: bool) {
        self.input = None;
        match self.next_event() {
            Some(CleanupEvent { event: EventKind::Detached, counted: Some(counted), .. })
                if verbose =>
            {
                let message = format!("note: {counted} system calls of all processes were counted");
                // Standard error may be closed.
                let _ = writeln!(std::io::stderr(), "{message}");
            }
            Some(CleanupEvent { event: EventKind::Detached, .. }) => {}
            event => {
                report_error(EXIT_TREATMENT_FAILED, &failure_text(event));
            }
        }
    }

    /// Its next event.
    fn next_event(&mut self) -> Option<CleanupEvent> {
        let mut line = Vec::new();
        self.events.read_until(b'\n', &mut line).ok()?;
        serde_json::from_slice(&line).ok()
    }
}

/// Why the cleanup process failed.
fn failure_text(event: Option<CleanupEvent>) -> String {
    let message = event.and_then(|event| event.missing.or(event.reason));
    message.unwrap_or_else(|| "the cleanup process was killed".to_owned())
}

impl Drop for CleanupProcess {
    fn drop(&mut self) {
        self.input = None;
        // It exits by itself; if it was killed, the changes are restored here.
        let _ = process::wait(WaitTarget::Child(self.pid), true);
        self.restore.restore();
    }
}
