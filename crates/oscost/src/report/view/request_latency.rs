//! What the clients of a server felt: for each benchmark a line for each number of one axis, and a
//! column for each word of another.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use oscost_model::point::{Point, Value};
use oscost_model::record::Row;

use crate::estimate::{REQUEST_P50, REQUEST_P99};
use crate::report::figures::rough;
use crate::report::text::{fold, plain};

/// Rows that tell of requests and differ in a word and a number alone.
struct Block<'a> {
    benchmark: &'a str,
    rest: Point,
    rows: Vec<(String, u64, String)>,
}

/// The axis of words by which columns are told apart, and that of numbers.
const ACROSS: &str = "method";
const DOWN: &str = "idle";

/// A figure of each column: the median and the 99th percentile, their unit once if it is one.
fn cell(row: &Row) -> Option<String> {
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

/// The section under the table; empty where no row tells of requests.
pub(super) fn text(measured: &[&Row]) -> String {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    for row in measured {
        let (Some(cell), Some(across), Some(&Value::Number(down))) =
            (cell(row), row.point.get(ACROSS), row.point.get(DOWN))
        else {
            continue;
        };
        let others = row.point.iter().filter(|(axis, _)| *axis != ACROSS && *axis != DOWN);
        let rest = others.fold(Point::none(), |rest, (axis, value)| rest.with(axis, value.clone()));
        let benchmark = row.benchmark.as_str();
        let entry = (plain(&across.to_string()), down, cell);
        match blocks.iter_mut().find(|it| it.benchmark == benchmark && it.rest == rest) {
            Some(block) => block.rows.push(entry),
            None => blocks.push(Block { benchmark, rest, rows: vec![entry] }),
        }
    }
    blocks.iter().map(Block::text).collect()
}

impl Block<'_> {
    fn text(&self) -> String {
        let rest: Vec<String> =
            self.rest.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
        let colon = if rest.is_empty() { "" } else { ":" };
        let title = format!(
            "how long requests took, p50 / p99: {}{colon}{}",
            self.benchmark,
            rest.join(",")
        );
        let mut columns: Vec<&str> = Vec::new();
        for (across, ..) in &self.rows {
            if !columns.contains(&across.as_str()) {
                columns.push(across);
            }
        }
        let downs: BTreeSet<u64> = self.rows.iter().map(|(_, down, _)| *down).collect();
        let at = |across: &str, down: u64| {
            let found = self.rows.iter().find(|row| row.0 == across && row.1 == down);
            found.map_or("-", |row| row.2.as_str())
        };
        let width = |across: &str| {
            let cells = downs.iter().map(|&down| at(across, down)).chain([across]);
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let names = downs.iter().map(|down| down.to_string().len()).max().unwrap_or(0);
        let names = names.max(DOWN.len());
        let mut out = format!("\n{}\n", fold(&plain(&title), 80, "  "));
        // As many columns beside each other as fit.
        let mut left = &columns[..];
        while !left.is_empty() {
            let mut wide = 1 + names;
            let fitting = left.iter().take_while(|across| {
                wide += 2 + width(across);
                wide <= 80
            });
            let (now, later) = left.split_at(fitting.count().max(1));
            let mut line = |name: &str, cell: &dyn Fn(&str) -> String| {
                let mut line = format!(" {name:>names$}");
                for across in now {
                    let _ = write!(line, "  {:>wide$}", cell(across), wide = width(across));
                }
                let _ = writeln!(out, "{}", line.trim_end());
            };
            line(DOWN, &|across| across.to_owned());
            for &down in &downs {
                line(&down.to_string(), &|across| at(across, down).to_owned());
            }
            left = later;
        }
        out
    }
}
