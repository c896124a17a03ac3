//! The priced items of a bill by family.

use std::collections::BTreeMap;

use oscost_model::bill::{Amount, Bill, BillItem};

use crate::report::text::plain;

/// Items below this share of the measured system time are shown together, in per cent.
const SMALL_SHARE_PCT: f64 = 0.05;

/// An item, and where it is in the record.
#[derive(Clone, Copy)]
pub(in crate::report::view) struct IndexedItem<'a> {
    pub(in crate::report::view) index: usize,
    pub(in crate::report::view) item: &'a BillItem,
}

/// The priced items of a family.
pub(in crate::report::view) struct Family<'a> {
    /// Its name in the record.
    pub(in crate::report::view) name: &'a str,
    /// In the order of the record.
    pub(in crate::report::view) items: Vec<IndexedItem<'a>>,
    /// All of them together.
    pub(in crate::report::view) amount: Amount,
}

impl Family<'_> {
    /// Its name as it is shown.
    pub(in crate::report::view) fn title(&self) -> String {
        match self.name {
            "" => "without a family".to_owned(),
            name => plain(name),
        }
    }
}

/// The families of a bill, the largest amount first.
pub(in crate::report::view) fn families(bill: &Bill) -> Vec<Family<'_>> {
    let mut by_name: BTreeMap<&str, Family<'_>> = BTreeMap::new();
    for (index, item) in bill.items.iter().enumerate() {
        let (Some(amount), name) = (&item.amount, item.family.as_str()) else { continue };
        let indexed = IndexedItem { index, item };
        match by_name.get_mut(name) {
            Some(family) => {
                family.amount = family.amount.plus(amount);
                family.items.push(indexed);
            }
            None => {
                let amount = amount.clone();
                by_name.insert(name, Family { name, items: vec![indexed], amount });
            }
        }
    }
    let mut found: Vec<Family<'_>> = by_name.into_values().collect();
    found.sort_by(|one, other| other.amount.ns.total_cmp(&one.amount.ns));
    found
}

/// Whether an item is too small to be shown alone.
pub(in crate::report::view) fn is_small(item: &BillItem) -> bool {
    item.share_pct.is_some_and(|pct| pct.abs() < SMALL_SHARE_PCT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::view::bill::made_up;

    #[test]
    fn families_have_the_sums_of_their_items_and_the_largest_comes_first() {
        let items = vec![
            made_up::priced("read file", "files", 10.0, 100.0),
            made_up::priced("brk", "memory", 1.0, 5_000.0),
            made_up::unpriced("ioctl", 9.0),
            made_up::priced("close file", "files", 10.0, 50.0),
            made_up::priced("strange", "", 1.0, 1.0),
        ];
        let bill = made_up::bill(items, 10_000.0);
        let found = families(&bill);
        let shown: Vec<(String, f64)> =
            found.iter().map(|family| (family.title(), family.amount.ns)).collect();
        let expected = [("memory", 5_000.0), ("files", 1_500.0), ("without a family", 1.0)];
        assert_eq!(shown, expected.map(|(name, ns)| (name.to_owned(), ns)));
        let places: Vec<usize> = found[1].items.iter().map(|it| it.index).collect();
        assert_eq!(places, [0, 3], "what has no price is in no sum");
        let ends = found[1].amount.ci95.map(|ends| ends.map(f64::round));
        assert_eq!(ends, Some([1_350.0, 1_650.0]));
        assert!(is_small(&bill.items[4]) && !is_small(&bill.items[0]));
    }
}
