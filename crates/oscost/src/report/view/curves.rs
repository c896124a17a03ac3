//! The curves of a run: for each benchmark one block, a line for each size and a column for each
//! curve, and under it what the curves say.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use oscost_model::crossing::Crossing;
use oscost_model::curve::{BoundedValue, Curve, CurvePoint};
use oscost_model::point::Point;
use oscost_model::record::{Calls, Record, Row};
use oscost_model::unit::Unit;

use crate::report::figures::{each, half, per_cent, rough};
use crate::report::render::terminal::plot;
use crate::report::render::terminal::plot::plot;
use crate::report::text::{fold, plain};

/// What a terminal takes.
const WIDTH: usize = 80;
/// More curves than these are told as their number.
const MOST_NAMED: usize = 3;
/// Between two columns.
const GAP: usize = 2;
/// More blocks than these are not drawn unless somebody asks for it: the tables are a screen each
/// already.
const MOST_DRAWN: usize = 2;
/// What is drawn spans two decades: within less a table shows as much.
const LEAST_DRAWN: u64 = 100;
/// Up to so many curves, what is said of each pair is told; of more, what is said of each and the
/// cheapest.
const EACH_PAIR: usize = 3;
/// More sentences about pairs than these are in the record alone.
const MOST_PAIRS: usize = 12;
/// More pairs that are not told apart are told as their number.
const MOST_ALIKE: usize = 6;

/// Whether curves are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plots {
    /// Where there are few blocks of them.
    WhereFew,
    /// All of them.
    All,
    /// None.
    None,
}

/// A row's case, and the machine of its other end: the same case may stand in a run twice.
pub(super) type Named<'a> = (&'a str, Option<&'a str>);

/// What a row is called here.
pub(super) fn named(row: &Row) -> Named<'_> {
    (&row.case, row.target.peer.as_deref())
}

/// The row of a point.
fn point_of<'a>(curve: &'a Curve, point: &'a CurvePoint) -> Named<'a> {
    (&point.case, curve.peer.as_deref())
}

/// The rows that stand in curves, and so in no other table.
pub(super) fn cases(record: &Record) -> BTreeSet<Named<'_>> {
    let mut found = BTreeSet::new();
    for curve in &record.curves {
        found.extend(curve.points.iter().map(|point| point_of(curve, point)));
    }
    found
}

/// Where curves were measured, in words.
fn at(target: &str, peer: Option<&str>) -> String {
    peer.map_or(plain(target), |peer| plain(&format!("{target} to {peer}")))
}

/// The section under the table; empty where no rows make a curve.
pub(super) fn text(record: &Record, plots: Plots) -> String {
    let mut out = String::new();
    let rows: BTreeMap<Named<'_>, &Row> =
        record.results.iter().map(|row| (named(row), row)).collect();
    let blocks = blocks(record);
    if !blocks.is_empty() {
        out.push_str("\ncurves\n");
    }
    let wide = blocks.iter().filter(|block| block.is_wide()).count();
    let drawn = match plots {
        Plots::WhereFew => wide <= MOST_DRAWN,
        Plots::All => true,
        Plots::None => false,
    };
    for block in &blocks {
        out.push_str(&block.text(&rows));
        out.extend(block.plot().filter(|_| drawn && block.is_wide()));
    }
    if wide > 0 && !drawn && plots == Plots::WhereFew {
        out.push_str("\n`--plot` draws these curves\n");
    }
    out
}

/// The curves of a run, those of one benchmark over one axis together.
pub(super) fn blocks(record: &Record) -> Vec<Block<'_>> {
    let mut blocks: Vec<Vec<&Curve>> = Vec::new();
    let mut known: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for curve in &record.curves {
        let at = *known.entry((&curve.benchmark, &curve.axis)).or_insert(blocks.len());
        match blocks.get_mut(at) {
            Some(block) => block.push(curve),
            None => blocks.push(vec![curve]),
        }
    }
    blocks.into_iter().map(|curves| Block::of(curves, &record.crossings)).collect()
}

