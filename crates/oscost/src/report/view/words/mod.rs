//! Words that oscost prints, explained: flags, classes, columns, units, axes, keys of files.

pub mod axes;
mod command_word;
pub mod documents;
mod examples;
pub mod files;
mod printed;

use oscost_model::record::Record;

pub use self::command_word::CommandWord;
pub use self::printed::words_in;

use crate::advice::words::{self, Kind, Word};
use crate::report::text::plain;
use crate::report::view::document::{Block, Fact, Section};
use crate::studies::Study;

/// The meanings of a word; where the last run has such a row, with its figure.
pub fn sections(name: &str, last: Option<&Record>) -> Vec<Section> {
    words::find(name).into_iter().map(|word| section(word, last)).collect()
}

/// The meanings of a word in exactly this spelling, as it is printed; none if it is not explained.
/// Marks have none: a page would have a button for each dash.
pub fn exact(name: &str) -> Vec<Section> {
    let is_exact = |word: &&Word| word.word == name || word.spellings().any(|it| it == name);
    let found = words::find(name);
    let is_printed = found.iter().any(is_exact) && found.iter().all(|it| it.kind != Kind::Mark);
    if is_printed { sections(name, None) } else { Vec::new() }
}

/// Whether the table of words has this one.
pub fn is_word(name: &str) -> bool {
    !words::find(name).is_empty()
}

/// Whether the glossary has this word.
pub fn is_term(name: &str) -> bool {
    words::find(name).iter().any(|word| word.kind == Kind::Term)
}

/// Every word of the table, as it is printed.
pub fn names() -> impl Iterator<Item = &'static str> {
    words::all().flat_map(Word::spellings)
}

fn section(word: &Word, last: Option<&Record>) -> Section {
    let example = last.and_then(|record| examples::of(word, record));
    let facts = [
        ("means", word.means.to_owned()),
        ("range", word.range.to_owned()),
        ("matters", word.matters.to_owned()),
        ("do", word.action.to_owned()),
        ("here", example.unwrap_or_default()),
        ("more", word.page().to_owned()),
    ];
    word_section(word.word, word.kind.text(), facts)
}

/// A word, what kind of word it is, and what is known of it.
fn word_section<const N: usize>(word: &str, kind: &str, facts: [(&str, String); N]) -> Section {
    let known = facts.into_iter().filter(|(_, text)| !text.is_empty());
    let facts = known.map(|(name, text)| Fact::new(name, text)).collect();
    // A host ends in a colon of its own.
    let word = word.strip_suffix(':').unwrap_or(word);
    Section::of(plain(&format!("{word}: {kind}")), [Block::Facts(facts)])
}

/// An option or a subcommand, explained; where the last run could have an option, with its value.
pub fn command_section(word: &CommandWord, last: Option<&Record>) -> Section {
    let commands: Vec<String> = word.commands.iter().map(|it| format!("`{it}`")).collect();
    let (of, more) = match (word.is_subcommand, word.commands.first()) {
        (true, Some(command)) => (String::new(), format!("`{command} --help`")),
        _ => (commands.join(", "), "docs/reference/CLI.md".to_owned()),
    };
    let facts = [
        ("means", word.means.clone()),
        ("values", word.values.clone()),
        ("default", word.default.clone()),
        ("of", of),
        ("here", last.and_then(|record| examples::of_option(word, record)).unwrap_or_default()),
        ("more", more),
    ];
    let kind = if word.is_subcommand { "subcommand" } else { "option of the command line" };
    word_section(&word.syntax, kind, facts)
}

/// What the last run has of a treatment, with its figures; `None` if nothing.
pub fn treatment_example(name: &str, last: Option<&Record>) -> Option<Section> {
    let here = examples::of_treatment(name, last?)?;
    Some(Section::of("Here", [Block::Text(here)]))
}

/// A study, explained; where the last run measured it, with how much of it.
pub fn study(study: &Study, last: Option<&Record>) -> Section {
    let verb = if study.columns.is_some() { "ab" } else { "run" };
    let facts = [
        ("means", plain(&format!("{} ({})", study.title, study.year))),
        ("has", format!("{} rows, {} claims", study.rows().count(), study.claims.len())),
        ("of", plain(&study.measured_on)),
        ("do", format!("`oscost {verb} --study {0}`, `oscost study show {0}`", study.id)),
        ("here", last.and_then(|record| examples::of_study(&study.id, record)).unwrap_or_default()),
        ("more", plain(&study.source)),
    ];
    word_section(&study.id, "published study", facts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::view::document::View;

    #[test]
    fn a_word_has_three_to_eight_lines_within_eighty_columns() {
        for name in names() {
            for section in sections(name, None) {
                let title = section.title.clone();
                let text = crate::report::terminal(&View::of(vec![section]));
                let lines: Vec<&str> = text.lines().collect();
                assert!((3..=8).contains(&lines.len()), "{title}: {} lines\n{text}", lines.len());
                assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
            }
        }
    }

    #[test]
    fn an_unknown_word_has_no_section() {
        assert!(!is_word("no such word") && sections("no such word", None).is_empty());
        assert!(is_word("NOT_CONVERGED") && is_word("not_converged") && is_word("vm:"));
    }
}
