//! Why a figure changed: instructions x cycles per instruction x clock period, and waiting.

use oscost_model::counters::INSN;
use oscost_model::record::{AddedCost, Cause, CountedRepetition, Decomposition, Ratio};
use oscost_model::unit::Unit;
use oscost_stats::interval::Interval;

use super::sentence::{SentenceParts, sentence};
use super::term::{Sides, Term, Terms, median_of};

/// A smaller change of a figure needs no cause.
const MIN_CHANGE: f64 = 0.01;
/// The terms of a cause explain at least this share of the change ...
const MIN_EXPLAINED: f64 = 0.5;
/// ... and the counted ops show at least this share of the change of the timed ones.
const MIN_SHOWN: f64 = 0.5;
/// Smaller changes of work are no cause, however certain they are.
const MIN_WORK: f64 = 0.001;

/// The figures of both sides by their timed workers.
#[derive(Clone, Copy, Debug)]
pub(in crate::estimate) struct TimedChange {
    /// The logarithm of new over base.
    pub(in crate::estimate) log_ratio: f64,
    /// Its interval; `None` if there is none.
    pub(in crate::estimate) interval: Option<Interval>,
    /// What counting added to the time of an op, new over base; `None` if unknown.
    pub(in crate::estimate) counting: Option<f64>,
}

impl TimedChange {
    /// The change of this ratio, which is above 0.
    pub(in crate::estimate) fn of(ratio: &Ratio, counting: Option<f64>) -> Self {
        let ends = ratio.ci95.filter(|[low, _]| *low > 0.0);
        let interval = ends.map(|[low, high]| Interval { lo: low.ln(), hi: high.ln() });
        Self { log_ratio: ratio.value.ln(), interval, counting }
    }

    /// What counting added, with an interval if both changes have one: counted and timed workers are
    /// different ones, so that their errors are independent.
    fn counting(self, counted: Option<Term>) -> Option<Ratio> {
        let value = self.counting?;
        let ci95 = counted.and_then(|term| {
            let counted = term.confidence_interval()?;
            let timed = self.interval?;
            let below = (term.value - counted.lo).hypot(timed.hi - self.log_ratio);
            let above = (counted.hi - term.value).hypot(self.log_ratio - timed.lo);
            Some([value * (-below).exp(), value * above.exp()])
        });
        Some(Ratio { value, ci95 })
    }
}

/// Why a figure changed from one side to the other; `None` if a side has no counted instructions.
pub(in crate::estimate) fn decomposition(
    sides: Sides<'_>,
    timed: TimedChange,
) -> Option<Decomposition> {
    let terms = Terms::of(sides);
    terms.work.as_ref()?;
    let cause = cause(sides, &terms, timed);
    let sees_kernel = terms.kernel.is_some();
    let parts = SentenceParts { terms: &terms, cause, sees_kernel };
    let ratio = |term: Option<Term>| term.map(ratio);
    let added = |term: Option<Term>, unit| term.map(|term| added(term, unit));
    // The ratio of a comparison of the work: of a few runs a side that of means.
    let insn = sides.work_ratio(&|it| it.figures.get(INSN).copied());
    Some(Decomposition {
        insn: ratio(insn),
        insn_user_added: added(terms.user, Unit::InstructionsPerOp),
        insn_kernel_added: added(terms.kernel, Unit::InstructionsPerOp),
        cpi: ratio(terms.cpi),
        period: ratio(terms.period),
        running: ratio(terms.running),
        waiting_added: added(terms.waiting, Unit::NsPerOp),
        counted: ratio(terms.time),
        counting: timed.counting(terms.time),
        cause,
        sentence: sentence(parts),
    })
}

/// What a term contributes to the change of the time per op, in nanoseconds.
struct Contribution {
    cause: Cause,
    ns: f64,
    is_certain: bool,
}

