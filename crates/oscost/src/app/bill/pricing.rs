//! The prices of a bill: those that there are, and those that are measured for it.

use std::time::Duration;

use oscost_stats::interval::Nominal;

use super::trials::billed_trials;
use crate::app::measurement::prices::{PriceMeasurement, PriceOutcome, PriceStage};
use crate::app::results::prices::PriceRuns;
use crate::bill::{Faults, combine};
use crate::hosts::Session;
use crate::run::ProgramRuns;

/// More runs than these do not find prices that those before them did not.
const MAX_LATE_RUNS: u32 = 3;

/// The time for prices that the store lacks, by what was asked for. Without any time there must be
/// a price, unless the program has treatments: then the bill says how its prices are measured.
pub(super) fn price_time(
    named_run: Option<&str>,
    price_seconds: u32,
    prices: &PriceRuns,
) -> anyhow::Result<Duration> {
    // The prices of a named run are those that were asked for.
    let seconds = if named_run.is_some() { 0 } else { price_seconds };
    if prices.is_empty() && seconds == 0 && !prices.are_under_treatments() {
        anyhow::bail!(
            "cannot bill: there is no price list of this machine\n  hint: `oscost run` measures \
             one, in about a minute; `--prices RUN` takes another one's"
        );
    }
    Ok(Duration::from_secs(seconds.into()))
}

/// Measures prices that a program needs, by its runs so far.
pub(super) fn measure_prices(
    pricing: &mut PriceMeasurement<'_>,
    session: &mut dyn Session,
    runs: &ProgramRuns,
    stage: PriceStage,
) -> PriceOutcome {
    let counted = runs.counted.as_ref().ok().and_then(|counted| combine(counted));
    // Only their faults count here.
    let trials = billed_trials(&runs.trials, Nominal::FIXED);
    let (Some(counted), Some(trials)) = (counted, trials) else {
        return PriceOutcome::NothingToMeasure;
    };
    pricing.measure(session, &counted.calls, Faults::of(&trials), stage)
}

/// Measures what is still lacking after the last run of a program.
pub(super) fn measure_late_prices(
    pricing: &mut PriceMeasurement<'_>,
    session: &mut dyn Session,
    runs: &ProgramRuns,
) {
    for _ in 0..MAX_LATE_RUNS {
        let outcome = measure_prices(pricing, session, runs, PriceStage::AfterTrials);
        if outcome != PriceOutcome::RunEnded {
            break;
        }
    }
}
