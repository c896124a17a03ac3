//! The workloads that come with oscost, and what each of them lacks on this machine.

use serde::Serialize;

use crate::report::view::document::{Block, Cell, Column, Section, Table, TableRow, View};

/// A workload.
#[derive(Clone, Debug, Serialize)]
pub struct Workload {
    /// Its name.
    pub id: String,
    /// The question that it answers.
    pub question: String,
    /// What it lacks here.
    pub lacks: Vec<String>,
    /// How to get it.
    pub hint: Option<String>,
}

/// The workloads, a row each.
pub fn view(workloads: &[Workload]) -> View {
    let row = |workload: &Workload| {
        let lacks = &workload.lacks;
        let lacks = (!lacks.is_empty()).then(|| format!("lacks: {}", lacks.join(", ")));
        let hint = workload.hint.as_ref().map(|hint| format!("hint: {hint}"));
        let lines = [Some(workload.question.clone()), lacks, hint];
        let lines: Vec<String> = lines.into_iter().flatten().collect();
        TableRow::of(vec![Cell::text(&workload.id), Cell::text(lines.join("\n"))])
    };
    let table = Table {
        columns: vec![Column::text(""), Column::prose("")],
        rows: workloads.iter().map(row).collect(),
        ..Table::default()
    };
    View::of(vec![Section::of("", [Block::Table(table)])])
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    workloads: &'a [Workload],
}

/// The workloads as one JSON object (`oscost.workloads/1`).
pub fn json(workloads: &[Workload]) -> Result<String, serde_json::Error> {
    let document = Document { schema: "oscost.workloads/1", workloads };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}
