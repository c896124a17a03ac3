//! The command that starts a job, with the wrapper and the variables of its treatments.

use std::process::Command;

use oscost_model::protocol::Order;
use oscost_model::seed::Seed;
use oscost_model::treatment::AppliedTreatment;
use oscost_model::worker::{Subject, Task, WorkerSpec};

use super::undo::Undo;
use crate::kernel::process;
use crate::kernel::process::privileges;

/// A fresh exec of this program, whose environment holds only padding, TMPDIR, and the variables of
/// the treatments; if it is to run a program, the user's environment as well.
pub(super) fn job_command(order: &Order, undo: &Undo) -> Command {
    let treatments = arm_treatments(order);
    let padding = padding(spec(order).map_or(0, |spec| spec.seed));
    let mut command = match wrapper(order) {
        None => {
            let mut command = Command::new(process::own_executable());
            // Always of the same length: arguments are on the stack of the new process.
            command.arg("job").arg(format!("{:010}", std::process::id()));
            command
        }
        Some([program, arguments @ ..]) => {
            let mut command = Command::new(program);
            // By its path: to the wrapper, /proc/self/exe is the wrapper. The worker's parent is
            // not known from here, hence the 0.
            let worker = std::env::current_exe().unwrap_or_else(|_| process::own_executable());
            command.args(arguments).arg(worker).arg("job").arg("0");
            command
        }
        Some([]) => Command::new(""), // Fails to start, which is reported.
    };
    if spec(order).is_some_and(runs_program) {
        command.envs(env_treatments(treatments));
    } else {
        command.env_clear().envs(variables(treatments));
        if let Some(path) = std::env::var_os("PATH").filter(|_| wrapper(order).is_some()) {
            command.env("PATH", path);
        }
    }
    command.args(undo.arguments()).env("OSCOST_PADDING", padding);
    if let Some(scratch) = undo.scratch() {
        // Temporary files of a job are removed with the directory, however it ends.
        command.current_dir(scratch).env("TMPDIR", scratch);
    }
    command
}

/// Whether a job runs a program, which gets the user's environment.
pub(crate) fn runs_program(spec: &WorkerSpec) -> bool {
    matches!(spec.subject, Subject::Program(_) | Subject::Programs(_))
}

/// The variables of the treatments.
pub(super) fn env_treatments(applied: &[AppliedTreatment]) -> impl Iterator<Item = (&str, &str)> {
    applied.iter().filter_map(|one| match one {
        AppliedTreatment::Env { name, value } => Some((name.as_str(), value.as_str())),
        _ => None,
    })
}

/// The environment of a process under treatments.
pub(crate) fn variables(applied: &[AppliedTreatment]) -> Vec<(&str, String)> {
    const TUNABLES: &str = "GLIBC_TUNABLES";
    // The worker registers rseq(2) itself: a thread can have only one.
    let mut tunables = "glibc.pthread.rseq=0".to_owned();
    let mut variables = Vec::new();
    for (name, value) in env_treatments(applied) {
        match name {
            TUNABLES => tunables = format!("{tunables}:{value}"),
            _ => variables.push((name, value.to_owned())),
        }
    }
    variables.push((TUNABLES, tunables));
    if privileges::are_kept_by_request() {
        variables.push((privileges::KEEP_VARIABLE, "1".to_owned()));
    }
    variables
}

/// The wrapper that starts a job, with its arguments, if its treatments have one.
pub(crate) fn wrapper(order: &Order) -> Option<&[String]> {
    arm_treatments(order).iter().find_map(|treatment| match treatment {
        AppliedTreatment::Wrapper { command } => Some(&command[..]),
        _ => None,
    })
}

/// The treatments of a worker of one arm; several arms apply theirs after the start.
fn arm_treatments(order: &Order) -> &[AppliedTreatment] {
    // The peer's end of a remote worker is not the measured process.
    let of_one =
        spec(order).filter(|spec| spec.arms == 1 && !matches!(spec.task, Task::Serve { .. }));
    of_one.and_then(|spec| spec.treatments.first()).map_or(&[], Vec::as_slice)
}

/// The spec of a job that has one.
pub(crate) fn spec(order: &Order) -> Option<&WorkerSpec> {
    match order {
        Order::Measure { spec, .. } | Order::Count { spec, .. } | Order::Serve { spec, .. } => {
            Some(spec)
        }
        _ => None,
    }
}

/// 0 to 4095 bytes that move the stack of the new process, so that the cost is not that of one
/// particular stack layout.
fn padding(seed: u64) -> String {
    "x".repeat(Seed::new(seed).below(4_096) as usize)
}
