//! What is to be shown, as plain data: sections of texts, lists, tables and charts.
//!
//! Every kind of report builds a [`View`]; every medium writes one without knowing the kind.

pub mod book;
pub mod chart;
pub mod heat_map;
mod plots;
mod table;
pub mod timeline;

use std::collections::BTreeMap;

use self::chart::Chart;
use self::heat_map::HeatMap;
pub use self::plots::{ForestLine, ForestPlot, LogPlot, PlotLine, PlotPoint};
pub use self::table::{
    BarPart, CaseName, Cell, Column, ColumnKind, Layout, RowMark, RowScale, Table, TableRow,
};
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
    /// Where a terminal shows that.
    pub answer_place: AnswerPlace,
    /// Its sections, in order.
    pub sections: Vec<Section>,
    /// The explanations of benchmarks, by id.
    pub explanations: BTreeMap<String, Vec<Section>>,
}

/// Where a terminal shows the answer of a report. A page and a file begin with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnswerPlace {
    /// Last, below tables that a reader scrolls over.
    #[default]
    Last,
    /// First; what to do next stands before the section of this number, where the details begin.
    First {
        /// The number of that section, or of all.
        next_before: usize,
    },
}

/// The answer of a report.
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
    /// Its anchor, without text from outside.
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

    /// Whether a column of facts is too narrow for its value.
    pub fn is_long(&self) -> bool {
        /// Three lines of such a column.
        const MAX_CHARS: usize = 90;
        self.value.chars().count() > MAX_CHARS
    }

    /// A fact that is a command.
    pub fn command(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { is_command: true, ..Self::new(name, value) }
    }
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
    /// The style of its words before the first colon, a constant; empty for none.
    pub style: &'static str,
}

impl Item {
    /// The same item with a style.
    #[must_use]
    pub fn with_style(self, style: &'static str) -> Self {
        Self { style, ..self }
    }

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
        Self { cases: Vec::new(), text, style: "" }
    }
}

impl From<String> for Paragraph {
    fn from(text: String) -> Self {
        Self { text, hanging: 2 }
    }
}
