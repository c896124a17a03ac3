//! The curves of a run: for each benchmark a table with a row for each size and a column for each
//! curve, and below it the results of the analysis.

mod cases;
mod columns;
mod pairs;

use std::collections::{BTreeMap, BTreeSet};

use oscost_model::crossing::Crossing;
use oscost_model::curve::{Curve, CurvePoint};
use oscost_model::point::MAX_AXES;
use oscost_model::program::FAMILY;
use oscost_model::record::{Record, Row};

use self::cases::point_of;
pub(in crate::report::view) use self::cases::{CaseOfPeer, case_of};
use self::columns::{CurveColumn, EVIDENCE, EvidenceLine, shown};
use crate::report::text::plain;
use crate::report::view::document::{
    Block, Cell, Column, LogPlot, PlotLine, PlotPoint, Section, Table, TableRow,
};

/// The maximum number of curves that a sentence names; of more, the number is given.
const MAX_NAMED: usize = 3;
/// The maximum number of groups that are drawn without `--plot`: each table already fills a screen.
const MAX_DRAWN: usize = 2;
/// The minimum ratio of the ends of a drawn curve: a table shows a shorter one as well.
const MIN_DRAWN_SPAN: u64 = 100;
/// The maximum number of curves of a group that are shown, a column each: with a cell for each
/// curve and number, a table would otherwise be quadratic in the rows of a record.
const MAX_COLUMNS: usize = 100;
/// Whether curves are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plots {
    /// If there are few groups of them.
    WhereFew,
    /// All of them.
    All,
    /// None.
    None,
}

/// The rows that are in curves that are shown, and so in no other table.
pub(in crate::report::view) fn cases(record: &Record) -> BTreeSet<CaseOfPeer<'_>> {
    let mut found = BTreeSet::new();
    for curve in groups(record).iter().flat_map(|group| group.curves.iter().copied()) {
        found.extend(curve.points.iter().map(|point| point_of(curve, point)));
    }
    found
}

/// The part of a benchmark's id after the family.
fn name_of(benchmark: &str) -> &str {
    benchmark.split_once('/').map_or(benchmark, |(_, name)| name)
}

/// Crossings by benchmark and axis.
type Crossings<'a> = BTreeMap<(&'a str, &'a str), Vec<&'a Crossing>>;

fn crossings(record: &Record) -> Crossings<'_> {
    let mut found = Crossings::new();
    for it in &record.crossings {
        found.entry((&it.benchmark, &it.axis)).or_default().push(it);
    }
    found
}

/// Where curves were measured, in words.
fn at(target: &str, peer: Option<&str>) -> String {
    peer.map_or(plain(target), |peer| plain(&format!("{target} to {peer}")))
}

/// The curves as tables and plots; `None` if no rows form a curve.
pub(in crate::report::view) fn section(record: &Record, plots: Plots) -> Option<Section> {
    let rows: BTreeMap<CaseOfPeer<'_>, &Row> =
        record.results.iter().map(|row| (case_of(row), row)).collect();
    let (id, title) = ("curves".to_owned(), "Curves".to_owned());
    let blocks = tables_and_plots(&groups(record), &rows, plots);
    (!blocks.is_empty()).then(|| Section { id, title, blocks, ..Section::default() })
}

