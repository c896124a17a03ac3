//! What timed workers of one arm and of several have in common.

use oscost_model::facts::Snapshot;
use oscost_model::protocol::{Event, Order};
use oscost_model::seed::Seed;
use oscost_model::worker::{BatchPlan, Disturbance, Mode, Sample, WorkerSpec};

use crate::bench::{OpError, Work};
use crate::facts;
use crate::kernel::cpu::stack_offset;
use crate::kernel::memory::shared_table::SharedTable;
use crate::supervisor::protocol::failure::failure;
use crate::supervisor::protocol::wire::Wire;
use crate::treatments::MonitorPage;

/// Runs the closure with the stack moved by less than a page, so that its position differs from
/// worker to worker.
pub(super) fn with_stack_offset<R>(spec: &WorkerSpec, action: &mut dyn FnMut() -> R) -> R {
    stack_offset::with_stack_offset(Seed::new(!spec.seed).below(4_096), action)
}

/// The number of monitor wakeups per op, measured over untimed ops; `None` without a monitor.
/// Between two readings no system calls are made except those of the ops.
pub(super) fn monitor_wakeups_per_op(
    work: &mut Work,
    plan: &BatchPlan,
    page: &MonitorPage,
) -> Result<Option<f64>, OpError> {
    /// Few and short batches: a ptrace stop may take 100 us, and an op may make many calls.
    const BATCHES: u32 = 4;
    const MAX_ITERATIONS: u64 = 16;
    let iterations =
        if plan.mode == Mode::T { plan.iterations } else { plan.iterations.min(MAX_ITERATIONS) };
    let (mut wakeups, mut ops) = (0, 0);
    for _ in 0..BATCHES {
        if page.wakeups().is_none() {
            return Ok(None);
        }
        work.prepare(iterations)?;
        let before = page.wakeups();
        let done = work.run(iterations, 1);
        let after = page.wakeups();
        done.and_then(|()| work.verify())?;
        if !work.is_batch_lost() {
            wakeups += after.zip(before).map_or(0, |(after, before)| after - before);
            ops += work.actual_ops().unwrap_or(iterations * work.op_count());
        }
    }
    Ok((ops > 0).then(|| wakeups as f64 / ops as f64))
}

/// A table for every sample of the plan and all arms, pre-faulted and locked.
pub(super) fn sample_table(
    id: u64,
    plan: &BatchPlan,
    arms: u8,
) -> Result<SharedTable<Sample>, Event> {
    let batches = plan.groups as usize * plan.unroll_factors.len() * usize::from(arms);
    SharedTable::new(batches)
        .map_err(|error| failure(id, format!("map the sample buffer: {error}")))
}

/// Checks that the table has room for this many groups.
pub(super) fn check_group_limit(id: u64, plan: &BatchPlan, groups: u32) -> Result<(), Event> {
    if groups <= plan.groups {
        return Ok(());
    }
    let reason = format!("{groups} groups were requested; there is room for {}", plan.groups);
    Err(failure(id, reason))
}

/// The disturbance counters of the measured CPU; `None` if the worker is not pinned.
pub(super) fn system_counters(spec: &WorkerSpec) -> Option<Snapshot> {
    spec.cpu.map(facts::disturbances)
}

/// Adds what the system's counters show for the timed part and what lies between its batches.
pub(super) fn with_system_counters(
    spec: &WorkerSpec,
    account: Disturbance,
    before: Option<Snapshot>,
) -> Disturbance {
    let Some((before, after)) = before.zip(system_counters(spec)) else { return account };
    let increase = |of: fn(&Snapshot) -> Option<u64>| {
        let (earlier, now) = (of(&before)?, of(&after)?);
        Some(now.saturating_sub(earlier))
    };
    Disturbance {
        steal_ticks: increase(|snapshot| snapshot.steal_ticks),
        busy_ticks: increase(|snapshot| snapshot.busy_ticks),
        throttled_periods: increase(|snapshot| snapshot.throttled_periods),
        ..account
    }
}

/// Reports that the worker is ready.
pub(super) fn send_ready(id: u64, wire: &mut Wire) -> Result<(), Event> {
    let event = Event::Ready { id, pid: std::process::id(), addr: None };
    wire.send(&event).map_err(|error| failure(id, format!("send `ready`: {error}")))
}

/// The next order.
pub(crate) fn next_order(id: u64, wire: &mut Wire) -> Result<Option<Order>, Event> {
    wire.next_order().map_err(|error| failure(id, format!("read an order: {error}")))
}
