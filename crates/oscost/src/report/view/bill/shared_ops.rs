//! Items of a bill that share the op of one case, which contains all of them.

use std::collections::BTreeMap;

use oscost_model::bill::{Bill, BillItem};

use super::families::is_small;
use crate::report::text::plain;

/// A line for each op whose price is divided among items that are shown: an equal share is no measurement
/// of any of them.
pub(super) fn notes(bill: &Bill) -> Vec<String> {
    let mut by_case: BTreeMap<&str, Vec<&BillItem>> = BTreeMap::new();
    for item in bill.items.iter().filter(|item| is_shown_share(item)) {
        by_case.entry(item.case.as_deref().unwrap_or_default()).or_default().push(item);
    }
    by_case.values().filter_map(|items| note(items)).collect()
}

/// Whether a share of one op is all that an item pays. What others are less is no share of the same op.
fn is_shown_share(item: &BillItem) -> bool {
    let is_share = item.case.is_some() && item.part > 0.0 && item.part < 1.0;
    let is_alone = item.less.is_empty() && item.plus.is_empty();
    is_share && is_alone && item.amount.is_some() && !is_small(item)
}

/// What is said of the items of one case; `None` of one item, and of shares that are not equal.
fn note(items: &[&BillItem]) -> Option<String> {
    let ([first, others @ ..], [.., last]) = (items, items) else { return None };
    if others.is_empty() || others.iter().any(|item| item.part != first.part) {
        return None;
    }
    let names: Vec<String> =
        items[..items.len() - 1].iter().map(|item| plain(&item.name)).collect();
    Some(format!(
        "divided evenly: {} and {}: each pays an equal part of one op, which is measured as a whole",
        names.join(", "),
        plain(&last.name)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::view::bill::made_up::{bill, priced};

    /// An item that pays such a part of the op of a case.
    fn share(name: &str, case: &str, part: f64) -> BillItem {
        let (case, part) = (Some(case.to_owned()), part);
        BillItem { case, part, ..priced(name, "files", 1_000.0, 1_000.0) }
    }

    #[test]
    fn items_that_share_an_op_are_told_together() {
        let told = |items: Vec<BillItem>| notes(&bill(items, 1e7));
        let open = || share("openat\u{7} file", "directory/open-close", 0.5);
        let close = || share("close file", "directory/open-close", 0.5);
        assert_eq!(
            told(vec![close(), open(), share("write pipe", "pipe/throughput", 0.5)]),
            [
                "divided evenly: close file and openat file: each pays an equal part of one op, which is \
                 measured as a whole"
            ]
        );
        let three = told(vec![close(), open(), share("open file", "directory/open-close", 0.5)]);
        let begin = "divided evenly: close file, openat file and open file: each pays an equal";
        assert!(three.len() == 1 && three[0].starts_with(begin), "{three:?}");
        let whole = share("stat", "directory/open-close", 1.0);
        assert!(told(vec![close(), whole]).is_empty(), "it pays the whole op");
        let less = BillItem { less: vec!["syscall/lseek".to_owned()], ..open() };
        assert!(told(vec![close(), less]).is_empty(), "a difference is no share");
        let other_part = share("open file", "directory/open-close", 0.25);
        assert!(told(vec![close(), other_part]).is_empty(), "not evenly");
        assert!(notes(&bill(vec![close(), open()], 1e12)).is_empty(), "small items are not shown");
    }
}
