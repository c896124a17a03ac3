//! What the runs of a program were: the estimates of its trials, and its counts.

use oscost_model::bill::{Amount, BilledCounts, BilledTrials, Watched};
use oscost_model::program::Trial;
use oscost_model::program_calls::ProgramCalls;
use oscost_model::record::Estimate;
use oscost_stats::interval::Nominal;

use crate::bill::{CombinedCounts, combine, system_time};
use crate::estimate::estimate_values;

/// The estimates of trials; `None` without any.
pub(super) fn billed_trials(trials: &[Trial]) -> Option<BilledTrials> {
    let estimate = |value: fn(&Trial) -> f64| -> Option<Estimate> {
        let values: Vec<f64> = trials.iter().map(value).collect();
        estimate_values(&values, Nominal::FIXED)
    };
    let median = |value: fn(&Trial) -> f64| Some(estimate(value)?.median);
    let real = estimate(|trial| trial.real_ns as f64 * 1e-9)?;
    let user = estimate(|trial| trial.usage.user_ns as f64 * 1e-9)?;
    let system = estimate(|trial| trial.usage.system_ns as f64 * 1e-9)?;
    let of_system = system_time(&user, &system);
    Some(BilledTrials {
        system_time: of_system.amount,
        system_figure: of_system.figure.text().to_owned(),
        source: "rusage".to_owned(),
        minor_faults: median(|trial| trial.usage.minor_faults as f64)?,
        major_faults: median(|trial| trial.usage.major_faults as f64)?,
        voluntary_switches: median(|trial| trial.usage.voluntary_switches as f64),
        involuntary_switches: median(|trial| trial.usage.involuntary_switches as f64),
        real,
        user,
        system,
    })
}

/// The same of the only observation of a process, which /proc tells of.
pub(super) fn of_watched(trials: BilledTrials, watched: &Watched) -> BilledTrials {
    // Of one value median and mean are the same.
    let ns = 1e9 * trials.system.median;
    let [voluntary_switches, involuntary_switches] =
        [trials.voluntary_switches, trials.involuntary_switches]
            .map(|switches| switches.filter(|_| watched.on_cpu_ns.is_some()));
    BilledTrials {
        voluntary_switches,
        involuntary_switches,
        system_time: Amount::exact(ns),
        system_figure: "watched".to_owned(),
        source: "proc".to_owned(),
        ..trials
    }
}

/// The counts of some runs, whose time is comparable with that of trials or not; `None` without any.
pub(super) fn billed_counts(
    counted: &[ProgramCalls],
    trials: &BilledTrials,
    is_comparable: bool,
) -> Option<BilledCounts> {
    let CombinedCounts { calls, varying_forms } = combine(counted)?;
    let real_ns = 1e9 * trials.real.median;
    let added_pct = 100.0 * (calls.real_ns as f64 / real_ns - 1.0);
    Some(BilledCounts {
        added_pct: is_comparable.then_some(added_pct),
        counter: calls.by.clone(),
        counter_reason: None,
        lost_events: counted.iter().map(|run| run.lost).sum(),
        runs: counted.len() as u32,
        varying_forms,
        calls,
    })
}
