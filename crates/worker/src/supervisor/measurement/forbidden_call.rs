//! Which call a filter has killed a worker for.
//!
//! The kernel says so only in its log. So a copy of the worker is run, under the same treatments
//! but with a filter that raises a signal where the other one kills. The worker that is measured
//! has the filter of the profile, unchanged.

use std::cell::Cell;
use std::fs::File;
use std::io::Write;

use oscost_model::protocol::Order;
use oscost_model::treatment::AppliedTreatment;
use oscost_model::worker::{BatchPlan, Task, WorkerSpec};

use super::case_work::pin_to_cpu;
use super::session::run_session;
use super::stage::Stage;
use crate::kernel::Errno;
use crate::kernel::ipc::pipe::pipe;
use crate::kernel::probe::forbidden_call::{CallRecorder, ForbiddenCall};
use crate::kernel::probe::seccomp::with_signal_for_kill;
use crate::kernel::process::Termination;
use crate::kernel::syscall::names::name_of;
use crate::supervisor::protocol::failure::describe_end;
use crate::supervisor::protocol::wire::Wire;
use crate::treatments::{self, Treatments};

/// How the treated process of an arm ended that should have answered.
pub(super) fn describe_worker_end(
    id: u64,
    spec: &WorkerSpec,
    arm: u8,
    termination: Termination,
) -> String {
    let applied = spec.treatments_of(arm);
    let is_killed = termination == Termination::Killed(libc::SIGSYS);
    match is_killed.then(|| find(id, spec, arm)).flatten() {
        Some(ForbiddenCall { number, stage }) => format!(
            "was killed by SIGSYS under {} while it {}: the filter forbids `{}`; allow it in the \
             profile",
            treatments::names(applied),
            Stage::from_number(stage).text(),
            name_of(number.into())
        ),
        None => describe_end(termination, applied),
    }
}

/// The call for which an arm was killed; `None` if its copy makes no forbidden call, or cannot run.
fn find(id: u64, spec: &WorkerSpec, arm: u8) -> Option<ForbiddenCall> {
    let applied = with_signals_for_kills(spec.treatments_of(arm))?;
    let spec = short_copy(spec, &applied);
    let recorder = CallRecorder::leaked().ok()?;
    let ShortSession { orders, answers, answer_writer } = ShortSession::new(id).ok()?;
    let mut wire = Wire::new(orders, answer_writer);
    let pinned = Cell::new(None);
    let treatments = Treatments { applied: &applied, cpu: spec.cpu, arm };
    let copy = treatments.start_prepared(
        &mut || {
            recorder.install();
            pinned.set(Some(pin_to_cpu(id, &spec)));
        },
        &mut |page| {
            let Some(pinned) = pinned.take() else { return 1 };
            let answer = run_session(id, &spec, pinned, &mut wire, page);
            i32::from(wire.send(&answer).is_err())
        },
    );
    // However it ends: what counts is what it has recorded.
    let _ = copy.and_then(|copy| copy.wait());
    drop(answers);
    recorder.recorded()
}

/// The same treatments with filters that raise signals; `None` if no filter kills.
fn with_signals_for_kills(applied: &[AppliedTreatment]) -> Option<Vec<AppliedTreatment>> {
    let changed = |one: &AppliedTreatment| match one {
        AppliedTreatment::Seccomp { program } => {
            Some(AppliedTreatment::Seccomp { program: with_signal_for_kill(program)? })
        }
        _ => None,
    };
    let kills = applied.iter().any(|one| changed(one).is_some());
    let all = applied.iter().map(|one| changed(one).unwrap_or_else(|| one.clone()));
    kills.then(|| all.collect())
}

/// The spec of a worker of one arm that times one group of batches.
fn short_copy(spec: &WorkerSpec, applied: &[AppliedTreatment]) -> WorkerSpec {
    let one_group = |plan: &BatchPlan| Task::Measure(BatchPlan { groups: 1, ..plan.clone() });
    let task = match &spec.task {
        Task::Measure(plan) => one_group(plan),
        Task::CountEvents(plan) => one_group(&plan.batches),
        other => other.clone(),
    };
    let treatments = vec![applied.to_vec()];
    WorkerSpec { arms: 1, treatments, toggled: false, windows: None, task, ..spec.clone() }
}

/// The pipes of a session of one group.
struct ShortSession {
    /// All its orders, and then the end.
    orders: File,
    /// Room for its answers, which are short and are not read.
    answers: File,
    answer_writer: File,
}

impl ShortSession {
    fn new(id: u64) -> Result<Self, Errno> {
        let (orders, mut order_writer) = pipe()?;
        for order in [Order::Go { id, batches: 1, arm: 0 }, Order::Stop { id }] {
            let mut line = serde_json::to_vec(&order).map_err(|_| Errno::EINVAL)?;
            line.push(b'\n');
            order_writer.write_all(&line)?;
        }
        let (answers, answer_writer) = pipe()?;
        Ok(Self { orders, answers, answer_writer })
    }
}
