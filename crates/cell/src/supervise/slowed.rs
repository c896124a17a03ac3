//! An arm that is slower by a known share: `OSCOST_SLOWED_PCT` among what is done to it. For live
//! tests alone; no program that is shipped has it.

use oscost_model::cell::{BatchPlan, CellSpec, Task};
use oscost_model::treatment::Applied;

use super::job::applied_to;
use crate::bench::{AtOp, Work};
use crate::sys::chain::dependent_chain;
use crate::sys::clock::raw_ns;
use crate::sys::opaque::keep;

/// The variable that says by how much, in per cent.
const SLOWED_PCT: &str = "OSCOST_SLOWED_PCT";

/// This work, slower by what is asked for of its arm; as it is where nothing is asked for.
pub(super) fn slowed(mut work: Work, spec: &CellSpec, arm: u8) -> Result<Work, AtOp> {
    let asked = applied_to(spec, arm).iter().find_map(|one| match one {
        Applied::Env { name, value } if name == SLOWED_PCT => value.parse::<f64>().ok(),
        _ => None,
    });
    let (Some(pct), Task::Measure(plan)) = (asked, &spec.task) else { return Ok(work) };
    let links_per_op = pct / 100.0 * op_ns(&mut work, plan)? / link_ns();
    Ok(work.slowed(links_per_op))
}

/// What an op costs in batches of the plan: the best of some, the first ones being to warm up.
fn op_ns(work: &mut Work, plan: &BatchPlan) -> Result<f64, AtOp> {
    const BATCHES: u32 = 40;
    let copies = plan.copies.last().copied().unwrap_or(1);
    let ops = plan.turns * u64::from(copies);
    let mut best = f64::INFINITY;
    for _ in 0..BATCHES {
        work.prepare(ops)?;
        let before = raw_ns();
        work.run(plan.turns, copies)?;
        best = best.min((raw_ns() - before) as f64);
        work.prove()?;
    }
    Ok(best / ops as f64)
}

/// What a link of a long chain costs: the best of some.
fn link_ns() -> f64 {
    const LINKS: u64 = 200_000;
    let chain = |_| {
        let before = raw_ns();
        keep(dependent_chain(LINKS, 3));
        (raw_ns() - before) as f64
    };
    (0..20).map(chain).fold(f64::INFINITY, f64::min) / LINKS as f64
}
