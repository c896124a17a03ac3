//! Counting without measuring: what a machine shows of some cases in a moment.

use std::time::{Duration, Instant};

use oscost_model::calls::CallCount;
use oscost_model::case::Case;
use oscost_model::cell::{CellSpec, Subject, Task};

use super::cells::Cells;
use super::survey::NO_CLOCK;
use super::{COUNTED_OPS, WARM_OPS};
use crate::reach::{ReachError, Session};

/// A case whose calls were looked at.
#[derive(Clone, Debug)]
pub struct Counted {
    /// The case.
    pub case: Case,
    /// What was counted, or why nothing was.
    pub outcome: Result<CallCount, String>,
}

/// Counts the calls of some cases, as a run does, until the time is up; the rest say so.
pub fn count_calls(
    session: &mut dyn Session,
    cases: &[Case],
    within: Duration,
) -> Result<Vec<Counted>, ReachError> {
    let until = Instant::now() + within;
    let mut cells = Cells::new(session);
    let count = |case: &Case| {
        let left = until.saturating_duration_since(Instant::now());
        let outcome = if left.is_zero() {
            Err(format!("the {} s that this may take were over", within.as_secs()))
        } else {
            let spec = CellSpec {
                subject: Subject::Case(case.clone()),
                seed: 0,
                cpu: None,
                clock: NO_CLOCK,
                arms: 1,
                workers: 1,
                task: Task::Count { warm_ops: WARM_OPS, ops: COUNTED_OPS },
                timeout_ms: (left.as_millis() as u64).max(1),
            };
            cells.count(spec)?.map_err(|ended| ended.reason)
        };
        Ok(Counted { case: case.clone(), outcome })
    };
    cases.iter().map(count).collect()
}
