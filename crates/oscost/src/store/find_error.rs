//! Why a name means no record, or several.

use std::collections::BTreeSet;

use thiserror::Error;

use super::error::StoreError;
use super::record_kind::RecordKind;

/// A text does not identify exactly one record of the kind that is wanted.
#[derive(Debug, Error)]
pub enum FindError {
    /// No id starts with the text.
    #[error(
        "there is no {noun} `{name}`{}{}",
        list_of_ids("the newest are", newest, noun, *stored),
        hint(noun, newest)
    )]
    Unknown {
        /// What is wanted, in a sentence.
        noun: &'static str,
        /// The text.
        name: String,
        /// The ids of the newest such records, at most five.
        newest: Vec<String>,
        /// How many records of any kind the store has.
        stored: usize,
    },
    /// No id starts with the text, but it is a label.
    #[error("there is no {noun} `{name}`\n  hint: `@{name}` is the newest with that label")]
    BareLabel {
        /// What is wanted, in a sentence.
        noun: &'static str,
        /// The text.
        name: String,
    },
    /// It is `last` or `last~N`, and without those that bills have started there are too few runs.
    #[error(
        "there is no {noun} `{name}`: runs that bills have started do not count\n  hint: `oscost \
         runs list` lists all with their ids, which name those, too"
    )]
    OfBillsAlone {
        /// What is wanted, in a sentence.
        noun: &'static str,
        /// The text.
        name: String,
    },
    /// The text is empty.
    #[error("the name of the {noun} is empty{}", hint(noun, newest))]
    EmptyName {
        /// What is wanted, in a sentence.
        noun: &'static str,
        /// The ids of the newest such records, at most five.
        newest: Vec<String>,
    },
    /// The text is an `@` alone.
    #[error("the label behind `@` is empty{}", label_hint(noun, labels))]
    EmptyLabel {
        /// What is wanted, in a sentence.
        noun: &'static str,
        /// The labels of the newest that have one, at most five.
        labels: Vec<String>,
    },
    /// Several ids start with the text.
    #[error(
        "`{name}` is ambiguous: {count} {noun} ids start with it{}{}",
        list_of_ids("the newest of them are", newest, noun, *count),
        hint(noun, newest)
    )]
    Ambiguous {
        /// What was found, in a sentence.
        noun: &'static str,
        /// The text.
        name: String,
        /// The number of such records.
        count: usize,
        /// The ids of the newest of them, at most five.
        newest: Vec<String>,
    },
    /// No such record has the label.
    #[error("no {noun} has the label `{label}`{}", label_hint(noun, labels))]
    UnknownLabel {
        /// What is wanted, in a sentence.
        noun: &'static str,
        /// The label.
        label: String,
        /// The labels of the newest that have one, at most five.
        labels: Vec<String>,
    },
    /// The text identifies a record of another kind.
    #[error("`{name}` is a {}, not a {}{}", found.text(), wanted.text(), kind_hint(*found))]
    OtherKind {
        /// The text.
        name: String,
        /// The kind that is wanted.
        wanted: RecordKind,
        /// The kind of the record.
        found: RecordKind,
    },
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The part of an id that is its time in milliseconds: with fewer characters other runs of the store
/// begin alike.
const MIN_ID_CHARS: usize = 13;
const MAX_ID_CHARS: usize = 36;

fn beginning(id: &str, length: usize) -> &str {
    id.get(..length).unwrap_or(id)
}

/// These ids after the words; without any, whether the store has other records.
fn list_of_ids(words: &str, ids: &[String], noun: &str, stored: usize) -> String {
    match (ids.is_empty(), stored) {
        (true, 0) => return ": the store is empty".to_owned(),
        (true, _) => return format!(": the store has no {noun}"),
        (false, _) => {}
    }
    // The beginnings of ids, which name records, too.
    let length = (MIN_ID_CHARS..)
        .find(|&length| {
            let beginnings = ids.iter().map(|id| beginning(id, length));
            beginnings.collect::<BTreeSet<_>>().len() == ids.len() || length >= MAX_ID_CHARS
        })
        .unwrap_or(MAX_ID_CHARS);
    let ids: Vec<&str> = ids.iter().map(|id| beginning(id, length)).collect();
    format!("; {words} {}", ids.join(", "))
}

/// The next step of a user who named a label that no such record has.
fn label_hint(noun: &str, labels: &[String]) -> String {
    match labels {
        [] if noun == RecordKind::Bill.text() => {
            "\n  hint: `oscost bill --label TEXT -- COMMAND` gives a bill a label; none in the store \
             has one"
                .to_owned()
        }
        [] => "\n  hint: `oscost run --label TEXT` gives a run a label; none in the store has one"
            .to_owned(),
        labels => {
            let names: Vec<String> = labels.iter().map(|label| format!("`@{label}`")).collect();
            format!("\n  hint: the newest labels are {}", names.join(", "))
        }
    }
}

/// The next step of a user who named a record wrongly.
fn hint(noun: &str, ids: &[String]) -> &'static str {
    match ids {
        [] if noun == RecordKind::Bill.text() => {
            "\n  hint: `oscost bill -- COMMAND` makes one, `oscost runs import FILE` keeps another \
             user's"
        }
        [] => "\n  hint: `oscost run` measures one, `oscost runs import FILE` keeps another user's",
        _ if noun == RecordKind::Bill.text() => {
            "\n  hint: `oscost runs list` lists all, `last` is the newest; `oscost bill -- COMMAND` \
             makes one"
        }
        _ => "\n  hint: `oscost runs list` lists all; `last` is the newest, `last~1` that before",
    }
}

/// What can be done with a record where another kind is wanted.
fn kind_hint(found: RecordKind) -> &'static str {
    match found {
        RecordKind::Bill => {
            "\n  hint: `oscost runs show` shows it, `oscost bill A B` compares two bills"
        }
        RecordKind::Run => {
            "\n  hint: `oscost runs show` shows it, `oscost compare A B` compares two runs, \
             `oscost bill -- COMMAND` makes a bill"
        }
    }
}
