//! How quiet a machine was while it was measured.

use std::collections::BTreeMap;

use oscost_model::clock::{Calibration, ClockKind, ClockSync};
use oscost_model::journal::{Phase, WorkerOutcome};
use oscost_model::noise_class::NoiseClass;
use oscost_model::protocol::CpuProbe;
use oscost_model::record::{Conditions, ReferenceCases};
use oscost_model::worker::Disturbance;

use super::row::RowState;
use oscost_stats::order;

/// Reference cases further apart than this before and after: something was attached, or the machine changed.
const MAX_REFERENCE_DRIFT_PCT: f64 = 3.0;
/// A clock whose rate changes by more than this within a run was moved to another machine, or lies.
const MAX_RATE_CHANGE_PPM: f64 = 10.0;
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

/// The clock's rate over the whole run, the bound on its error in parts per million, and whether
/// its calibrations contradict each other.
///
/// The long baseline from the first calibration to the last gives the rate; the short ones at
/// either end must agree with it. A counter that jumped meanwhile (a live migration, a suspend)
/// leaves the short rates alone and spoils the long one: then the first short rate is used. A clock
/// of instructions has no rate: a tick is one, whatever time it pretends to be.
pub(super) fn rate(
    calibrations: &[(Calibration, ClockSync)],
) -> Option<(Calibration, Option<f64>, bool)> {
    let (first, begun) = calibrations.first()?;
    if counts_instructions(first) {
        return Some((*first, None, false));
    }
    let Some((last, ended)) = calibrations.get(1..).and_then(<[_]>::last) else {
        return Some((*first, None, false));
    };
    let Some(long) = begun.ticks_per_ns(ended) else {
        return Some((*first, None, true));
    };
    let error_ppm = 1e6 * begun.rate_error(ended);
    let apart = |short: f64| 1e6 * (short / long - 1.0).abs();
    let allowed = MAX_RATE_CHANGE_PPM + error_ppm;
    if apart(first.ticks_per_ns) > allowed || apart(last.ticks_per_ns) > allowed {
        return Some((*first, None, true));
    }
    Some((Calibration { ticks_per_ns: long, ..*first }, Some(error_ppm), false))
}

/// Whether a tick of the clock is an instruction, and no time.
pub(super) fn counts_instructions(clock: &Calibration) -> bool {
    clock.kind == ClockKind::Instructions
}

/// Whether a class is the worst one.
pub(super) fn is_very_noisy(conditions: &Conditions) -> bool {
    conditions.class.as_deref() == Some(NoiseClass::VeryNoisy.text())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calibration(ticks_per_ns: f64) -> Calibration {
        Calibration {
            kind: ClockKind::Tsc,
            ticks_per_ns,
            quantum_ticks: 26.0,
            inside_ticks: 50.0,
            pair_ticks: 90.0,
        }
    }

    fn sync(raw_ns: u64, ticks: u64) -> ClockSync {
        ClockSync { ticks, raw_ns, width_ticks: 100 }
    }

    #[test]
    fn a_steady_clock_has_the_rate_of_the_long_baseline() {
        let calibrations = [
            (calibration(2.500_001), sync(0, 0)),
            (calibration(2.499_999), sync(2_000_000_000, 5_000_000_000)),
        ];
        let (clock, error_ppm, moved) = rate(&calibrations).unwrap();
        assert_eq!((clock.ticks_per_ns, moved), (2.5, false));
        assert!(error_ppm.unwrap() < 0.1);
    }

    #[test]
    fn instructions_have_no_rate_whatever_time_passed_meanwhile() {
        let counted = Calibration { kind: ClockKind::Instructions, ..calibration(1.0) };
        let calibrations = [(counted, sync(0, 0)), (counted, sync(2_000_000_000, 3_000_000_007))];
        let (clock, error_ppm, moved) = rate(&calibrations).unwrap();
        assert_eq!((clock.ticks_per_ns, error_ppm, moved), (1.0, None, false));
    }

    #[test]
    fn a_counter_that_jumped_is_flagged_and_its_long_baseline_is_not_used() {
        let jumped = 5_000_000_000 + 2_500_000_000;
        let calibrations =
            [(calibration(2.5), sync(0, 0)), (calibration(2.5), sync(2_000_000_000, jumped))];
        let (clock, error_ppm, moved) = rate(&calibrations).unwrap();
        assert_eq!((clock.ticks_per_ns, error_ppm, moved), (2.5, None, true));
    }
}
