//! Sections that several kinds of reports have.

use std::collections::BTreeMap;

use oscost_model::record::{Record, Row, RowOutcome};

use crate::report::text::plain;
use crate::report::view::document::{Block, Item, Section};

/// The rows without a figure, by reason; `None` if all have one.
pub(in crate::report::view) fn not_measured(rows: &[&Row]) -> Option<Section> {
    let without = rows.iter().filter(|row| row.outcome != RowOutcome::Measured);
    let reasons = without.map(|row| {
        let reason = row.reason.as_deref().unwrap_or("no reason given");
        (format!("{}: {}", row.outcome.text(), plain(reason)), row.case.as_str())
    });
    section_of_cases("not-measured", "Not measured", reasons)
}

/// A section that lists cases by the sentence about them; `None` without cases.
pub(in crate::report::view) fn section_of_cases<'a>(
    id: &str,
    title: &str,
    sentences: impl Iterator<Item = (String, &'a str)>,
) -> Option<Section> {
    let item = |(text, cases): (String, Vec<&str>)| Item {
        cases: cases.into_iter().map(plain).collect(),
        text,
        style: "",
    };
    let list = Block::list(grouped(sentences).into_iter().map(item))?;
    let (id, title) = (id.to_owned(), title.to_owned());
    Some(Section { id, title, blocks: vec![list], ..Section::default() })
}

/// Cases by the sentence about them, in the order of the first case of each.
pub(in crate::report::view) fn grouped<'a>(
    sentences: impl Iterator<Item = (String, &'a str)>,
) -> Vec<(String, Vec<&'a str>)> {
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    // A record may have a sentence of its own for each of its rows.
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for (sentence, case) in sentences {
        match known.get(&sentence) {
            Some(&at) => found[at].1.push(case),
            None => {
                known.insert(sentence.clone(), found.len());
                found.push((sentence, vec![case]));
            }
        }
    }
    found
}

/// The first of some cases, and the number of the others; the record has all of them.
pub(in crate::report::view) fn first_of(cases: &[&str]) -> String {
    match cases {
        [] => String::new(),
        [case] => (*case).to_owned(),
        [first, others @ ..] => format!("{first} and {} more", others.len()),
    }
}

/// What a reader must know besides the figures, and what most do not need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::report::view) struct Remarks {
    /// What a reader must know.
    pub(in crate::report::view) shown: Vec<String>,
    /// Flags that are for information.
    pub(in crate::report::view) information: Vec<String>,
    /// How figures were measured, and what the words of the tables mean.
    pub(in crate::report::view) method: Vec<String>,
}

impl Remarks {
    /// As blocks; none if there are no remarks.
    pub(in crate::report::view) fn blocks(self) -> Vec<Block> {
        let blocks = [
            Block::list(self.shown),
            Block::details("For information", self.information),
            Block::details("How it was measured", self.method),
        ];
        blocks.into_iter().flatten().collect()
    }
}

/// The section of notes. Its title is shown only where sections are navigated.
pub(in crate::report::view) fn notes_of(blocks: Vec<Block>) -> Section {
    Section {
        id: "remarks".to_owned(),
        title: "Notes".to_owned(),
        title_is_for_navigation: true,
        blocks,
    }
}

/// The run of a short report, so that a reader can find the complete one.
pub(in crate::report::view) fn origin(record: &Record) -> Section {
    let started = record.started.get(..19).unwrap_or(&record.started).replace('T', " ");
    let text = format!("Run {}, {started} UTC, oscost {}.", record.id, record.tool.version);
    Section { blocks: vec![Block::Text(plain(&text))], ..Section::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_grouped_by_their_sentence_in_the_order_of_the_first() {
        let of = |number: usize| (format!("reason {}", number % 10_000), "a/b");
        let found = grouped((0..20_000).map(of));
        assert_eq!(found.len(), 10_000);
        assert_eq!(found[0], ("reason 0".to_owned(), vec!["a/b"; 2]));
        assert_eq!(found[9_999].0, "reason 9999");
    }
}
