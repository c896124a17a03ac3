//! The kernels that can be booted, and those that can be fetched.

use oscost_model::unit::Unit;
use serde::Serialize;

use crate::report::figures::rough;
use crate::report::view::document::{Block, Cell, Column, Section, Table, TableRow, View};

/// A kernel that is installed or downloaded.
#[derive(Clone, Debug, Serialize)]
pub struct Kernel {
    /// Its host: `vm:` and its version.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its build, if its image names one.
    pub build: Option<String>,
    /// `installed` or `downloaded`.
    pub state: &'static str,
    /// Its image.
    pub file: String,
    /// The size of its image.
    pub bytes: u64,
    /// Why it cannot be used; null if it can.
    pub reason: Option<String>,
    /// How to fix that; null if it can be used.
    pub hint: Option<String>,
}

/// A kernel that can be fetched.
#[derive(Clone, Debug)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Whether it is downloaded.
    pub is_downloaded: bool,
}

/// The kernels, a row each.
pub fn view(kernels: &[Kernel]) -> View {
    let row = |kernel: &Kernel| {
        let bytes = kernel.bytes as f64;
        let error = kernel.reason.as_ref().map(|why| format!("cannot be used: {why}"));
        let hint = kernel.hint.as_ref().map(|hint| format!("hint: {hint}"));
        let cells = vec![
            Cell::text(&kernel.name),
            Cell::text(kernel.build.as_deref().unwrap_or("-")),
            Cell::text(kernel.state),
            Cell::number(rough(bytes, Unit::Bytes), Some(bytes)),
        ];
        TableRow { notes: error.into_iter().chain(hint).collect(), ..TableRow::of(cells) }
    };
    let table = Table {
        columns: vec![
            Column::text("kernel"),
            Column::text("build"),
            Column::text("state"),
            Column::number("size", "bytes"),
        ],
        rows: kernels.iter().map(row).collect(),
        ..Table::default()
    };
    View::of(vec![Section::of("", [Block::Table(table)])])
}

/// The packages that can be fetched, a row each.
pub fn packages(packages: &[Package]) -> View {
    let row = |package: &Package| {
        let state = if package.is_downloaded { "downloaded" } else { "" };
        TableRow::of(vec![Cell::text(&package.name), Cell::text(state)])
    };
    let table = Table {
        columns: vec![Column::text(""), Column::text("")],
        rows: packages.iter().map(row).collect(),
        ..Table::default()
    };
    View::of(vec![Section::of("", [Block::Table(table)])])
}

/// The kernels as a document.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    /// The folder of downloaded kernels.
    folder: Option<&'a str>,
    kernels: &'a [Kernel],
}

/// The kernels as JSON, indented, with a line end.
pub fn json(folder: Option<&str>, kernels: &[Kernel]) -> Result<String, serde_json::Error> {
    let document = Document { schema: "oscost.kernels/1", folder, kernels };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}
