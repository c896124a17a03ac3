//! Counts system calls: a process of its own traces an untimed copy of the case and its
//! descendants.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use oscost_model::program::Program;
use oscost_model::protocol::{Event, Order};
use oscost_model::treatment::AppliedTreatment;
use oscost_model::worker::{Subject, Task, WorkerSpec};

use super::call_counter::CallCounter;
use crate::engine::count;
use crate::kernel::cpu::affinity;
use crate::kernel::file::location;
use crate::kernel::probe::program_trace;
use crate::kernel::probe::ptrace::{self, Stop, TaskStop};
use crate::kernel::{Errno, process};
use crate::supervisor::measurement::case_work::{build_work, pin_to_cpu};
use crate::supervisor::measurement::privileges::drop_privileges;
use crate::supervisor::processes::command;
use crate::supervisor::processes::external_program;
use crate::supervisor::protocol::answer::Answer;
use crate::supervisor::protocol::failure::{failure, op_failure, refusal};
use crate::supervisor::protocol::wire::Wire;
use crate::treatments::{self, Treatments};

/// Starts the copy, which reads the order in `line` as well, traces it, and returns its calls.
pub(crate) fn count(id: u64, spec: &WorkerSpec, line: &[u8]) -> Answer {
    if !matches!(spec.task, Task::Count { .. }) {
        return failure(id, "the task of the order is not to count").into();
    }
    let treatments = arm_treatments(spec);
    if treatments.applied.iter().any(AppliedTreatment::has_monitor) {
        let under = treatments::names(treatments.applied);
        let reason = format!(
            "calls cannot be counted under {under}: a tracer counts them, and a process can have \
             only one monitor"
        );
        return failure(id, reason).into();
    }
    let traced = trace_copy(spec, line);
    treatments::remove_groups(&treatments);
    match traced {
        Ok(TracedCopy { calls, output }) if output.is_empty() => calls.into_event(id).into(),
        // The copy itself reports why it could not run its ops.
        Ok(TracedCopy { output, .. }) => Answer::Line(output.trim_ascii_end().to_vec()),
        Err(error) => failure(id, format!("trace the copy: {error}")).into(),
    }
}

/// The treatments of a worker of one arm.
pub(super) fn arm_treatments(spec: &WorkerSpec) -> Treatments<'_> {
    Treatments { applied: spec.treatments_of(0), cpu: spec.cpu, arm: 0 }
}

/// The traced copy: requests its tracer, then runs the case's ops between two marks.
pub fn run_traced_job() -> Result<(), Errno> {
    process::die_with_parent(process::parent_argument())?;
    let mut wire = Wire::stdio()?;
    let Some(Order::Count { id, spec }) = wire.next_order()? else {
        return Err(Errno::EINVAL);
    };
    let stopped = match spec.task {
        Task::CountForms => program_trace::wait_for_tracer(),
        _ => ptrace::request_tracing(),
    };
    if let Err(error) = stopped {
        return wire.send(&failure(id, format!("ptrace is refused: {error}")));
    }
    drop_privileges(&spec);
    let is_case = matches!(spec.subject, Subject::Case(_));
    let pinned = if is_case { pin_to_cpu(id, &spec) } else { Ok(Vec::new()) };
    if let Err(reason) = treatments::install(&arm_treatments(&spec)) {
        return wire.send(&refusal(id, reason));
    }
    let done = match &spec.subject {
        Subject::Case(_) => pinned.and_then(|allowed| run_counted_ops(id, &spec, allowed)),
        Subject::Program(program) => Err(exec_program(id, &spec, program)),
        Subject::Programs(_) => Err(failure(id, "the calls of one program are counted at a time")),
    };
    done.or_else(|answer| wire.send(&answer))
}

/// Runs the ops of the counted copy of a case, between marks.
fn run_counted_ops(id: u64, spec: &WorkerSpec, allowed: Vec<u32>) -> Result<(), Event> {
    let Task::Count { warm_ops, ops } = spec.task else {
        return Err(failure(id, "the task of the order is not to count"));
    };
    let mut work = build_work(id, spec, 0, allowed)?;
    count::run_counted(&mut work, warm_ops, ops).map_err(|error| op_failure(id, error))
}

