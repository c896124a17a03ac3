//! What is to be shown, as plain data: a page of sections made of texts, lists, tables and charts.
//!
//! Every kind of report builds one of these; every medium draws it without knowing the kind.

use std::collections::BTreeMap;

use crate::report::view::chart::Chart;

/// A page.
#[derive(Default)]
pub(in crate::report) struct Page {
    /// What it is called.
    pub(in crate::report) title: String,
    /// What it is of, a sentence each.
    pub(in crate::report) lead: Vec<String>,
    /// Its parts.
    pub(in crate::report) sections: Vec<Section>,
    /// What `oscost explain` says of benchmarks, by id.
    pub(in crate::report) explained: BTreeMap<String, String>,
}

/// A part of a page, with a name to jump to.
pub(in crate::report) struct Section {
    /// Its reference case: a word of ours.
    pub(in crate::report) id: String,
    /// What stands above it.
    pub(in crate::report) title: String,
    /// What is in it.
    pub(in crate::report) parts: Vec<Part>,
}

/// What sections are made of.
pub(in crate::report) enum Part {
    /// A paragraph.
    Text(String),
    /// A smaller title.
    Title(String),
    /// Sentences that stand by themselves.
    List(Vec<String>),
    /// Names and what is known of them.
    Facts(Vec<(String, String)>),
    /// Lines that keep their places, as on a terminal.
    Lines(String),
    /// A table.
    Table(Table),
    /// A chart.
    Chart(Box<Chart>),
}

impl Part {
    /// A chart.
    pub(in crate::report) fn chart(chart: Chart) -> Self {
        Self::Chart(Box::new(chart))
    }
}

/// A table.
#[derive(Debug)]
pub(in crate::report) struct Table {
    /// Its reference case: a word of ours.
    pub(in crate::report) id: String,
    /// What it is of.
    pub(in crate::report) caption: String,
    /// Its columns.
    pub(in crate::report) columns: Vec<Column>,
    /// Its rows.
    pub(in crate::report) rows: Vec<Line>,
    /// Whether it sorts, filters and copies; what is short is only read.
    pub(in crate::report) is_tool: bool,
}

/// A column.
#[derive(Debug)]
pub(in crate::report) struct Column {
    /// What stands above it.
    pub(in crate::report) title: String,
    /// Its name in CSV, with the unit.
    pub(in crate::report) name: String,
    /// Whether figures stand in it.
    pub(in crate::report) is_number: bool,
    /// Whether few words stand in it, which rows are chosen by.
    pub(in crate::report) is_choice: bool,
}

/// A row of a table.
#[derive(Debug, Default)]
pub(in crate::report) struct Line {
    /// Its reference case, which points of charts name; empty where none does.
    pub(in crate::report) id: String,
    /// The benchmark that is explained when its first cell is pressed; empty where none is.
    pub(in crate::report) benchmark: String,
    /// What stands in its columns.
    pub(in crate::report) cells: Vec<Cell>,
}

/// A cell.
#[derive(Debug, Default)]
pub(in crate::report) struct Cell {
    /// As it is read.
    pub(in crate::report) text: String,
    /// As it is sorted and copied, where that is not how it is read.
    pub(in crate::report) value: Option<String>,
    /// How it looks: a word of ours for the style, or nothing.
    pub(in crate::report) look: &'static str,
}

impl Column {
    /// A column of words.
    pub(in crate::report) fn words(title: &str) -> Self {
        let name = title.replace(' ', "_");
        Self { title: title.to_owned(), name, is_number: false, is_choice: false }
    }

    /// A column of few words.
    pub(in crate::report) fn choice(title: &str) -> Self {
        Self { is_choice: true, ..Self::words(title) }
    }

    /// A column of figures, as CSV names it.
    pub(in crate::report) fn number(title: &str, name: &str) -> Self {
        Self { name: name.to_owned(), is_number: true, ..Self::words(title) }
    }
}

impl Cell {
    /// A text.
    pub(in crate::report) fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A figure, as it is read and to its last digit.
    pub(in crate::report) fn number(text: impl Into<String>, value: Option<f64>) -> Self {
        // What is not known is empty, and never 0.
        let value = Some(value.map(|value| value.to_string()).unwrap_or_default());
        Self { text: text.into(), value, look: "" }
    }

    /// The same, in a look of ours.
    pub(in crate::report) fn looking(self, look: &'static str) -> Self {
        Self { look, ..self }
    }
}
