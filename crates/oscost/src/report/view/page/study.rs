//! A run in the form of its study: what was printed then and what was measured now, as tables and
//! charts; the study's claims; and what was predicted.

use oscost_model::record::Record;

use crate::report::figures::times;
use crate::report::text::plain;
use crate::report::view::chart::{
    Axis, Chart, Colour, Mark, Order, Point, Series, Shape, Symbol, Vertical,
};
use crate::report::view::claims::{CLAIMS, CONDITIONS, in_parts};
use crate::report::view::document::{Block, Cell, Column, Section, Table, TableRow};
use crate::report::view::study_ab::{heading as heading_laid, statistic};
use crate::report::view::study_run as as_printed;
use crate::report::view::study_run::{Spread, cells as cells_beside};
use crate::studies::condition::{Condition, ConditionResult, judge};
use crate::studies::judgement::JudgedClaim;
use crate::studies::single_target::{SingleTargetComparison, SingleTargetTable};
use crate::studies::two_targets::{TwoTargetComparison, TwoTargetTable};
use crate::studies::{Published, Study};

/// A run laid beside its study, of one place or of two.
#[derive(Debug)]
pub enum OfStudy<'a> {
    /// Of one place.
    One(Box<SingleTargetComparison<'a>>),
    /// Of two that are compared.
    Two(Box<TwoTargetComparison<'a>>),
}

/// The section.
pub(super) fn section(of: &OfStudy<'_>, record: &Record) -> Section {
    let (study, heading, mut parts) = match of {
        OfStudy::One(beside) => {
            let tables = beside
                .tables
                .iter()
                .enumerate()
                .flat_map(|(at, it)| one(at, it, beside.clock_step_ns));
            (beside.study, as_printed::heading(beside), tables.collect::<Vec<_>>())
        }
        OfStudy::Two(laid) => {
            let tables = laid.tables.iter().enumerate().flat_map(|(at, it)| two(at, laid, it));
            (laid.study, heading_laid(laid), tables.collect())
        }
    };
    parts.splice(0..0, Block::list(unfolded(&heading)));
    let conditions: Vec<(&Condition, ConditionResult)> =
        study.conditions.iter().map(|it| (it, judge(it, record))).collect();
    if !conditions.is_empty() {
        let line = |(it, found): &(&Condition, ConditionResult)| {
            plain(&format!("{}: {} ({})", it.text, found.holds.text(), found.reason))
        };
        parts.push(Block::Heading(CONDITIONS.to_owned()));
        parts.extend(Block::list(conditions.iter().map(line)));
    }
    let judged = match of {
        OfStudy::One(beside) => &beside.claims,
        OfStudy::Two(laid) => &laid.claims,
    };
    if !judged.is_empty() {
        parts.push(Block::Heading(CLAIMS.to_owned()));
        parts.push(Block::Table(claims(study, judged)));
    }
    Section {
        id: "study".to_owned(),
        title: format!("Then and now: {}", plain(&study.id)),
        blocks: parts,
        ..Section::default()
    }
}

/// What is said below a table, a paragraph a piece; nothing where nothing is.
fn listed(text: &str) -> Option<Block> {
    Block::list(unfolded(text))
}

/// Lines that were folded for a terminal, each in one piece again: what goes on is set in deeper than
/// what begins.
fn unfolded(text: &str) -> Vec<String> {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let first = text.lines().filter(|line| !line.trim().is_empty()).map(depth).min().unwrap_or(0);
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match lines.last_mut() {
            Some(last) if depth(line) > first => {
                last.push(' ');
                last.push_str(line.trim());
            }
            _ => lines.push(line.trim().to_owned()),
        }
    }
    lines
}

/// A table of a study of one place.
fn one(at: usize, table: &SingleTargetTable<'_>, clock_step_ns: Option<f64>) -> Vec<Block> {
    let of = table.table;
    let mut rows = Vec::new();
    for row in &table.rows {
        for cell in &row.cells {
            let [column, then, here, own, ratio, cycles] = cells_beside(cell, table, Spread::Ends);
            let single = cell.published.and_then(Published::single);
            let middle = |of: Option<[f64; 2]>| of.map(|[low, high]| f64::midpoint(low, high));
            let cells = vec![
                Cell::text(plain(&row.row.name)),
                Cell::text(if column.is_empty() { of.unit.text().to_owned() } else { column }),
                Cell::number(then, single),
                Cell::number(here, cell.by_study_statistic.map(|here| here.value)),
                Cell::number(own, cell.estimate.map(|own| own.value)),
                Cell::number(ratio, middle(cell.published_ratio)),
                Cell::number(cycles, middle(cell.published_ratio_in_cycles)),
            ];
            rows.push(TableRow { cells, ..TableRow::default() });
        }
    }
    let mut parts = vec![Block::Heading(plain(&of.name))];
    parts.push(Block::Text(unfolded(&as_printed::title(table)).join(" ")));
    parts.extend(then_and_now(at, table).map(Block::chart));
    parts.push(Block::Table(Table {
        id: format!("study-{at}"),
        caption: plain(&of.title),
        columns: vec![
            Column::text("row"),
            Column::text("in"),
            Column::number("then", "then"),
            Column::number("here, its way", "here"),
            Column::number("oscost's median", "median"),
            Column::number("then / here", "then_over_here"),
            Column::number("in cycles", "then_over_here_in_cycles"),
        ],
        rows,
        interactive: true,
        ..Table::default()
    }));
    let given = as_printed::given(of);
    parts.extend(Block::list(given));
    let expected = as_printed::expectations(table);
    if let Some((title, each)) = expected.trim().split_once('\n') {
        parts.push(Block::Text(title.to_owned()));
        parts.extend(listed(each));
    }
    parts.extend(listed(&as_printed::notes(table, clock_step_ns)));
    parts
}

