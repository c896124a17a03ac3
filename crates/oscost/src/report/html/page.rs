//! A page: sections made of texts, lists, tables and charts, as one HTML file.
//!
//! The template escapes all that it is given but three things, none of which is from outside: our
//! style, our script, and what is packed as base64.

use std::collections::BTreeMap;

use askama::Template;
use serde::Serialize;

use super::chart::{Chart, Drawn};
use super::script;

/// A page.
#[derive(Default)]
pub(super) struct Page {
    /// What it is called.
    pub(super) title: String,
    /// What it is of, a sentence each.
    pub(super) lead: Vec<String>,
    /// Its parts.
    pub(super) sections: Vec<Section>,
    /// What `oscost explain` says of benchmarks, by id.
    pub(super) explained: BTreeMap<String, String>,
}

/// A part of a page, with a name to jump to.
pub(super) struct Section {
    /// Its reference case: a word of ours.
    pub(super) id: String,
    /// What stands above it.
    pub(super) title: String,
    /// What is in it.
    pub(super) parts: Vec<Part>,
}

/// What sections are made of.
pub(super) enum Part {
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
    pub(super) fn chart(chart: Chart) -> Self {
        Self::Chart(Box::new(chart))
    }
}

/// A table.
#[derive(Debug)]
pub(super) struct Table {
    /// Its reference case: a word of ours.
    pub(super) id: String,
    /// What it is of.
    pub(super) caption: String,
    /// Its columns.
    pub(super) columns: Vec<Column>,
    /// Its rows.
    pub(super) rows: Vec<Line>,
    /// Whether it sorts, filters and copies; what is short is only read.
    pub(super) is_tool: bool,
}

/// A column.
#[derive(Debug)]
pub(super) struct Column {
    /// What stands above it.
    pub(super) title: String,
    /// Its name in CSV, with the unit.
    pub(super) name: String,
    /// Whether figures stand in it.
    pub(super) is_number: bool,
    /// Whether few words stand in it, which rows are chosen by.
    pub(super) is_choice: bool,
}

/// A row of a table.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// Its reference case, which points of charts name; empty where none does.
    pub(super) id: String,
    /// The benchmark that is explained when its first cell is pressed; empty where none is.
    pub(super) benchmark: String,
    /// What stands in its columns.
    pub(super) cells: Vec<Cell>,
}

/// A cell.
#[derive(Debug, Default)]
pub(super) struct Cell {
    /// As it is read.
    pub(super) text: String,
    /// As it is sorted and copied, where that is not how it is read.
    pub(super) value: Option<String>,
    /// How it looks: a word of ours for the style, or nothing.
    pub(super) look: &'static str,
}

impl Column {
    /// A column of words.
    pub(super) fn words(title: &str) -> Self {
        let name = title.replace(' ', "_");
        Self { title: title.to_owned(), name, is_number: false, is_choice: false }
    }

    /// A column of few words.
    pub(super) fn choice(title: &str) -> Self {
        Self { is_choice: true, ..Self::words(title) }
    }

    /// A column of figures, as CSV names it.
    pub(super) fn number(title: &str, name: &str) -> Self {
        Self { name: name.to_owned(), is_number: true, ..Self::words(title) }
    }
}

impl Cell {
    /// A text.
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A figure, as it is read and to its last digit.
    pub(super) fn number(text: impl Into<String>, value: Option<f64>) -> Self {
        // What is not known is empty, and never 0.
        let value = Some(value.map(|value| value.to_string()).unwrap_or_default());
        Self { text: text.into(), value, look: "" }
    }

    /// The same, in a look of ours.
    pub(super) fn looking(self, look: &'static str) -> Self {
        Self { look, ..self }
    }
}

/// What the page's script reads.
#[derive(Serialize)]
struct Data<'a> {
    charts: BTreeMap<&'a str, Drawn<'a>>,
    explained: &'a BTreeMap<String, String>,
}

#[derive(Template)]
#[template(path = "page.html")]
struct Whole<'a> {
    page: &'a Page,
    style: &'a str,
    glue: &'a str,
    policy: String,
    library: &'a str,
    data: String,
    version: &'a str,
    draws: bool,
}

impl Page {
    /// The charts, in order.
    fn charts(&self) -> impl Iterator<Item = &Chart> {
        let parts = self.sections.iter().flat_map(|section| &section.parts);
        parts.filter_map(|part| match part {
            Part::Chart(chart) => Some(chart.as_ref()),
            _ => None,
        })
    }

    /// The page as HTML: the same page is the same bytes.
    pub(super) fn html(&self) -> anyhow::Result<String> {
        let charts: BTreeMap<&str, Drawn<'_>> =
            self.charts().map(|chart| (chart.id.as_str(), chart.drawn())).collect();
        // A page without a chart needs not carry what draws them.
        let draws = !charts.is_empty();
        let data = serde_json::to_vec(&Data { charts, explained: &self.explained })?;
        let whole = Whole {
            page: self,
            style: script::STYLE,
            glue: script::GLUE,
            policy: script::policy(draws),
            library: if draws { script::library_packed() } else { "" },
            data: script::packed(&data)?,
            version: env!("CARGO_PKG_VERSION"),
            draws,
        };
        // All of it is written once, and not moved as it grows.
        let packed = whole.library.len() + whole.data.len();
        let mut html = String::with_capacity(2 * packed);
        whole.render_into(&mut html)?;
        Ok(html)
    }
}
