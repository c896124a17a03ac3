//! What shares the core, and its clock, by the processor's counters.

use oscost_model::record::CoreFigure;

use super::finding::{RuleResult, Weight};
use super::observations::Observations;
use super::wording::pct;

/// Workers that were worse than 1.1 times the best: fewer are what any machine has now and then.
const WORSE_PCT: f64 = 20.0;

/// How many workers were worse than the best, and by which factor, if that is worth reporting.
fn worse(figure: &CoreFigure) -> Option<f64> {
    figure.worse_by.filter(|_| figure.worse_pct >= WORSE_PCT)
}

/// Other work on the same core or its caches: the same instructions take more cycles.
pub(super) fn neighbours(observations: &Observations<'_>) -> RuleResult {
    let figure = observations.core.and_then(|core| core.cpi_of_kernel_op.as_ref());
    let Some(figure) = figure else { return RuleResult::NotApplicable };
    let Some(by) = worse(figure) else {
        return RuleResult::pass(format!(
            "no neighbour on the core ({:.2} cycles per instruction)",
            figure.median
        ));
    };
    let result = RuleResult::finding(
        Weight::Noise,
        format!(
            "in {} of {} workers a system call took {by:.1} times the cycles per instruction of the \
             best: something shares the core or its caches",
            pct(figure.worse_pct),
            figure.workers
        ),
        "times differ between workers although the work is the same; instructions do not",
    );
    match observations.facts.is_guest() {
        true => {
            result.with_fix("none from inside if it is another guest; compare work and not time")
        }
        false => result.with_fix("stop what runs beside, or leave the core's other thread idle"),
    }
}

/// A clock that varies while it is counted.
pub(super) fn frequency(observations: &Observations<'_>) -> RuleResult {
    let figure = observations.core.and_then(|core| core.ghz.as_ref());
    let Some(figure) = figure else { return RuleResult::NotApplicable };
    let Some(by) = worse(figure) else {
        return RuleResult::pass(format!("a steady core clock ({:.2} GHz)", figure.median));
    };
    RuleResult::finding(
        Weight::Noise,
        format!(
            "in {} of {} workers the core's clock was {by:.1} times lower than the best, {:.2} GHz",
            pct(figure.worse_pct),
            figure.workers,
            figure.best
        ),
        "every time grows by as much while the clock is low; cycles and instructions do not",
    )
    .with_fix("the governor `performance`, better cooling, or fewer busy cores")
}
