//! The treatment `cool`: ops that are timed one by one, each after a walk through memory.

use oscost_model::protocol::Event;
use oscost_model::treatment::AppliedTreatment;
use oscost_model::worker::{Mode, Task, WorkerSpec};

use crate::bench::Work;
use crate::kernel::cpu::memory_walk::MemoryWalk;
use crate::supervisor::protocol::failure::failure;

/// This work, cooled as the treatments of its arm say; the error is the answer.
pub(super) fn cooled_work(id: u64, work: Work, spec: &WorkerSpec, arm: u8) -> Result<Work, Event> {
    let walk_bytes = spec.treatments_of(arm).iter().find_map(|one| match one {
        AppliedTreatment::Cool { walk_bytes } => Some(*walk_bytes),
        _ => None,
    });
    let Some(walk_bytes) = walk_bytes else { return Ok(work) };
    if let Some(why) = work.uncoolable_reason() {
        let missing = format!("ops that can be timed alone, which `cool` needs: {why}");
        return Err(Event::Skipped { id, missing, arm: None });
    }
    // All but the first op of a batch would be warm.
    if let Task::Measure(plan) = &spec.task
        && plan.mode != Mode::C
    {
        let mode = plan.mode.text();
        return Err(failure(id, format!("`cool` times ops alone; the plan is of mode {mode}")));
    }
    let walk = MemoryWalk::new(walk_bytes as usize, spec.seed)
        .map_err(|error| failure(id, format!("map {walk_bytes} bytes to walk through: {error}")))?;
    Ok(work.cooled_by(move || walk.walk()))
}
