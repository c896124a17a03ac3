//! The rows that priced the items of a bill.

use oscost_model::bill::{Bill, BillItem};

use super::families::{families, is_small};
use crate::report::text::plain;

/// Items that one price is of.
struct PricedItems {
    names: Vec<String>,
    price: String,
}

/// The prices of the items that have a line in the table, in its order. In a column of the table they would
/// be cut: a price may name three cases.
pub(super) fn lines(bill: &Bill) -> Vec<String> {
    let mut found: Vec<PricedItems> = Vec::new();
    let items = families(bill).into_iter().flat_map(|family| family.items);
    for item in items.map(|it| it.item).filter(|item| !is_small(item)) {
        let (name, price) = (plain(&item.name), price(item));
        if price.is_empty() {
            continue;
        }
        match found.iter_mut().find(|it| it.price == price) {
            Some(same) => same.names.push(name),
            None => found.push(PricedItems { names: vec![name], price }),
        }
    }
    found.iter().map(|it| format!("{}: {}", it.names.join(", "), it.price)).collect()
}

/// Which rows priced an item, and with which part.
pub(in crate::report::view) fn price(item: &BillItem) -> String {
    let rows = match &item.rows[..] {
        [] => String::new(),
        [row] => plain(row),
        [first, .., last] => format!("{} .. {}", plain(first), plain(last)),
    };
    if rows.is_empty() {
        return rows;
    }
    let others = with_rows(" less ", &item.less) + &with_rows(" plus ", &item.plus);
    let whole = format!("{rows}{others}");
    let op = if others.is_empty() { rows } else { format!("({whole})") };
    match item.part {
        // A page of the MiB of a row.
        part if part < 0.01 => format!("1/{:.0} x {op}", part.recip()),
        part if part < 1.0 => format!("{part:.2} x {op}"),
        _ => whole,
    }
}

/// Rows whose prices are subtracted or added, after a word that says which; empty without any.
fn with_rows(word: &str, rows: &[String]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let rows: Vec<String> = rows.iter().map(|row| plain(row)).collect();
    format!("{word}{}", rows.join(", "))
}