/// Whether a logarithmic scale can show a value.
fn is_usable(value: f64) -> bool {
    value > 0.0 && value.is_finite()
}

/// A row of a chart: what was published, and what was measured here.
struct ThenAndNow {
    name: String,
    then: Option<f64>,
    now: Option<f64>,
    /// The interval of what was measured.
    interval: Option<[f64; 2]>,
    details: Vec<String>,
}

/// The figures of a table's rows, then and now, in the table's own unit.
fn then_and_now(at: usize, table: &SingleTargetTable<'_>) -> Option<Chart> {
    let unit = table.table.unit;
    let mut rows = Vec::new();
    for row in &table.rows {
        // Rows of another unit have no place on this scale.
        let Some(cell) = row.cells.iter().find(|cell| cell.figure.unit == unit) else { continue };
        let then = cell.published.and_then(Published::single).filter(|it| is_usable(*it));
        let own = cell.estimate.filter(|own| is_usable(own.value));
        let [_, then_text, _, own_text, ratio, _] = cells_beside(cell, table, Spread::Ends);
        rows.push(ThenAndNow {
            name: row.row.name.clone(),
            then,
            now: own.map(|own| own.value),
            interval: own.and_then(|own| own.interval).map(|it| [it.lo, it.hi]),
            details: vec![
                row.row.name.clone(),
                format!("then {then_text} {}", unit.text()),
                format!("here {own_text} {}", unit.text()),
                format!("then / here {ratio}"),
            ],
        });
    }
    let caption = format!("{}: then and now, on a logarithmic scale", plain(&table.table.name));
    let axis = |values: &mut dyn Iterator<Item = f64>| {
        Axis::over_named(values, unit.text(), |value| format!("{} {}", times(value), unit.text()))
    };
    chart_of(format!("then-{at}"), caption, "here, oscost's median", rows, axis)
}

/// A chart of rows with two points each: then, and now; nothing where no row has either.
fn chart_of(
    id: String,
    caption: String,
    now: &str,
    mut rows: Vec<ThenAndNow>,
    axis: impl Fn(&mut dyn Iterator<Item = f64>) -> Axis,
) -> Option<Chart> {
    rows.retain(|row| row.then.is_some() || row.now.is_some());
    if rows.is_empty() {
        return None;
    }
    let points = |value: &dyn Fn(&ThenAndNow) -> Option<(f64, Option<[f64; 2]>)>| {
        let numbered = rows.iter().enumerate();
        let points = numbered.filter_map(|(number, row)| {
            let (x, interval) = value(row)?;
            let interval = Some(interval.unwrap_or([x; 2]));
            let details = row.details.clone();
            Some(Point { x, y: number as f64, interval, details, ..Point::default() })
        });
        points.collect::<Vec<Point>>()
    };
    let series = [
        Series {
            name: "then".to_owned(),
            colour: Colour::Muted,
            shape: Shape::Symbols(Symbol::OpenDiamond),
            points: points(&|row| Some((row.then?, None))),
        },
        Series {
            name: now.to_owned(),
            points: points(&|row| Some((row.now?, row.interval))),
            ..Series::default()
        },
    ];
    let ids = rows.iter().map(|_| String::new()).collect();
    let names = rows.iter().map(|row| row.name.clone()).collect();
    Some(Chart {
        id,
        caption,
        x: axis(&mut rows.iter().flat_map(|row| [row.then, row.now]).flatten()),
        y: Vertical::Rows(vec![Order::of_rows("as printed", ids, names)]),
        series: series.into_iter().filter(|series| !series.points.is_empty()).collect(),
        marks: Vec::new(),
        band: None,
    })
}

