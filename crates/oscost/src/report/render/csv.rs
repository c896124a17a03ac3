//! A table as CSV: RFC 4180, UTF-8, with a line of names.
//!
//! Spreadsheets evaluate a cell that begins with `=` or a similar character, and some texts come from
//! outside. Such a text gets an apostrophe in front. So does a text of apostrophes followed by such a
//! character, so that a reader restores every text by removing one apostrophe in front of either.

use std::borrow::Cow;

use ::csv::{Terminator, WriterBuilder};

use crate::report::view::document::Table;
use crate::report::view::export::{Cells, Value};

/// The characters that a spreadsheet treats as the beginning of a formula; the wide ones are typed on
/// East Asian keyboards.
const FORMULA: [char; 11] =
    ['=', '+', '-', '@', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

/// The table as CSV. Numbers have the fewest digits that are read back exactly.
pub fn csv(sheet: &impl Cells) -> Result<Vec<u8>, ::csv::Error> {
    let mut out = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
    let headings = sheet.headings();
    out.write_record(headings.iter().map(|heading| heading.name))?;
    for line in 0..sheet.line_count() {
        for column in 0..headings.len() {
            out.write_field(cell(&sheet.cell(line, column)).as_bytes())?;
        }
        out.write_record(None::<&[u8]>)?; // Ends the line.
    }
    out.into_inner().map_err(|error| error.into_error().into())
}

/// A table of a report as CSV: the names of its columns, and each cell as it is sorted and copied.
pub fn table(table: &Table) -> Result<Vec<u8>, ::csv::Error> {
    let mut out = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
    out.write_record(table.columns.iter().map(|column| column.name.as_str()))?;
    for row in &table.rows {
        for (cell, column) in row.cells.iter().zip(&table.columns) {
            let value = cell.value.as_ref().unwrap_or(&cell.text);
            match column.is_number() {
                true => out.write_field(value)?,
                false => out.write_field(defused(value).as_bytes())?,
            }
        }
        out.write_record(None::<&[u8]>)?; // Ends the line.
    }
    out.into_inner().map_err(|error| error.into_error().into())
}

fn cell<'a>(value: &'a Value<'_>) -> Cow<'a, str> {
    match value {
        Value::Unknown => "".into(),
        Value::Text(text) => defused(text),
        // With a point or an exponent even where it is whole: a reader tells a column of floats from
        // one of integers by its text alone.
        Value::Float(number) => format!("{number:?}").into(),
        Value::Integer(number) => number.to_string().into(),
        Value::Boolean(truth) => truth.to_string().into(),
    }
}

/// A text that no spreadsheet runs.
fn defused(text: &str) -> Cow<'_, str> {
    match text.trim_start_matches('\'').starts_with(FORMULA) {
        true => format!("'{text}").into(),
        false => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::report::view::export::Sheet;
    use crate::report::view::export::tests::record;

    /// The inverse that docs/reference/EXPORTS.md documents.
    fn undone(text: &str) -> &str {
        match text.strip_prefix('\'') {
            Some(rest) if rest.trim_start_matches('\'').starts_with(FORMULA) => rest,
            _ => text,
        }
    }

    #[test]
    fn no_worker_of_text_begins_a_formula_and_every_text_comes_back() {
        for text in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\u{ff1d}1", "'=1"] {
            let cell = defused(text);
            assert!(!cell.starts_with(FORMULA) && cell != text, "{cell:?}");
            assert_eq!(undone(&cell), text);
        }
        for text in ["", "a=b", "'quoted'", "12", " =1", "''"] {
            assert_eq!(defused(text), text);
            assert_eq!(undone(text), text);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            label in proptest::option::of("[ -~\u{e9}\u{4e2d}'=\n\t,\"]{1,12}"),
            reason in "[',=@\"\n\r|+-]{0,6}[a-z,\"\n]{0,6}",
            figure in any::<f64>(),
        ) {
            let mut record = record();
            record.label = label;
            record.results[0].reason = Some(reason);
            if let Some(estimate) = &mut record.results[0].estimate {
                estimate.median = figure;
            }
            let sheet = Sheet::rows(&record);
            let bytes = csv(&sheet).unwrap();
            let mut read = ::csv::Reader::from_reader(bytes.as_slice());
            let names: Vec<&str> = sheet.columns.iter().map(|column| column.name).collect();
            prop_assert_eq!(read.headers().unwrap().iter().collect::<Vec<_>>(), names);
            let lines: Vec<_> = read.records().map(Result::unwrap).collect();
            prop_assert_eq!(lines.len(), sheet.len());
            for (at, line) in lines.iter().enumerate() {
                for (cell, value) in line.iter().zip(sheet.line(at)) {
                    match value {
                        Value::Unknown => prop_assert_eq!(cell, ""),
                        Value::Text(text) => prop_assert_eq!(undone(cell), text),
                        Value::Float(number) => {
                            let read = cell.parse::<f64>().unwrap();
                            prop_assert_eq!(read.to_bits(), number.to_bits());
                        }
                        Value::Integer(number) => prop_assert_eq!(cell.parse(), Ok(number)),
                        Value::Boolean(truth) => prop_assert_eq!(cell.parse(), Ok(truth)),
                    }
                }
            }
        }
    }
}
