//! How quiet a machine was while it was measured.

use std::collections::BTreeMap;

use oscost_model::clock::Calibration;
use oscost_model::journal::{Phase, WorkerOutcome};
use oscost_model::noise_class::NoiseClass;
use oscost_model::protocol::CpuProbe;
use oscost_model::record::{Conditions, ReferenceCases};
use oscost_model::worker::Disturbance;

use super::clock_rate::counts_instructions;
use super::row_state::RowState;
use oscost_stats::order;

/// Reference cases further apart than this before and after: something was attached, or the machine changed.
const MAX_REFERENCE_DRIFT_PCT: f64 = 3.0;
/// A tick of `/proc/stat`, in nanoseconds.
const USER_HZ_TICK_NS: f64 = 10_000_000.0;

/// What is known of a machine's quiet, from all of its workers.
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
        // Where instructions are counted a lost moment moves no figure, and time is made up.
        .filter(|_| !counts)
        .flat_map(|row| row.workers.iter().map(|worker| (worker, row.sleeps())))
        .filter_map(|(worker, switches)| match &worker.outcome {
            WorkerOutcome::Sampled { disturbance, .. } => Some((**disturbance, switches)),
            WorkerOutcome::Trial(_) | WorkerOutcome::Lost { .. } => None,
        })
        .collect();
    // Of the time of those workers that can tell.
    let share = |of: &dyn Fn(&(Disturbance, bool)) -> Option<f64>| {
        let told =
            disturbances.iter().filter_map(|worker| Some((of(worker)?, worker.0.wall_ns as f64)));
        let (part, wall) =
            told.fold((0.0, 0.0), |sum, worker| (sum.0 + worker.0, sum.1 + worker.1));
        (wall > 0.0).then(|| 100.0 * part / wall)
    };
    let lost_pct =
        share(&|(d, switches)| d.lost_pct(*switches).map(|pct| pct / 100.0 * d.wall_ns as f64));
    let steal_pct = share(&|(d, _)| d.steal_ticks.map(|ticks| ticks as f64 * USER_HZ_TICK_NS));
    let reference_cases = reference_cases(rows, clock);
    let mut flags = Vec::new();
    let moved = reference_cases.before.iter().any(|(case, before)| {
        let after = reference_cases.after.get(case);
        after.is_some_and(|after| 100.0 * (after / before - 1.0).abs() > MAX_REFERENCE_DRIFT_PCT)
    });
    // What is counted does not wander: where two workers differ, the row says so.
    if moved && !counts {
        flags.push("REFERENCE_DRIFT".to_owned());
    }
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
        flags,
    }
}

/// What is known of a peer's machine, on which nothing was timed: what the probe saw.
pub(super) fn peer_conditions(
    machine: &str,
    probe: &[CpuProbe],
    cpu: Option<u32>,
    tracers: &[String],
) -> Conditions {
    let mut known = conditions(machine, &[], None, probe, cpu, tracers);
    let own = probe.iter().find(|probe| Some(probe.cpu) == cpu);
    known.class = own.map(|probe| NoiseClass::of_lost_pct(probe.lost_pct()).text().to_owned());
    known
}

/// `clean`, `noisy` or `very_noisy`, by the share of the time that workers did not get.
fn class(lost_pct: Option<f64>, steal_pct: Option<f64>) -> Option<&'static str> {
    Some(NoiseClass::of_lost_pct(lost_pct? + steal_pct.unwrap_or(0.0)).text())
}

/// The reference cases' raw medians in the first and in the last third of the run: their own workers before
/// and after, and those of the rounds nearby, so that one odd process does not speak for a third.
fn reference_cases(rows: &[&RowState], clock: Option<&Calibration>) -> ReferenceCases {
    let mut sides = [BTreeMap::new(), BTreeMap::new()];
    for row in rows.iter().filter(|row| row.planned.is_reference) {
        let last = row.workers.iter().filter_map(|worker| match worker.phase {
            Phase::Round(round) => Some(round),
            _ => None,
        });
        let rounds = last.max().map_or(0, |last| last + 1);
        let early = |phase| {
            matches!(phase, Phase::Before)
                || matches!(phase, Phase::Round(round) if round < rounds / 3)
        };
        let late = |phase| {
            matches!(phase, Phase::After)
                || matches!(phase, Phase::Round(round) if round >= rounds - rounds / 3)
        };
        let sides_of: [&dyn Fn(Phase) -> bool; 2] = [&early, &late];
        for (side, of) in sides.iter_mut().zip(sides_of) {
            let values = row.values(clock, of);
            let raw: Vec<f64> = values
                .iter()
                .filter_map(|(_, read)| read.as_ref())
                .filter(|(value, _)| value.value.is_some())
                .filter_map(|(value, _)| value.raw)
                .collect();
            if let Some(median) = order::median(&order::sorted(&raw)) {
                side.insert(row.planned.case.to_string(), median);
            }
        }
    }
    let [before, after] = sides;
    ReferenceCases { before, after }
}

/// Whether a class is the worst one.
pub(super) fn is_very_noisy(conditions: &Conditions) -> bool {
    conditions.class.as_deref() == Some(NoiseClass::VeryNoisy.text())
}