/// A table of a study that compares two places.
fn two(at: usize, laid: &TwoTargetComparison<'_>, table: &TwoTargetTable<'_>) -> Vec<Block> {
    let of = table.table;
    let [base, new] = laid.columns.each_ref().map(|column| plain(&column.name));
    let decimals = crate::report::view::study_ab::decimals;
    let mut rows = Vec::new();
    for row in &table.rows {
        let printed = |side: usize| row.row.published.get(side).and_then(Option::as_ref);
        let mut cells = vec![Cell::text(plain(&row.row.name))];
        for side in [0, 1] {
            let then = printed(side);
            let text = then.map_or("-".to_owned(), |it| plain(&it.text));
            cells.push(Cell::number(text, then.and_then(Published::single)));
        }
        for side in [0, 1] {
            let here = row.statistics[side];
            let text = here.map(|it| statistic(it, decimals(row, table)));
            cells.push(Cell::number(text.unwrap_or("-".to_owned()), here.map(|it| it.mean)));
        }
        let ratio = row.comparison.map(|it| &it.ratio);
        let interval = ratio.and_then(|it| it.ci95);
        cells.push(Cell::number(
            ratio.map_or("-".to_owned(), |it| format!("{:.3}", it.value)),
            ratio.map(|it| it.value),
        ));
        let interval = interval.map(|[low, high]| format!("{low:.3} .. {high:.3}"));
        cells.push(Cell::text(interval.unwrap_or("-".to_owned())));
        cells.push(Cell::text(row.comparison.map_or("-".to_owned(), |it| plain(&it.verdict))));
        rows.push(TableRow { cells, ..TableRow::default() });
    }
    let mut parts = vec![Block::Heading(plain(&format!("{}: {}", of.name, of.title)))];
    parts.extend(ratios_then_and_now(at, table).map(Block::chart));
    parts.push(Block::Table(Table {
        id: format!("study-{at}"),
        caption: format!("{}, in {}", plain(&of.title), of.unit.text()),
        columns: vec![
            Column::text("row"),
            Column::number(&format!("{base}, then"), "base_then"),
            Column::number(&format!("{new}, then"), "new_then"),
            Column::number(&format!("{base}, here"), "base_here"),
            Column::number(&format!("{new}, here"), "new_here"),
            Column::number("ratio of medians", "ratio"),
            Column::text("95 % interval"),
            Column::text("verdict"),
        ],
        rows,
        interactive: true,
        ..Table::default()
    }));
    parts.extend(listed(&crate::report::view::study_ab::notes(laid, table)));
    parts
}

/// How many times as much the second column was, then and now.
fn ratios_then_and_now(at: usize, table: &TwoTargetTable<'_>) -> Option<Chart> {
    let mut rows = Vec::new();
    for row in &table.rows {
        let printed = |side: usize| row.row.published.get(side)?.as_ref()?.single();
        let ratio = printed(1).zip(printed(0)).map(|(new, base)| new / base);
        let ratio = ratio.filter(|it| is_usable(*it));
        let here = row.comparison.map(|it| &it.ratio).filter(|it| is_usable(it.value));
        let text = |when: &str, value: Option<f64>| {
            value.map(|value| format!("{when} {} times as much", times(value)))
        };
        let name = row.row.name.clone();
        let now = here.map(|it| it.value);
        let details = [Some(name.clone()), text("then", ratio), text("here", now)];
        rows.push(ThenAndNow {
            name,
            then: ratio,
            now,
            interval: here.and_then(|it| it.ci95),
            details: details.into_iter().flatten().collect(),
        });
    }
    let caption = format!("{}: the ratios, then and now", plain(&table.table.name));
    let axis = |values: &mut dyn Iterator<Item = f64>| {
        Axis::over_named(values.chain([1.0]), "times as much", times)
    };
    let mut chart = chart_of(format!("then-{at}"), caption, "here", rows, axis)?;
    chart.marks.push(Mark { x: 1.0, text: String::new() });
    Some(chart)
}

/// Claims with their verdicts, and what these stand on.
fn claims(study: &Study, judged: &[JudgedClaim<'_>]) -> Table {
    let line = |judged: &JudgedClaim<'_>| {
        let [then, here] = in_parts(study, judged);
        let parts = |parts: Vec<String>| {
            parts.iter().map(|part| plain(part)).collect::<Vec<_>>().join("; ")
        };
        let verdict = judged.verdict.text();
        let cells = vec![
            Cell::text(plain(&format!(
                "\u{201c}{}\u{201d} ({})",
                judged.claim.statement, judged.claim.location
            ))),
            Cell::text(verdict).styled(match verdict {
                "holds" => "faster",
                "does not hold" => "slower",
                _ => "inconclusive",
            }),
            Cell::text(parts(then)),
            Cell::text(parts(here)),
        ];
        TableRow { cells, ..TableRow::default() }
    };
    Table {
        id: "claims".to_owned(),
        caption: "Claims".to_owned(),
        columns: ["what it says", "here", "its own figures", "this run's"]
            .map(Column::text)
            .into_iter()
            .collect(),
        rows: judged.iter().map(line).collect(),
        interactive: false,
        ..Table::default()
    }
}
