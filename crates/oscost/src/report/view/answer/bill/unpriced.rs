//! Items without a price, by the time that their calls took.

use oscost_model::bill::{Bill, BillItem};
use oscost_model::unit::Unit;

use super::reason::Reason;
use crate::report::figures::{per_cent, rough};
use crate::report::text::{plain, plain_paragraph};
use crate::report::view::bill_run_command::run_command;

/// Items of less than this share of the system time are not named after the first one, in per cent.
pub(super) const MIN_SHARE_PCT: f64 = 5.0;
/// More than these without a price leave a bill open, in per cent: of the calls, or of the system time.
pub(super) const MAX_UNPRICED_PCT: f64 = 5.0;
/// More items than these are not named with the command that measures their prices.
const MAX_NEXT: usize = 3;

/// The time of an item's calls on a CPU in the kernel, if it has no price and the counter saw it.
pub(super) fn took_ns(item: &BillItem) -> Option<f64> {
    let took = item.in_kernel.filter(|_| item.amount.is_none())?;
    Some(took.on_cpu_ns as f64)
}

/// Those of a share of the system time that is worth a name, the largest first.
pub(super) fn large(bill: &Bill) -> Vec<&BillItem> {
    let least_ns = bill.trials.system_time.ns * MIN_SHARE_PCT / 100.0;
    let is_large = |item: &&BillItem| took_ns(item).is_some_and(|ns| ns > 0.0 && ns >= least_ns);
    let mut found: Vec<&BillItem> = bill.items.iter().filter(is_large).collect();
    found.sort_by(|one, other| {
        took_ns(other).unwrap_or(0.0).total_cmp(&took_ns(one).unwrap_or(0.0))
    });
    found
}

/// How often all of these happened.
pub(super) fn times<'a>(items: impl Iterator<Item = &'a BillItem>) -> f64 {
    items.map(|item| item.times.abs()).sum()
}

/// A part of a bill without a price that is too large to be left out of a judgement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum OpenPart {
    /// So many nanoseconds in the kernel, as counted.
    Took(f64),
    /// So many per cent of what was counted, where nothing tells what that took.
    OfCounts(f64),
}

impl OpenPart {
    /// That of a bill; `None` where all that matters has a price.
    pub(super) fn of(bill: &Bill) -> Option<Self> {
        let (took_ns, system_ns) = (all_ns(bill), bill.trials.system_time.ns);
        if took_ns > 0.0 && 100.0 * took_ns > MAX_UNPRICED_PCT * system_ns {
            return Some(Self::Took(took_ns));
        }
        let unseen = |item: &&BillItem| item.amount.is_none() && item.in_kernel.is_none();
        let (all, open) = (times(bill.items.iter()), times(bill.items.iter().filter(unseen)));
        (100.0 * open > MAX_UNPRICED_PCT * all).then(|| Self::OfCounts(100.0 * open / all))
    }
}

/// What all of them took, where that is much; empty otherwise.
pub(super) fn clause(bill: &Bill) -> String {
    let Some(OpenPart::Took(took_ns)) = OpenPart::of(bill) else { return String::new() };
    let took = rough(took_ns, Unit::NsPerOp);
    format!("; calls without a price took {took}, as counted")
}

/// Why a bill is open, by the time of what has no price.
pub(super) fn reason(bill: &Bill) -> Option<Reason> {
    let system_ns = bill.trials.system_time.ns;
    let share_pct = 100.0 * all_ns(bill) / system_ns;
    (system_ns > 0.0 && share_pct > MAX_UNPRICED_PCT).then(|| {
        let share = per_cent(share_pct);
        Reason::fair(format!(
            "calls that took {share} of its system time have no price: they are in the difference"
        ))
    })
}

/// The command that measures the prices of the large ones; `None` if none of them can be measured, and
/// of a program on another machine.
pub(super) fn next(bill: &Bill) -> Option<String> {
    let LargeItems { cases, names } = LargeItems::that_can_be_measured(bill);
    let price = if names.len() == 1 { "price" } else { "prices" };
    (!cases.is_empty()).then(|| {
        let command = plain(&run_command(bill, &cases));
        format!("Next: {command} measures the missing {price} of {}.", names.join(", "))
    })
}

/// The command that measures all prices that are lacking; `None` if `next` does so, and of a program
/// on another machine.
pub(super) fn next_of_all(bill: &Bill) -> Option<String> {
    let named = LargeItems::that_can_be_measured(bill).cases;
    let missing: Vec<&str> = bill.prices.missing.iter().map(String::as_str).collect();
    let has_more = bill.host.is_none() && missing.iter().any(|case| !named.contains(case));
    has_more.then(|| {
        let command = plain_paragraph(&run_command(bill, &missing));
        format!("Next: {command} measures what is missing.")
    })
}

/// Large items whose prices a run here can measure.
struct LargeItems<'a> {
    cases: Vec<&'a str>,
    names: Vec<String>,
}

impl<'a> LargeItems<'a> {
    fn that_can_be_measured(bill: &'a Bill) -> Self {
        let (mut cases, mut names): (Vec<&str>, Vec<String>) = (Vec::new(), Vec::new());
        let is_here = bill.host.is_none();
        for item in large(bill).into_iter().take(MAX_NEXT).filter(|_| is_here) {
            let Some(case) = item.case.as_deref() else { continue };
            if !bill.prices.missing.iter().any(|missing| missing == case) {
                continue;
            }
            names.push(plain(&item.name));
            if !cases.contains(&case) {
                cases.push(case);
            }
        }
        Self { cases, names }
    }
}

fn all_ns(bill: &Bill) -> f64 {
    bill.items.iter().filter_map(took_ns).sum()
}
