//! The conditions of a machine while it was measured: how noisy it was.

use std::collections::BTreeMap;

use oscost_model::clock::Calibration;
use oscost_model::journal::{Phase, WorkerOutcome};
use oscost_model::noise_class::NoiseClass;
use oscost_model::protocol::CpuProbe;
use oscost_model::record::{Conditions, ReferenceCases};
use oscost_model::worker::Disturbance;

use super::clock_rate::counts_instructions;
use super::counters::core::core_conditions;
use super::rows::row_state::RowState;
use oscost_stats::order;

/// A tick of `/proc/stat`, in nanoseconds.
const USER_HZ_TICK_NS: f64 = 10_000_000.0;

/// The conditions of a machine, from all of its workers.
pub(super) fn conditions(
    machine: &str,
    rows: &[&RowState],
    clock: Option<&Calibration>,
    probe: &[CpuProbe],
    cpu: Option<u32>,
    tracers: &[String],
) -> Conditions {
    let counts = clock.is_some_and(counts_instructions);
    let disturbances: Vec<(Disturbance, bool)> = rows
        .iter()
        // Lost time does not affect a count of instructions, and a counted clock shows no time.
        .filter(|_| !counts)
        .flat_map(|row| row.workers.iter().map(|worker| (worker, row.sleeps())))
        .filter_map(|(worker, switches)| match &worker.outcome {
            WorkerOutcome::Sampled { disturbance, .. } => Some((**disturbance, switches)),
            WorkerOutcome::Trial(_) | WorkerOutcome::Lost { .. } => None,
        })
        .collect();
    // The share of the time of those workers that report it.
    let share = |of: &dyn Fn(&(Disturbance, bool)) -> Option<f64>| {
        let reported =
            disturbances.iter().filter_map(|worker| Some((of(worker)?, worker.0.wall_ns as f64)));
        let (part, wall) =
            reported.fold((0.0, 0.0), |sum, worker| (sum.0 + worker.0, sum.1 + worker.1));
        (wall > 0.0).then(|| 100.0 * part / wall)
    };
    let lost_pct =
        share(&|(d, switches)| d.lost_pct(*switches).map(|pct| pct / 100.0 * d.wall_ns as f64));
    let steal_pct = stolen_pct(disturbances.iter().map(|(disturbance, _)| disturbance));
    let reference_cases = reference_cases(rows, clock);
    let mut flags = Vec::new();
    if disturbances.iter().any(|(d, _)| d.throttled_periods.is_some_and(|periods| periods > 0)) {
        flags.push("THROTTLED".to_owned());
    }
    if cpu.is_none() && !probe.is_empty() {
        flags.push("UNPINNED".to_owned());
    }
    if !tracers.is_empty() {
        flags.push("TRACED".to_owned());
    }
    Conditions {
        machine: machine.to_owned(),
        class: class(lost_pct, steal_pct).map(str::to_owned),
        reference_cases,
        lambda_per_s: probe
            .iter()
            .find(|probe| Some(probe.cpu) == cpu)
            .map(CpuProbe::interruptions_per_s),
        steal_pct,
        lost_pct,
        tracers: tracers.to_vec(),
        probe: probe.to_vec(),
        core: core_conditions(rows, clock),
        flags,
    }
}

/// The conditions of a peer's machine, on which nothing was timed: those during its probe.
pub(super) fn peer_conditions(
    machine: &str,
    probe: &[CpuProbe],
    cpu: Option<u32>,
    tracers: &[String],
) -> Conditions {
    let mut conditions = conditions(machine, &[], None, probe, cpu, tracers);
    let own = probe.iter().find(|probe| Some(probe.cpu) == cpu);
    conditions.class = own.map(|probe| NoiseClass::of_lost_pct(probe.lost_pct()).text().to_owned());
    conditions
}

