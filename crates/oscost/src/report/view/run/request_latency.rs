//! The latency of requests as observed by the clients of a server: for each benchmark a table with a
//! row for each number of idle descriptors and a column for each method.

use std::collections::{BTreeMap, BTreeSet};

use oscost_model::point::{Point, Value};
use oscost_model::record::Row;

use crate::estimate::{REQUEST_P50, REQUEST_P99};
use crate::report::figures::rough;
use crate::report::text::plain;
use crate::report::view::document::{Cell, Column, Table, TableRow};

/// The axis of words, a column each, and the axis of numbers, a row each.
const COLUMNS: &str = "method";
const ROWS: &str = "idle";

/// The maximum number of columns of a table. A cell for each pair of words and numbers would
/// otherwise be quadratic in the rows of a record.
const MAX_COLUMNS: usize = 50;

/// Latencies of cases that differ only on these two axes.
struct Group<'a> {
    benchmark: &'a str,
    rest: Point,
    /// The words, in the order of the rows of the record.
    columns: Vec<String>,
    /// The latencies by number and column; of several of one case the first.
    latencies: BTreeMap<u64, BTreeMap<String, String>>,
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
    let mut known: BTreeMap<(&str, Point), usize> = BTreeMap::new();
    let mut columns: BTreeSet<(usize, String)> = BTreeSet::new();
    for row in measured {
        let (Some(text), Some(column), Some(&Value::Number(number))) =
            (latency(row), row.point.get(COLUMNS), row.point.get(ROWS))
        else {
            continue;
        };
        let others = row.point.iter().filter(|(axis, _)| *axis != COLUMNS && *axis != ROWS);
        let rest = others.fold(Point::none(), |rest, (axis, value)| rest.with(axis, value.clone()));
        let benchmark = row.benchmark.as_str();
        let at = *known.entry((benchmark, rest.clone())).or_insert(groups.len());
        if at == groups.len() {
            let (columns, latencies) = (Vec::new(), BTreeMap::new());
            groups.push(Group { benchmark, rest, columns, latencies });
        }
        let column = plain(&column.to_string());
        if columns.insert((at, column.clone())) {
            groups[at].columns.push(column.clone());
        }
        groups[at].latencies.entry(number).or_default().entry(column).or_insert(text);
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
        let shown = &self.columns[..self.columns.len().min(MAX_COLUMNS)];
        let row = |(number, texts): (&u64, &BTreeMap<String, String>)| {
            let cells = shown.iter().map(|column| texts.get(column).map_or("-", String::as_str));
            let cells = cells.map(Cell::text);
            TableRow::of([Cell::text(number.to_string())].into_iter().chain(cells).collect())
        };
        let titles = shown.iter().map(|column| Column::number(column, column));
        let more = self.columns.len() - shown.len();
        let note = format!("{more} more columns: `metrics` of the rows in the record (`--json`)");
        Table {
            caption: plain(&caption),
            columns: [Column::number(ROWS, ROWS)].into_iter().chain(titles).collect(),
            rows: self.latencies.iter().map(row).collect(),
            notes: (more > 0).then_some(note).into_iter().collect(),
            ..Table::default()
        }
    }
}
