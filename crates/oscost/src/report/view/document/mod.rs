//! What is to be shown, as plain data: sections of texts, lists, tables and charts.
//!
//! Every kind of report builds a [`View`]; every medium writes one without knowing the kind.

pub mod book;
pub mod chart;
pub mod heat_map;
pub mod timeline;

use std::collections::BTreeMap;

use oscost_model::point::Point;
use oscost_model::record::Row;
use oscost_model::unit::Unit;

use self::chart::Chart;
use self::heat_map::HeatMap;
use self::timeline::Timeline;

/// A report.
#[derive(Default)]
pub struct View {
    /// What it is called.
    pub title: String,
    /// What was measured, where and when.
    pub lead: Vec<Paragraph>,
    /// What was found; `None` of a report that finds nothing.
    pub answer: Option<Answer>,
    /// Its sections, in order.
    pub sections: Vec<Section>,
    /// The explanations of benchmarks, by id.
    pub explanations: BTreeMap<String, Vec<Section>>,
}

/// The answer of a report. A page and a file begin with it; on a terminal it comes last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// What was found, in sentences.
    pub findings: Vec<String>,
    /// How far to trust it, and why no further; `None` where nothing is known of that.
    pub trust: Option<String>,
    /// What to do next, in sentences.
    pub next: Vec<String>,
}

impl Answer {
    /// Its texts in order, a paragraph each.
    pub fn paragraphs(&self) -> impl Iterator<Item = &str> {
        self.findings.iter().chain(&self.trust).chain(&self.next).map(String::as_str)
    }
}

/// A text of its own lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paragraph {
    /// The text.
    pub text: String,
    /// How far lines after the first are indented, where lines have a width.
    pub hanging: usize,
}

impl View {
    /// A report of sections alone.
    pub fn of(sections: Vec<Section>) -> Self {
        Self { sections, ..Self::default() }
    }

    /// A report of one sentence.
    pub fn sentence(text: impl Into<String>) -> Self {
        Self { lead: vec![Paragraph::from(text.into())], ..Self::default() }
    }

    /// The report as a document of its own: with a title, and with sections to jump to. One that
    /// has no title gets this one there.
    #[must_use]
    pub fn as_page(mut self, title: impl Into<String>, untitled: &str) -> Self {
        self.title = title.into();
        for (at, section) in self.sections.iter_mut().enumerate() {
            if section.id.is_empty() {
                section.id = format!("part-{}", at + 1);
            }
            if section.title.is_empty() {
                section.title = untitled.to_owned();
                section.title_is_for_navigation = true;
            }
        }
        self
    }

    /// The report with one more finding, if there is one and the report has an answer.
    #[must_use]
    pub fn with_finding(mut self, finding: Option<String>) -> Self {
        if let Some(answer) = &mut self.answer {
            answer.findings.extend(finding);
        }
        self
    }
}

/// A part of a report, with a name to jump to.
#[derive(Default)]
pub struct Section {
    /// Its anchor, a constant.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Whether a medium without navigation leaves the title out, because the place says it.
    pub title_is_for_navigation: bool,
    /// Its content.
    pub blocks: Vec<Block>,
}

impl Section {
    /// Blocks under a title; without a title where that is empty.
    pub fn of(title: impl Into<String>, blocks: impl IntoIterator<Item = Block>) -> Self {
        let (title, blocks) = (title.into(), blocks.into_iter().collect());
        Self { title, blocks, ..Self::default() }
    }
}

/// What sections consist of.
pub enum Block {
    /// A paragraph.
    Text(String),
    /// A smaller title.
    Heading(String),
    /// Independent sentences.
    List(Vec<Item>),
    /// What a medium may fold away until it is asked for.
    Details(Details),
    /// Names and their values.
    Facts(Vec<Fact>),
    /// Lines whose layout is part of their meaning.
    Preformatted(String),
    /// A table.
    Table(Table),
    /// Ratios with their intervals.
    Forest(ForestPlot),
    /// Curves.
    LogPlot(LogPlot),
    /// Figures of successive runs.
    Timeline(Box<Timeline>),
    /// A chart.
    Chart(Box<Chart>),
    /// Ratios by rows and columns.
    HeatMap(Box<HeatMap>),
}

