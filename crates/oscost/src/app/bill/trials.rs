//! What the runs of a program were: the estimates of its trials, and its counts.

use oscost_model::bill::{Amount, BilledCounts, BilledTrials, TrialFigure, Watched};
use oscost_model::program::Trial;
use oscost_model::program_calls::ProgramCalls;
use oscost_model::record::Estimate;
use oscost_stats::interval::Nominal;

use super::tick_doubt;
use crate::bill::{
    CombinedCounts, combine, divided_time, half_of_mean, is_divided_by_ticks, measured_system_time,
    system_time,
};
use crate::estimate::estimate_values;
use crate::run::{FigureWidth, ProgramRuns};

/// The level of the intervals of trials: more, where their number depends on how narrow these are.
pub(super) fn trials_nominal(trials_asked_for: Option<u32>) -> Nominal {
    match trials_asked_for {
        Some(_) => Nominal::FIXED,
        None => Nominal::ADAPTIVE,
    }
}

/// How the kernel knows the time of a program in each mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ModeTimes {
    /// Clock ticks divide its CPU time.
    Divided,
    /// It measures both.
    Measured,
}

impl ModeTimes {
    /// Those where so much time is between two of the ticks that divide CPU time; `None` without any.
    pub(super) fn of_ticks(tick_ns: Option<f64>) -> Self {
        match tick_ns {
            Some(_) => Self::Divided,
            None => Self::Measured,
        }
    }

    /// What tells how well the system time is known by some trials.
    pub(super) fn width(self) -> fn(&[Trial]) -> FigureWidth {
        match self {
            Self::Divided => divided_width,
            Self::Measured => measured_width,
        }
    }
}

fn measured_width(trials: &[Trial]) -> FigureWidth {
    let trials = billed_trials(trials, Nominal::ADAPTIVE).map(with_measured_modes);
    FigureWidth {
        relative_half_width: trials.as_ref().and_then(relative_half_width),
        is_divided_by_ticks: false,
    }
}

fn divided_width(trials: &[Trial]) -> FigureWidth {
    let trials = billed_trials(trials, Nominal::ADAPTIVE);
    FigureWidth {
        relative_half_width: trials.as_ref().and_then(relative_half_width),
        is_divided_by_ticks: trials.is_some_and(|it| is_divided_by_ticks(&it.system)),
    }
}

/// Half of the interval of the system time, as a fraction of it. Where trials are too few for that of
/// their median, that of their mean tells how well it is known.
fn relative_half_width(trials: &BilledTrials) -> Option<f64> {
    let Amount { ns, ci95 } = &trials.system_time;
    let (figure_ns, half_ns) = match *ci95 {
        Some([low, high]) => (*ns, (high - low) / 2.0),
        None => {
            let half_s = half_of_mean(&trials.system, Nominal::ADAPTIVE)?;
            (1e9 * trials.system.mean, 1e9 * half_s)
        }
    };
    (figure_ns > 0.0).then(|| half_ns / figure_ns)
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
    let of_system = system_time(&system, nominal);
    Some(BilledTrials {
        system_time: of_system.amount,
        system_figure: of_system.figure.text().to_owned(),
        source: "rusage".to_owned(),
        clock_ticks: None,
        doubt: None,
        minor_faults: median(|trial| trial.usage.minor_faults as f64)?,
        major_faults: median(|trial| trial.usage.major_faults as f64)?,
        voluntary_switches: median(|trial| trial.usage.voluntary_switches as f64),
        involuntary_switches: median(|trial| trial.usage.involuntary_switches as f64),
        real,
        user,
        user_figure: TrialFigure::Median.text().to_owned(),
        system,
    })
}

/// The same where the kernel measures the times of both modes.
pub(super) fn with_measured_modes(trials: BilledTrials) -> BilledTrials {
    let of_system = measured_system_time(&trials.system);
    BilledTrials {
        system_time: of_system.amount,
        system_figure: of_system.figure.text().to_owned(),
        ..trials
    }
}

/// The same with the mean of the user time where few clock ticks make it, however many find a trial in the
/// kernel: the median of these may be none.
fn with_mean_user(trials: BilledTrials, nominal: Nominal) -> BilledTrials {
    if !is_divided_by_ticks(&trials.user) {
        return trials;
    }
    let BilledTrials { user, .. } = &trials;
    let half = half_of_mean(user, nominal);
    let ci95 = half.map(|half| [user.mean - half, user.mean + half]);
    let mean = Amount { ns: user.mean, ci95 }.times(1e9);
    BilledTrials {
        user: with_figure_of(user.clone(), &mean),
        user_figure: TrialFigure::Mean.text().to_owned(),
        ..trials
    }
}

/// Fewer control groups do not show by how much their ratios differ.
const MIN_GROUPS: usize = 6;