/// The share of the time of workers that the hypervisor took, in per cent; `None` if none reported it.
/// The kernel counts it for a CPU, and it grows while that is not idle: it is a share of that time, with all
/// that a worker did meanwhile, such as the walks between its batches. Workers of an older version tell the
/// timed part alone.
fn stolen_pct<'a>(workers: impl Iterator<Item = &'a Disturbance>) -> Option<f64> {
    let reported = workers.filter_map(|worker| {
        let busy_ns = worker.busy_ticks.map(|ticks| ticks as f64 * USER_HZ_TICK_NS);
        let stolen_ns = worker.steal_ticks? as f64 * USER_HZ_TICK_NS;
        Some((stolen_ns, busy_ns.unwrap_or(worker.wall_ns as f64)))
    });
    let (stolen_ns, of_ns) = reported.fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    (of_ns > 0.0).then(|| 100.0 * stolen_ns / of_ns)
}

/// The noise class, by the share of the time that workers did not get.
fn class(lost_pct: Option<f64>, steal_pct: Option<f64>) -> Option<&'static str> {
    Some(NoiseClass::of_lost_pct(lost_pct? + steal_pct.unwrap_or(0.0)).text())
}

/// The reference cases' raw medians in the first and in the last third of the run: of the workers
/// before and after the rounds, and of those in the adjacent third of the rounds, so that the
/// median does not depend on one unusual process.
fn reference_cases(rows: &[&RowState], clock: Option<&Calibration>) -> ReferenceCases {
    let mut medians = [BTreeMap::new(), BTreeMap::new()];
    for row in rows.iter().filter(|row| row.planned.is_reference) {
        let numbers = row.workers.iter().filter_map(|worker| match worker.phase {
            Phase::Round(round) => Some(round),
            _ => None,
        });
        let rounds = numbers.max().map_or(0, |last| last + 1);
        let early = |phase| {
            matches!(phase, Phase::Before)
                || matches!(phase, Phase::Round(round) if round < rounds / 3)
        };
        let late = |phase| {
            matches!(phase, Phase::After)
                || matches!(phase, Phase::Round(round) if round >= rounds - rounds / 3)
        };
        let thirds: [&dyn Fn(Phase) -> bool; 2] = [&early, &late];
        for (medians, is_in_third) in medians.iter_mut().zip(thirds) {
            let workers = row.evaluated_workers(clock, is_in_third);
            let values = workers.iter().filter_map(|worker| worker.value());
            let raw: Vec<f64> = values
                .filter(|value| value.value.is_some())
                .filter_map(|value| value.raw)
                .collect();
            if let Some(median) = order::median(&order::sorted(&raw)) {
                medians.insert(row.planned.case.to_string(), median);
            }
        }
    }
    let [before, after] = medians;
    ReferenceCases { before, after }
}

/// Whether the machine was very noisy.
pub(super) fn is_very_noisy(conditions: &Conditions) -> bool {
    conditions.class.as_deref() == Some(NoiseClass::VeryNoisy.text())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_a_share_of_the_time_in_which_the_cpu_was_not_idle() {
        let worker = |wall_ms: u64, steal_ticks, busy_ticks| Disturbance {
            wall_ns: 1_000_000 * wall_ms,
            steal_ticks,
            busy_ticks,
            ..Disturbance::default()
        };
        // A tenth of a second was timed in two with walks between the batches, and 4 ticks were stolen.
        let walks = worker(100, Some(4), Some(200));
        assert_eq!(stolen_pct([walks].iter()), Some(2.0));
        assert_eq!(stolen_pct([walks, worker(100, Some(0), Some(200))].iter()), Some(1.0));
        let not_pinned = worker(5_000, None, None);
        assert_eq!(stolen_pct([walks, not_pinned].iter()), Some(2.0));
        assert_eq!(stolen_pct([not_pinned].iter()), None);
        let older = worker(1_000, Some(10), None);
        assert_eq!(stolen_pct([older].iter()), Some(10.0));
        assert_eq!(stolen_pct([walks, walks, older].iter()), Some(100.0 * 18.0 / 500.0));
        assert_eq!(stolen_pct([worker(0, Some(0), Some(0))].iter()), None);
    }
}
