//! How far the prices of a bill can be believed, by the flags of their rows.

use oscost_model::bill::{Bill, BillItem};

use super::reason::Reason;
use crate::advice::words::Kind;
use crate::report::figures::per_cent;
use crate::report::text::{plain, plural};
use crate::report::view::run::flags::unusable;

/// A bill of which more than this is at prices that should not be used is fair, in per cent of what is
/// charged ...
const MAX_FLAGGED_PCT: f64 = 5.0;
/// ... and poor from this share on.
const POOR_FROM_PCT: f64 = 50.0;
/// Up to so many items are named.
const MAX_NAMED: usize = 2;

/// An item at a price that should not be used, and the flag that says so.
struct FlaggedItem<'a> {
    item: &'a BillItem,
    flag: &'a str,
    ns: f64,
}

/// That a part of the bill is at prices that should not be used; `None` if it is small.
pub(super) fn reason(bill: &Bill) -> Option<Reason> {
    let all_ns: f64 = bill.items.iter().filter_map(size_ns).sum();
    let mut found: Vec<FlaggedItem<'_>> = bill.items.iter().filter_map(flagged).collect();
    let share_pct = 100.0 * found.iter().map(|it| it.ns).sum::<f64>() / all_ns;
    if found.is_empty() || share_pct.is_nan() || share_pct <= MAX_FLAGGED_PCT {
        return None;
    }
    found.sort_by(|one, other| other.ns.total_cmp(&one.ns));
    let name = |it: &FlaggedItem<'_>| format!("{} ({})", plain(&it.item.name), plain(it.flag));
    let named: Vec<String> = found.iter().take(MAX_NAMED).map(name).collect();
    let more = match found.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        others => format!(" and {}", plural(others as u64, "other item")),
    };
    let text = format!(
        "{} of what is charged is at prices that should not be used: {}{more}",
        per_cent(share_pct),
        named.join(", ")
    );
    Some(if share_pct >= POOR_FROM_PCT { Reason::poor(text) } else { Reason::fair(text) })
}

/// The amount of an item, whatever its sign.
fn size_ns(item: &BillItem) -> Option<f64> {
    item.amount.as_ref().map(|amount| amount.ns.abs())
}

/// An item at a price that should not be used; `None` of others.
fn flagged(item: &BillItem) -> Option<FlaggedItem<'_>> {
    let flag = unusable(Kind::RowFlag, &item.flags)?;
    Some(FlaggedItem { item, flag, ns: size_ns(item)? })
}
