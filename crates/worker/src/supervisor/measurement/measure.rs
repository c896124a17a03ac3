//! A worker: of one arm, of several, or one that counts events.

use std::cell::Cell;

use oscost_model::worker::{Task, WorkerSpec};

use super::case_work::pin_to_cpu;
use super::counting;
use super::forbidden_call::describe_worker_end;
use super::privileges::drop_privileges;
use super::session::run_session;
use super::twins;
use crate::kernel::process::Termination;
use crate::supervisor::protocol::answer::Answer;
use crate::supervisor::protocol::failure::{failure, refusal};
use crate::supervisor::protocol::wire::Wire;
use crate::treatments::{MonitorPage, Treatments};

/// Measures or pilots a case, in a process of its own if treatments are applied to it.
pub(crate) fn measure(id: u64, spec: &WorkerSpec, wire: &mut Wire) -> Answer {
    drop_privileges(spec);
    if matches!(spec.task, Task::Measure(_)) && (2..=3).contains(&spec.arms) {
        return twins::measure_twins(id, spec, wire).map_or_else(|answer| answer, Answer::Event);
    }
    if let Task::CountEvents(plan) = &spec.task {
        return counting::count_events(id, spec, plan, wire);
    }
    let applied = spec.treatments_of(0);
    // A variable and a wrapper were applied when the program was started.
    if !spec.forked && applied.iter().all(|one| !one.supports_twins()) {
        return run_session(id, spec, pin_to_cpu(id, spec), wire, &MonitorPage::none()).into();
    }
    // Both closures run in the treated process, one after the other.
    let pinned = Cell::new(None);
    let started = Treatments { applied, cpu: spec.cpu, arm: 0 }.start_prepared(
        &mut || pinned.set(Some(pin_to_cpu(id, spec))),
        &mut |page| {
            let Some(pinned) = pinned.take() else { return 1 };
            let answer = run_session(id, spec, pinned, wire, page);
            i32::from(wire.send(&answer).is_err())
        },
    );
    match started.and_then(|process| process.wait()) {
        Ok(Termination::Exited(0)) => Answer::Sent,
        Ok(termination) => {
            let end = describe_worker_end(id, spec, 0, termination);
            failure(id, format!("the worker {end}")).into()
        }
        Err(reason) => refusal(id, reason).into(),
    }
}
