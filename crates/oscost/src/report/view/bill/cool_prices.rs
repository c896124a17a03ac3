//! The prices of a bill with cool caches: where they come from.

use oscost_model::bill::{Bill, BillItem};
use oscost_model::cool::{COOL, treatment_text};
use oscost_model::unit::Unit;

use crate::report::figures::{binary, rough};
use crate::report::text::{plain, plural};

/// More cases than these are too many for a command line to copy.
const MAX_NAMED_CASES: usize = 8;

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
        let prices = match bill.charged_cool.is_some() {
            true => "some cool prices are estimates, or of another walk",
            false => "prices are those of warm caches",
        };
        lines.push(format!(
            "{prices}: `oscost ab --base cool=0 --new {treatment} {}` measures them after a walk \
             through {}B of memory, too",
            cases.join(" "),
            binary(walk_bytes)
        ));
    }
    lines
}
