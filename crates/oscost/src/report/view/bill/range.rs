//! The range of a bill: what is charged with warm caches, and with cool ones.

use oscost_model::bill::{Bill, BillItem};
use oscost_model::cool::{COOL, treatment_text};
use oscost_model::unit::Unit;

use crate::report::figures::{binary, per_cent, rough};
use crate::report::text::{plain, plural};

/// More cases than these are too many for a command line to copy.
const MAX_NAMED_CASES: usize = 8;

/// On which side of what is charged the measured system time lies; `None` without cool prices.
pub(super) fn verdict(bill: &Bill) -> Option<String> {
    let (warm, cool) = (bill.charged.as_ref()?.ns, bill.charged_cool.as_ref()?.ns);
    let system = bill.trials.system_time.ns;
    // What a walk adds may be below zero by its error.
    let (low, high) = (warm.min(cool), warm.max(cool));
    let side = side(system, low, high);
    let [warm, cool] = [warm, cool].map(|ns| rough(ns, Unit::NsPerOp));
    Some(format!("{warm} (warm caches) to {cool} (cool) charged: {side}"))
}

/// Where a measured time lies, with the distance in per cent of it.
fn side(measured: f64, low: f64, high: f64) -> String {
    let share = |ns: f64| per_cent(100.0 * ns / measured);
    if measured > high {
        format!("{} above the range", share(measured - high))
    } else if measured < low {
        format!("{} below the range", share(low - measured))
    } else {
        "within the range".to_owned()
    }
}

/// Where the cool prices come from, and what would measure those that are lacking.
pub(super) fn notes(bill: &Bill) -> Vec<String> {
    let Some(walk_bytes) = bill.walk_bytes else { return Vec::new() };
    let treatment = treatment_text(walk_bytes);
    let mut lines = Vec::new();
    if bill.charged_cool.is_some() {
        let priced: Vec<&BillItem> = bill.items.iter().filter(|it| it.amount.is_some()).collect();
        let sources = priced.iter().filter_map(|it| it.cool_source.as_deref());
        let (measured, estimated): (Vec<&str>, Vec<&str>) =
            sources.partition(|source| source.starts_with(COOL));
        let lacking = priced.iter().filter(|it| it.cool_amount.is_none()).count() as u64;
        lines.push(format!(
            "cool prices: of {} by a walk before each op, of {} by the ratio of other calls",
            plural(measured.len() as u64, "item"),
            estimated.len()
        ));
        if lacking > 0 {
            lines.push(format!(
                "{} without a cool price: in both ends of the range at the same price",
                plural(lacking, "item")
            ));
        }
    }
    if let Some(added) = &bill.walk_added_to_nothing {
        let added = rough(added.ns, Unit::NsPerOp);
        lines.push(format!("a walk adds {added} to an op of nothing, and to each cool price"));
    }
    let uncooled = &bill.prices.uncooled;
    if !uncooled.is_empty() {
        let cases: Vec<String> =
            uncooled.iter().take(MAX_NAMED_CASES).map(|case| plain(case)).collect();
        lines.push(format!(
            "prices are those of warm caches: `oscost ab --base cool=0 --new {treatment} {}` measures \
             them after a walk through {}B of memory, too",
            cases.join(" "),
            binary(walk_bytes)
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measured_time_lies_within_the_range_or_on_one_side_of_it() {
        for inside in [61.0, 65.8, 98.0] {
            assert_eq!(side(inside, 61.0, 98.0), "within the range");
        }
        assert_eq!(side(200.0, 61.0, 98.0), "51 % above the range");
        assert_eq!(side(50.0, 61.0, 98.0), "22 % below the range");
    }
}
