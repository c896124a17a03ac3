//! The curves of a run: for each benchmark one block, a line for each size and a column for each
//! curve, and under it what the curves say.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use oscost_model::curve::{Curve, CurvePoint};
use oscost_model::record::{Calls, Record, Row};

use super::figures::{each, per_cent, rough};
use super::{fold, plain};

/// What a terminal takes.
const WIDTH: usize = 80;
/// More curves than these are told as their number.
const MOST_NAMED: usize = 3;
/// Between two columns.
const GAP: usize = 2;

/// The cases that stand in curves, and so in no other table.
pub(super) fn cases(record: &Record) -> BTreeSet<&str> {
    let points = record.curves.iter().flat_map(|curve| &curve.points);
    points.map(|point| point.case.as_str()).collect()
}

/// The section under the table; empty where no rows make a curve.
pub(super) fn text(record: &Record) -> String {
    let mut out = String::new();
    let rows: BTreeMap<&str, &Row> =
        record.results.iter().map(|row| (row.case.as_str(), row)).collect();
    let mut blocks: Vec<Vec<&Curve>> = Vec::new();
    let mut known: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for curve in &record.curves {
        let at = *known.entry((&curve.benchmark, &curve.axis)).or_insert(blocks.len());
        match blocks.get_mut(at) {
            Some(block) => block.push(curve),
            None => blocks.push(vec![curve]),
        }
    }
    if !blocks.is_empty() {
        out.push_str("\ncurves\n");
    }
    for block in &blocks {
        // Writing to a String cannot fail.
        let _ = write!(out, "{}", Block::of(block).text(&rows));
    }
    out
}

/// The curves of one benchmark over one axis.
struct Block<'a> {
    curves: &'a [&'a Curve],
    /// The axes in which they differ, and `at` where the place does.
    apart: Vec<String>,
    title: String,
}

impl<'a> Block<'a> {
    fn of(curves: &'a [&'a Curve]) -> Self {
        let mut axes: Vec<&str> = Vec::new();
        for (axis, _) in curves.iter().flat_map(|curve| curve.point.iter()) {
            if !axes.contains(&axis) {
                axes.push(axis);
            }
        }
        let agreed = |axis: &str| {
            curves.iter().all(|curve| curve.point.get(axis) == curves[0].point.get(axis))
        };
        let (shared, apart): (Vec<&str>, Vec<&str>) =
            axes.into_iter().partition(|axis| agreed(axis));
        let mut apart: Vec<String> = apart.into_iter().map(str::to_owned).collect();
        if curves.iter().any(|curve| curve.place != curves[0].place) {
            apart.push("at".to_owned());
        }
        let shared: Vec<String> = shared
            .iter()
            .filter_map(|axis| Some(format!("{axis}={}", curves[0].point.get(axis)?)))
            .collect();
        let colon = if shared.is_empty() { "" } else { ":" };
        let Curve { benchmark, axis, .. } = curves[0];
        let title = plain(&format!("{benchmark}{colon}{} by {axis}", shared.join(",")));
        Self { curves, apart, title }
    }

    /// What tells a curve from the others of the block, an entry for each axis.
    fn labels(&self, curve: &Curve) -> Vec<String> {
        let of = |axis: &String| match curve.point.get(axis) {
            Some(value) => shown(&value.to_string()),
            None if axis == "at" => plain(&curve.place),
            // What goes unsaid is as the system has it.
            None => "-".to_owned(),
        };
        self.apart.iter().map(of).collect()
    }

    fn text(&self, rows: &BTreeMap<&str, &Row>) -> String {
        let columns: Vec<Column> =
            self.curves.iter().map(|curve| Column::of(curve, self.labels(curve), rows)).collect();
        let values = columns.iter().flat_map(|column| column.figures.keys());
        let values = values.map(|value| shown(&value.to_string()));
        let heads = self.apart.iter().map(|axis| plain(axis));
        let names = values.chain(heads).chain(EVIDENCE.map(str::to_owned));
        let names = names.map(|name| name.chars().count()).max().unwrap_or(0);
        let mut out = format!("\n{}\n", fold(&self.title, WIDTH, "  "));
        let mut left = &columns[..];
        while !left.is_empty() {
            let mut wide = 1 + names;
            let fitting = left.iter().take_while(|column| {
                wide += GAP + column.width;
                wide <= WIDTH
            });
            let (now, later) = left.split_at(fitting.count().max(1));
            out.push_str(&self.part(now, names));
            if !later.is_empty() {
                out.push('\n');
            }
            left = later;
        }
        out.push_str(&self.words());
        out
    }

    /// As many columns as fit beside each other, with a line for each value that one of them has.
    fn part(&self, columns: &[Column], names: usize) -> String {
        let mut out = String::new();
        let mut line = |name: &str, cell: &dyn Fn(&Column) -> String| {
            let mut line = format!(" {name:>names$}");
            for column in columns {
                let _ = write!(line, "{:GAP$}{:>width$}", "", cell(column), width = column.width);
            }
            let _ = writeln!(out, "{}", line.trim_end());
        };
        for (at, axis) in self.apart.iter().enumerate() {
            line(&plain(axis), &|column| column.labels[at].clone());
        }
        let values: BTreeSet<u64> =
            columns.iter().flat_map(|column| column.figures.keys().copied()).collect();
        for value in values {
            // What a curve has not been asked for is as empty as what could not be measured.
            let cell = |column: &Column| {
                column.figures.get(&value).cloned().unwrap_or_else(|| "-".to_owned())
            };
            line(&shown(&value.to_string()), &cell);
        }
        for (at, name) in EVIDENCE.iter().enumerate() {
            line(name, &|column| column.evidence[at].clone());
        }
        out
    }

    /// The sentences of the curves, each once, with the curves that it is about.
    fn words(&self) -> String {
        let mut said: Vec<(&str, Vec<String>)> = Vec::new();
        let mut known: BTreeMap<&str, usize> = BTreeMap::new();
        for &curve in self.curves {
            let capacity = curve.capacity.iter().map(|capacity| capacity.words.as_str());
            for words in curve.words.iter().map(String::as_str).chain(capacity) {
                let at = *known.entry(words).or_insert(said.len());
                if at == said.len() {
                    said.push((words, Vec::new()));
                }
                said[at].1.push(self.labels(curve).join(","));
            }
        }
        // What is so of all of them comes last.
        let (all, some): (Vec<_>, Vec<_>) =
            said.into_iter().partition(|(_, names)| names.len() == self.curves.len());
        let some = some.into_iter().map(|(words, names)| match names.len() {
            many if many > MOST_NAMED => format!("{many} of {}: {words}", self.curves.len()),
            _ => format!("{}: {words}", names.join(" and ")),
        });
        let all = all.into_iter().map(|(words, _)| words.to_owned());
        let mut out = String::new();
        for line in some.chain(all) {
            let _ = writeln!(out, "  {}", fold(&plain(&line), 76, "    "));
        }
        out
    }
}