/// The cause of a change: of the terms that differ with certainty, in the direction of the change,
/// the largest, if together they explain most of it.
fn cause(sides: Sides<'_>, terms: &Terms, timed: TimedChange) -> Cause {
    if timed.log_ratio.abs() <= MIN_CHANGE.ln_1p() {
        return Cause::None;
    }
    let Some(time) = terms.time else { return Cause::Unknown };
    // The counted ops are not the timed ones: they must show the same change.
    if time.value / timed.log_ratio < MIN_SHOWN {
        return Cause::Unknown;
    }
    let medians = |of: &dyn Fn(&CountedRepetition) -> Option<f64>| {
        Some([median_of(sides.base, of)?, median_of(sides.new, of)?])
    };
    let times = medians(&|it| it.time_ns).filter(|times| times.iter().all(|&it| it > 0.0));
    let Some([before, after]) = times else { return Cause::Unknown };
    // With the logarithmic mean, the terms of a product add up to its change.
    let change_ns = time.value * logarithmic_mean(before, after);
    let running = medians(&|it| it.running_ns).filter(|[from, to]| *from > 0.0 && *to > 0.0);
    let scale_ns = running.map(|[from, to]| logarithmic_mean(from, to));
    // The parts of the running time are those of both modes.
    let is_complete = terms.kernel.is_some() && adds_up(terms);
    let of_running = |cause, term: Option<Term>, is_worth: bool| {
        let (term, scale_ns) = term.zip(scale_ns).filter(|_| is_complete)?;
        Some(Contribution {
            cause,
            ns: term.value * scale_ns,
            is_certain: term.is_certain() && is_worth,
        })
    };
    let is_work = terms.work.is_some_and(|it| it.value.abs() > MIN_WORK.ln_1p());
    let waiting = terms.waiting.map(|term| Contribution {
        cause: Cause::Waiting,
        ns: term.value,
        is_certain: term.is_certain(),
    });
    let contributions = [
        of_running(Cause::Work, terms.work, is_work),
        of_running(Cause::Core, terms.cpi, true),
        of_running(Cause::Clock, terms.period, true),
        waiting,
    ];
    let along = contributions.into_iter().flatten();
    let along: Vec<Contribution> =
        along.filter(|it| it.is_certain && it.ns * change_ns > 0.0).collect();
    let explained: f64 = along.iter().map(|it| it.ns.abs()).sum();
    let largest = along.iter().max_by(|one, other| one.ns.abs().total_cmp(&other.ns.abs()));
    largest
        .filter(|_| explained >= MIN_EXPLAINED * change_ns.abs())
        .map_or(Cause::Unknown, |it| it.cause)
}

/// Whether work, cycles per instruction and clock period explain the change of the running time: the
/// figures of each worker do, and those of several differ by chance.
fn adds_up(terms: &Terms) -> bool {
    const MAX_RESIDUAL: f64 = 0.2;
    let parts = [terms.work, terms.cpi, terms.period];
    let sum = parts.iter().map(|term| term.map(|it| it.value)).sum::<Option<f64>>();
    let both = sum.zip(terms.running.map(|it| it.value));
    both.is_some_and(|(sum, running)| {
        (sum - running).abs() <= MAX_RESIDUAL * running.abs().max(MIN_CHANGE)
    })
}

fn logarithmic_mean(one: f64, other: f64) -> f64 {
    let log = (other / one).ln();
    // The limit of equal numbers, where the quotient is 0 by 0.
    if log.abs() < 1e-9 { one } else { (other - one) / log }
}

fn ratio(term: Term) -> Ratio {
    let ci95 = term.confidence_interval();
    Ratio { value: term.value.exp(), ci95: ci95.map(|Interval { lo, hi }| [lo.exp(), hi.exp()]) }
}

fn added(term: Term, unit: Unit) -> AddedCost {
    let ci95 = term.confidence_interval();
    AddedCost { value: term.value, ci95: ci95.map(|it| [it.lo, it.hi]), unit }
}
