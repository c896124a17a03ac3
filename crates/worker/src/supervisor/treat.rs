//! Any command under treatments: `oscost-worker treated TREATED COMMAND...`, for `oscost treat`.
//! Without a command it only tries them, on a process that ends at once.
//!
//! The command has its user's own terminal, folder, environment and signals, and is not pinned. Up
//! to three processes stand for it: this one, which waits and hands its status on; monitors, where a
//! treatment has a monitor; and a guard, where something is attached to the system, which undoes
//! that when this one has ended, however that came about.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::process::CommandExt;
use std::process::Command;

use oscost_model::protocol::EventKind;
use oscost_model::treatment::{AppliedTreatment, TreatmentSet};
use serde::Deserialize;

use super::attach;
use super::wire::Wire;
use crate::kernel::Errno;
use crate::kernel::file::location;
use crate::kernel::ipc::pipe::pipe;
use crate::kernel::process::signal;
use crate::kernel::process::{self, Termination, WaitTarget};
use crate::treatments::system::{AntagonistCpus, RestorePlan};
use crate::treatments::{self, Refusal, Treatments};

/// The statuses by which a shell, env(1) and nice(1) tell their own failures from their command's.
const EXIT_TREATMENT_FAILED: u8 = 125;
const EXIT_CANNOT_RUN: u8 = 126;
const EXIT_NOT_FOUND: u8 = 127;
/// What a shell adds to the number of the signal that killed a command.
const EXIT_SIGNAL_BASE: u8 = 128;

/// Why a command cannot have what a process that runs already can.
pub(super) const NO_SUD: &str =
    "cannot treat a command with `sud`: execve(2) switches Syscall User Dispatch off";

/// Runs the command under the treatments; the status to end with.
pub fn run_treat() -> u8 {
    let mut arguments = std::env::args_os().skip(2);
    let text = arguments.next().unwrap_or_default();
    let treated = serde_json::from_slice(text.as_encoded_bytes());
    let command: Vec<OsString> = arguments.collect();
    match treated {
        Ok(treated) => run(treated, command),
        Err(error) => {
            report_error(EXIT_TREATMENT_FAILED, &format!("cannot read the treatments: {error}"))
        }
    }
}

fn run(mut treated: TreatmentSet, command: Vec<OsString>) -> u8 {
    if treated.applied.contains(&AppliedTreatment::Sud) && !command.is_empty() {
        let hint = "\n  hint: `oscost run --treat sud` treats a process that runs already";
        return report_error(EXIT_TREATMENT_FAILED, &(NO_SUD.to_owned() + hint));
    }
    let command = take_wrapper(&mut treated.applied, command);
    let (attached, applied) = (&treated.attached, &treated.applied);
    let treatments = Treatments { applied, cpu: None, arm: 0 };
    // Whoever has nothing to undo or to say of its end need not be waited for.
    let is_simple = |one: &AppliedTreatment| {
        matches!(one, AppliedTreatment::Env { .. } | AppliedTreatment::Nice { .. })
    };
    if attached.is_empty() && applied.iter().all(is_simple) {
        return match treatments::install(&treatments) {
            Ok(()) => exec(&command, applied),
            Err(why) => report_refusal(&why),
        };
    }
    let has_group = applied.iter().any(|one| matches!(one, AppliedTreatment::Cgroup { .. }));
    let guard = match CleanupProcess::start(&treated, has_group) {
        Ok(guard) => guard,
        Err(words) => return report_error(EXIT_TREATMENT_FAILED, &words),
    };
    let held_back = signal::block_forwarded();
    let started = treatments.start(&mut |_| {
        held_back.unblock();
        i32::from(exec(&command, applied))
    });
    if started.is_err() {
        held_back.unblock();
    }
    let ended = started.and_then(|running| {
        signal::forward_to(running.pid());
        held_back.unblock();
        let ended = running.wait();
        signal::forward_to(0);
        ended
    });
    if let Some(guard) = guard {
        guard.end(!command.is_empty());
    }
    match ended {
        Ok(Termination::Exited(status)) => status as u8,
        Ok(Termination::Killed(by)) => report_signal(by, &command, applied),
        Err(why) => report_refusal(&why),
    }
}

/// Takes the first wrapper, and what follows it, out of `applied`: the wrapper starts the command,
/// through this program where more is to be done to it first.
fn take_wrapper(applied: &mut Vec<AppliedTreatment>, command: Vec<OsString>) -> Vec<OsString> {
    let at = applied.iter().position(|one| matches!(one, AppliedTreatment::Wrapper { .. }));
    let mut rest = at.map(|at| applied.split_off(at)).unwrap_or_default().into_iter();
    let Some(AppliedTreatment::Wrapper { command: wrapper }) = rest.next() else { return command };
    let mut words: Vec<OsString> = wrapper.into_iter().map(OsString::from).collect();
    let inside = TreatmentSet { applied: rest.collect(), attached: Vec::new() };
    if !inside.applied.is_empty() {
        let program = process::own_executable();
        // The wrapper's own /proc/self/exe is another one.
        words.push(program.read_link().unwrap_or(program).into());
        words.push("treated".into());
        words.push(serde_json::to_string(&inside).unwrap_or_default().into());
    }
    words.extend(command);
    words
}

