//! The prices of a bill: those that there are, and those that are measured for it.

use std::time::Duration;

use oscost_model::cool::LAST_LEVEL_WALK_BYTES;
use oscost_stats::interval::Nominal;

use super::charging::{ChargedProgram, ProgramCharges, page_bytes};
use super::trials::billed_trials;
use crate::app::measurement::price_run::PricedTarget;
use crate::app::measurement::prices::{
    PriceMeasurement, PriceOutcome, PriceStage, PricedProgram, WantedPairs,
};
use crate::app::results::prices::{PairKind, PriceRuns};
use crate::bill::{Faults, combine, frequent_parts, rare_parts};
use crate::hosts::Session;
use crate::run::ProgramRuns;

/// More runs than these do not find prices that those before them did not.
const MAX_LATE_RUNS: u32 = 3;
/// Where the trials take at least so long, the large prices are measured again beside them, which takes some
/// five seconds: the speed of a machine that others share is another one a minute later.
const MIN_RENEWED_NS: u64 = 2_000_000_000;

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
    let took_ns: u64 = runs.trials.iter().map(|trial| trial.real_ns).sum();
    let program = PricedProgram {
        calls: &counted.calls,
        faults: Faults::of(&trials),
        renews_prices: took_ns >= MIN_RENEWED_NS,
    };
    pricing.measure(session, program, stage)
}

/// Measures what is still lacking after the last run of a program: prices, then pairs.
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
    // What a function adds is in both ends of the range from warm to cool.
    for change in [PairChange::Function, PairChange::UsualWalk, PairChange::LastLevelWalk] {
        measure_pairs(pricing, session, runs, change);
    }
}

/// What pairs are measured for a bill, in this order.
#[derive(Clone, Copy)]
enum PairChange {
    /// A function around each raw call.
    Function,
    /// The walk before what the program does often.
    UsualWalk,
    /// The one before calls that it makes rarely.
    LastLevelWalk,
}

/// Measures what a function or a walk adds to the largest items of a program, as far as no pair of rows
/// shows it. That has no place between trials: it would set their blocks half a minute apart, and some
/// ops write to the journal of a file system.
fn measure_pairs(
    pricing: &mut PriceMeasurement<'_>,
    session: &mut dyn Session,
    runs: &ProgramRuns,
    change: PairChange,
) {
    let counted = runs.counted.as_ref().ok().and_then(|counted| combine(counted));
    // Their faults, and shares of their system time, which no choice of pairs depends on.
    let trials = billed_trials(&runs.trials, Nominal::FIXED);
    let (Some(counted), Some(trials)) = (counted, trials) else { return };
    let PricedTarget { catalog, machine, .. } = pricing.target();
    let page_bytes = page_bytes(machine);
    let program = ChargedProgram { calls: &counted.calls, trials: &trials, page_bytes };
    let wanted = {
        let ProgramCharges { charges, walk_bytes, .. } = program.charge(pricing.runs(), catalog);
        let items = charges.items;
        let (kind, walk_bytes, items) = match change {
            PairChange::Function => (PairKind::Function, 0, items),
            PairChange::UsualWalk => (PairKind::Walk, walk_bytes, frequent_parts(&items)),
            PairChange::LastLevelWalk => {
                (PairKind::Walk, LAST_LEVEL_WALK_BYTES, rare_parts(&items))
            }
        };
        let cases = pricing.runs().lacking_pairs(kind, &items, walk_bytes, catalog);
        WantedPairs { kind, walk_bytes, cases }
    };
    pricing.measure_pairs(session, wanted);
}
