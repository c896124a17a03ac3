//! The items of a bill as bars, by family or by amount.

use oscost_model::bill::{Amount, Bill};
use oscost_model::unit::Unit;

use super::amounts::{AmountScale, colour};
use super::item_table::anchor;
use crate::report::figures::{occurrences, rough};
use crate::report::text::{plain, plural};
use crate::report::view::bill::{Family, families, is_small, share_text};
use crate::report::view::document::chart::{
    Chart, ChartRow, Colour, Order, RowGroup, Series, Shape, Vertical,
};

/// A row of the chart.
struct Bar<'a> {
    row: ChartRow,
    amount: &'a Amount,
    cool_amount: Option<&'a Amount>,
    /// The number of its family.
    family: usize,
}

/// The chart; `None` if no item has a price.
pub(super) fn chart(bill: &Bill) -> Option<Chart> {
    let families = families(bill);
    let bars: Vec<Bar<'_>> =
        families.iter().enumerate().flat_map(|(number, it)| bars(number, it)).collect();
    if bars.is_empty() {
        return None;
    }
    let ends = bars.iter().flat_map(|bar| {
        let interval = bar.amount.ci95.into_iter().flatten();
        interval.chain([bar.amount.ns]).chain(bar.cool_amount.map(|it| it.ns))
    });
    let scale = AmountScale::over(ends);
    let series = families.iter().enumerate().map(|(number, family)| {
        let of_family = bars.iter().enumerate().filter(|(_, bar)| bar.family == number);
        let points = of_family.map(|(row, bar)| {
            let mut point = scale.bar(row, 0.0, bar.amount);
            point.figure = figure(bill, bar.amount);
            point
        });
        Series {
            name: family.title(),
            colour: colour(family.name),
            shape: Shape::Bars,
            points: points.collect(),
        }
    });
    let cool = cool_series(&bars, scale);
    let has_cool = !cool.points.is_empty();
    let series = series.chain([cool]).filter(|series| !series.points.is_empty()).collect();
    let small = bill.items.iter().filter(|item| item.amount.is_some()).count() - bars.len();
    Some(Chart {
        id: "chart-items".to_owned(),
        caption: caption(small, has_cool),
        x: scale.axis(),
        y: Vertical::Rows(orders(bill, &families, &bars)),
        series,
        marks: Vec::new(),
        band: None,
    })
}

/// What each item is charged more with cool caches, as an outline beyond its bar; the table has the
/// figures.
fn cool_series(bars: &[Bar<'_>], scale: AmountScale) -> Series {
    let point = |(row, bar): (usize, &Bar<'_>)| {
        let more_ns = bar.cool_amount?.ns - bar.amount.ns;
        Some(scale.bar(row, bar.amount.ns, &Amount::exact(more_ns)))
    };
    Series {
        name: "charged with cool caches".to_owned(),
        colour: Colour::Muted,
        shape: Shape::OpenBars,
        points: bars.iter().enumerate().filter_map(point).collect(),
    }
}

fn caption(small: usize, has_cool: bool) -> String {
    let cool = match has_cool {
        true => " An outline reaches to the amount with cool caches.",
        false => "",
    };
    let small = match small {
        0 => String::new(),
        items => format!(
            " The table alone has {} below 0.05 % of the measured system time.",
            plural(items as u64, "item")
        ),
    };
    format!(
        "What each item was charged: how often, times the price of one; the line is the 95 % \
         interval.{cool}{small}"
    )
}

/// The items of a family that are not too small to be seen.
fn bars<'a>(number: usize, family: &Family<'a>) -> Vec<Bar<'a>> {
    let shown = family.items.iter().filter(|it| !is_small(it.item));
    let bar = shown.filter_map(|it| {
        let item = it.item;
        let times = occurrences(item.times);
        let each = item.unit.as_ref().map(|unit| format!(" x {}", time(unit.ns)));
        let row = ChartRow {
            anchor: anchor(it.index),
            name: plain(&item.name),
            id: format!("{times}{}", each.unwrap_or_default()),
        };
        let (amount, cool_amount) = (item.amount.as_ref()?, item.cool_amount.as_ref());
        Some(Bar { row, amount, cool_amount, family: number })
    });
    bar.collect()
}

/// By family with its sums, and by amount.
fn orders(bill: &Bill, families: &[Family<'_>], bars: &[Bar<'_>]) -> Vec<Order> {
    let group = |(number, family): (usize, &Family<'_>)| {
        let first = bars.iter().position(|bar| bar.family == number)?;
        let title = format!("{}: {}", family.title(), figure(bill, &family.amount));
        Some(RowGroup { first, title })
    };
    let groups = families.iter().enumerate().filter_map(group).collect();
    let mut by_amount: Vec<&Bar<'_>> = bars.iter().collect();
    by_amount.sort_by(|one, other| other.amount.ns.total_cmp(&one.amount.ns));
    let rows = bars.iter().map(|bar| bar.row.clone()).collect();
    let sorted = by_amount.into_iter().map(|bar| bar.row.clone()).collect();
    vec![
        Order { name: "by family", rows, groups },
        Order { name: "by amount", rows: sorted, groups: Vec::new() },
    ]
}

/// An amount with its share.
fn figure(bill: &Bill, amount: &Amount) -> String {
    match share_text(bill, amount) {
        share if share.is_empty() => time(amount.ns),
        share => format!("{}, {share}", time(amount.ns)),
    }
}

fn time(ns: f64) -> String {
    rough(ns, Unit::NsPerOp)
}
