//! The work of a worker's case: needs, CPU, set-up, treatments of the arm.

use oscost_model::clock::ClockKind;
use oscost_model::protocol::{Event, PEER_UNREACHABLE_HINT};
use oscost_model::treatment::AppliedTreatment;
use oscost_model::worker::{RemoteEnd, Subject, WorkerSpec};

use super::cooling::cooled_work;
use super::needs;
use super::raw_calls::with_raw_calls;
use super::stage::Stage;
use crate::bench::{Context, OpError, Work};
use crate::benchmarks;
use crate::kernel::cpu::affinity;
use crate::kernel::net::token_listener::RemoteEndpoint;
use crate::kernel::time::stopwatch::Stopwatch;
use crate::kernel::time::vdso::ClockGettime;
use crate::kernel::{Errno, PEER_TIMEOUT};
use crate::supervisor::protocol::failure::failure;

/// Pins the calling process to the CPU of its worker, and returns the CPUs that it was allowed
/// before, which are none if they are unknown; the error is the answer.
///
/// A process under treatments does so before they are applied: a filter may forbid these calls.
pub(crate) fn pin_to_cpu(id: u64, spec: &WorkerSpec) -> Result<Vec<u32>, Event> {
    let allowed = affinity::allowed_cpus(0).unwrap_or_default();
    if let Some(cpu) = spec.cpu {
        affinity::pin(cpu).map_err(|error| failure(id, format!("pin to CPU {cpu}: {error}")))?;
    }
    Ok(allowed)
}

/// Builds the work of an arm, its raw calls through a function or cooled if a treatment says so, and
/// slowed down if a live test asks for it. See [`build_work`].
pub(super) fn timed_work(
    id: u64,
    spec: &WorkerSpec,
    arm: u8,
    allowed: Vec<u32>,
) -> Result<Work, Event> {
    let work = with_raw_calls(id, build_work(id, spec, arm, allowed)?, spec, arm)?;
    let work = cooled_work(id, work, spec, arm)?;
    #[cfg(feature = "live")]
    let work = super::slowdown::apply_slowdown(work, spec, arm);
    Ok(work)
}

/// Builds the work of a case for an arm, in a process that [`pin_to_cpu`] has pinned, which was
/// allowed these CPUs before; the error is the answer.
pub(crate) fn build_work(
    id: u64,
    spec: &WorkerSpec,
    arm: u8,
    allowed: Vec<u32>,
) -> Result<Work, Event> {
    Stage::SetUp.begin();
    let Subject::Case(case) = &spec.subject else {
        return Err(failure(id, "a program has no ops to time"));
    };
    if spec.workers != 1 {
        let reason = format!("{} workers were requested; this version supports 1", spec.workers);
        return Err(failure(id, reason));
    }
    let bench = benchmarks::find(&case.benchmark)
        .filter(|bench| bench.is_complete(&case.point))
        .ok_or_else(|| failure(id, format!("`{case}` is not in this worker's catalog")))?;
    let remote_peer = spec.remote_end.as_ref();
    let definition = bench.definition();
    let (has_peer, clock) = (remote_peer.is_some(), spec.clock.kind);
    if let Some(missing) = needs::unmet_need(&definition, &case.point, has_peer, clock, &allowed) {
        return Err(Event::Skipped { id, missing, arm: None });
    }
    let mut work = bench.work(&case.point, context(spec, allowed)).map_err(|error| {
        let reason =
            format!("set up `{case}`: {error}{}", unreachable_peer_hint(remote_peer, error));
        if error == Errno::PEER_TIMED_OUT {
            return Event::TimedOut {
                id,
                after_ms: PEER_TIMEOUT.as_millis() as u64,
                reason: Some(reason),
            };
        }
        if error.is_unavailable() {
            Event::Skipped { id, missing: reason + seccomp_note(spec, arm), arm: None }
        } else if is_full(error) {
            Event::Skipped { id, missing: reason + FULL, arm: None }
        } else {
            failure(id, reason)
        }
    })?;
    if let Some(missing) = work.unavailable_reason() {
        return Err(Event::Skipped { id, missing: missing.to_owned(), arm: None });
    }
    // A call that a filter forbids often shows only at the first op. Other errors show again when
    // it is timed, with the number of the op.
    Stage::FirstOp.begin();
    work.limit_op_count(1);
    let tried = work.prepare(1).and_then(|()| work.run(1, 1));
    work.limit_op_count(u64::MAX);
    match tried {
        Err(OpError { errno, .. }) if errno.is_unavailable() => {
            let missing = format!("run `{case}` once: {errno}{}", seccomp_note(spec, arm));
            Err(Event::Skipped { id, missing, arm: None })
        }
        Err(OpError { errno, .. }) if is_full(errno) => {
            let missing = format!("run `{case}` once: {errno}{FULL}");
            Err(Event::Skipped { id, missing, arm: None })
        }
        _ => Ok(work),
    }
}

/// Whether a disk or a limit of the system is full, which is no fault of the op.
fn is_full(error: Errno) -> bool {
    matches!(error, Errno::ENOSPC | Errno(libc::EDQUOT))
}

/// A note about what is full.
const FULL: &str = "; the folder of temporary files (TMPDIR), or a limit of the system, is full";

/// A note about the seccomp filter that may be the reason for a refused system call.
fn seccomp_note(spec: &WorkerSpec, arm: u8) -> &'static str {
    match spec.treatments_of(arm).iter().any(|one| matches!(one, AppliedTreatment::Seccomp { .. }))
    {
        true => "; the seccomp filter of the treatment decides about system calls",
        false => needs::seccomp_note(),
    }
}

/// What to do about a peer that cannot be reached; empty for other errors.
fn unreachable_peer_hint(remote_peer: Option<&RemoteEnd>, error: Errno) -> String {
    let unreachable =
        [libc::ETIMEDOUT, libc::ECONNREFUSED, libc::EHOSTUNREACH, libc::ENETUNREACH, libc::EACCES];
    match remote_peer {
        Some(RemoteEnd { addr, .. }) if unreachable.contains(&error.0) => {
            format!("; the peer listens at {addr}: {PEER_UNREACHABLE_HINT}")
        }
        _ => String::new(),
    }
}

/// The context of the worker of this spec, which may run on these CPUs.
pub(crate) fn context(spec: &WorkerSpec, allowed: Vec<u32>) -> Context {
    let is_own = |cpu: &u32| Some(*cpu) == spec.cpu;
    Context {
        cpu: spec.cpu,
        other_cpu: spec.peer_cpu.or_else(|| allowed.into_iter().rev().find(|cpu| !is_own(cpu))),
        remote_peer: spec
            .remote_end
            .as_ref()
            .and_then(|remote_peer| RemoteEndpoint::parse(&remote_peer.addr, &remote_peer.token)),
        clock: match spec.clock.kind {
            ClockKind::Tsc | ClockKind::Instructions => Stopwatch::Tsc,
            ClockKind::Vdso => ClockGettime::find().map_or(Stopwatch::Syscall, Stopwatch::Vdso),
            ClockKind::Syscall => Stopwatch::Syscall,
        },
    }
}