/// Sentences that most readers do not need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Details {
    /// What they are about.
    pub title: String,
    /// The sentences.
    pub items: Vec<Item>,
}

/// A name and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// The name; empty if the value continues the one above it.
    pub name: String,
    /// The value.
    pub value: String,
    /// Whether the value is a command, which can be copied to a shell.
    pub is_command: bool,
}

impl Fact {
    /// A fact in words.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into(), is_command: false }
    }

    /// A fact that is a command.
    pub fn command(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { is_command: true, ..Self::new(name, value) }
    }
}

/// Curves, both scales logarithmic.
#[derive(Clone, Debug)]
pub struct LogPlot {
    /// The curves.
    pub lines: Vec<PlotLine>,
    /// What they are over.
    pub by: String,
    /// The unit of their figures.
    pub unit: Unit,
}

/// A curve.
#[derive(Clone, Debug)]
pub struct PlotLine {
    /// The values that distinguish it from the others.
    pub label: String,
    /// Its points by ascending `x`.
    pub points: Vec<PlotPoint>,
}

/// A point of a curve; both coordinates are above zero.
#[derive(Clone, Copy, Debug)]
pub struct PlotPoint {
    /// The size or number.
    pub x: u64,
    /// The figure.
    pub y: f64,
}

/// Ratios with their intervals, a line each, on a logarithmic scale around 1.
#[derive(Clone, Debug)]
pub struct ForestPlot {
    /// Its anchor, a constant.
    pub id: String,
    /// What it shows.
    pub caption: String,
    /// The ratio within which two figures are called equivalent.
    pub margin: Option<f64>,
    /// The ratios.
    pub lines: Vec<ForestLine>,
}

/// A ratio.
#[derive(Clone, Debug)]
pub struct ForestLine {
    /// The anchor of its row in a table.
    pub row: String,
    /// What it is of.
    pub name: String,
    /// New over base.
    pub ratio: f64,
    /// The interval.
    pub interval: Option<[f64; 2]>,
    /// The verdict.
    pub verdict: String,
    /// What is written beside its symbol: the ratio, and what is added.
    pub figure: String,
    /// How much it matters among the ratios of its plot, as that of its row.
    pub priority: u32,
}

impl Block {
    /// A chart.
    pub fn chart(chart: Chart) -> Self {
        Self::Chart(Box::new(chart))
    }

    /// A list; `None` if it has no items.
    pub fn list<T: Into<Item>>(items: impl IntoIterator<Item = T>) -> Option<Self> {
        let items: Vec<Item> = items.into_iter().map(Into::into).collect();
        (!items.is_empty()).then_some(Self::List(items))
    }

    /// Details under a title; `None` if there are none.
    pub fn details<T: Into<Item>>(title: &str, items: impl IntoIterator<Item = T>) -> Option<Self> {
        let items: Vec<Item> = items.into_iter().map(Into::into).collect();
        (!items.is_empty()).then(|| Self::Details(Details { title: title.to_owned(), items }))
    }
}

/// An item of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The cases it is about; empty if the text names them.
    pub cases: Vec<String>,
    /// The text.
    pub text: String,
}

impl Item {
    /// Its cases in short: a medium with room lists them all.
    pub fn cases_in_short(&self) -> String {
        match &self.cases[..] {
            [] => String::new(),
            [case] => case.clone(),
            [first, others @ ..] => format!("{first} and {} more", others.len()),
        }
    }
}

impl From<String> for Item {
    fn from(text: String) -> Self {
        Self { cases: Vec::new(), text }
    }
}

impl From<String> for Paragraph {
    fn from(text: String) -> Self {
        Self { text, hanging: 2 }
    }
}

