//! A table for other programs: columns, each with what it means and where it is read, and lines.

use std::borrow::Cow;

use oscost_model::record::{Comparison, Conditions, Estimate, Machine, PRIMARY, Record, Row};
use oscost_model::unit::{Better, Unit};

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8.
    Text,
    /// A finite double.
    Float,
    /// A whole number of 64 bits.
    Integer,
    /// True or false.
    Boolean,
}

impl Kind {
    /// Its name in docs/reference/EXPORTS.md.
    pub fn text(self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::Float => "float",
            Kind::Integer => "integer",
            Kind::Boolean => "boolean",
        }
    }
}

/// The value of a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// Unknown, or not applicable.
    Unknown,
    /// Text.
    Text(Cow<'a, str>),
    /// A finite number.
    Float(f64),
    /// A whole number.
    Integer(i64),
    /// True or false.
    Boolean(bool),
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Value::Text(Cow::Borrowed(text))
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Self {
        Value::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Value::Text(Cow::Owned(text))
    }
}

impl From<f64> for Value<'_> {
    fn from(number: f64) -> Self {
        // As in the record: a value that is not finite is unknown.
        if number.is_finite() { Value::Float(number) } else { Value::Unknown }
    }
}

impl From<u32> for Value<'_> {
    fn from(number: u32) -> Self {
        Value::Integer(number.into())
    }
}

impl From<u64> for Value<'_> {
    fn from(number: u64) -> Self {
        // No count is that large; a record from another user may contain such a number.
        i64::try_from(number).map_or(Value::Unknown, Value::Integer)
    }
}

impl From<bool> for Value<'_> {
    fn from(truth: bool) -> Self {
        Value::Boolean(truth)
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Unknown, Into::into)
    }
}

/// The heading of a column.
#[derive(Clone, Copy, Debug)]
pub struct Heading {
    /// Its name, with the unit where that is the same in every line.
    pub name: &'static str,
    /// The type of its values.
    pub kind: Kind,
    /// The meaning of its values, as a phrase that can follow "is".
    pub means: &'static str,
    /// When a cell is empty; `None` where it never is.
    pub unknown: Option<&'static str>,
}

/// A heading, as tables of constants write it.
pub(super) const fn heading(
    name: &'static str,
    kind: Kind,
    means: &'static str,
    unknown: Option<&'static str>,
) -> Heading {
    Heading { name, kind, means, unknown }
}

/// A table for other programs, whatever its lines are of: what a medium writes.
pub trait Cells {
    /// What its columns are, with a version: a new column keeps it, a changed meaning does not.
    fn schema(&self) -> &'static str;

    /// The ids of the records that it is of, parted by spaces.
    fn records(&self) -> &str;

    /// The headings of its columns, in order.
    fn headings(&self) -> Vec<Heading>;

    /// How many lines it has.
    fn line_count(&self) -> usize;

    /// The cell of a line in a column; both exist.
    fn cell(&self, line: usize, column: usize) -> Value<'_>;
}

/// A column: the one place that says what it is called, what it means and where it is read.
#[derive(Debug)]
pub struct Column {
    /// Its name, with the unit where that is the same in every line.
    pub name: &'static str,
    /// The type of its values.
    pub kind: Kind,
    /// The meaning of its values, as a phrase that can follow "is".
    pub means: &'static str,
    /// When a cell is empty; `None` where it never is.
    pub unknown: Option<&'static str>,
    pub(super) read: for<'a> fn(&Line<'a>) -> Value<'a>,
}

impl Column {
    /// Its heading.
    pub(super) fn heading(&self) -> Heading {
        let Self { name, kind, means, unknown, .. } = *self;
        Heading { name, kind, means, unknown }
    }
}

/// A figure of a row: its own, or a further metric.
#[derive(Clone, Copy)]
pub(super) struct Side<'a> {
    /// The runs that it is of: one, unless several a side were compared.
    pub(super) runs: &'a [Record],
    pub(super) row: &'a Row,
    /// `primary`, or the name of the metric.
    pub(super) metric: &'a str,
    pub(super) unit: Unit,
    pub(super) better: Better,
    pub(super) estimate: Option<&'a Estimate>,
}

impl<'a> Side<'a> {
    pub(super) fn primary(runs: &'a [Record], row: &'a Row) -> Self {
        let estimate = row.estimate.as_ref();
        Self { runs, row, metric: PRIMARY, unit: row.unit, better: row.better, estimate }
    }

    /// All figures of a row, its own first.
    pub(super) fn all(runs: &'a [Record], row: &'a Row) -> impl Iterator<Item = Self> {
        let own = Self::primary(runs, row);
        // The primary metric is the row's own figure, which is already in the list.
        let further =
            row.metrics.iter().filter(|(name, _)| row.primary_metric.as_ref() != Some(name));
        let further = further.map(move |(metric, it)| Self {
            metric,
            unit: it.unit,
            better: it.better,
            estimate: Some(&it.estimate),
            ..own
        });
        std::iter::once(own).chain(further)
    }

