//! How quiet a machine was while it was measured.

use std::collections::BTreeMap;

use oscost_model::cell::Disturbance;
use oscost_model::clock::{Calibration, ClockSync};
use oscost_model::journal::{CellOutcome, Phase};
use oscost_model::protocol::CpuProbe;
use oscost_model::record::{Anchors, Conditions};

use super::row::RowState;
use crate::stats::order;

/// Anchors further apart than this before and after: something was attached, or the machine changed.
const MOVED_PCT: f64 = 3.0;
/// Less lost time than this is clean, and ...
const NOISY_FROM_PCT: f64 = 1.0;
/// ... more than this is hostile.
const HOSTILE_FROM_PCT: f64 = 10.0;
/// A clock whose rate changes by more than this within a run was moved to another machine, or lies.
const RATE_MOVED_PPM: f64 = 10.0;
/// A tick of `/proc/stat`, in nanoseconds.
const USER_HZ_TICK_NS: f64 = 10_000_000.0;

/// What is known of a machine's quiet, from all of its cells.
pub(super) fn conditions(
    machine: &str,
    rows: &[RowState],
    clock: Option<&Calibration>,
    probe: &[CpuProbe],
    cpu: Option<u32>,
    tracers: &[String],
) -> Conditions {
    let disturbances: Vec<Disturbance> = rows
        .iter()
        .flat_map(|row| &row.cells)
        .filter_map(|cell| match &cell.outcome {
            CellOutcome::Sampled { disturbance, .. } => Some(*disturbance),
            CellOutcome::Lost { .. } => None,
        })
        .collect();
    let wall: f64 = disturbances.iter().map(|d| d.wall_ns as f64).sum();
    let share = |of: &dyn Fn(&Disturbance) -> Option<f64>| {
        let parts: Vec<f64> = disturbances.iter().filter_map(of).collect();
        (wall > 0.0 && !parts.is_empty()).then(|| 100.0 * parts.iter().sum::<f64>() / wall)
    };
    let lost_pct = share(&|d| d.lost_pct().map(|pct| pct / 100.0 * d.wall_ns as f64));
    let steal_pct = share(&|d| d.steal_ticks.map(|ticks| ticks as f64 * USER_HZ_TICK_NS));
    let anchors = anchors(rows, clock);
    let mut flags = Vec::new();
    let moved = anchors.before.iter().any(|(case, before)| {
        let after = anchors.after.get(case);
        after.is_some_and(|after| 100.0 * (after / before - 1.0).abs() > MOVED_PCT)
    });
    if moved {
        flags.push("BASELINE_MOVED".to_owned());
    }
    if disturbances.iter().any(|d| d.throttled_periods.is_some_and(|periods| periods > 0)) {
        flags.push("THROTTLED".to_owned());
    }
    if !tracers.is_empty() {
        flags.push("TRACED".to_owned());
    }
    Conditions {
        machine: machine.to_owned(),
        class: class(lost_pct, steal_pct).map(str::to_owned),
        anchors,
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

/// `clean`, `noisy` or `hostile`, by the share of the time that cells did not get.
fn class(lost_pct: Option<f64>, steal_pct: Option<f64>) -> Option<&'static str> {
    let lost = lost_pct? + steal_pct.unwrap_or(0.0);
    Some(match lost {
        _ if lost < NOISY_FROM_PCT => "clean",
        _ if lost <= HOSTILE_FROM_PCT => "noisy",
        _ => "hostile",
    })
}

/// The anchors' raw medians in the first and in the last third of the run: their own cells before
/// and after, and those of the rounds nearby, so that one odd process does not speak for a third.
fn anchors(rows: &[RowState], clock: Option<&Calibration>) -> Anchors {
    let mut sides = [BTreeMap::new(), BTreeMap::new()];
    for row in rows.iter().filter(|row| row.planned.anchor) {
        let last = row.cells.iter().filter_map(|cell| match cell.phase {
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
    Anchors { before, after }
}

/// The clock's rate over the whole run, the bound on its error in parts per million, and whether
/// the rates at the start and at the end contradict each other.
pub(super) fn rate(
    calibrations: &[(Calibration, ClockSync)],
) -> Option<(Calibration, Option<f64>, bool)> {
    let (first, begun) = calibrations.first()?;
    let Some((last, ended)) = calibrations.get(1..).and_then(<[_]>::last) else {
        return Some((*first, None, false));
    };
    let moved = 1e6 * (last.ticks_per_ns / first.ticks_per_ns - 1.0).abs() > RATE_MOVED_PPM;
    match begun.ticks_per_ns(ended) {
        Some(ticks_per_ns) => {
            let error = 1e6 * begun.rate_error(ended);
            Some((Calibration { ticks_per_ns, ..*first }, Some(error), moved))
        }
        None => Some((*first, None, true)),
    }
}

/// Whether a class is the worst one.
pub(super) fn is_hostile(conditions: &Conditions) -> bool {
    conditions.class.as_deref() == Some("hostile")
}
