//! How well the sums of a bill are known: prices without an interval, and cool ones that are estimates.

use oscost_model::bill::{Bill, BillItem};

use crate::report::figures::per_cent;

/// What the source of a cool price begins with that is an estimate.
pub(super) const ESTIMATE: &str = "the ratio of ";

/// A line each, below the sums; none of those that are known as well as their items.
pub(in crate::report::view) fn notes(bill: &Bill) -> Vec<String> {
    let priced: Vec<&BillItem> = bill.items.iter().filter(|item| item.amount.is_some()).collect();
    let of_intervals = without_interval(bill, &priced).into_iter();
    let of_intervals = of_intervals.chain(cool_without_interval(bill, &priced));
    of_intervals.chain(estimates(bill, &priced)).collect()
}

/// Why the sum has no interval; `None` if it has one.
fn without_interval(bill: &Bill, priced: &[&BillItem]) -> Option<String> {
    let has_none = bill.charged.as_ref().is_some_and(|sum| sum.ci95.is_none());
    let amounts = priced.iter().filter_map(|item| item.amount.as_ref());
    let without = amounts.filter(|amount| amount.ci95.is_none()).count();
    (has_none && without > 0).then(|| {
        let all = priced.len();
        format!(
            "no interval: the prices of {without} of {all} items have none, so the sum has none"
        )
    })
}

/// Why the sum with cool caches has no interval; `None` if it has one. An item without a cool amount is
/// in it at its amount.
fn cool_without_interval(bill: &Bill, priced: &[&BillItem]) -> Option<String> {
    let sum = bill.charged_cool.as_ref().filter(|sum| sum.ci95.is_none())?;
    let amounts = priced.iter().filter_map(|it| it.cool_amount.as_ref().or(it.amount.as_ref()));
    let without: Vec<f64> =
        amounts.filter(|amount| amount.ci95.is_none()).map(|amount| amount.ns).collect();
    (!without.is_empty()).then(|| {
        format!(
            "no interval with cool caches: {} of {} amounts have none{}",
            without.len(),
            priced.len(),
            share_of_sum(&without, sum.ns)
        )
    })
}

/// The share of amounts in the sum with cool caches, after a comma. Of nothing there is none.
fn share_of_sum(amounts: &[f64], sum_ns: f64) -> String {
    let share = (sum_ns > 0.0).then(|| per_cent(100.0 * amounts.iter().sum::<f64>() / sum_ns));
    share.map_or(String::new(), |share| format!(", {share} of that sum"))
}

/// How many cool amounts are estimates, and their share of the sum; `None` of none.
fn estimates(bill: &Bill, priced: &[&BillItem]) -> Option<String> {
    let sum_ns = bill.charged_cool.as_ref()?.ns;
    let is_estimate = |item: &&&BillItem| {
        item.cool_source.as_deref().is_some_and(|source| source.starts_with(ESTIMATE))
    };
    let estimates = priced.iter().filter(is_estimate);
    let amounts: Vec<f64> =
        estimates.filter_map(|item| Some(item.cool_amount.as_ref()?.ns)).collect();
    (!amounts.is_empty()).then(|| {
        format!(
            "with cool caches: {} of {} amounts are estimates, by the ratio of other calls{}",
            amounts.len(),
            priced.len(),
            share_of_sum(&amounts, sum_ns)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::view::bill::made_up::{cooled, find};

    #[test]
    fn a_sum_without_an_interval_says_how_many_prices_have_none() {
        let mut shown = find();
        assert!(notes(&shown).is_empty());
        let amounts = shown.items.iter_mut().filter_map(|item| item.amount.as_mut());
        amounts.take(3).for_each(|amount| amount.ci95 = None);
        shown.charged.iter_mut().for_each(|sum| sum.ci95 = None);
        let line = "no interval: the prices of 3 of 4 items have none, so the sum has none";
        assert_eq!(notes(&shown), [line]);
    }

    #[test]
    fn a_sum_with_cool_caches_without_an_interval_says_how_many_amounts_have_none() {
        let mut shown = cooled(find(), 1.2);
        shown.charged_cool.iter_mut().for_each(|sum| sum.ci95 = None);
        assert!(notes(&shown).is_empty(), "an older record may have another reason");
        // 14.4 of 104.4 ms.
        shown.items[2].cool_amount.iter_mut().for_each(|amount| amount.ci95 = None);
        let line = "no interval with cool caches: 1 of 4 amounts have none, 14 % of that sum";
        assert_eq!(notes(&shown), [line]);
        shown.items[2].cool_amount = None;
        shown.items[2].amount.iter_mut().for_each(|amount| amount.ci95 = None);
        let line = "no interval with cool caches: 1 of 4 amounts have none, 11 % of that sum";
        assert_eq!(notes(&shown), [line], "it is in the sum at its amount");
    }

    #[test]
    fn cool_prices_that_are_estimates_are_told_with_their_share_of_the_sum() {
        let mut shown = cooled(find(), 1.2);
        assert!(notes(&shown).is_empty(), "all are measured");
        // 24 and 14.4 of 104.4 ms.
        for item in &mut shown.items[1..3] {
            item.cool_source = Some("the ratio of 3 other calls, 1.20".to_owned());
        }
        let line = "with cool caches: 2 of 4 amounts are estimates, by the ratio of other calls, \
                    37 % of that sum";
        assert_eq!(notes(&shown), [line]);
        shown.charged_cool = None;
        assert!(notes(&shown).is_empty());
    }
}