/// The tables and plots of these curves.
fn tables_and_plots(
    groups: &[CurveGroup<'_>],
    rows: &BTreeMap<CaseOfPeer<'_>, &Row>,
    plots: Plots,
) -> Vec<Block> {
    let wide = groups.iter().filter(|group| group.is_wide()).count();
    let drawn = match plots {
        Plots::WhereFew => wide <= MAX_DRAWN,
        Plots::All => true,
        Plots::None => false,
    };
    let mut blocks = Vec::new();
    for group in groups {
        blocks.push(Block::Heading(group.title.clone()));
        blocks.push(Block::Table(group.table(rows)));
        let plot = group.plot().filter(|_| drawn && group.is_wide());
        blocks.extend(plot.map(Block::LogPlot));
    }
    if wide > 0 && !drawn && plots == Plots::WhereFew {
        blocks.push(Block::Text("`--plot` draws these curves".to_owned()));
    }
    blocks
}

/// The commands of the command line, by their benchmarks.
fn commands(record: &Record) -> BTreeSet<&str> {
    let commands = record.results.iter().filter(|row| row.command.is_some());
    commands.map(|row| row.benchmark.as_str()).collect()
}

/// The curves of commands at one target; `None` if there are none. Others are in the tables of their
/// comparisons.
pub(in crate::report::view) fn section_of_commands(
    record: &Record,
    mut more: impl FnMut(&CurveGroup<'_>) -> Option<Block>,
) -> Option<Section> {
    let rows: BTreeMap<CaseOfPeer<'_>, &Row> =
        record.results.iter().map(|row| (case_of(row), row)).collect();
    let commands = commands(record);
    let mut of_commands = groups(record);
    of_commands.retain(|group| {
        let first = group.curves[0];
        commands.contains(first.benchmark.as_str())
            && group.curves.iter().all(|curve| curve.target == first.target)
    });
    let blocks = of_commands.iter().flat_map(|group| {
        let own = tables_and_plots(std::slice::from_ref(group), &rows, Plots::WhereFew);
        own.into_iter().chain(more(group))
    });
    let blocks: Vec<Block> = blocks.collect();
    let (id, title) = ("curves".to_owned(), "Curves".to_owned());
    (!blocks.is_empty()).then(|| Section { id, title, blocks, ..Section::default() })
}

/// The curves of a run, those of one benchmark over one axis together, and those of all commands.
pub(in crate::report::view) fn groups(record: &Record) -> Vec<CurveGroup<'_>> {
    let commands = commands(record);
    let mut blocks: Vec<Vec<&Curve>> = Vec::new();
    let mut known: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for curve in &record.curves {
        let benchmark = match commands.contains(curve.benchmark.as_str()) {
            true => FAMILY,
            false => curve.benchmark.as_str(),
        };
        let at = *known.entry((benchmark, &curve.axis)).or_insert(blocks.len());
        match blocks.get_mut(at) {
            Some(block) => block.push(curve),
            None => blocks.push(vec![curve]),
        }
    }
    let crossings = crossings(record);
    blocks.into_iter().map(|curves| CurveGroup::of(curves, &crossings)).collect()
}

/// The curves of one benchmark, or of all commands, over one axis; there is at least one.
pub(in crate::report::view) struct CurveGroup<'a> {
    /// The curves.
    pub(in crate::report::view) curves: Vec<&'a Curve>,
    /// The number of further curves, which are not shown.
    more: usize,
    /// Comparisons of pairs of them.
    pairs: Vec<&'a Crossing>,
    /// Whether they are of several benchmarks.
    names_benchmarks: bool,
    /// The axes in which they differ, and `at` where the target does.
    differing_axes: Vec<String>,
    /// Their title.
    pub(in crate::report::view) title: String,
}