/// Executes the program, whose whole run is one op; returns only on failure.
fn exec_program(id: u64, spec: &WorkerSpec, program: &Program) -> Event {
    let failed = |error: Errno| {
        failure(
            id,
            [
                &external_program::quoted_command(&program.command),
                " cannot be started: ",
                &error.to_string(),
            ]
            .concat(),
        )
    };
    if let Some(cpu) = spec.cpu {
        // As in a timed run, which reports the error.
        let _ = affinity::pin(cpu);
    }
    // Lowered permanently: the program inherits the limits.
    let lowered = external_program::lower_limits(&program.limits);
    let name = program.command.first().map_or("", String::as_str);
    let mut command = Command::new(name);
    command.args(program.command.iter().skip(1));
    let input = program
        .input
        .as_ref()
        .map_or(Ok(Stdio::null()), |path| std::fs::File::open(path).map(Stdio::from));
    let error = match input {
        Ok(input) => {
            // Its standard error is the pipe of the copy.
            command.stdin(input).stdout(Stdio::null());
            command.exec()
        }
        Err(error) => error,
    };
    drop(lowered);
    failed(error.into())
}

/// What a traced copy left when it exited.
struct TracedCopy {
    calls: CallCounter,
    /// Its standard output: why it could not run its ops, if it could not.
    output: Vec<u8>,
}

/// Starts the copy, which stops for its tracer.
pub(super) fn start_copy(spec: &WorkerSpec, line: &[u8]) -> Result<Child, Errno> {
    let mut copy = Command::new(process::own_executable());
    if command::runs_program(spec) {
        // As in a timed run: a signal to its own group must not meet the tracer and the worker.
        copy.process_group(0);
        // As in a timed run: what a program does with a descriptor depends on its kind.
        copy.stderr(Stdio::piped());
    } else {
        // As in a worker that measures; otherwise its threads would make an additional call.
        copy.env_clear()
            .envs(command::variables(spec.treatments_of(0)))
            .envs(std::env::var_os("TMPDIR").map(|folder| ("TMPDIR", folder)));
    }
    let mut copy = copy
        .arg("traced-job")
        .arg(std::process::id().to_string())
        .args(location::job_arguments())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    if let Some(mut input) = copy.stdin.take() {
        input.write_all(line)?;
    }
    if let Some(mut errors) = copy.stderr.take() {
        // A full pipe would block the program.
        std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
    }
    Ok(copy)
}

/// Starts the copy, and resumes it from stop to stop until it exits.
fn trace_copy(spec: &WorkerSpec, line: &[u8]) -> Result<TracedCopy, Errno> {
    let mut copy = start_copy(spec, line)?;
    let pid = copy.id();
    if let Some(cpu) = spec.cpu {
        // On the CPU of the copy each stop is one context switch and wakes no other CPU. If pinning
        // is refused, it only takes longer.
        let _ = affinity::pin(cpu);
    }
    let mut calls = CallCounter::new(pid, &spec.subject);
    if ptrace::attach_child(pid).is_ok() {
        let mut waiting = vec![(pid, 0)];
        loop {
            for (task, signal) in waiting.drain(..) {
                if calls.single_steps_task(task) {
                    if ptrace::step(task, signal).is_ok() {
                        continue;
                    }
                    calls.stop_stepping();
                }
                // The next wait reports a task that was killed in the meantime.
                let _ = ptrace::resume(task, signal);
            }
            match ptrace::next_stop() {
                Ok(TaskStop { task, stop: Stop::Ended(termination) }) if task == pid => {
                    calls.ended(termination);
                    break;
                }
                Ok(TaskStop { task, stop: Stop::Ended(_) }) => calls.remove_task(task),
                Ok(TaskStop { task, stop: Stop::Signal(signal) }) => waiting.push((task, signal)),
                Ok(TaskStop { task, stop }) => {
                    calls.record_stop(task, stop);
                    waiting.push((task, 0));
                }
                Err(Errno::ECHILD) => break,
                Err(error) => return Err(error),
            }
        }
    }
    for task in calls.tasks() {
        process::kill(task);
    }
    let mut output = Vec::new();
    if let Some(pipe) = copy.stdout.take() {
        // Its output is one short line. All other processes with the pipe open have been killed, so
        // that the read ends.
        pipe.take(64 << 10).read_to_end(&mut output)?;
    }
    Ok(TracedCopy { calls, output })
}
