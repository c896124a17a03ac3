//! Counting without measuring: what a machine shows of some cases in a moment.

use std::time::{Duration, Instant};

use oscost_model::calls::CallCount;
use oscost_model::case::Case;
use oscost_model::clock::Calibration;
use oscost_model::worker::{Subject, Task, WorkerSpec};

use super::cpu_survey::{NO_CLOCK, usable_clocks};
use super::workers::{PeerLocation, Workers};
use super::{MIN_COUNTED_OPS, WARM_OPS};
use crate::hosts::{HostError, Session};

/// A case whose calls were looked at.
#[derive(Clone, Debug)]
pub struct CaseCallCount {
    /// The case.
    pub case: Case,
    /// What was counted, or why nothing was.
    pub outcome: Result<CallCount, String>,
}

/// Counts the calls of some cases, as a run does, until the time is up; the rest say so. The copies
/// are pinned, with the best clock there is: some ops need to know where they stand, and some read
/// the clock themselves.
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
            Err(format!("the {} s that this may take were over", within.as_secs()))
        } else {
            let spec = WorkerSpec {
                subject: Subject::Case(case.clone()),
                seed: 0,
                cpu,
                clock,
                arms: 1,
                treatments: Vec::new(),
                toggled: false,
                forked: false,
                workers: 1,
                remote_end: None,
                peer_cpu: None,
                task: Task::Count { warm_ops: WARM_OPS, ops: MIN_COUNTED_OPS },
                timeout_ms: (left.as_millis() as u64).max(1),
            };
            workers.count(spec, PeerLocation::SameMachine)?.map_err(|ended| ended.reason)
        };
        Ok(CaseCallCount { case: case.clone(), outcome })
    };
    cases.iter().map(count).collect()
}