impl<'a> CurveGroup<'a> {
    fn of(mut curves: Vec<&'a Curve>, crossings: &Crossings<'a>) -> Self {
        let more = curves.len().saturating_sub(MAX_COLUMNS);
        curves.truncate(MAX_COLUMNS);
        let mut axes: Vec<&str> = Vec::new();
        for (axis, _) in curves.iter().flat_map(|&curve| curve.point.iter()) {
            // The curves of a foreign record may all have others.
            if axes.len() < MAX_AXES && !axes.contains(&axis) {
                axes.push(axis);
            }
        }
        let is_shared = |axis: &str| {
            curves.iter().all(|curve| curve.point.get(axis) == curves[0].point.get(axis))
        };
        let (shared, differing): (Vec<&str>, Vec<&str>) =
            axes.into_iter().partition(|axis| is_shared(axis));
        let mut differing_axes: Vec<String> = differing.into_iter().map(str::to_owned).collect();
        let target = |curve: &Curve| (curve.target.clone(), curve.peer.clone());
        if curves.iter().any(|curve| target(curve) != target(curves[0])) {
            differing_axes.push("at".to_owned());
        }
        let shared: Vec<String> = shared
            .iter()
            .filter_map(|axis| Some(format!("{axis}={}", curves[0].point.get(axis)?)))
            .collect();
        let colon = if shared.is_empty() { "" } else { ":" };
        let Curve { axis, .. } = curves[0];
        let mut benchmarks: Vec<&str> = Vec::new();
        for curve in &curves {
            if !benchmarks.contains(&curve.benchmark.as_str()) {
                benchmarks.push(&curve.benchmark);
            }
        }
        let names_benchmarks = benchmarks.len() > 1;
        let names = benchmarks.join(" and ");
        let title = plain(&format!("{names}{colon}{} by {axis}", shared.join(",")));
        // The crossings within one of several commands are those of its own parameters.
        let is_shown = |it: &&Crossing| !names_benchmarks || it.is_of_commands();
        let pairs = benchmarks
            .iter()
            .filter_map(|&benchmark| crossings.get(&(benchmark, axis.as_str())))
            .flatten()
            .copied()
            .filter(is_shown)
            .collect();
        Self { curves, more, pairs, names_benchmarks, differing_axes, title }
    }

    /// Whether one of its curves is wide enough to be drawn.
    fn is_wide(&self) -> bool {
        self.curves.iter().any(|curve| {
            let ends = curve.points.first().zip(curve.points.last());
            ends.is_some_and(|(first, last)| last.value / first.value.max(1) >= MIN_DRAWN_SPAN)
        })
    }

    /// The plot of the curves, if they have figures that can be drawn.
    fn plot(&self) -> Option<LogPlot> {
        let drawn = |point: &CurvePoint| {
            let figure = point.figure.filter(|figure| *figure > 0.0 && figure.is_finite());
            figure.filter(|_| point.value > 0).map(|figure| PlotPoint { x: point.value, y: figure })
        };
        let line = |&curve: &&Curve| PlotLine {
            label: self.labels(curve).join(","),
            points: curve.points.iter().filter_map(drawn).collect(),
        };
        let lines: Vec<PlotLine> = self.curves.iter().map(line).collect();
        let Curve { axis, item, unit, .. } = self.curves[0];
        let by = if axis == item { axis.clone() } else { format!("{axis} (in {item}s)") };
        let points: usize = lines.iter().map(|line| line.points.len()).sum();
        (points > 0).then_some(LogPlot { lines, by, unit: *unit })
    }

    /// What distinguishes a curve from the others of the group, an entry for each axis.
    pub(in crate::report::view) fn labels(&self, curve: &Curve) -> Vec<String> {
        let of = |axis: &String| match curve.point.get(axis) {
            Some(value) => shown(&value.to_string()),
            None if axis == "at" => at(&curve.target, curve.peer.as_deref()),
            // A default of the system.
            None => "-".to_owned(),
        };
        let benchmark = self.names_benchmarks.then(|| plain(name_of(&curve.benchmark)));
        benchmark.into_iter().chain(self.differing_axes.iter().map(of)).collect()
    }