/// How a table is written where lines have a width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// A line for each row.
    #[default]
    Grid,
    /// A paragraph for each row, and in it a line for each cell: for cells that are sentences.
    Records,
}

/// A table. The first column names its rows.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Its anchor, a constant.
    pub id: String,
    /// Its caption; empty if the heading above it is enough.
    pub caption: String,
    /// Its columns. Where no row has anything in one, it is left out.
    pub columns: Vec<Column>,
    /// Its rows.
    pub rows: Vec<TableRow>,
    /// What its columns and marks mean.
    pub notes: Vec<String>,
    /// How it is written where lines have a width.
    pub layout: Layout,
    /// Whether neighbouring rows with the same name belong together, so that a medium without sorting
    /// may write the name once.
    pub rows_share_names: bool,
    /// Whether a reader may want to sort, filter and copy it.
    pub interactive: bool,
    /// The scale of the marks of its rows, which a wide medium draws beside it.
    pub scale: Option<RowScale>,
}

/// A logarithmic scale of the rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowScale {
    /// Figures in this unit.
    Figures(Unit),
    /// Ratios around 1.
    Ratios,
}

/// A figure of a row on the scale of its table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowMark {
    /// The figure.
    pub value: f64,
    /// Its interval.
    pub interval: Option<[f64; 2]>,
}

impl Table {
    /// The table without the columns in which no row has a figure or a text.
    #[must_use]
    pub fn without_empty_columns(mut self) -> Self {
        let is_filled = |row: &TableRow, at: usize| {
            row.cells.get(at).is_some_and(|cell| !matches!(cell.text.as_str(), "" | "-"))
        };
        let keep: Vec<bool> = (0..self.columns.len())
            .map(|at| at == 0 || self.rows.iter().any(|row| is_filled(row, at)))
            .collect();
        let mut kept = keep.iter();
        self.columns.retain(|_| kept.next().is_none_or(|keep| *keep));
        for row in &mut self.rows {
            let mut kept = keep.iter();
            row.cells.retain(|_| kept.next().is_none_or(|keep| *keep));
        }
        self
    }

    /// Whether anything follows it.
    pub fn has_notes(&self) -> bool {
        !self.notes.is_empty() || self.columns.iter().any(|column| column.meaning.is_some())
    }
}

/// What a column holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColumnKind {
    /// Text.
    #[default]
    Text,
    /// Sentences, in the last column: a medium breaks their lines.
    Prose,
    /// Text in the last column, of which a narrow medium may show the beginning only.
    Excerpt,
    /// One of a few words: rows are filtered by them.
    Choice,
    /// Numbers.
    Number,
}

/// A column.
#[derive(Clone, Debug, Default)]
pub struct Column {
    /// Its heading.
    pub title: String,
    /// Its name in CSV, with the unit.
    pub name: String,
    /// What it holds.
    pub kind: ColumnKind,
    /// What it means, where its heading does not say it.
    pub meaning: Option<String>,
    /// Whether its cells are words that oscost explains, or several of them.
    pub has_words: bool,
    /// Whether a narrow medium may leave it out.
    pub optional: bool,
    /// The narrowest line that has it, where lines have a width; 0 for all.
    pub min_line: usize,
}

/// A row of a table.
#[derive(Clone, Debug, Default)]
pub struct TableRow {
    /// Its anchor, which points of charts refer to; empty for none.
    pub id: String,
    /// The benchmark to explain when its name is pressed; empty for none.
    pub benchmark: String,
    /// Its cells, in the order of the columns.
    pub cells: Vec<Cell>,
    /// Sentences about it.
    pub notes: Vec<String>,
    /// Its figure on the scale of the table; `None` if it has none there.
    pub mark: Option<RowMark>,
    /// How much it matters among the rows of its table: where there is room for a few, those of the
    /// highest are shown. 0 in all rows of a table that is always whole.
    pub priority: u32,
}

impl TableRow {
    /// A row of cells alone.
    pub fn of(cells: Vec<Cell>) -> Self {
        Self { cells, ..Self::default() }
    }
}

