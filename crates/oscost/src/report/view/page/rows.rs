//! The rows of a run on a page: their names, their families, and their table.

use std::collections::{BTreeMap, BTreeSet};

use oscost_model::counters::{CPI, GHZ, INSN};
use oscost_model::record::{Record, Row, RowOutcome};

use crate::report::figures::per_cent;
use crate::report::text::plain;
use crate::report::view::document::{Block, Cell, Column, Section, Table, TableRow};
use crate::report::view::page::work_bar::{self, WorkBars};
use crate::report::view::run::counters;
use crate::report::view::run::row::{
    class_style, entries, family, figure, floor, is_requested, spread_pct,
};

/// A row, and its index in the record.
#[derive(Clone, Copy)]
pub(super) struct IndexedRow<'a> {
    pub(super) index: usize,
    pub(super) row: &'a Row,
}

/// The requested rows of a run.
pub(super) struct Rows<'a> {
    /// The rows.
    pub(super) requested: Vec<IndexedRow<'a>>,
    /// Whether they were measured at several targets, or with peers on other machines.
    several_targets: bool,
}

impl<'a> Rows<'a> {
    pub(super) fn of(record: &'a Record) -> Self {
        let rows = record.results.iter().enumerate().map(|(index, row)| IndexedRow { index, row });
        let requested: Vec<IndexedRow<'_>> = rows.filter(|it| is_requested(it.row)).collect();
        let target = |row: &'a Row| (&row.target.text, &row.target.peer);
        let targets: BTreeSet<_> = requested.iter().map(|it| target(it.row)).collect();
        Self { several_targets: targets.len() > 1, requested }
    }

    /// Those with a figure.
    pub(super) fn measured_rows(&self) -> impl Iterator<Item = IndexedRow<'a>> {
        let is_measured = |row: &Row| row.outcome == RowOutcome::Measured && row.estimate.is_some();
        self.requested.iter().copied().filter(move |it| is_measured(it.row))
    }

    /// Those with a figure by family, in the order of the first of each.
    pub(super) fn by_family(&self) -> Vec<(&'a str, Vec<IndexedRow<'a>>)> {
        let mut found: Vec<(&str, Vec<IndexedRow<'_>>)> = Vec::new();
        let mut known: BTreeMap<&str, usize> = BTreeMap::new();
        for it in self.measured_rows() {
            let name = family(it.row);
            let at = *known.entry(name).or_insert(found.len());
            if at == found.len() {
                found.push((name, Vec::new()));
            }
            found[at].1.push(it);
        }
        found
    }

    /// The name of a row.
    pub(super) fn name(&self, row: &Row) -> String {
        match self.several_targets {
            true => format!("{} @ {}", row.case, target(row)),
            false => row.case.clone(),
        }
    }
}

/// Where a row was measured.
fn target(row: &Row) -> String {
    let text = &row.target.text;
    row.target.peer.as_ref().map_or(text.clone(), |peer| format!("{text} to {peer}"))
}

/// The anchor of a row.
pub(super) fn id(index: usize) -> String {
    format!("r{index}")
}

/// The table of all rows, including those without a figure; `None` if there are none.
pub(super) fn section(rows: &Rows<'_>, record: &Record) -> Option<Section> {
    let others = record.results.len() - rows.requested.len();
    let mut parts = Vec::new();
    parts.extend((!rows.requested.is_empty()).then(|| Block::Table(table(rows, record))));
    if others > 0 {
        parts.push(Block::Text(format!(
            "{others} more rows were measured as reference cases or as parts of floors: they are in \
             the record and the exports."
        )));
    }
    let title = "The figures".to_owned();
    (!parts.is_empty()).then(|| Section {
        id: "table".to_owned(),
        title,
        blocks: parts,
        ..Section::default()
    })
}

/// The table. A target or outcome that all rows share is in the caption instead of a column.
fn table(rows: &Rows<'_>, record: &Record) -> Table {
    let bars = WorkBars::of(record);
    let mut columns = columns();
    let mut lines: Vec<TableRow> = rows.requested.iter().map(|&row| line(row, &bars)).collect();
    let mut caption = "Every requested row".to_owned();
    for title in ["outcome", "target"] {
        let Some(index) = columns.iter().position(|column| column.title == title) else { continue };
        let first = lines.first().map(|line| line.cells[index].text.clone()).unwrap_or_default();
        if lines.iter().all(|line| line.cells[index].text == first) {
            columns.remove(index);
            lines.iter_mut().for_each(|line| drop(line.cells.remove(index)));
            caption.push_str(&format!("; {title}: {first}"));
        }
    }
    if rows.requested.iter().all(|it| has_own_interval_only(it.row)) {
        for (between, within) in
            [("between_run_ci95_low", "ci95_low"), ("between_run_ci95_high", "ci95_high")]
        {
            let at = |name: &str| columns.iter().position(|column| column.name == name);
            let (Some(kept), Some(index)) = (at(between), at(within)) else { continue };
            columns[kept].name = within.to_owned();
            columns.remove(index);
            lines.iter_mut().for_each(|line| drop(line.cells.remove(index)));
        }
        caption.push_str("; intervals are what the repetitions of this run leave open");
    } else {
        let alone = rows.requested.iter().filter(|it| lacks_interval_between_runs(it.row)).count();
        caption.push_str(&match alone {
            0 => String::new(),
            1 => "; of 1 row both intervals are that of this run".to_owned(),
            alone => format!("; of {alone} rows both intervals are that of this run"),
        });
    }
    // Where nothing was counted there is no column for it.
    for name in [INSN, CPI, GHZ, work_bar::COLUMN] {
        let Some(index) = columns.iter().position(|column| column.name == name) else { continue };
        if lines.iter().all(|line| line.cells[index].text.is_empty()) {
            columns.remove(index);
            lines.iter_mut().for_each(|line| drop(line.cells.remove(index)));
        }
    }
    Table {
        id: "rows".to_owned(),
        caption,
        columns,
        rows: lines,
        interactive: true,
        ..Table::default()
    }
}

