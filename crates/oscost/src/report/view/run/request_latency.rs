//! The latency of requests as observed by the clients of a server: for each benchmark a table with a
//! row for each number of idle descriptors and a column for each method.

use std::collections::BTreeSet;

use oscost_model::point::{Point, Value};
use oscost_model::record::Row;

use crate::estimate::{REQUEST_P50, REQUEST_P99};
use crate::report::figures::rough;
use crate::report::text::plain;
use crate::report::view::document::{Cell, Column, Table, TableRow};

/// The axis of words, a column each, and the axis of numbers, a row each.
const COLUMNS: &str = "method";
const ROWS: &str = "idle";

/// Latencies of cases that differ only on these two axes.
struct Group<'a> {
    benchmark: &'a str,
    rest: Point,
    latencies: Vec<Latency>,
}

/// The latency of one case.
struct Latency {
    column: String,
    row: u64,
    text: String,
}

/// The median and the 99th percentile; their unit once if it is the same.
fn latency(row: &Row) -> Option<String> {
    let figure = |name: &str| {
        let metric = row.metrics.get(name)?;
        Some(rough(metric.estimate.median, metric.unit))
    };
    let (p50, p99) = (figure(REQUEST_P50)?, figure(REQUEST_P99));
    let p99 = p99.unwrap_or_else(|| "-".to_owned());
    Some(match (p50.split_once(' '), p99.split_once(' ')) {
        (Some((number, one)), Some((_, other))) if one == other => format!("{number} / {p99}"),
        _ => format!("{p50} / {p99}"),
    })
}

/// The tables; empty if no row has latencies of requests.
pub(in crate::report::view) fn tables(measured: &[&Row]) -> Vec<Table> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for row in measured {
        let (Some(text), Some(column), Some(&Value::Number(number))) =
            (latency(row), row.point.get(COLUMNS), row.point.get(ROWS))
        else {
            continue;
        };
        let others = row.point.iter().filter(|(axis, _)| *axis != COLUMNS && *axis != ROWS);
        let rest = others.fold(Point::none(), |rest, (axis, value)| rest.with(axis, value.clone()));
        let benchmark = row.benchmark.as_str();
        let it = Latency { column: plain(&column.to_string()), row: number, text };
        match groups.iter_mut().find(|it| it.benchmark == benchmark && it.rest == rest) {
            Some(group) => group.latencies.push(it),
            None => groups.push(Group { benchmark, rest, latencies: vec![it] }),
        }
    }
    groups.iter().map(Group::table).collect()
}

impl Group<'_> {
    fn table(&self) -> Table {
        let rest: Vec<String> =
            self.rest.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
        let colon = if rest.is_empty() { "" } else { ":" };
        let caption =
            format!("Request latency, p50 / p99: {}{colon}{}", self.benchmark, rest.join(","));
        let mut columns: Vec<&str> = Vec::new();
        for it in &self.latencies {
            if !columns.contains(&it.column.as_str()) {
                columns.push(&it.column);
            }
        }
        let numbers: BTreeSet<u64> = self.latencies.iter().map(|it| it.row).collect();
        let text = |column: &str, row: u64| {
            let found = self.latencies.iter().find(|it| it.column == column && it.row == row);
            found.map_or("-", |it| it.text.as_str())
        };
        let row = |&row: &u64| {
            let cells = columns.iter().map(|column| Cell::text(text(column, row)));
            let name = Cell::text(row.to_string());
            TableRow::of([name].into_iter().chain(cells).collect())
        };
        let titles = columns.iter().map(|column| Column::number(column, column));
        Table {
            caption: plain(&caption),
            columns: [Column::number(ROWS, ROWS)].into_iter().chain(titles).collect(),
            rows: numbers.iter().map(row).collect(),
            ..Table::default()
        }
    }
}
