//! Calls that a program makes rarely, and those that it makes often.
//!
//! Where a CPU was busy for at least 0.5 ms since the last call of a kind, the next one finds what it needs in
//! memory alone: calls of a web server at some 1 ms, and of a compiler at 6, took as long as after a walk through
//! 16 to 64 MiB (perf(1) samples of the whole system), where other guests share a CPU's caches. Calls at 1 ms of a
//! program that waits for most of that time (tar(1) for its filter) took as long as after one through 1 MiB.

use oscost_model::bill::{Amount, BillItem};

/// The least share of the charged sum at which the calls that are made rarely are worth a comparison.
const MIN_RARE_SHARE: f64 = 0.01;

/// What begins the case of calls that wait for a disk: after a walk of some ms the disk and the journal of its
/// file system are in another state, whatever the caches.
const DISK_WAIT: &str = "file/write-sync";

/// The share of an item that is of rare calls.
pub(super) fn rare_share(item: &BillItem) -> f64 {
    let waits_for_disk = item.case.as_ref().is_some_and(|case| case.starts_with(DISK_WAIT));
    if item.times <= 0.0 || waits_for_disk {
        return 0.0;
    }
    (item.rare_times / item.times).min(1.0)
}

/// The parts of items that are of rare calls, the largest first; none if they are a small part of the bill.
pub fn rare_parts(items: &[BillItem]) -> Vec<BillItem> {
    let part = |item: &BillItem| BillItem {
        cool_source: item.rare_cool_source.clone(),
        ..part_of(item, rare_share(item))
    };
    let found = largest_first(items.iter().map(part));
    let is_small = sum_ns(&found) < MIN_RARE_SHARE * sum_ns(items);
    if is_small { Vec::new() } else { found }
}

/// The parts of items that are not of rare calls, the largest first.
pub fn frequent_parts(items: &[BillItem]) -> Vec<BillItem> {
    largest_first(items.iter().map(|item| part_of(item, 1.0 - rare_share(item))))
}

/// This share of an item.
fn part_of(item: &BillItem, share: f64) -> BillItem {
    let amount = item.amount.as_ref().map(|amount| amount.times(share));
    BillItem { times: item.times * share, amount, ..item.clone() }
}

/// Those of which anything is left.
fn largest_first(parts: impl Iterator<Item = BillItem>) -> Vec<BillItem> {
    let ns = |item: &BillItem| item.amount.as_ref().map_or(0.0, |amount| amount.ns);
    let mut found: Vec<BillItem> = parts.filter(|item| item.times > 0.0).collect();
    found.sort_by(|one, other| ns(other).total_cmp(&ns(one)));
    found
}

fn sum_ns(items: &[BillItem]) -> f64 {
    items.iter().filter_map(|item| item.amount.as_ref()).map(|amount: &Amount| amount.ns).sum()
}
