//! An arm that is slower by a known share: the variable `OSCOST_SLOWDOWN_PCT` among its treatments.
//! For live tests only; no released program contains it.

use oscost_model::treatment::AppliedTreatment;
use oscost_model::worker::{Task, WorkerSpec};

use crate::bench::Work;

/// The variable that holds the slowdown, in per cent.
const SLOWDOWN_PCT: &str = "OSCOST_SLOWDOWN_PCT";

/// This work, slowed down as the treatments of its arm say.
pub(super) fn apply_slowdown(work: Work, spec: &WorkerSpec, arm: u8) -> Work {
    let slowdown = spec.treatments_of(arm).iter().find_map(|one| match one {
        AppliedTreatment::Env { name, value } if name == SLOWDOWN_PCT => value.parse::<f64>().ok(),
        _ => None,
    });
    match (slowdown, &spec.task) {
        (Some(pct), Task::Measure(plan)) => {
            work.with_slowdown(pct / 100.0, plan.unroll_factors.len() > 1)
        }
        _ => work,
    }
}