    /// The figure that a comparison is of.
    pub(super) fn compared(runs: &'a [Record], row: &'a Row, it: &'a Comparison) -> Self {
        let own = Self::primary(runs, row);
        if it.metric == PRIMARY {
            return own;
        }
        let (metric, unit) = (it.metric.as_str(), it.added.unit);
        match row.metrics.get(metric) {
            Some(it) => {
                let (better, estimate) = (it.better, Some(&it.estimate));
                Self { metric, unit: it.unit, better, estimate, ..own }
            }
            None => Self { metric, unit, better: unit.better(), estimate: None, ..own },
        }
    }

    pub(super) fn run(&self) -> Option<&'a Record> {
        self.runs.first()
    }

    /// The ids of its runs.
    pub(super) fn ids(&self) -> String {
        spaced(self.runs.iter().map(|run| run.id.as_str()))
    }

    pub(super) fn machine(&self) -> Option<&'a Machine> {
        let id = &self.row.target.machine;
        self.run()?.machines.iter().find(|it| it.id == *id)
    }

    pub(super) fn conditions(&self) -> Option<&'a Conditions> {
        let id = &self.row.target.machine;
        self.run()?.conditions.iter().find(|it| it.machine == *id)
    }

    pub(super) fn cpu_model(&self) -> Option<&'a str> {
        self.machine()?.cpu.model_name.as_deref()
    }

    pub(super) fn kernel(&self) -> Option<&'a str> {
        self.machine()?.os.release.as_deref()
    }

    pub(super) fn run_class(&self) -> Option<&'a str> {
        self.conditions()?.class.as_deref()
    }

    pub(super) fn median(&self) -> Option<f64> {
        Some(self.estimate?.median)
    }

    pub(super) fn ci95_low(&self) -> Option<f64> {
        Some(self.estimate?.ci95?[0])
    }

    pub(super) fn ci95_high(&self) -> Option<f64> {
        Some(self.estimate?.ci95?[1])
    }
}

/// A line: a figure, or two of them compared.
pub(super) struct Line<'a> {
    /// The figure; of a comparison, the new one.
    pub(super) new: Side<'a>,
    pub(super) comparison: Option<LineComparison<'a>>,
}

/// What a figure was compared with.
pub(super) struct LineComparison<'a> {
    pub(super) base: Side<'a>,
    pub(super) it: &'a Comparison,
}

impl<'a> Line<'a> {
    /// Something of the base; unknown in a line that compares nothing.
    pub(super) fn base<T: Into<Value<'a>>>(&self, read: impl Fn(&Side<'a>) -> T) -> Value<'a> {
        self.comparison.as_ref().map(|comparison| read(&comparison.base)).into()
    }

    /// Something of the comparison.
    pub(super) fn compared<T: Into<Value<'a>>>(
        &self,
        read: impl Fn(&'a Comparison) -> T,
    ) -> Value<'a> {
        self.comparison.as_ref().map(|comparison| read(comparison.it)).into()
    }

    /// A value of the figure's estimate.
    pub(super) fn estimate<T: Into<Value<'a>>>(
        &self,
        read: impl Fn(&'a Estimate) -> T,
    ) -> Value<'a> {
        self.new.estimate.map(read).into()
    }
}

/// A table: its columns and its lines.
pub struct Sheet<'a> {
    /// What its columns are, with a version: a new column keeps it, a changed meaning does not.
    pub schema: &'static str,
    /// The columns, in order.
    pub columns: &'static [Column],
    /// The ids of the runs that it is of, parted by spaces.
    pub runs: String,
    pub(super) lines: Vec<Line<'a>>,
}

impl<'a> Sheet<'a> {
    /// How many lines it has.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The cells of a line, in the order of the columns.
    pub fn line(&self, at: usize) -> impl Iterator<Item = Value<'a>> {
        self.columns.iter().map(move |column| (column.read)(&self.lines[at]))
    }
}

impl Cells for Sheet<'_> {
    fn schema(&self) -> &'static str {
        self.schema
    }

    fn records(&self) -> &str {
        &self.runs
    }

    fn headings(&self) -> Vec<Heading> {
        self.columns.iter().map(Column::heading).collect()
    }

    fn line_count(&self) -> usize {
        self.len()
    }

    fn cell(&self, line: usize, column: usize) -> Value<'_> {
        (self.columns[column].read)(&self.lines[line])
    }
}

/// Words in one cell.
pub(super) fn spaced<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(" ")
}
