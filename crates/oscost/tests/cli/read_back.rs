//! Tables as other programs read them: DuckDB or pandas, whichever is there (`make readers`). Every
//! cell has the value of the record.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use oscost::report::export::{Column, Kind, Sheet, Value as Cell};
use oscost_model::record::Record;
use serde_json::{Map, Value, json};

use crate::common::{Sandbox, scenario_file};

/// Texts that a table has trouble with: quotes, lines, formulas, words that mean nothing to pandas,
/// and letters of other scripts.
const TEXTS: &[&str] = &[
    "commas, \"quotes\"\nand\tlines",
    "=1+1",
    "'=1+1",
    "-2",
    "@SUM(A1:A9)",
    "NA",
    "null",
    "\u{e9}\u{4e2d}\u{1f600} '",
    " padded ",
    "12",
    "true",
];

/// Who reads.
enum Reader {
    /// DuckDB's own program.
    Program,
    /// DuckDB or pandas, called by a Python that has it.
    Module { python: PathBuf, name: &'static str },
}

impl Reader {
    /// The first that is installed; if none is, prints why and returns `None`.
    fn find() -> Option<Self> {
        let runs =
            |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
        if runs(Command::new("duckdb").arg("--version")) {
            return Some(Self::Program);
        }
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/readers/bin/python");
        for python in [own, PathBuf::from("python3")] {
            for (name, imports) in [("duckdb", "duckdb"), ("pandas", "pandas, pyarrow")] {
                if runs(Command::new(&python).args(["-c", &format!("import {imports}")])) {
                    return Some(Self::Module { python, name });
                }
            }
        }
        eprintln!("skipped: neither DuckDB nor pandas is installed; `make readers` installs one");
        None
    }

    /// The lines of a file, each by the names of its columns. CSV is read with these columns and
    /// types; Parquet has its own.
    fn read(&self, file: &Path, columns: Option<&[(&str, Kind)]>) -> Vec<Map<String, Value>> {
        let mut command = match self {
            Self::Program => {
                let mut command = Command::new("duckdb");
                command.args(["-init", "/dev/null", "-json", "-c", &query(file, columns)]);
                command
            }
            Self::Module { python, name } => {
                let types = |columns: &[(&str, Kind)]| {
                    columns.iter().map(|(name, kind)| json!([name, kind.text()])).collect()
                };
                let columns: Value = columns.map_or(Value::Null, types);
                let mut command = Command::new(python);
                let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
                command.arg(folder.join("tests/cli/read_back.py")).arg(name).arg(file);
                command.arg(columns.to_string());
                command
            }
        };
        let ran = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "cannot read {}: {stderr}", file.display());
        serde_json::from_slice(&ran.stdout).unwrap()
    }
}

/// DuckDB's query for all lines of a file.
fn query(file: &Path, columns: Option<&[(&str, Kind)]>) -> String {
    let Some(columns) = columns else {
        return format!("FROM read_parquet('{}')", file.display());
    };
    let columns = columns.iter().map(|(name, kind)| match kind {
        Kind::Text => format!("'{name}': 'VARCHAR'"),
        Kind::Float => format!("'{name}': 'DOUBLE'"),
        Kind::Integer => format!("'{name}': 'BIGINT'"),
        Kind::Boolean => format!("'{name}': 'BOOLEAN'"),
    });
    let columns = columns.collect::<Vec<_>>().join(", ");
    format!("FROM read_csv('{}', header = true, columns = {{{columns}}})", file.display())
}

/// Removes the apostrophe, as docs/reference/EXPORTS.md documents.
fn without_apostrophes(text: &str) -> &str {
    let formula = |text: &str| text.trim_start_matches('\'').starts_with(['=', '+', '-', '@']);
    text.strip_prefix('\'').filter(|rest| formula(rest)).unwrap_or(text)
}

/// A cell as JSON.
fn as_json(cell: &Cell<'_>) -> Value {
    match cell {
        Cell::Unknown => Value::Null,
        Cell::Text(text) => json!(text),
        Cell::Float(number) => json!(number),
        Cell::Integer(number) => json!(number),
        Cell::Boolean(truth) => json!(truth),
    }
}

