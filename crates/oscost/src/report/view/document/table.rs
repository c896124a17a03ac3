//! Tables: columns, rows and cells.

use oscost_model::point::Point;
use oscost_model::record::Row;
use oscost_model::unit::Unit;

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

/// How a table is written where lines have a width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// A line for each row.
    #[default]
    Grid,
    /// A paragraph for each row, and in it a line for each cell: for cells that are sentences.
    Records,
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
    /// Its heading above short texts, where that differs.
    pub short_title: Option<String>,
    /// Whether a medium without room has taken its short texts.
    pub is_shortened: bool,
    /// Its name in CSV, with the unit.
    pub name: String,
    /// What it holds.
    pub kind: ColumnKind,
    /// What it means, where its heading does not say it.
    pub meaning: Option<String>,
    /// The word that explains it, where its heading is a name; empty where its heading is that word.
    pub word: &'static str,
    /// Whether its cells are words that oscost explains, or several of them.
    pub has_words: bool,
    /// Whether a narrow medium may leave it out.
    pub optional: bool,
    /// The narrowest line that has it, where lines have a width; 0 for all.
    pub min_line: usize,
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