/// Whether nothing is known of how the figure of a row varies between runs.
fn has_own_interval_only(row: &Row) -> bool {
    let estimate = row.estimate.as_ref();
    estimate.is_none_or(|it| it.between_run_ci95.is_none() || it.between_run_ci95 == it.ci95)
}

/// Whether a row has the interval of its run alone.
fn lacks_interval_between_runs(row: &Row) -> bool {
    let estimate = row.estimate.as_ref().filter(|_| row.outcome == RowOutcome::Measured);
    estimate.is_some_and(|it| it.ci95.is_some() && it.between_run_ci95.is_none())
}

fn columns() -> Vec<Column> {
    vec![
        Column::text("case"),
        Column::choice("target"),
        Column::choice("outcome"),
        Column::number("per op", "median"),
        Column::words("unit"),
        Column::number("95 % low", "between_run_ci95_low"),
        Column::number("95 % high", "between_run_ci95_high"),
        Column::number("this run: low", "ci95_low"),
        Column::number("high", "ci95_high"),
        Column::number("repetitions", "repetitions"),
        Column::number("spread", "spread_pct"),
        Column::number("insn", INSN),
        Column::number("cycles per insn", CPI),
        Column::number("GHz", GHZ),
        work_bar::column(),
        Column::choice("class"),
        Column::number("entries", "kernel_entries"),
        Column::number("floor", "floor"),
        Column::words("flags"),
    ]
}

fn line(IndexedRow { index, row }: IndexedRow<'_>, bars: &WorkBars<'_>) -> TableRow {
    let estimate = row.estimate.as_ref().filter(|_| row.outcome == RowOutcome::Measured);
    let shown = figure(row).filter(|_| estimate.is_some());
    let end = |texts: Option<&[String; 2]>, values: Option<[f64; 2]>, which: usize| {
        let text = texts.map_or("-", |ends| ends[which].as_str());
        Cell::number(text, values.map(|ends| ends[which]))
    };
    let between_runs = |which| {
        let values = estimate.and_then(|it| it.between_run_ci95.or(it.ci95));
        end(shown.as_ref().and_then(|it| it.interval.as_ref()), values, which)
    };
    let within_run = |which| {
        let values = estimate.and_then(|it| it.ci95);
        end(shown.as_ref().and_then(|it| it.within_run.as_ref()), values, which)
    };
    let n = estimate.map(|it| it.repetitions);
    let spread = estimate.and_then(|_| spread_pct(row));
    let counted = row.calls.as_ref();
    let counted = counted.map(|calls| calls.per_op.values().fold(0.0, |sum, times| sum + times));
    let floor_value = row.floor.as_ref().and_then(|floor| floor.value);
    let reason = row.reason.as_deref().map(plain);
    let outcome = Cell::text(row.outcome.text());
    let why = reason.into_iter().filter(|_| estimate.is_none());
    let notes: Vec<String> = why.chain(row.flags.iter().map(|flag| plain(flag))).collect();
    let ghz = counters::median(row, GHZ);
    let cells = vec![
        Cell::text(plain(&row.case)),
        Cell::text(plain(&target(row))),
        if estimate.is_some() { outcome } else { outcome.with_style("bad") },
        Cell::number(
            shown.as_ref().map_or("-", |figure| figure.text.as_str()),
            estimate.map(|it| it.median),
        ),
        Cell::text(row.unit.text()),
        between_runs(0),
        between_runs(1),
        within_run(0),
        within_run(1),
        Cell::number(n.map_or("-".to_owned(), |n| n.to_string()), n.map(f64::from)),
        Cell::number(spread.map_or("-".to_owned(), per_cent), spread),
        Cell::number(counters::insn(row), counters::median(row, INSN)),
        Cell::number(counters::cpi(row), counters::median(row, CPI)),
        Cell::number(ghz.map(|ghz| format!("{ghz:.2}")).unwrap_or_default(), ghz),
        bars.cell(row),
        Cell::text(row.class.as_deref().map_or("-".to_owned(), plain)).with_style(class_style(row)),
        Cell::number(entries(row), counted),
        Cell::number(floor(row).unwrap_or("-".to_owned()), floor_value),
        Cell::text(notes.join(" ")).with_style("small"),
    ];
    TableRow { id: id(index), benchmark: row.benchmark.clone(), ..TableRow::of(cells) }
}

/// A word that may be part of an anchor.
pub(super) fn anchor(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(40).collect()
}