/// Becomes the command, looked for as execvp(3) does; comes back with the status for that it could
/// not, or that there is none.
fn exec(command: &[OsString], applied: &[AppliedTreatment]) -> u8 {
    let Some((program, arguments)) = command.split_first() else { return 0 };
    let variables = applied.iter().filter_map(|one| match one {
        AppliedTreatment::Env { name, value } => Some((name, value)),
        _ => None,
    });
    let error = Command::new(program).args(arguments).envs(variables).exec();
    let status = if error.kind() == ErrorKind::NotFound { EXIT_NOT_FOUND } else { EXIT_CANNOT_RUN };
    report_error(status, &format!("cannot run `{}`: {}", printable(program), Errno::from(error)))
}

/// A word of somebody's command, without what a terminal may take for more than letters.
fn printable(word: &OsString) -> String {
    word.to_string_lossy().chars().take(80).collect::<String>().escape_debug().to_string()
}

/// The status of a command that was killed, which is told where its user has not asked for it.
fn report_signal(by: i32, command: &[OsString], applied: &[AppliedTreatment]) -> u8 {
    let status = EXIT_SIGNAL_BASE + by as u8;
    let has_filter = applied.iter().any(|one| matches!(one, AppliedTreatment::Seccomp { .. }));
    let why = match by {
        libc::SIGINT | libc::SIGPIPE => return status,
        libc::SIGSYS if has_filter => {
            ": its seccomp filter forbids a call that it made\n  hint: the action SCMP_ACT_LOG \
             writes the call to the kernel's log instead"
        }
        _ => "",
    };
    let program = command.first().map(printable).unwrap_or_default();
    report_error(status, &format!("`{program}` was killed by {}{why}", signal::name(by)))
}

fn report_refusal(why: &Refusal) -> u8 {
    let (Refusal::Unavailable(words) | Refusal::Failed(words)) = why;
    report_error(EXIT_TREATMENT_FAILED, words)
}

fn report_error(status: u8, words: &str) -> u8 {
    // Standard error may be closed; the status says the same.
    let _ = writeln!(std::io::stderr(), "error: {words}");
    status
}

/// Whoever holds what is attached while the command runs, in a process of its own.
struct CleanupProcess {
    pid: u32,
    /// What it waits for the end of: nobody else has it open.
    input: Option<File>,
    events: BufReader<File>,
    restore: RestorePlan,
}

/// What a guard says.
#[derive(Deserialize)]
struct CleanupEvent {
    event: EventKind,
    missing: Option<String>,
    why: Option<String>,
    counted: Option<u64>,
}

impl CleanupProcess {
    /// Attaches what is to be attached; none where there is nothing to guard.
    fn start(treated: &TreatmentSet, has_group: bool) -> Result<Option<CleanupProcess>, String> {
        if treated.attached.is_empty() && !has_group {
            return Ok(None);
        }
        let failed = |error: Errno| format!("cannot start a guard: {error}");
        let (asked, asks) = pipe().map_err(failed)?;
        let (says, said) = pipe().map_err(failed)?;
        let name = location::own_leftover_name();
        let group = location::cgroup_name(0);
        let put_back = RestorePlan::of(&treated.attached, &name);
        let mut ends = Some((asked, asks, says, said));
        let pid = process::fork(|| {
            process::start_session();
            let Some((asked, _, _, said)) = ends.take() else { return 1 };
            let mut wire = Wire::new(asked, said);
            let at = (AntagonistCpus::default(), &*name);
            let event = attach::attach_until_stop(0, &treated.attached, at, &mut wire);
            if has_group {
                treatments::remove_group(&group);
            }
            // Who no longer listens was killed.
            i32::from(wire.send(&event).is_err())
        });
        let pid = pid.map_err(failed)?;
        let Some((_, asks, says, _)) = ends.take() else { return Ok(None) };
        let mut guard = CleanupProcess {
            pid,
            input: Some(asks),
            events: BufReader::new(says),
            restore: put_back,
        };
        match guard.next_event() {
            Some(CleanupEvent { event: EventKind::Ready, .. }) => Ok(Some(guard)),
            said => Err(failure_text(said)),
        }
    }

    /// Has it undo what it has attached, and tells what was counted if somebody wants to know.
    fn end(mut self, tells: bool) {
        self.input = None;
        match self.next_event() {
            Some(CleanupEvent { event: EventKind::Detached, counted: Some(counted), .. })
                if tells =>
            {
                let words = format!("note: {counted} calls were counted, of all processes");
                // Standard error may be closed: nobody wants to know then.
                let _ = writeln!(std::io::stderr(), "{words}");
            }
            Some(CleanupEvent { event: EventKind::Detached, .. }) => {}
            said => {
                report_error(EXIT_TREATMENT_FAILED, &failure_text(said));
            }
        }
    }

    /// What it says next.
    fn next_event(&mut self) -> Option<CleanupEvent> {
        let mut line = Vec::new();
        self.events.read_until(b'\n', &mut line).ok()?;
        serde_json::from_slice(&line).ok()
    }
}

/// Why a guard could not do what it was to do.
fn failure_text(said: Option<CleanupEvent>) -> String {
    let words = said.and_then(|said| said.missing.or(said.why));
    words.unwrap_or_else(|| "the guard of what is attached was killed".to_owned())
}

impl Drop for CleanupProcess {
    fn drop(&mut self) {
        self.input = None;
        // It ends by itself; where it was killed, what it would have put back is put back here.
        let _ = process::wait(WaitTarget::Child(self.pid), true);
        self.restore.restore();
    }
}
