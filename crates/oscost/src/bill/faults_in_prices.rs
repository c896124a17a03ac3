//! The page faults that prices of calls contain: those of ops that create processes and execute
//! programs.

use oscost_model::batch::{CHILD_MINOR_FAULTS, MINOR_FAULTS};
use oscost_model::program_calls::{FormCount, ProgramCalls};

use super::price_list::PriceList;
use super::rules::{PriceRule, rule_of};

/// The minor faults in the prices of some calls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct FaultsInPrices {
    /// Those of the process that makes the call: copies of pages that it shares with a child.
    pub(super) copies: f64,
    /// Those of its children until they end, and of the programs that they execute: no kind is known.
    pub(super) of_children: f64,
}

/// The faults in the prices of all calls of a program. What has no price contains none. They are a
/// difference where a price is one, and may be below zero, as that may.
pub(super) fn faults_in_prices(calls: &ProgramCalls, prices: &PriceList<'_>) -> FaultsInPrices {
    let mut sum = FaultsInPrices::default();
    for count in &calls.forms {
        let is_priced = |rule: &&PriceRule| {
            prices.has(&rule.case) && rule.plus.iter().all(|plus| prices.has(plus))
        };
        let has_faults = |rule: &&PriceRule| !rule.faults.is_empty() || rule.slope.is_some();
        let Some(rule) = rule_of(&count.form).filter(has_faults).filter(is_priced) else {
            continue;
        };
        let times = count.calls as f64;
        sum.copies += times * faults_of_op(rule, MINOR_FAULTS, prices);
        sum.of_children += times * faults_of_op(rule, CHILD_MINOR_FAULTS, prices);
        sum.of_children += faults_of_size(rule, count, prices);
    }
    sum
}

/// The faults in the price of one call by this metric; none where a row does not have it, as those of
/// older runs. What has no price is not subtracted from that of the call, and its faults are not either.
fn faults_of_op(rule: &PriceRule, metric: &str, prices: &PriceList<'_>) -> f64 {
    let of = |selectors: &[String]| {
        let priced = selectors.iter().filter(|it| prices.has(it));
        priced.map(|it| prices.metric(it, metric)).sum::<Option<f64>>()
    };
    of(&rule.faults).zip(of(&rule.faults_less)).map_or(0.0, |(all, less)| all - less)
}

/// The faults in what the size of these calls adds to their price.
fn faults_of_size(rule: &PriceRule, count: &FormCount, prices: &PriceList<'_>) -> f64 {
    let Some(slope) = rule.slope.as_ref().filter(|slope| prices.has(&slope.case)) else {
        return 0.0;
    };
    let more = count.mean_size().map_or(0.0, |size| size - slope.at);
    slope.fault_each.map_or(0.0, |of_one| count.calls as f64 * more / of_one)
}
