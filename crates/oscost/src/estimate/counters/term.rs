//! The terms of a decomposition: differences of quantities between two lists of workers.

use oscost_model::counters::{CPI, CounterEvent, GHZ};
use oscost_model::record::CountedRepetition;
use oscost_stats::between_runs::{RunDifference, RunVariation};
use oscost_stats::comparison::median_difference;
use oscost_stats::interval::{Interval, Nominal, median_hs};
use oscost_stats::order;
use oscost_stats::student::Estimate;

use super::few_runs::difference_of_means;
use super::row::{waiting_ns, work};
use crate::estimate::comparison::verdict::MIN_PAIRS;

/// Fewer workers have no interval; from here to [`MIN_PAIRS`] it is the range of the values, except
/// that of the work of a few runs.
const MIN_WORKERS: usize = 3;

/// How the workers of two sides belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::estimate) enum Matching {
    /// Those of a round were counted one after the other.
    ByRound,
    /// Those of two runs.
    Unmatched,
    /// Each is the median of a run; the runs are those of two sides, or of two levels of a series.
    Runs,
}

/// The workers of two sides.
#[derive(Clone, Copy)]
pub(in crate::estimate) struct Sides<'a> {
    pub(in crate::estimate) base: &'a [CountedRepetition],
    pub(in crate::estimate) new: &'a [CountedRepetition],
    pub(in crate::estimate) matching: Matching,
    /// How far work varies between two runs of one boot, if they are the sides and that is known.
    pub(in crate::estimate) variation: Option<RunVariation>,
}

/// A difference and its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::estimate) struct Term {
    pub(in crate::estimate) value: f64,
    /// `None` with too few workers.
    pub(in crate::estimate) interval: Option<Interval>,
    /// Pairs of workers; of unmatched ones the smaller number.
    pub(in crate::estimate) pairs: usize,
    /// The same with its uncertainty, of the work of a few runs a side.
    pub(in crate::estimate) few_runs: Option<RunDifference>,
}

impl Term {
    /// The median of some values; `None` if there are none.
    fn of(sorted: &[f64]) -> Option<Self> {
        let interval = match sorted.len() {
            MIN_PAIRS.. => median_hs(sorted, Nominal::FIXED),
            MIN_WORKERS.. => range(sorted),
            _ => None,
        };
        Some(Self::by_median(order::median(sorted)?, interval, sorted.len()))
    }

    fn by_median(value: f64, interval: Option<Interval>, pairs: usize) -> Self {
        Self { value, interval, pairs, few_runs: None }
    }

    /// Of the means of a few runs a side, with an interval of 95 %.
    fn by_mean(difference: RunDifference, pairs: usize) -> Self {
        let RunDifference { value, interval, .. } = difference;
        Self { value, interval: Some(interval), pairs, few_runs: Some(difference) }
    }

    /// Whether its interval is the range of a few values.
    fn has_range(&self) -> bool {
        self.pairs < MIN_PAIRS && self.few_runs.is_none()
    }

    /// Its interval of 95 %; `None` where `interval` is the range of a few values.
    pub(in crate::estimate) fn confidence_interval(&self) -> Option<Interval> {
        self.interval.filter(|_| !self.has_range())
    }

    /// Whether it differs from 0 with certainty. The range of three values that do not differ from 0
    /// excludes it in a quarter of the cases: such a range must be further away than it is wide.
    pub(in crate::estimate) fn is_certain(&self) -> bool {
        let Some(Interval { lo, hi }) = self.interval else { return false };
        let margin = if self.has_range() { hi - lo } else { 0.0 };
        lo > margin || hi < -margin
    }

    /// With an interval that also holds what the quantity varies by between runs, or between two
    /// workers of a run: `deviation`.
    fn widened(self, deviation: f64) -> Self {
        const Z_95: f64 = 1.960;
        self.widened_by(Z_95 * deviation)
    }

    /// The same by a variation of which it is known how well it is known.
    fn widened_between_two_runs(self, variation: RunVariation) -> Self {
        self.widened_by(half_width_between_two_runs(variation))
    }

    fn widened_by(self, half_width: f64) -> Self {
        let widen = |it: Interval| Interval {
            lo: self.value - (self.value - it.lo).hypot(half_width),
            hi: self.value + (it.hi - self.value).hypot(half_width),
        };
        Self { interval: self.interval.map(widen), ..self }
    }

