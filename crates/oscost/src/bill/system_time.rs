//! The system time of a program, from its trials.

use oscost_model::bill::{Amount, TrialFigure};
use oscost_model::program::{GroupTimes, Trial};
use oscost_model::record::Estimate;
use oscost_stats::interval::Nominal;
use oscost_stats::student;
use oscost_stats::tick_share::{TimePart, tick_share};

/// Of fewer clock ticks that find a trial in the kernel one is more than a twentieth of its system
/// time, however long the trial is (docs/explanation/METHOD.md, section 13) ...
const FEW_TICKS: f64 = 20.0;
/// ... which last this long where a second has 250.
const TICK_NS: f64 = 4e6;

/// The system time that a bill is compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct SystemTime {
    /// The time.
    pub amount: Amount,
    /// How it was made of those of trials.
    pub figure: TrialFigure,
}

/// Whether few clock ticks make the time of a trial in one mode: whole ticks, as chance gives them. The
/// expectation of such a time is the true one, and its median is not.
pub fn is_divided_by_ticks(in_mode: &Estimate) -> bool {
    1e9 * in_mode.mean < FEW_TICKS * TICK_NS
}

/// The system time of trials with this estimate, which is in seconds. Where ticks divide it, it has an
/// interval of this level.
pub fn system_time(system: &Estimate, nominal: Nominal) -> SystemTime {
    if !is_divided_by_ticks(system) {
        return measured_system_time(system);
    }
    let half = half_of_mean(system, nominal);
    let ci95 = half.map(|half| [system.mean - half, system.mean + half]);
    let in_seconds = Amount { ns: system.mean, ci95 };
    SystemTime { amount: in_seconds.times(1e9), figure: TrialFigure::Mean }
}

/// The same of trials whose times in both modes the kernel measures: no clock tick divides them, however
/// short they are.
pub fn measured_system_time(system: &Estimate) -> SystemTime {
    let in_seconds = Amount { ns: system.median, ci95: system.ci95 };
    SystemTime { amount: in_seconds.times(1e9), figure: TrialFigure::Median }
}

/// Half of the interval of the mean of trials, by Student's distribution; `None` of fewer than two.
pub fn half_of_mean(trials: &Estimate, nominal: Nominal) -> Option<f64> {
    let degrees_of_freedom = f64::from(trials.repetitions.checked_sub(1).filter(|&it| it > 0)?);
    let standard_error = trials.sd? / f64::from(trials.repetitions).sqrt();
    let of_mean = student::Estimate { value: trials.mean, standard_error, degrees_of_freedom };
    Some(of_mean.interval(nominal).hi - trials.mean)
}

/// CPU time that the clock ticks of control groups divide.
#[derive(Clone, Debug, PartialEq)]
pub struct DividedTime {
    /// The time in the kernel.
    pub system: Amount,
    /// The time in user mode.
    pub user: Amount,
    /// The share of the kernel, from 0 to 1.
    pub system_share: f64,
    /// The ticks of all groups, about.
    pub ticks: f64,
}

/// The CPU time of trials with this estimate, which is in seconds, in the ratio of the ticks of
/// control groups. `None` if these were charged nothing. Few groups do not show by how much their ratios
/// differ; these trials do, as rusage divides their times.
///
/// The errors of the CPU time, which is exact in each trial, and of the ratio are independent.
pub fn divided_time(
    cpu: &Estimate,
    groups: &[GroupTimes],
    trials: &[Trial],
    tick_ns: f64,
    nominal: Nominal,
) -> Option<DividedTime> {
    let part = |&GroupTimes { user_us, system_us }: &GroupTimes| {
        let [user, system] = [user_us, system_us].map(|us| 1e3 * us as f64);
        TimePart { in_mode: system, all: user + system }
    };
    let parts: Vec<TimePart> = groups.iter().map(part).collect();
    let of_trial = |trial: &Trial| TimePart {
        in_mode: trial.usage.system_ns as f64,
        all: trial.usage.cpu_ns() as f64,
    };
    let similar: Vec<TimePart> = trials.iter().map(of_trial).collect();
    let share = tick_share(&parts, &similar, tick_ns, nominal)?;
    let half_cpu = half_of_mean(cpu, nominal);
    let amount = |part: f64, [low, high]: [f64; 2]| {
        let value = cpu.mean * part;
        let end =
            |half_cpu: f64, part_end: f64| (part * half_cpu).hypot(cpu.mean * (part_end - part));
        let ci95 = half_cpu.map(|half| [value - end(half, low), value + end(half, high)]);
        Amount { ns: value, ci95 }.times(1e9)
    };
    let (low, high) = (share.interval.lo, share.interval.hi);
    Some(DividedTime {
        system: amount(share.value, [low, high]),
        user: amount(1.0 - share.value, [1.0 - high, 1.0 - low]),
        system_share: share.value,
        ticks: share.ticks,
    })
}
