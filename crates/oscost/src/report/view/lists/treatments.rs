//! The treatments, and whether each works on this machine.

use serde::Serialize;

use crate::report::text::plain;
use crate::report::view::document::{Block, Cell, Column, Section, Table, TableRow, View};

/// A treatment.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// What follows `=`; empty if it takes no value.
    pub value: &'static str,
    /// What it does.
    pub effect: &'static str,
    /// What it needs; empty for nothing.
    pub needs: &'static str,
    /// How it is done: `applied`, `attached`, `wraps`.
    pub study_method: &'static str,
    /// The values that are names of objects on this machine.
    pub names: Vec<String>,
    /// The result of trying it here.
    pub here: Here,
    /// Why, unless it works.
    pub reason: Option<String>,
}

/// The result of trying a treatment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Here {
    /// It works.
    Yes,
    /// It does not.
    No,
    /// It was not tried.
    NotTried,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    treatments: &'a [Row],
}

/// The treatments as one JSON object (`oscost.treatments/1`).
pub fn json(rows: &[Row]) -> Result<String, serde_json::Error> {
    let document = Document { schema: "oscost.treatments/1", treatments: rows };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

/// The explanation of a treatment.
#[derive(Clone, Copy, Debug)]
pub struct TreatmentExplanation {
    /// Its name.
    pub name: &'static str,
    /// What follows `=`; empty if it takes no value.
    pub value: &'static str,
    /// What it does.
    pub effect: &'static str,
    /// What it needs; empty for nothing.
    pub needs: &'static str,
    /// What the kernel does then.
    pub why: &'static str,
    /// How two targets are compared that differ in it.
    pub compared: &'static str,
    /// The sources.
    pub source: &'static str,
}

/// A treatment, explained.
pub fn explanation(it: &TreatmentExplanation) -> View {
    let name = match it.value {
        "" => it.name.to_owned(),
        value => format!("{}={value}", it.name),
    };
    let parts = [
        (name.as_str(), it.effect),
        ("What it costs", it.why),
        ("Needs", it.needs),
        ("How it is compared", it.compared),
        ("Source", it.source),
    ];
    let parts = parts.into_iter().filter(|(_, text)| !text.is_empty());
    let section = |(title, text): (&str, &str)| Section::of(title, [Block::Text(text.to_owned())]);
    View::of(parts.map(section).collect())
}

/// The treatments, a row each.
pub fn view(rows: &[Row]) -> View {
    let table = Table {
        columns: vec![Column::text("treatment"), Column::text("here"), Column::prose("effect")],
        rows: rows.iter().map(row).collect(),
        ..Table::default()
    };
    View::of(vec![Section::of("", [Block::Table(table)])])
}

fn row(row: &Row) -> TableRow {
    let (here, before) = match row.here {
        Here::Yes => ("yes", ""),
        Here::No => ("no", "no: "),
        Here::NotTried => ("-", "not tried: "),
    };
    let mut lines = vec![row.effect.to_owned()];
    if !row.value.is_empty() {
        lines.push(format!("{}={}", row.name, row.value));
    }
    if !row.names.is_empty() {
        lines.push(format!("names here: {}", plain(&row.names.join(", "))));
    }
    if !row.needs.is_empty() {
        lines.push(format!("needs {}", row.needs));
    }
    lines.extend(row.reason.as_ref().map(|why| format!("{before}{}", plain(why))));
    TableRow::of(vec![Cell::text(row.name), Cell::text(here), Cell::text(lines.join("\n"))])
}
