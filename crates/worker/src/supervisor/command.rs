//! The command that starts a job, with what a place puts around it: a wrapper, variables.

use std::process::Command;

use oscost_model::protocol::Order;
use oscost_model::seed::Seed;
use oscost_model::treatment::AppliedTreatment;
use oscost_model::worker::{Subject, Task, WorkerSpec};

use super::undo::Undo;
use crate::kernel::process;

/// A fresh exec of this very program, with nothing in its environment but padding, the folder for
/// its temporary files, and what the order's place wants there; where it is to run a program of its
/// user's, with their own environment beside that.
pub(super) fn job_command(order: &Order, undo: &Undo) -> Command {
    let treatments = arm_treatments(order);
    let padding = padding(spec(order).map_or(0, |spec| spec.seed));
    let mut command = match wrapper(order) {
        None => {
            let mut command = Command::new(process::own_executable());
            // As long as any other one: what a process is given lies on its stack.
            command.arg("job").arg(format!("{:010}", std::process::id()));
            command
        }
        Some([program, arguments @ ..]) => {
            let mut command = Command::new(program);
            // By its own name: what /proc/self/exe is, is another matter for each who asks. Whoever
            // starts it then is its parent, and that is not known from here.
            let worker = std::env::current_exe().unwrap_or_else(|_| process::own_executable());
            command.args(arguments).arg(worker).arg("job").arg("0");
            command
        }
        Some([]) => Command::new(""), // It cannot be started, and that is said.
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
        // What a job makes among the temporary files goes with the folder, however it ends.
        command.current_dir(scratch).env("TMPDIR", scratch);
    }
    command
}

/// Whether a job runs a program, whose environment is its user's.
pub(super) fn runs_program(spec: &WorkerSpec) -> bool {
    matches!(spec.subject, Subject::Program(_))
}

/// The variables that are asked for, as they are.
pub(super) fn env_treatments(applied: &[AppliedTreatment]) -> impl Iterator<Item = (&str, &str)> {
    applied.iter().filter_map(|one| match one {
        AppliedTreatment::Env { name, value } => Some((name.as_str(), value.as_str())),
        _ => None,
    })
}

/// What an environment holds by what is done to its process.
pub(super) fn variables(applied: &[AppliedTreatment]) -> Vec<(&str, String)> {
    const TUNABLES: &str = "GLIBC_TUNABLES";
    // The worker registers rseq(2) for itself: a thread can have but one.
    let mut tunables = "glibc.pthread.rseq=0".to_owned();
    let mut variables = Vec::new();
    for (name, value) in env_treatments(applied) {
        match name {
            TUNABLES => tunables = format!("{tunables}:{value}"),
            _ => variables.push((name, value.to_owned())),
        }
    }
    variables.push((TUNABLES, tunables));
    variables
}

/// The program that starts a job, with its arguments, where its place names one.
pub(super) fn wrapper(order: &Order) -> Option<&[String]> {
    arm_treatments(order).iter().find_map(|treatment| match treatment {
        AppliedTreatment::Wrapper { command } => Some(&command[..]),
        _ => None,
    })
}

/// What is done to a worker that has one arm; several are told apart after they were started.
fn arm_treatments(order: &Order) -> &[AppliedTreatment] {
    // An end that serves another machine's worker is not what is measured.
    let of_one =
        spec(order).filter(|spec| spec.arms == 1 && !matches!(spec.task, Task::Serve { .. }));
    of_one.and_then(|spec| spec.treatments.first()).map_or(&[], Vec::as_slice)
}

/// What a job with a case must know.
pub(super) fn spec(order: &Order) -> Option<&WorkerSpec> {
    match order {
        Order::Measure { spec, .. } | Order::Count { spec, .. } | Order::Serve { spec, .. } => {
            Some(spec)
        }
        _ => None,
    }
}

/// 0 to 4095 bytes that move the stack of the new process: one layout's luck is not the op's cost.
fn padding(seed: u64) -> String {
    "x".repeat(Seed::new(seed).below(4_096) as usize)
}