/// The curves of one benchmark over one axis; there is one at least.
pub(super) struct Block<'a> {
    /// The curves.
    pub(super) curves: Vec<&'a Curve>,
    /// What is said of pairs of them.
    pairs: Vec<&'a Crossing>,
    /// The axes in which they differ, and `at` where the place does.
    apart: Vec<String>,
    /// What stands above them.
    pub(super) title: String,
}

impl<'a> Block<'a> {
    fn of(curves: Vec<&'a Curve>, crossings: &'a [Crossing]) -> Self {
        let mut axes: Vec<&str> = Vec::new();
        for (axis, _) in curves.iter().flat_map(|&curve| curve.point.iter()) {
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
        let target = |curve: &Curve| (curve.target.clone(), curve.peer.clone());
        if curves.iter().any(|curve| target(curve) != target(curves[0])) {
            apart.push("at".to_owned());
        }
        let shared: Vec<String> = shared
            .iter()
            .filter_map(|axis| Some(format!("{axis}={}", curves[0].point.get(axis)?)))
            .collect();
        let colon = if shared.is_empty() { "" } else { ":" };
        let Curve { benchmark, axis, .. } = curves[0];
        let title = plain(&format!("{benchmark}{colon}{} by {axis}", shared.join(",")));
        let of_block = |it: &&Crossing| it.benchmark == *benchmark && it.axis == *axis;
        let pairs = crossings.iter().filter(of_block).collect();
        Self { curves, pairs, apart, title }
    }

    /// Whether one of its curves is wide enough to be drawn.
    fn is_wide(&self) -> bool {
        self.curves.iter().any(|curve| {
            let ends = curve.points.first().zip(curve.points.last());
            ends.is_some_and(|(first, last)| last.value / first.value.max(1) >= LEAST_DRAWN)
        })
    }

    /// The curves as a picture, where they have anything to draw.
    fn plot(&self) -> Option<String> {
        let drawn = |point: &CurvePoint| {
            let figure = point.figure.filter(|figure| *figure > 0.0 && figure.is_finite());
            figure.filter(|_| point.value > 0).map(|figure| (point.value, figure))
        };
        let line = |&curve: &&Curve| plot::Line {
            label: self.labels(curve).join(","),
            points: curve.points.iter().filter_map(drawn).collect(),
        };
        let lines: Vec<plot::Line> = self.curves.iter().map(line).collect();
        let Curve { axis, item: of, unit, .. } = self.curves[0];
        let by = if axis == of { axis.clone() } else { format!("{axis} (in {of}s)") };
        Some(format!("\n{}", plot(&lines, &by, *unit)?))
    }

    /// What tells a curve from the others of the block, an entry for each axis.
    pub(super) fn labels(&self, curve: &Curve) -> Vec<String> {
        let of = |axis: &String| match curve.point.get(axis) {
            Some(value) => shown(&value.to_string()),
            None if axis == "at" => at(&curve.target, curve.peer.as_deref()),
            // What goes unsaid is as the system has it.
            None => "-".to_owned(),
        };
        self.apart.iter().map(of).collect()
    }

    fn text(&self, rows: &BTreeMap<Named<'_>, &Row>) -> String {
        let columns: Vec<Column> =
            self.curves.iter().map(|curve| Column::of(curve, self.labels(curve), rows)).collect();
        let values = columns.iter().flat_map(|column| column.figures.keys());
        let values = values.map(|value| shown(&value.to_string()));
        let heads = self.apart.iter().map(|axis| plain(axis));
        let names = values.chain(heads).chain(self.evidence().into_iter().map(|(_, name)| name));
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
        for (at, name) in self.evidence() {
            line(&name, &|column| column.evidence[at].clone());
        }
        out
    }

    /// The lines under the figures, as their names and where a column has them. Those of laws stand
    /// there where a curve has what they show.
    fn evidence(&self) -> Vec<(usize, String)> {
        let laws = || self.curves.iter().filter_map(|curve| curve.scaling.as_ref());
        let holds = || laws().filter(|law| law.holds);
        let grows = holds().any(|law| law.b.is_some());
        let of_laws = [
            (holds().next().is_some(), "fixed".to_owned()),
            (grows, format!("per {}", plain(&self.curves[0].item))),
            (grows, "+-".to_owned()),
            (laws().next().is_some(), "grows as".to_owned()),
        ];
        let always = EVIDENCE.iter().map(|name| (true, (*name).to_owned()));
        let all = always.chain(of_laws).enumerate();
        all.filter(|(_, (shown, _))| *shown).map(|(at, (_, name))| (at, name)).collect()
    }

    /// The sentences of the curves, each once, with the curves that it is about.
    pub(super) fn words(&self) -> String {
        let mut said: Vec<(&str, Vec<String>)> = Vec::new();
        let mut known: BTreeMap<&str, usize> = BTreeMap::new();
        for &curve in &self.curves {
            let capacity = curve.capacity.iter().map(|capacity| capacity.sentence.as_str());
            for words in curve.sentences.iter().map(String::as_str).chain(capacity) {
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
        let bends = self.curves.iter().filter_map(|curve| curve.scaling.as_ref());
        let bends = bends.into_iter().any(|law| !law.holds);
        let nearest =
            bends.then(|| "~: the nearest law of a curve that does not keep to one".to_owned());
        let mut out = String::new();
        for line in some.chain(all).chain(nearest).chain(self.of_pairs()) {
            let _ = writeln!(out, "  {}", fold(&plain(&line), 76, "    "));
        }
        out
    }

    /// What is said of pairs, those that share all else together.
    fn of_pairs(&self) -> Vec<String> {
        let mut sets: Vec<Vec<&Crossing>> = Vec::new();
        let target = |it: &Crossing| at(&it.target, it.peer.as_deref());
        for &pair in &self.pairs {
            let same = |set: &&mut Vec<&Crossing>| {
                let of = |it: &Crossing| (it.between.clone(), it.point.clone(), target(it));
                of(set[0]) == of(pair)
            };
            match sets.iter_mut().find(same) {
                Some(set) => set.push(pair),
                None => sets.push(vec![pair]),
            }
        }
        let told = sets.iter().flat_map(|set| {
            let curves: BTreeSet<&str> =
                set.iter().flat_map(|it| [it.costlier.as_str(), &it.cheaper]).collect();
            let is_dear = |word: &str| set.iter().any(|it| it.costlier == word);
            // Where curves end at different numbers there may be none that is the cheapest.
            let all = curves.len() <= EACH_PAIR || curves.iter().all(|word| is_dear(word));
            set.iter().filter(move |it| all || !is_dear(&it.cheaper))
        });
        // What is not told apart is told of all of them at once.
        let (apart, alike): (Vec<&&Crossing>, Vec<&&Crossing>) = told.partition(|it| {
            let more =
                it.added_cost.as_ref().is_some_and(|it| it.ci95[0] > 0.0 || it.ci95[1] < 0.0);
            it.costlier_wins_until.is_some() || it.cheaper_wins_from.is_some() || more
        });
        let shared = |pair: &Crossing| self.shared(&pair.point, &pair.between, &target(pair));
        let mut lines: Vec<String> = apart
            .into_iter()
            .map(|pair| match shared(pair) {
                shared if shared.is_empty() => pair.sentence.clone(),
                shared => format!("{shared}: {}", pair.sentence),
            })
            .collect();
        if lines.len() > MOST_PAIRS {
            let more = lines.len() - MOST_PAIRS;
            lines.truncate(MOST_PAIRS);
            lines.push(format!("and of {more} more pairs: `crossings` in the record (`--json`)"));
        }
        let names: Vec<String> = alike
            .iter()
            .take(MOST_ALIKE)
            .map(|pair| match shared(pair) {
                shared if shared.is_empty() => format!("{} and {}", pair.costlier, pair.cheaper),
                shared => format!("{} and {} ({shared})", pair.costlier, pair.cheaper),
            })
            .collect();
        let more = match alike.len().saturating_sub(MOST_ALIKE) {
            0 => String::new(),
            more => format!(", and {more} more pairs"),
        };
        if !names.is_empty() {
            lines.push(format!(
                "not told apart, neither by which is cheaper nor by what a further {} costs: \
                 {}{more}",
                plain(&self.curves[0].item),
                names.join(", ")
            ));
        }
        lines
    }

    /// What two curves of the block share that not all of them do.
    fn shared(&self, point: &Point, between: &str, target: &str) -> String {
        let of = |axis: &String| match point.get(axis) {
            _ if axis == between => None,
            Some(value) => Some(format!("{}={}", plain(axis), shown(&value.to_string()))),
            None if axis == "at" => Some(format!("at {target}")),
            None => None,
        };
        self.apart.iter().filter_map(of).collect::<Vec<_>>().join(",")
    }
}

/// What stands under the figures of a curve.
const EVIDENCE: [&str; 3] = ["+- at most", "class", "calls"];

/// A curve as a column.
struct Column {
    labels: Vec<String>,
    figures: BTreeMap<u64, String>,
    evidence: Vec<String>,
    width: usize,
}

impl Column {
    fn of(curve: &Curve, labels: Vec<String>, rows: &BTreeMap<Named<'_>, &Row>) -> Self {
        let figure = |point: &CurvePoint| {
            let Some(figure) = point.figure else { return "-".to_owned() };
            let row = rows.get(&point_of(curve, point));
            // What cannot be told from nothing is a bound, as in the table.
            let hidden = row.is_some_and(|row| row.flags.iter().any(|it| it == "BELOW_DETECTION"));
            match point.ci95.filter(|_| hidden) {
                Some([low, high]) => format!("<{}", rough(high - low, curve.unit)),
                None => rough(figure, curve.unit),
            }
        };
        // What was added to place a break of this curve, the others do not have.
        let added = |point: &&CurvePoint| {
            let row = rows.get(&point_of(curve, point));
            row.is_some_and(|row| row.flags.iter().any(|it| it == "ADDED"))
        };
        let usual = curve.points.iter().filter(|point| !added(point));
        let figures: BTreeMap<u64, String> =
            usual.map(|point| (point.value, figure(point))).collect();
        let evidence: Vec<String> = evidence(curve, rows).into_iter().chain(law(curve)).collect();
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
fn evidence(curve: &Curve, rows: &BTreeMap<Named<'_>, &Row>) -> [String; 3] {
    let rows: Vec<&Row> = curve
        .points
        .iter()
        .filter_map(|point| rows.get(&point_of(curve, point)).copied())
        .collect();
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

/// How a curve grows: the fixed cost, the marginal one with half of its interval, and the law. What
/// a law says that does not hold is no cost of this curve.
fn law(curve: &Curve) -> [String; 4] {
    let none = || "-".to_owned();
    let Some(law) = &curve.scaling else { return std::array::from_fn(|_| none()) };
    let time = |ns: f64| rough(ns, Unit::NsPerOp);
    let half = |it: &BoundedValue| half((it.ci95[1] - it.ci95[0]) / 2.0, it.value, Unit::NsPerOp);
    let marginal = law.b.as_ref().filter(|_| law.holds);
    let second = law.second.iter().map(|second| format!(" or {second}"));
    let doubt = if law.holds { "" } else { "~" };
    [
        if law.holds { time(law.a.value) } else { none() },
        marginal.map_or_else(none, |b| time(b.value)),
        marginal.map_or_else(none, half),
        plain(&format!("{doubt}{}{}", law.model, second.collect::<String>())),
    ]
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
