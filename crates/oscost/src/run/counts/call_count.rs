//! Counting the calls of cases without measuring them.

use std::time::{Duration, Instant};

use oscost_model::calls::{CallCount, CallTimes};
use oscost_model::case::Case;
use oscost_model::clock::Calibration;
use oscost_model::journal::PlannedRow;
use oscost_model::worker::{Subject, Task, WorkerSpec};

use crate::hosts::{HostError, Session};
use crate::run::jobs::workers::{PeerLocation, Workers};
use crate::run::machine::cpu_survey::{NO_CLOCK, usable_clocks};

/// A tracer counts calls after this many untraced warm-up ops ...
pub(crate) const WARM_OPS: u64 = 3;
/// ... during this many ops: a prime number, so that a call made every second or third op shows.
pub(super) const MIN_COUNTED_OPS: u64 = 23;

/// The call count of a case.
#[derive(Clone, Debug)]
pub struct CaseCallCount {
    /// The case.
    pub case: Case,
    /// The calls, or why they could not be counted.
    pub outcome: Result<CallCount, String>,
}

/// Counts the calls of some cases as a run does, until the time is up; the remaining ones say so.
/// The workers are pinned and use the best clock: some ops depend on their CPU, and some read the
/// clock.
pub fn count_calls(
    session: &mut dyn Session,
    cases: &[Case],
    within: Duration,
) -> Result<Vec<CaseCallCount>, HostError> {
    let until = Instant::now() + within;
    let hello = session.hello();
    let cpu = hello.facts.cpu.allowed_cpus.as_ref().and_then(|cpus| cpus.last().copied());
    let kind = usable_clocks(hello).first().copied().unwrap_or(NO_CLOCK.kind);
    let clock = Calibration { kind, ..NO_CLOCK };
    let mut workers = Workers::new(session);
    let count = |case: &Case| {
        let left = until.saturating_duration_since(Instant::now());
        let outcome = if left.is_zero() {
            Err(format!("the time limit of {} s was reached", within.as_secs()))
        } else {
            let timeout_ms = (left.as_millis() as u64).max(1);
            let spec = counting_spec(case.clone(), cpu, clock, timeout_ms);
            workers.count(spec, PeerLocation::SameMachine)?.map_err(|ended| ended.reason)
        };
        Ok(CaseCallCount { case: case.clone(), outcome })
    };
    cases.iter().map(count).collect()
}

/// The specification of a worker that only counts the calls of a case.
pub(crate) fn counting_spec(
    case: Case,
    cpu: Option<u32>,
    clock: Calibration,
    timeout_ms: u64,
) -> WorkerSpec {
    let task = Task::Count { warm_ops: WARM_OPS, ops: MIN_COUNTED_OPS };
    WorkerSpec { cpu, ..WorkerSpec::new(Subject::Case(case), task, clock, timeout_ms) }
}

/// The number of counted ops of a row. Where several ops share a call, it is a multiple of their
/// number, so that the count of calls does not depend on where counting begins.
pub(crate) fn counted_ops(row: &PlannedRow) -> u64 {
    let point = row.definition.with_implied(&row.case.point);
    let rules = row.definition.calls.iter().filter(|rule| point.includes(&rule.when));
    let shared = rules.map(|rule| match rule.times {
        CallTimes::Per { ops, .. } => u64::from(ops),
        CallTimes::Exactly(_) | CallTimes::UpTo(_) => 1,
    });
    MIN_COUNTED_OPS * shared.max().unwrap_or(1)
}