/// The same of a program whose processes are too short for clock ticks of their own: the ticks of
/// control groups divide its CPU time, or it has a doubt. Of few groups the division is taken only if it
/// is known better than that of rusage.
pub(super) fn with_groups(
    trials: BilledTrials,
    runs: &ProgramRuns,
    nominal: Nominal,
    tick_ns: f64,
) -> BilledTrials {
    let trials = with_mean_user(trials, nominal);
    let with_doubt = |trials, why: &str| with_doubt(trials, runs, tick_ns, why);
    let groups = match &runs.groups {
        None => return trials,
        Some(Err(why)) => return with_doubt(trials, why),
        Some(Ok(groups)) => groups,
    };
    let cpu_s: Vec<f64> = runs.trials.iter().map(|it| it.usage.cpu_ns() as f64 * 1e-9).collect();
    let divided = estimate_values(&cpu_s, nominal)
        .and_then(|cpu| divided_time(&cpu, &groups.groups, &runs.trials, groups.tick_ns, nominal));
    let Some(divided) = divided else {
        return with_doubt(trials, "they were charged no CPU time in a control group");
    };
    let by_rusage = bounded_time(&trials).filter(|_| groups.groups.len() < MIN_GROUPS);
    if let Some(bounded) = by_rusage.filter(|it| is_narrower(it, &divided.system)) {
        let why = format!("{:.0} clock ticks of control groups tell it no better", divided.ticks);
        return with_doubt(BilledTrials { system_time: bounded, ..trials }, &why);
    }
    let estimate = |share: f64, amount: &Amount| {
        let values: Vec<f64> = cpu_s.iter().map(|cpu_s| share * cpu_s).collect();
        estimate_values(&values, nominal).map(|estimate| with_figure_of(estimate, amount))
    };
    let user = estimate(1.0 - divided.system_share, &divided.user);
    let system = estimate(divided.system_share, &divided.system);
    BilledTrials {
        user: user.unwrap_or(trials.user),
        user_figure: TrialFigure::Pooled.text().to_owned(),
        system: system.unwrap_or(trials.system),
        system_time: divided.system,
        system_figure: TrialFigure::Pooled.text().to_owned(),
        source: "cgroup".to_owned(),
        clock_ticks: Some(divided.ticks),
        ..trials
    }
}

/// The system time by rusage, with an interval that holds it although the kernel gives to user mode what
/// a process takes without a tick: it may be as much more as there is user time. A process that ticks
/// have found in the kernel alone has all of its time there: that is as likely as the ticks say, and in
/// the spread of the trials.
fn bounded_time(trials: &BilledTrials) -> Option<Amount> {
    let Amount { ns, ci95 } = &trials.system_time;
    let [low, high] = (*ci95)?;
    Some(Amount { ns: *ns, ci95: Some([low, high + 1e9 * trials.user.mean]) })
}

/// Whether one interval is narrower than the other; one that is not known is wide.
fn is_narrower(one: &Amount, other: &Amount) -> bool {
    let width = |it: &Amount| it.ci95.map_or(f64::INFINITY, |[low, high]| high - low);
    width(one) < width(other)
}

/// An estimate in seconds whose figure and interval are those of an amount, which is a mean: that of its
/// values knows nothing of the share that is the same in all of them.
fn with_figure_of(estimate: Estimate, amount: &Amount) -> Estimate {
    let ci95 = amount.ci95.map(|ends| ends.map(|ns| 1e-9 * ns));
    let median = 1e-9 * amount.ns;
    let half_width_pct = ci95
        .filter(|_| median != 0.0)
        .map(|[low, high]: [f64; 2]| 50.0 * (high - low) / median.abs());
    Estimate { median, ci95, half_width_pct, ..estimate }
}

