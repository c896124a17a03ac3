//! The items of a bill whose counts are below zero.

use oscost_model::bill::{Bill, BillItem};

use crate::report::figures::occurrences;
use crate::report::text::plain;

/// Why they are, a line each.
pub(super) fn notes(bill: &Bill) -> Vec<String> {
    let line = |item: &BillItem| {
        let why = plain(item.below_zero.as_deref()?);
        let times = occurrences(item.times);
        Some(format!("below zero: {times} x {}: {why}", plain(&item.name)))
    };
    bill.items.iter().filter_map(line).collect()
}
