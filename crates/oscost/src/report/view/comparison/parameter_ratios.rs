//! How compared commands differ at each value of a parameter.

use oscost_model::counters::is_work;
use oscost_model::point::Value;
use oscost_model::record::{Comparison, Record, Row};

use crate::estimate::comparison::interleaved_run::SECONDARY;
use crate::report::text::plain;
use crate::report::view::comparison::pair::Pair;
use crate::report::view::comparison::texts::ComparisonText;
use crate::report::view::comparison::verdicts::verdict_style;
use crate::report::view::document::{Cell, Column, Table, TableRow};
use crate::report::view::run::curves::CurveGroup;

/// A comparison of two commands at a value of the parameter.
struct Ratio<'a> {
    /// The index of the curve of the new command.
    curve: usize,
    value: u64,
    pair: Pair<'a>,
}

/// The comparisons on which verdicts rest, of commands with these curves; `None` if there are none.
pub(in crate::report::view) fn table<'a>(
    record: &'a Record,
    group: &CurveGroup<'_>,
) -> Option<Table> {
    let axis = group.curves[0].axis.as_str();
    let curve_of = |row: &Row| {
        group.curves.iter().position(|curve| curve.points.iter().any(|it| it.case == row.case))
    };
    let ratio = |it: &'a Comparison| {
        let [base, new] = [it.base, it.new].map(|row| record.results.get(row as usize));
        let (base, new) = (base?, new?);
        let Some(&Value::Number(value)) = new.point.get(axis) else { return None };
        let curve = curve_of(new).filter(|_| base.benchmark != new.benchmark)?;
        Some(Ratio { curve, value, pair: Pair::of(it, base, new) })
    };
    let judged = record.comparisons.iter().filter(|it| {
        let is_secondary = it.flags.iter().any(|flag| flag == SECONDARY);
        !it.control && !is_secondary && !is_work(&it.metric)
    });
    let mut ratios: Vec<Ratio<'_>> = judged.filter_map(ratio).collect();
    ratios.sort_by_key(|it| (it.curve, it.value));
    let rows: Vec<TableRow> = ratios.iter().map(|it| row(it, group)).collect();
    let columns = vec![
        Column::number(&plain(axis), "value"),
        Column::text("new"),
        Column::number("base", "base"),
        Column::number("ratio", "ratio"),
        Column::number("95 % interval", "ratio_ci95"),
        Column::number("added", "added"),
        Column::choice("verdict"),
    ];
    (!rows.is_empty()).then(|| Table { columns, rows, ..Table::default() })
}

fn row(Ratio { curve, value, pair }: &Ratio<'_>, group: &CurveGroup<'_>) -> TableRow {
    let ComparisonText { base, ratio, interval, added, verdict } =
        ComparisonText::of(pair.it, &pair.base);
    let interval = interval.map(|[low, high]| format!("{low} .. {high}"));
    TableRow::of(vec![
        Cell::text(value.to_string()),
        Cell::text(group.labels(group.curves[*curve]).join(",")),
        Cell::text(base),
        Cell::text(ratio),
        Cell::text(interval.unwrap_or_else(|| "-".to_owned())),
        Cell::text(added),
        Cell::text(verdict).with_style(verdict_style(pair.it)),
    ])
}
