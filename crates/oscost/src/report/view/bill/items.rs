//! The items of a bill as a table, below their families, and how they add up.

use oscost_model::bill::{Amount, Bill, BillItem};
use oscost_model::program_calls::KernelTime;
use oscost_model::unit::Unit;

use super::families::{Family, families, is_small};
use super::{below_zero, form_names, shared_ops, sum_notes};
use crate::report::figures::{interval, occurrences, per_cent, rough};
use crate::report::text::{plain, plural};
use crate::report::view::document::{Cell, Column, Table, TableRow};

/// What an item has before its name, below its family.
const INDENT: &str = "  ";

/// The families with their items, then the sums, the measured system time and the differences.
pub(super) fn table(bill: &Bill) -> Table {
    let mut rows: Vec<TableRow> =
        families(bill).iter().flat_map(|family| family_rows(bill, family)).collect();
    let system = &bill.trials.system_time;
    let mut total = |name: &str, amount: Option<&Amount>| {
        let Some(amount) = amount else { return };
        let figures = Figures { amount, cool: None, in_kernel: None };
        let share = share_text(bill, amount);
        rows.push(row(name, [String::new(), String::new()], figures, share));
    };
    total("charged in all", bill.charged.as_ref());
    total("charged with cool caches", bill.charged_cool.as_ref());
    let measured = format!("measured system time ({})", plain(&bill.trials.system_figure));
    total(&measured, Some(system));
    total("the difference", bill.difference.as_ref());
    total("difference with cool caches", bill.difference_cool.as_ref());
    // A legend stands below a column that is shown.
    let is_timed = bill.items.iter().any(|item| item.in_kernel.is_some());
    let meaning = |text: &str| is_timed.then(|| text.to_owned());
    let on_cpu = "on CPU: the time in the kernel of one counted run, with what the counter adds to each \
                  call; in no amount";
    let off_cpu =
        "off CPU: of the same run, while its calls waited or another task ran; in no amount";
    Table {
        id: "items".to_owned(),
        columns: vec![
            Column::text("item"),
            Column::number("count", "count"),
            Column::number("each", "unit_ns").in_lines_of(70),
            Column::number("amount", "amount_ns"),
            Column { optional: true, ..Column::number("95 % interval", "amount_ci95") },
            Column::number("cool amount", "cool_amount_ns").in_lines_of(95),
            Column {
                meaning: meaning(on_cpu),
                ..Column::number("on CPU", "on_cpu_ns").in_lines_of(110)
            },
            Column {
                meaning: meaning(off_cpu),
                ..Column::number("off CPU", "off_cpu_ns").in_lines_of(125)
            },
            Column::number("share", "share_pct"),
        ],
        rows,
        notes: notes(bill),
        ..Table::default()
    }
}

fn notes(bill: &Bill) -> Vec<String> {
    let share = "share: of the measured system time; a family without items has small ones alone";
    let notes = sum_notes::notes(bill).into_iter().chain([share.to_owned()]);
    notes.chain(item_notes(bill)).collect()
}

/// How items that are shown are to be read.
pub(in crate::report::view) fn item_notes(bill: &Bill) -> Vec<String> {
    let notes = below_zero::interval_note(bill).into_iter();
    notes.chain(shared_ops::notes(bill)).chain(form_names::notes(bill)).collect()
}

/// The figures of a row that are times.
struct Figures<'a> {
    amount: &'a Amount,
    /// With cool caches.
    cool: Option<&'a Amount>,
    /// As the counter measured it.
    in_kernel: Option<KernelTime>,
}

/// A family, and below it its items; those that are too small to be rows are one, if there are others.
fn family_rows(bill: &Bill, family: &Family<'_>) -> Vec<TableRow> {
    let share = share_text(bill, &family.amount);
    let nothing = [String::new(), String::new()];
    let items = family.items.iter().map(|it| it.item);
    let cool = cool_sum(bill, items.clone());
    let in_kernel = kernel_time(items.clone());
    let figures = Figures { amount: &family.amount, cool: cool.as_ref(), in_kernel };
    let mut rows = vec![row(&family.title(), nothing, figures, share)];
    let (small, shown): (Vec<&BillItem>, Vec<&BillItem>) = items.partition(|item| is_small(item));
    if !shown.is_empty() {
        rows.extend(shown.into_iter().map(item_row));
        rows.extend(small_row(bill, &small));
    }
    rows
}

/// The amounts of items with cool caches; those without one are in it at their amounts, as in the
/// bill's sum. `None` if the bill has no such sum.
fn cool_sum<'a>(bill: &Bill, items: impl Iterator<Item = &'a BillItem>) -> Option<Amount> {
    bill.charged_cool.as_ref()?;
    let amounts = items.filter_map(|it| it.cool_amount.as_ref().or(it.amount.as_ref()));
    amounts.cloned().reduce(|sum, amount| sum.plus(&amount))
}

/// The time of items in the kernel, as far as it was measured.
fn kernel_time<'a>(items: impl Iterator<Item = &'a BillItem>) -> Option<KernelTime> {
    items.filter_map(|item| item.in_kernel).reduce(KernelTime::plus)
}

/// An amount in per cent of the measured system time; empty without any.
pub(in crate::report::view) fn share_text(bill: &Bill, amount: &Amount) -> String {
    let system_ns = bill.trials.system_time.ns;
    if system_ns > 0.0 { per_cent(100.0 * amount.ns / system_ns) } else { String::new() }
}

fn item_row(item: &BillItem) -> TableRow {
    let each = item.unit.as_ref().map(|unit| time(unit.ns)).unwrap_or_default();
    let share = item.share_pct.map(per_cent).unwrap_or_default();
    let amount = item.amount.clone().unwrap_or(Amount::exact(0.0));
    let name = format!("{INDENT}{}", plain(&item.name));
    let figures =
        Figures { amount: &amount, cool: item.cool_amount.as_ref(), in_kernel: item.in_kernel };
    row(&name, [occurrences(item.times), each], figures, share)
}

/// The items that are too small to be rows.
fn small_row(bill: &Bill, items: &[&BillItem]) -> Option<TableRow> {
    let amounts = items.iter().filter_map(|item| item.amount.clone());
    let sum = amounts.reduce(|sum, amount| sum.plus(&amount))?;
    let times: f64 = items.iter().map(|item| item.times).sum();
    let share = share_text(bill, &sum);
    let name = format!("{INDENT}{}", plural(items.len() as u64, "smaller item"));
    let cool = cool_sum(bill, items.iter().copied());
    let in_kernel = kernel_time(items.iter().copied());
    let figures = Figures { amount: &sum, cool: cool.as_ref(), in_kernel };
    Some(row(&name, [occurrences(times), String::new()], figures, share))
}

fn row(
    name: &str,
    [times, each]: [String; 2],
    Figures { amount, cool, in_kernel }: Figures<'_>,
    share: String,
) -> TableRow {
    let ends = amount.ci95.map(|ends| interval(amount.ns, ends, Unit::NsPerOp));
    let cell = |ns: Option<f64>| Cell::number(ns.map(time).unwrap_or_default(), ns);
    TableRow::of(vec![
        Cell::text(name),
        Cell::text(times),
        Cell::text(each),
        cell(Some(amount.ns)),
        Cell::text(ends.unwrap_or_default()),
        cell(cool.map(|it| it.ns)),
        cell(in_kernel.map(|it| it.on_cpu_ns as f64)),
        cell(in_kernel.map(|it| it.off_cpu_ns as f64)),
        Cell::text(share),
    ])
}

fn time(ns: f64) -> String {
    rough(ns, Unit::NsPerOp)
}