/// Times of processes that few clock ticks divide, which could not be divided otherwise.
fn with_doubt(trials: BilledTrials, runs: &ProgramRuns, tick_ns: f64, why: &str) -> BilledTrials {
    let doubt = tick_doubt::text(trials.user.mean, runs, tick_ns, why);
    BilledTrials { doubt: Some(doubt), ..trials }
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
        system_figure: TrialFigure::Watched.text().to_owned(),
        user_figure: TrialFigure::Watched.text().to_owned(),
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
    use oscost_model::program::{GroupTimes, TreeUsage};

    use super::*;
    use crate::run::GroupRuns;

    const TICK_NS: f64 = 4e6;

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
    fn how_well_a_system_time_is_known_is_told_with_what_divides_it() {
        let width = |system_ms: &[u64]| {
            let found = divided_width(&trials(system_ms));
            (found.relative_half_width, found.is_divided_by_ticks)
        };
        let (no_spread, is_divided) = width(&[100; 10]);
        assert!(no_spread.unwrap() < 1e-9 && !is_divided);
        let spread: Vec<u64> = (90..=110).collect();
        let half_width = width(&spread).0.unwrap();
        assert!((0.02..0.1).contains(&half_width), "{half_width}");
        // Twenty ticks of 4 ms.
        let (no_spread, is_divided) = width(&[81; 10]);
        assert!(no_spread.unwrap() < 1e-9 && !is_divided);
        let (no_spread, is_divided) = width(&[79; 10]);
        assert!(no_spread.unwrap() < 1e-9 && is_divided);
        // Four are too few for the interval of a median: 3.7 standard errors, each 5 of 105.
        let (few, is_divided) = width(&[100, 100, 100, 120]);
        assert!((0.16..0.19).contains(&few.unwrap()) && !is_divided, "{few:?}");
        assert_eq!(width(&[100]), (None, false), "one has no interval");
        assert_eq!(width(&[0; 10]), (None, true), "no time has no fraction");
        assert_eq!(width(&[]), (None, false));
    }

    #[test]
    fn no_tick_divides_a_time_that_the_kernel_measures_however_short_it_is() {
        let short = trials(&[10, 10, 10, 10, 10, 10, 10, 10, 10, 110]);
        let figure = |it: &BilledTrials| (it.system_figure.clone(), it.system_time.ns.round());
        let divided = billed_trials(&short, Nominal::FIXED).unwrap();
        assert_eq!(figure(&divided), ("mean".to_owned(), 20e6));
        let measured = with_measured_modes(divided);
        assert_eq!(figure(&measured), ("median".to_owned(), 10e6));
        let waits_for_more = |tick_ns: Option<f64>| {
            let width = ModeTimes::of_ticks(tick_ns).width();
            width(&short).is_divided_by_ticks
        };
        assert!(waits_for_more(Some(4e6)) && !waits_for_more(None));
        assert!(measured_width(&trials(&[10; 10])).relative_half_width.unwrap() < 1e-9);
    }

    fn runs(groups: Option<Result<GroupRuns, String>>) -> ProgramRuns {
        ProgramRuns {
            trials: trials(&[20; 10]),
            counted: Ok(Vec::new()),
            counted_without: None,
            events: Ok(Vec::new()),
            groups,
            interrupted: false,
        }
    }

    fn billed(groups: Option<Result<GroupRuns, String>>) -> BilledTrials {
        let runs = runs(groups);
        let trials = billed_trials(&runs.trials, Nominal::FIXED).unwrap();
        with_groups(trials, &runs, Nominal::FIXED, TICK_NS)
    }

    #[test]
    fn the_ticks_of_control_groups_divide_the_time_of_trials_into_both_modes() {
        let by_rusage = billed(None);
        assert_eq!((by_rusage.source.as_str(), by_rusage.clock_ticks), ("rusage", None));
        // One trial of ten had ticks in user mode: their mean is told, and not their median.
        let mut rare = runs(None);
        for trial in &mut rare.trials {
            trial.usage.user_ns = 0;
        }
        rare.trials[0].usage.user_ns = 40_000_000;
        let trials = billed_trials(&rare.trials, Nominal::FIXED).unwrap();
        let rare = with_groups(trials, &rare, Nominal::FIXED, TICK_NS);
        assert_eq!(rare.system_figure, "mean");
        assert!((rare.user.median - 0.004).abs() < 1e-9 && rare.user.raw_median == 0.0, "{rare:?}");
        assert!(rare.user.ci95.is_some_and(|[low, high]| low < 0.004 && 0.004 < high), "{rare:?}");
        let groups = vec![GroupTimes { user_us: 20_000, system_us: 60_000 }; 10];
        let divided = billed(Some(Ok(GroupRuns { groups, tick_ns: 4e6 })));
        assert_eq!((divided.source.as_str(), divided.system_figure.as_str()), ("cgroup", "pooled"));
        assert_eq!((divided.clock_ticks, divided.doubt.as_ref()), (Some(200.0), None));
        // Three quarters of 40 ms.
        assert!((divided.system_time.ns - 30e6).abs() < 1.0, "{divided:?}");
        assert!((divided.system.median - 0.03).abs() < 1e-9, "{divided:?}");
        assert!((divided.user.mean - 0.01).abs() < 1e-9, "{divided:?}");
        // A trial that took long is in the mean, and so in the figure that has the interval.
        let groups = vec![GroupTimes { user_us: 20_000, system_us: 60_000 }; 10];
        let mut skewed = runs(Some(Ok(GroupRuns { groups, tick_ns: 4e6 })));
        skewed.trials[0].usage.system_ns += 40_000_000;
        let trials = billed_trials(&skewed.trials, Nominal::FIXED).unwrap();
        let skewed = with_groups(trials, &skewed, Nominal::FIXED, TICK_NS);
        assert!((skewed.system.median - 0.033).abs() < 1e-9, "{skewed:?}");
        assert!((skewed.system.raw_median - 0.03).abs() < 1e-9, "{skewed:?}");
        let [low, high] = divided.system_time.ci95.unwrap();
        assert!(low < 29e6 && high > 31e6, "the trials are equal, and the ticks are few");
        let [low_s, high_s] = divided.system.ci95.unwrap();
        assert!((low_s - 1e-9 * low).abs() + (high_s - 1e-9 * high).abs() < 1e-12);
    }

    #[test]
    fn the_time_in_each_mode_is_a_mean_where_few_ticks_make_that_one() {
        // One trial of ten has user time.
        let of = |user_ms: u64, system_ms: u64| {
            let mut runs = runs(None);
            for trial in &mut runs.trials {
                (trial.usage.user_ns, trial.usage.system_ns) = (0, 1_000_000 * system_ms);
            }
            runs.trials[0].usage.user_ns = 1_000_000 * user_ms;
            let trials = billed_trials(&runs.trials, Nominal::FIXED).unwrap();
            let billed = with_groups(trials, &runs, Nominal::FIXED, TICK_NS);
            (billed.user_figure, billed.system_figure, (1e3 * billed.user.median).round())
        };
        let figures =
            |user: &str, system: &str, user_ms: f64| (user.to_owned(), system.to_owned(), user_ms);
        assert_eq!(of(40, 100), figures("mean", "median", 4.0));
        assert_eq!(of(40, 20), figures("mean", "mean", 4.0));
        assert_eq!(of(1_000, 20), figures("median", "mean", 0.0));
        let groups = vec![GroupTimes { user_us: 20_000, system_us: 60_000 }; 10];
        let pooled = billed(Some(Ok(GroupRuns { groups, tick_ns: 4e6 })));
        assert_eq!(
            (pooled.user_figure.as_str(), pooled.system_figure.as_str()),
            ("pooled", "pooled")
        );
    }

    #[test]
    fn few_ticks_of_groups_are_taken_only_where_they_tell_more_than_rusage() {
        // A parent that works in the kernel, with many short children: at most 10 ms are in doubt.
        let mut runs = runs(None);
        for trial in &mut runs.trials {
            (trial.usage.user_ns, trial.usage.system_ns) = (10_000_000, 900_000_000);
        }
        let billed_by = |groups: usize| {
            let times = GroupTimes { user_us: 30_000, system_us: 880_000 };
            let groups = Some(Ok(GroupRuns { groups: vec![times; groups], tick_ns: 4e6 }));
            let runs = ProgramRuns { groups, ..runs.clone() };
            let trials = billed_trials(&runs.trials, Nominal::FIXED).unwrap();
            with_groups(trials, &runs, Nominal::FIXED, TICK_NS)
        };
        let few = billed_by(1);
        assert_eq!((few.source.as_str(), few.clock_ticks), ("rusage", None));
        assert_eq!(few.system_time.ns.round(), 900e6);
        let [low, high] = few.system_time.ci95.unwrap();
        assert_eq!([low.round(), high.round()], [900e6, 910e6]);
        let doubt = few.doubt.unwrap();
        assert!(doubt.contains("(228 clock ticks of control groups tell it no better)"), "{doubt}");
        // Six show how well the time is known.
        assert_eq!(billed_by(6).source, "cgroup");
        // Where nearly all is user time, a few ticks tell more.
        for trial in &mut runs.trials {
            (trial.usage.user_ns, trial.usage.system_ns) = (900_000_000, 10_000_000);
        }
        let runs = ProgramRuns {
            groups: Some(Ok(GroupRuns {
                groups: vec![GroupTimes { user_us: 400_000, system_us: 510_000 }],
                tick_ns: 4e6,
            })),
            ..runs
        };
        let trials = billed_trials(&runs.trials, Nominal::FIXED).unwrap();
        assert_eq!(with_groups(trials, &runs, Nominal::FIXED, TICK_NS).source, "cgroup");
    }

    #[test]
    fn without_a_control_group_the_bill_says_by_how_much_its_system_time_may_be_too_low() {
        let nothing = GroupRuns { groups: vec![GroupTimes::default()], tick_ns: 4e6 };
        for (groups, why) in
            [(Err("none is mounted".to_owned()), "(none is mounted)"), (Ok(nothing), "no CPU time")]
        {
            let doubtful = billed(Some(groups));
            assert_eq!((doubtful.source.as_str(), doubtful.clock_ticks), ("rusage", None));
            assert_eq!(doubtful.system_time.ns.round(), 20e6);
            let doubt = doubtful.doubt.unwrap();
            assert!(doubt.contains("by up to 20.0 ms") && doubt.contains(why), "{doubt}");
        }
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
