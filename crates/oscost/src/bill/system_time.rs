//! The system time of a program, from its trials.

use oscost_model::bill::Amount;
use oscost_model::record::Estimate;

/// Below so many clock ticks of CPU time in a trial the kernel's division of it into the times of
/// both modes is mostly chance (docs/explanation/METHOD.md, section 13) ...
const FEW_TICKS: f64 = 20.0;
/// ... which last this long where a second has 250.
const TICK_NS: f64 = 4e6;
/// 95 % of a normal distribution lie within so many standard deviations of its mean.
pub(super) const NORMAL_95: f64 = 1.96;

/// How a system time was made of those of trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemFigure {
    /// The median.
    Median,
    /// The mean: what ticks give one trial too much another has too little.
    Mean,
}

impl SystemFigure {
    /// Its name in a bill.
    pub fn text(self) -> &'static str {
        match self {
            SystemFigure::Median => "median",
            SystemFigure::Mean => "mean",
        }
    }
}

/// The system time that a bill is compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct SystemTime {
    /// The time.
    pub amount: Amount,
    /// How it was made of those of trials.
    pub figure: SystemFigure,
}

/// The system time of trials with these estimates, which are in seconds.
pub fn system_time(user: &Estimate, system: &Estimate) -> SystemTime {
    let cpu_ns = 1e9 * (user.mean + system.mean);
    if cpu_ns >= FEW_TICKS * TICK_NS {
        let in_seconds = Amount { ns: system.median, ci95: system.ci95 };
        return SystemTime { amount: in_seconds.times(1e9), figure: SystemFigure::Median };
    }
    let trials = f64::from(system.repetitions.max(1));
    let half = system.sd.map(|sd| NORMAL_95 * sd / trials.sqrt());
    let ci95 = half.map(|half| [system.mean - half, system.mean + half]);
    let in_seconds = Amount { ns: system.mean, ci95 };
    SystemTime { amount: in_seconds.times(1e9), figure: SystemFigure::Mean }
}