/// Compares what was read with the sheet, cell by cell.
fn same(sheet: &Sheet<'_>, lines: &[Map<String, Value>], is_csv: bool) {
    assert_eq!(lines.len(), sheet.len());
    for (at, line) in lines.iter().enumerate() {
        assert_eq!(line.len(), sheet.columns.len());
        for (Column { name, kind, .. }, cell) in sheet.columns.iter().zip(sheet.line(at)) {
            let (mut read, mut held) = (line[*name].clone(), as_json(&cell));
            if is_csv && *kind == Kind::Text {
                read = read.as_str().map_or(Value::Null, |text| json!(without_apostrophes(text)));
                // CSV does not distinguish an empty text from an unknown one.
                held = if held == "" { Value::Null } else { held };
            }
            assert_eq!(read, held, "line {at}, `{name}`");
        }
    }
}

/// Writes a record's table both ways, reads both, and compares.
fn assert_reads_back(sandbox: &Sandbox, reader: &Reader, record: &Record, table: &str) {
    let path = sandbox.file("record.json");
    fs::write(&path, serde_json::to_string(record).unwrap()).unwrap();
    let (csv, parquet) = (sandbox.file("table.csv"), sandbox.file("table.parquet"));
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let [path, to_csv, to_parquet] = [&path, &csv, &parquet].map(|path| text(path));
    let arguments = ["report", &path, "--table", table, "--csv", &to_csv, "--parquet", &to_parquet];
    sandbox.oscost(&arguments).exits(0).no_data();
    let sheet = match table {
        "rows" => Sheet::rows(record),
        _ => Sheet::comparisons(record),
    };
    assert!(!sheet.is_empty());
    let columns: Vec<(&str, Kind)> = sheet.columns.iter().map(|it| (it.name, it.kind)).collect();
    same(&sheet, &reader.read(&csv, Some(&columns)), true);
    same(&sheet, &reader.read(&parquet, None), false);
}

#[test]
fn every_cell_of_the_rows_reads_back_as_recorded() {
    let Some(reader) = Reader::find() else { return };
    let sandbox = Sandbox::new();
    let arguments = ["timer/clock-gettime", "syscall", "--json", "-"];
    let run = sandbox.fake("all-outcomes", &arguments).exits(0).json();
    let mut record: Record = serde_json::from_value(run).unwrap();
    for text in TEXTS {
        record.label = Some((*text).to_owned());
        for (row, text) in record.results.iter_mut().zip(TEXTS.iter().cycle()) {
            row.reason = Some((*text).to_owned());
            row.expected = format!("{text}\n{text}");
            row.target.treatments = vec![(*text).to_owned(), String::new()];
        }
        // Figures of all sizes, none of them round.
        let figures = record.results.iter_mut().filter_map(|row| row.estimate.as_mut());
        for (estimate, power) in figures.zip((-300..300).step_by(17)) {
            estimate.median = 10f64.powi(power) / 3.0;
            estimate.mean = -estimate.median;
            estimate.samples = (1 << 53) + 1;
        }
        assert_reads_back(&sandbox, &reader, &record, "rows");
    }
}

#[test]
fn every_cell_of_the_comparisons_reads_back_as_recorded() {
    let Some(reader) = Reader::find() else { return };
    let sandbox = Sandbox::new();
    let target = format!("fake:{}", scenario_file("treated").display());
    let new = format!("sud@{target}");
    let options = ["ab", "--seed", "1", "--quick", "--json", "-", "syscall/getppid", "timer"];
    let ran = sandbox.oscost(&[&options[..], &["--base", &target, "--new", &new]].concat());
    let mut record: Record = serde_json::from_value(ran.exits(0).json()).unwrap();
    for (it, text) in record.comparisons.iter_mut().zip(TEXTS) {
        it.case = (*text).to_owned();
        it.design = (*text).to_owned();
    }
    assert_reads_back(&sandbox, &reader, &record, "comparisons");
    assert_reads_back(&sandbox, &reader, &record, "rows");
}