    /// The term with the opposite sign.
    pub(in crate::estimate) fn negated(self) -> Self {
        let negated = |it: Interval| Interval { lo: -it.hi, hi: -it.lo };
        let opposite = |it: RunDifference| RunDifference {
            value: -it.value,
            interval: negated(it.interval),
            ..it
        };
        Self {
            value: -self.value,
            interval: self.interval.map(negated),
            pairs: self.pairs,
            few_runs: self.few_runs.map(opposite),
        }
    }
}

impl Sides<'_> {
    /// The difference of a quantity, new minus base; `None` if a side has no value.
    pub(in crate::estimate) fn difference(
        self,
        of: &dyn Fn(&CountedRepetition) -> Option<f64>,
    ) -> Option<Term> {
        match self.matching {
            Matching::ByRound => {
                let partner =
                    |base: &CountedRepetition| self.new.iter().find(|new| new.round == base.round);
                let differences: Vec<f64> = self
                    .base
                    .iter()
                    .filter_map(|base| Some(of(partner(base)?)? - of(base)?))
                    .collect();
                Term::of(&order::sorted(&differences))
            }
            Matching::Unmatched | Matching::Runs => {
                let sorted = |side: &[CountedRepetition]| {
                    order::sorted(&side.iter().filter_map(of).collect::<Vec<f64>>())
                };
                let (base, new) = (sorted(self.base), sorted(self.new));
                let value = order::median(&new)? - order::median(&base)?;
                let pairs = base.len().min(new.len());
                let interval = match pairs {
                    MIN_PAIRS.. => {
                        median_difference(&base, &new, [Nominal::FIXED; 2]).map(|it| it.interval)
                    }
                    MIN_WORKERS.. => range(&base)
                        .zip(range(&new))
                        .map(|(base, new)| Interval { lo: new.lo - base.hi, hi: new.hi - base.lo }),
                    _ => None,
                };
                Some(Term::by_median(value, interval, pairs))
            }
        }
    }

    /// The same of its logarithm; values that are not above 0 have none.
    pub(in crate::estimate) fn log_ratio(
        self,
        of: &dyn Fn(&CountedRepetition) -> Option<f64>,
    ) -> Option<Term> {
        self.difference(&|it| of(it).filter(|&value| value > 0.0).map(f64::ln))
    }
}

/// The standard deviation of the instructions of a row between runs of one boot, beyond what its
/// workers show, where its class is not known: on a shared guest, open and close took 5063.4 to 5069.4 in three runs (0.07 %),
/// fork and exit 155.9 to 156.2 thousand (0.1 %), getppid and write the same to the last digit.
const RUN_TO_RUN_SD: f64 = 0.0008;
/// The same between workers of one run that were counted one after the other: their memory layouts
/// differ, and what the kernel's hash tables hold.
const INTERLEAVED_SD: f64 = 0.0002;

impl Term {
    /// The instructions of an op by the workers of a run, as a logarithm, with what runs of one boot
    /// differ by; `None` without workers, and of counts that are not above 0.
    pub(in crate::estimate) fn of_run(counts: &[f64]) -> Option<Self> {
        Some(Self::of_workers(counts)?.widened(RUN_TO_RUN_SD))
    }

    /// The same with what the workers leave open alone.
    fn of_workers(counts: &[f64]) -> Option<Self> {
        let logs: Vec<f64> = counts.iter().map(|it| it.ln()).collect();
        let is_usable = logs.iter().all(|it| it.is_finite());
        Self::of(&order::sorted(is_usable.then_some(&logs[..])?))
    }
}

impl Sides<'_> {
    /// The change of the work, as a logarithm, with what work varies by anyway.
    pub(in crate::estimate) fn work_ratio(
        self,
        of: &dyn Fn(&CountedRepetition) -> Option<f64>,
    ) -> Option<Term> {
        let term = self.log_ratio(of)?;
        if self.matching == Matching::Runs && (MIN_WORKERS..MIN_PAIRS).contains(&term.pairs) {
            return self.work_ratio_of_few_runs(of, term.pairs);
        }
        let deviation = match (self.matching, self.variation) {
            (Matching::ByRound, _) => INTERLEAVED_SD,
            (Matching::Unmatched, Some(known)) => {
                return Some(term.widened_between_two_runs(known));
            }
            (Matching::Unmatched, None) => 2f64.sqrt() * RUN_TO_RUN_SD,
            // Runs that agree to the last digit may do so by chance.
            (Matching::Runs, _) => (2.0 / term.pairs as f64).sqrt() * RUN_TO_RUN_SD,
        };
        Some(term.widened(deviation))
    }

    fn work_ratio_of_few_runs(
        self,
        of: &dyn Fn(&CountedRepetition) -> Option<f64>,
        pairs: usize,
    ) -> Option<Term> {
        let logs = |side: &[CountedRepetition]| -> Vec<f64> {
            side.iter().filter_map(of).filter(|&count| count > 0.0).map(f64::ln).collect()
        };
        let difference = difference_of_means(&logs(self.base), &logs(self.new), RUN_TO_RUN_SD)?;
        Some(Term::by_mean(difference, pairs))
    }
}