    /// A row for each number and a column for each curve, with the properties of the curves below.
    fn table(&self, rows: &BTreeMap<CaseOfPeer<'_>, &Row>) -> Table {
        let columns: Vec<CurveColumn> = self
            .curves
            .iter()
            .map(|curve| CurveColumn::of(curve, self.labels(curve), rows))
            .collect();
        let command = self.names_benchmarks.then(|| "command".to_owned());
        let axes = command.into_iter().chain(self.differing_axes.iter().map(|axis| plain(axis)));
        let axes = axes.collect::<Vec<_>>().join("\n");
        let titles = columns.iter().map(|column| column.labels.join("\n"));
        let titles = titles.map(|title| Column::number(&title, &title));
        let row = |name: &str, cell: &dyn Fn(&CurveColumn) -> String| {
            let cells = columns.iter().map(|column| Cell::text(cell(column)));
            TableRow::of([Cell::text(name)].into_iter().chain(cells).collect())
        };
        let values: BTreeSet<u64> =
            columns.iter().flat_map(|column| column.figures.keys().copied()).collect();
        let figures = values.into_iter().map(|value| {
            let cell = |column: &CurveColumn| {
                column.figures.get(&value).cloned().unwrap_or_else(|| "-".to_owned())
            };
            row(&shown(&value.to_string()), &cell)
        });
        let evidence = self.evidence_lines();
        let evidence = evidence.iter().map(|line| {
            row(&line.name, &|column: &CurveColumn| column.evidence[line.index].clone())
        });
        Table {
            columns: [Column::number(&axes, &axes)].into_iter().chain(titles).collect(),
            rows: figures.chain(evidence).collect(),
            notes: self.sentences(),
            ..Table::default()
        }
    }

    /// The rows below the figures. Those of laws are shown if a curve has such values.
    fn evidence_lines(&self) -> Vec<EvidenceLine> {
        let laws = || self.curves.iter().filter_map(|curve| curve.scaling.as_ref());
        let holds = || laws().filter(|law| law.fits);
        let grows = holds().any(|law| law.marginal_cost.is_some());
        let of_laws = [
            (holds().next().is_some(), "fixed".to_owned()),
            (grows, format!("per {}", plain(&self.curves[0].item))),
            (grows, "+-".to_owned()),
            (laws().next().is_some(), "grows as".to_owned()),
        ];
        let always = EVIDENCE.iter().map(|name| (true, (*name).to_owned()));
        let all = always.chain(of_laws).enumerate();
        all.filter(|(_, (shown, _))| *shown)
            .map(|(index, (_, name))| EvidenceLine { name, index })
            .collect()
    }

    /// The sentences of the curves, each once, with the curves that it is about.
    pub(in crate::report::view) fn sentences(&self) -> Vec<String> {
        let mut sentences: Vec<(&str, Vec<&str>)> = Vec::new();
        let mut known: BTreeMap<&str, usize> = BTreeMap::new();
        let names: Vec<String> =
            self.curves.iter().map(|curve| self.labels(curve).join(",")).collect();
        for (&curve, name) in self.curves.iter().zip(&names) {
            let capacity = curve.capacity.iter().map(|capacity| capacity.sentence.as_str());
            for words in curve.sentences.iter().map(String::as_str).chain(capacity) {
                let at = *known.entry(words).or_insert(sentences.len());
                if at == sentences.len() {
                    sentences.push((words, Vec::new()));
                }
                sentences[at].1.push(name);
            }
        }
        // What applies to all of them comes last.
        let (all, some): (Vec<_>, Vec<_>) =
            sentences.into_iter().partition(|(_, names)| names.len() == self.curves.len());
        let some = some.into_iter().map(|(words, names)| match names.len() {
            many if many > MAX_NAMED => format!("{many} of {}: {words}", self.curves.len()),
            _ => format!("{}: {words}", names.join(" and ")),
        });
        let all = all.into_iter().map(|(words, _)| words.to_owned());
        let bends = self.curves.iter().filter_map(|curve| curve.scaling.as_ref());
        let bends = bends.into_iter().any(|law| !law.fits);
        let nearest = bends.then(|| "~: the nearest law of a curve that follows none".to_owned());
        let more = (self.more > 0)
            .then(|| format!("{} more curves: `curves` in the record (`--json`)", self.more));
        let lines = some.chain(all).chain(nearest).chain(self.of_pairs()).chain(more);
        lines.map(|line| plain(&line)).collect()
    }
}
