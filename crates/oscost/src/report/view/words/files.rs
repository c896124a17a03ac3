//! Columns of CSV and Parquet, and keys of the record, as words.

use super::word_section;
use crate::report::view::document::Section;
use crate::report::view::export::{Heading, headings};

/// How many places of a key are named.
const MAX_PLACES: usize = 4;

/// A key of the record, or one of the few values that a key may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordWord {
    /// The key, or the value.
    pub name: String,
    /// Where it is: `results[].estimate.median`; of a value its key.
    pub path: String,
    /// What the schema says of it.
    pub means: String,
    /// Whether it is a value.
    pub is_value: bool,
}

/// The columns of this name.
pub fn column_sections(name: &str) -> Vec<Section> {
    let mut found: Vec<Heading> = Vec::new();
    for column in headings().filter(|column| column.name == name) {
        // A column of several tables is the same.
        if !found.iter().any(|other| other.means == column.means) {
            found.push(column);
        }
    }
    let section = |column: Heading| {
        let empty = column.unknown.map_or("never".to_owned(), str::to_owned);
        let facts = [
            // The page of the columns has some of it in bold type.
            ("means", column.means.replace("**", "")),
            ("type", column.kind.text().to_owned()),
            ("empty", empty),
            ("more", "docs/reference/EXPORTS.md".to_owned()),
        ];
        word_section(column.name, "column of CSV and Parquet", facts)
    };
    found.into_iter().map(section).collect()
}

/// The names of all columns.
pub fn column_names() -> impl Iterator<Item = &'static str> {
    headings().map(|column| column.name)
}

/// The keys and the values of this name; those with one meaning together.
pub fn record_sections(words: &[RecordWord], name: &str) -> Vec<Section> {
    let mut groups: Vec<(&RecordWord, Vec<&str>)> = Vec::new();
    for word in words.iter().filter(|word| word.name == name) {
        let same = |(other, _): &&mut (&RecordWord, Vec<&str>)| {
            (&other.means, other.is_value) == (&word.means, word.is_value)
        };
        match groups.iter_mut().find(same) {
            Some((_, paths)) => paths.push(&word.path),
            None => groups.push((word, vec![&word.path])),
        }
    }
    let section = |(word, paths): &(&RecordWord, Vec<&str>)| {
        let more = match paths.len().saturating_sub(MAX_PLACES) {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        let first = paths.iter().take(MAX_PLACES).copied().collect::<Vec<_>>().join(", ");
        let facts = [
            ("means", word.means.clone()),
            (if word.is_value { "of" } else { "at" }, format!("{first}{more}")),
            ("more", "docs/reference/RECORDS.md, `oscost schema`".to_owned()),
        ];
        let kind = if word.is_value { "value in the record" } else { "key of the record" };
        word_section(name, kind, facts)
    };
    groups.iter().map(section).collect()
}