/// Half the interval of the difference between two runs of one boot whose workers leave nothing open, as
/// a logarithm: that of a row's work is at least as wide.
pub(in crate::estimate) fn half_width_between_two_runs(variation: RunVariation) -> f64 {
    2f64.sqrt() * half_width_of_run(variation)
}

/// Half the interval of one run whose workers leave nothing open, as a logarithm.
fn half_width_of_run(variation: RunVariation) -> f64 {
    let RunVariation { deviation: standard_error, degrees_of_freedom } = variation;
    let spread = Estimate { value: 0.0, standard_error, degrees_of_freedom };
    spread.interval(Nominal::FIXED).half_width()
}

/// Where the instructions of an op lie over runs of one boot: what the workers of a run leave open,
/// with what runs differ by. `None` with too few workers, and of counts that are not above 0.
pub(in crate::estimate) fn work_between_runs(
    counts: &[f64],
    variation: RunVariation,
) -> Option<Interval> {
    let term = Term::of_workers(counts)?.widened_by(half_width_of_run(variation));
    term.interval.map(|it| Interval { lo: it.lo.exp(), hi: it.hi.exp() })
}

/// The terms of a change.
pub(super) struct Terms {
    /// Instructions: of both modes, or of user mode where the kernel's are unknown.
    pub(super) work: Option<Term>,
    pub(super) cpi: Option<Term>,
    pub(super) period: Option<Term>,
    pub(super) running: Option<Term>,
    /// In nanoseconds.
    pub(super) waiting: Option<Term>,
    /// The time per op of the counted ops.
    pub(super) time: Option<Term>,
    /// Instructions added in user mode.
    pub(super) user: Option<Term>,
    /// Instructions added in kernel mode.
    pub(super) kernel: Option<Term>,
}

impl Terms {
    pub(super) fn of(sides: Sides<'_>) -> Self {
        let figure =
            |metric: &'static str| move |it: &CountedRepetition| it.figures.get(metric).copied();
        let added = |event: CounterEvent| sides.difference(&figure(event.metric()));
        Self {
            work: sides.work_ratio(&work),
            cpi: sides.log_ratio(&figure(CPI)),
            period: sides.log_ratio(&figure(GHZ)).map(Term::negated),
            running: sides.log_ratio(&|it| it.running_ns),
            waiting: sides.difference(&waiting_ns),
            time: sides.log_ratio(&|it| it.time_ns),
            user: added(CounterEvent::InstructionsUser),
            kernel: added(CounterEvent::InstructionsKernel),
        }
    }
}

/// The range of the values: all that is known of the median of a few.
fn range(sorted: &[f64]) -> Option<Interval> {
    Some(Interval { lo: *sorted.first()?, hi: *sorted.last()? })
}

/// The median of a quantity over workers.
pub(in crate::estimate) fn median_of(
    side: &[CountedRepetition],
    of: &dyn Fn(&CountedRepetition) -> Option<f64>,
) -> Option<f64> {
    order::median(&order::sorted(&side.iter().filter_map(of).collect::<Vec<f64>>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_workers_and_counts_of_zero_have_no_interval_between_runs() {
        let variation = RunVariation { deviation: 0.000_5, degrees_of_freedom: 4.0 };
        assert_eq!(work_between_runs(&[100.0; 2], variation), None);
        assert_eq!(work_between_runs(&[100.0, 0.0, 100.0], variation), None);
        // 2.776 times 0.05 %.
        let equal = work_between_runs(&[1e6; 3], variation).unwrap();
        assert!((998_610.0..998_616.0).contains(&equal.lo), "{equal:?}: by chance");
        assert!((1_001_385.0..1_001_393.0).contains(&equal.hi), "{equal:?}");
    }
}