/// A cell.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// As it is read.
    pub text: String,
    /// The same in fewer letters, for a medium without room for the whole.
    pub short: Option<String>,
    /// The parts of a text that has several; empty for one.
    pub parts: Vec<String>,
    /// As it is sorted and copied, where that differs.
    pub value: Option<String>,
    /// Its style, a constant; empty for none.
    pub style: &'static str,
    /// The case that it names, where it names one: a medium may leave out what rows share.
    pub case: Option<CaseName>,
    /// The parts of a bar, one after the other. The text says the same, for a medium without bars.
    /// Empty for none.
    pub bar: Vec<BarPart>,
}

/// A part of a bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BarPart {
    /// Its style, a constant.
    pub style: &'static str,
    /// Its share of the bar, from 0 to 1.
    pub share: f64,
}

impl BarPart {
    /// Its width in per cent.
    pub fn width_pct(&self) -> String {
        format!("{:.1}", 100.0 * self.share)
    }
}

/// A case in its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseName {
    /// `family/name`.
    pub benchmark: String,
    /// The values of its axes.
    pub point: Point,
}

impl CaseName {
    /// The family of its benchmark.
    pub fn family(&self) -> &str {
        self.benchmark.split_once('/').map_or(&self.benchmark, |(family, _)| family)
    }
}

impl Column {
    /// A column of text.
    pub fn text(title: &str) -> Self {
        let name = title.replace(' ', "_");
        Self { title: title.to_owned(), name, ..Self::default() }
    }

    /// A column of sentences.
    pub fn prose(title: &str) -> Self {
        Self { kind: ColumnKind::Prose, ..Self::text(title) }
    }

    /// A column of texts of which the beginning may do.
    pub fn excerpt(title: &str) -> Self {
        Self { kind: ColumnKind::Excerpt, ..Self::text(title) }
    }

    /// A column of few words.
    pub fn choice(title: &str) -> Self {
        Self { kind: ColumnKind::Choice, ..Self::words(title) }
    }

    /// A column of words that oscost explains.
    pub fn words(title: &str) -> Self {
        Self { has_words: true, ..Self::text(title) }
    }

    /// A column of numbers, as CSV names it.
    pub fn number(title: &str, name: &str) -> Self {
        Self { name: name.to_owned(), kind: ColumnKind::Number, ..Self::text(title) }
    }

    /// The same column, left out of lines that are narrower than this.
    #[must_use]
    pub fn in_lines_of(self, min_line: usize) -> Self {
        Self { min_line, ..self }
    }

    /// Whether it holds numbers.
    pub fn is_number(&self) -> bool {
        self.kind == ColumnKind::Number
    }

    /// Whether rows are filtered by its words.
    pub fn is_choice(&self) -> bool {
        self.kind == ColumnKind::Choice
    }
}

impl Cell {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A number, as it is read and to its last digit.
    pub fn number(text: impl Into<String>, value: Option<f64>) -> Self {
        // An unknown value is empty, and never 0.
        let value = Some(value.map(|value| value.to_string()).unwrap_or_default());
        Self { text: text.into(), value, ..Self::default() }
    }

    /// Several sentences.
    pub fn parts(parts: Vec<String>) -> Self {
        Self { text: parts.join("; "), parts, ..Self::default() }
    }

    /// The same with a shorter text.
    pub fn or_short(self, short: String) -> Self {
        Self { short: Some(short), ..self }
    }

    /// The case of a row.
    pub fn case(row: &Row) -> Self {
        let name = CaseName { benchmark: row.benchmark.clone(), point: row.point.clone() };
        Self { case: Some(name), ..Self::text(&row.case) }
    }

    /// A bar with its text alternative.
    pub fn bar(parts: Vec<BarPart>, text: String) -> Self {
        Self { bar: parts, ..Self::text(text) }
    }

    /// The same cell with a style.
    pub fn with_style(self, style: &'static str) -> Self {
        Self { style, ..self }
    }
}
