//! Counts the calls of a program by form: a process of its own traces an untimed run of it.

use std::io::Read;

use oscost_model::worker::{Subject, WorkerSpec};

use super::form_counter::FormCounter;
use super::tracer::{arm_treatments, start_copy};
use crate::kernel::probe::program_trace;
use crate::kernel::{Errno, process};
use crate::supervisor::protocol::answer::Answer;
use crate::supervisor::protocol::failure::failure;
use crate::treatments;

/// What the copy may write before it executes the program: one line, why it cannot.
const MAX_ANSWER_BYTES: u64 = 64 << 10;

/// Starts a copy, which reads the order in `line` as well and executes the program, traces it, and
/// returns its calls.
pub(crate) fn count(id: u64, spec: &WorkerSpec, line: &[u8]) -> Answer {
    let answer = trace_copy(id, spec, line);
    // The copy has made those that it is in, and cannot remove them.
    treatments::remove_groups(&arm_treatments(spec));
    answer
}

fn trace_copy(id: u64, spec: &WorkerSpec, line: &[u8]) -> Answer {
    let Subject::Program(program) = &spec.subject else {
        return failure(id, "calls are counted by form in programs alone").into();
    };
    let mut copy = match start_copy(spec, line) {
        Ok(copy) => copy,
        Err(error) => return failure(id, format!("start the counted run: {error}")).into(),
    };
    let pid = copy.id();
    let mut forms = FormCounter::new(pid, program);
    let traced = program_trace::seize_stopped(pid);
    let traced = match traced {
        Ok(()) => follow(&mut forms),
        // It has ended, and says why.
        Err(Errno::ECHILD) => Ok(()),
        Err(error) => {
            // It waits for a tracer.
            process::kill(pid);
            return failure(id, format!("ptrace is refused: {error}")).into();
        }
    };
    if !forms.has_ended() && traced.is_err() {
        process::kill(pid);
    }
    for task in forms.tasks() {
        process::kill(task);
    }
    if let Err(error) = traced {
        return failure(id, format!("trace the program: {error}")).into();
    }
    let mut output = Vec::new();
    if let Some(pipe) = copy.stdout.take() {
        // A program has another standard output: the end of the copy's comes with its execve(2).
        let read = pipe.take(MAX_ANSWER_BYTES).read_to_end(&mut output);
        if let Err(error) = read {
            return failure(id, format!("read the answer of the counted run: {error}")).into();
        }
    }
    match output.trim_ascii_end() {
        [] => forms.into_event(id).into(),
        answer => Answer::Line(answer.to_vec()),
    }
}

/// Resumes the process tree from stop to stop until the program has ended.
fn follow(forms: &mut FormCounter) -> Result<(), Errno> {
    while !forms.has_ended() {
        let stopped = match program_trace::next_stop() {
            Err(Errno::ECHILD) => return Ok(()),
            stopped => stopped?,
        };
        forms.record(stopped);
        program_trace::resume(stopped);
    }
    Ok(())
}
