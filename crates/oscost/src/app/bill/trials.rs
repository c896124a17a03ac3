//! What the runs of a program were: the estimates of its trials, and its counts.

use oscost_model::bill::{Amount, BilledCounts, BilledTrials, Watched};
use oscost_model::program::Trial;
use oscost_model::program_calls::ProgramCalls;
use oscost_model::record::Estimate;
use oscost_stats::interval::Nominal;

use crate::bill::{CombinedCounts, SystemFigure, combine, system_time};
use crate::estimate::estimate_values;

/// The level of the intervals of trials: more, where their number depends on how narrow these are.
pub(super) fn trials_nominal(trials_asked_for: Option<u32>) -> Nominal {
    match trials_asked_for {
        Some(_) => Nominal::FIXED,
        None => Nominal::ADAPTIVE,
    }
}

/// Half of the interval of the system time, as a fraction of it. `None` where clock ticks divide the
/// CPU time of trials: then each further one counts, and chance may make the interval narrow.
pub(super) fn system_half_width(trials: &[Trial]) -> Option<f64> {
    let trials = billed_trials(trials, Nominal::ADAPTIVE)?;
    let is_median = trials.system_figure == SystemFigure::Median.text();
    let [low, high] = trials.system_time.ci95.filter(|_| is_median)?;
    let ns = trials.system_time.ns;
    (ns > 0.0).then(|| (high - low) / 2.0 / ns)
}

/// The estimates of trials; `None` without any.
pub(super) fn billed_trials(trials: &[Trial], nominal: Nominal) -> Option<BilledTrials> {
    let estimate = |value: fn(&Trial) -> f64| -> Option<Estimate> {
        let values: Vec<f64> = trials.iter().map(value).collect();
        estimate_values(&values, nominal)
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

#[cfg(test)]
mod tests {
    use oscost_model::program::TreeUsage;

    use super::*;

    /// Trials of so many milliseconds in the kernel, and as many in user mode.
    fn trials(system_ms: &[u64]) -> Vec<Trial> {
        let trial = |&ms: &u64| {
            let [user_ns, system_ns] = [ms * 1_000_000; 2];
            let usage = TreeUsage { user_ns, system_ns, ..TreeUsage::default() };
            Trial { real_ns: 2 * system_ns, usage, ..Trial::default() }
        };
        system_ms.iter().map(trial).collect()
    }

    #[test]
    fn the_interval_of_a_system_time_that_ticks_divide_is_never_narrow() {
        assert_eq!(system_half_width(&trials(&[100; 10])), Some(0.0));
        let spread: Vec<u64> = (90..=110).collect();
        let half_width = system_half_width(&trials(&spread)).unwrap();
        assert!((0.02..0.1).contains(&half_width), "{half_width}");
        // Twenty ticks of 4 ms.
        assert_eq!(system_half_width(&trials(&[30; 10])), None);
        assert_eq!(system_half_width(&trials(&[100; 5])), None, "five have no interval");
        assert_eq!(system_half_width(&[]), None);
    }

    #[test]
    fn trials_that_may_end_early_have_wider_intervals() {
        let trials: Vec<Trial> = trials(&(80..=120).collect::<Vec<u64>>());
        let width = |asked_for| {
            let billed = billed_trials(&trials, trials_nominal(asked_for)).unwrap();
            let [low, high] = billed.system_time.ci95.unwrap();
            high - low
        };
        assert!(width(None) > width(Some(41)));
    }
}
