//! Items that have a price in one of two bills alone.

use oscost_model::bill::Amount;
use oscost_model::bill_comparison::ItemChange;

/// An item with a price in one bill alone, whose whole amount is in the change of the charge.
pub(super) struct OneSided<'a> {
    pub(super) item: &'a ItemChange,
    /// What it adds to that change.
    pub(super) change: Amount,
    /// The bill in which it has a price.
    pub(super) priced_in: &'static str,
}

/// Those of a comparison, the largest first.
pub(super) fn one_sided(items: &[ItemChange]) -> Vec<OneSided<'_>> {
    let mut found: Vec<OneSided<'_>> = items.iter().filter_map(of_item).collect();
    found.sort_by(|one, other| other.change.ns.abs().total_cmp(&one.change.ns.abs()));
    found
}

/// The item, if one bill alone prices it; what that bill does not have either is nothing.
pub(super) fn of_item(item: &ItemChange) -> Option<OneSided<'_>> {
    let (change, priced_in) = match (&item.base_amount, &item.new_amount) {
        (Some(amount), None) => (amount.times(-1.0), "base"),
        (None, Some(amount)) => (amount.clone(), "new"),
        _ => return None,
    };
    (change.ns != 0.0).then_some(OneSided { item, change, priced_in })
}
