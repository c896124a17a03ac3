//! Every item of a bill, with or without a price, in a table that can be sorted.

use std::collections::BTreeMap;

use oscost_model::bill::{Bill, BillItem};
use oscost_model::unit::Unit;

use super::kernel_times;
use crate::report::figures::{Style, occurrences, per_cent};
use crate::report::text::plain;
use crate::report::view::bill::{item_notes, price};
use crate::report::view::document::{Cell, Column, Table, TableRow};
use crate::report::view::what_if::with_interval;

/// The anchor of an item's row, by its place in the record.
pub(super) fn anchor(index: usize) -> String {
    format!("i{index}")
}

/// The table.
pub(super) fn table(bill: &Bill) -> Table {
    let has_cool = bill.charged_cool.is_some();
    let cool = has_cool.then(|| Column::number("cool amount", "cool_amount_ns"));
    let has_times = bill.items.iter().any(|item| item.in_kernel.is_some());
    let times = has_times
        .then(|| [Column::number("on CPU", "on_cpu_ns"), Column::number("off CPU", "off_cpu_ns")]);
    let mut columns = vec![
        Column::text("item"),
        Column::choice("family"),
        Column::number("count", "count"),
        Column::number("each", "unit_ns"),
        Column::number("amount", "amount_ns"),
        Column::number("95 % low", "amount_ci95_low"),
        Column::number("95 % high", "amount_ci95_high"),
    ];
    columns.extend(cool);
    columns.extend(times.into_iter().flatten());
    columns.extend([
        Column::number("share", "share_pct"),
        Column::text("price"),
        Column::text("remark"),
    ]);
    let timed = bill.counted.iter().flat_map(|counted| &counted.calls.in_kernel);
    let remarks: BTreeMap<&str, String> =
        timed.filter_map(|time| Some((time.form.as_str(), kernel_times::remark(time)?))).collect();
    let items = bill.items.iter().enumerate();
    let optional = OptionalCells { has_cool, has_times };
    let of_item = |(index, item): (usize, &BillItem)| {
        row(index, item, remarks.get(item.name.as_str()), optional)
    };
    Table {
        id: "item-table".to_owned(),
        caption: "Every item, the largest amount first; share: of the measured system time"
            .to_owned(),
        columns,
        rows: items.map(of_item).collect(),
        interactive: true,
        notes: item_notes(bill),
        ..Table::default()
    }
}

/// Which columns the table has that others lack.
#[derive(Clone, Copy)]
struct OptionalCells {
    has_cool: bool,
    has_times: bool,
}

/// The row of an item; `of_times` is the remark on its times in the kernel.
fn row(
    index: usize,
    item: &BillItem,
    of_times: Option<&String>,
    optional: OptionalCells,
) -> TableRow {
    let OptionalCells { has_cool, has_times } = optional;
    let amount_ns = item.amount.as_ref().map(|amount| amount.ns);
    // The ends of an interval are in the unit of their figure.
    let time = |ns: Option<f64>, of: Option<f64>| {
        let style = Style::of(of.unwrap_or(0.0), Unit::NsPerOp);
        let text = ns.map(|ns| format!("{} {}", style.rough_number(ns), style.unit()));
        Cell::number(text.unwrap_or_default(), ns)
    };
    let each = item.unit.as_ref().map(with_interval).unwrap_or_default();
    let unit_ns = item.unit.as_ref().map(|unit| unit.ns);
    let ends = item.amount.as_ref().and_then(|amount| amount.ci95);
    let cool_ns = item.cool_amount.as_ref().map(|amount| amount.ns);
    let cool_source = item.cool_source.as_ref().map(|source| format!("cool amount: {source}"));
    let rare_source = item
        .rare_cool_source
        .as_ref()
        .map(|source| format!("of {} rare calls: {source}", occurrences(item.rare_times)));
    let function = item.function_source.as_ref();
    let function = function.map(|source| format!("a function around each call: {source}"));
    let remarks = item.missing.iter().chain(&item.doubt).chain(&item.below_zero).chain(&function);
    let remarks = remarks.chain(&cool_source).chain(&rare_source).chain(of_times);
    let remarks: Vec<String> = remarks.map(|text| plain(text)).collect();
    let mut cells = vec![
        Cell::text(plain(&item.name)),
        Cell::text(plain(&item.family)),
        Cell::number(occurrences(item.times), Some(item.times)),
        Cell::number(each, unit_ns),
        time(amount_ns, amount_ns),
        time(ends.map(|[low, _]| low), amount_ns),
        time(ends.map(|[_, high]| high), amount_ns),
    ];
    cells.extend(has_cool.then(|| time(cool_ns, cool_ns)));
    let on_cpu_ns = item.in_kernel.map(|it| it.on_cpu_ns as f64);
    let off_cpu_ns = item.in_kernel.map(|it| it.off_cpu_ns as f64);
    let times = has_times.then(|| [on_cpu_ns, off_cpu_ns].map(|ns| time(ns, ns)));
    cells.extend(times.into_iter().flatten());
    cells.extend([
        Cell::number(item.share_pct.map(per_cent).unwrap_or_default(), item.share_pct),
        Cell::text(price(item)),
        Cell::text(remarks.join("; ")),
    ]);
    TableRow { id: anchor(index), ..TableRow::of(cells) }
}