/// What stands under the figures of a curve.
const EVIDENCE: [&str; 3] = ["+- at most", "class", "calls"];

/// A curve as a column.
struct Column {
    labels: Vec<String>,
    figures: BTreeMap<u64, String>,
    evidence: [String; 3],
    width: usize,
}

impl Column {
    fn of(curve: &Curve, labels: Vec<String>, rows: &BTreeMap<&str, &Row>) -> Self {
        let figure = |point: &CurvePoint| {
            let Some(figure) = point.figure else { return "-".to_owned() };
            let row = rows.get(point.case.as_str());
            // What cannot be told from nothing is a bound, as in the table.
            let hidden = row.is_some_and(|row| row.flags.iter().any(|it| it == "BELOW_DETECTION"));
            match point.ci95.filter(|_| hidden) {
                Some([low, high]) => format!("<{}", rough(high - low, curve.unit)),
                None => rough(figure, curve.unit),
            }
        };
        // What was added to place a break of this curve, the others do not have.
        let added = |point: &&CurvePoint| {
            let row = rows.get(point.case.as_str());
            row.is_some_and(|row| row.flags.iter().any(|it| it == "ADDED"))
        };
        let usual = curve.points.iter().filter(|point| !added(point));
        let figures: BTreeMap<u64, String> =
            usual.map(|point| (point.value, figure(point))).collect();
        let evidence = evidence(curve, rows);
        let cells = labels.iter().chain(figures.values()).chain(&evidence);
        let width = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
        Self { labels, figures, evidence, width }
    }
}

/// A number as it may be typed: whole multiples of 1024 by their letter.
fn shown(value: &str) -> String {
    let letters = [(1u64 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki")];
    let number = value.parse::<u64>().ok().filter(|number| *number > 0);
    let fits = |number: u64| letters.iter().find(|(factor, _)| number.is_multiple_of(*factor));
    match number.and_then(|number| Some((number, fits(number)?))) {
        Some((number, (factor, letter))) => format!("{}{letter}", number / factor),
        None => plain(value),
    }
}

/// What stands behind the figures of a curve: the widest half of an interval, the classes, and how
/// often an op enters the kernel, with a `!` where its calls are not those of the definition.
fn evidence(curve: &Curve, rows: &BTreeMap<&str, &Row>) -> [String; 3] {
    let rows: Vec<&Row> =
        curve.points.iter().filter_map(|point| rows.get(point.case.as_str()).copied()).collect();
    let measured = || rows.iter().filter_map(|row| row.estimate.as_ref());
    let widths: Option<Vec<f64>> = measured().map(|estimate| estimate.half_width_pct).collect();
    let width = widths.filter(|it| !it.is_empty());
    let width = width.map(|it| per_cent(it.into_iter().fold(0.0, f64::max)));
    let classes: BTreeSet<&str> = rows.iter().filter_map(|row| row.class.as_deref()).collect();
    let classes: Vec<String> = classes.into_iter().map(plain).collect();
    let calls: Vec<f64> =
        rows.iter().filter_map(|row| Some(entries(row.calls.as_ref()?))).collect();
    let least = calls.iter().copied().fold(f64::INFINITY, f64::min);
    let most = calls.iter().copied().fold(0.0, f64::max);
    let unexpected = rows.iter().any(|row| row.calls.as_ref().is_some_and(|it| !it.expected));
    let mark = if unexpected { "!" } else { "" };
    let calls = match calls.is_empty() {
        true => "?".to_owned(),
        false if each(least) == each(most) => format!("{mark}{}", each(most)),
        false => format!("{mark}{}..{}", each(least), each(most)),
    };
    let classes = if classes.is_empty() { "-".to_owned() } else { classes.join("/") };
    [width.unwrap_or("-".to_owned()), classes, calls]
}

/// How often an op enters the kernel.
fn entries(calls: &Calls) -> f64 {
    calls.per_op.values().fold(0.0, |sum, times| sum + times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_as_they_may_be_typed() {
        let told = ["4", "1024", "65536", "1048576", "1500", "0", "same", "x\u{1b}[2J"].map(shown);
        assert_eq!(told, ["4", "1Ki", "64Ki", "1Mi", "1500", "0", "same", "x[2J"]);
    }
}
