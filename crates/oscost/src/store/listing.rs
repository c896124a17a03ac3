//! A run in the list of runs.

/// A run in the list of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing {
    /// A UUID in lower case.
    pub id: String,
    /// RFC 3339, UTC.
    pub started: String,
    /// RFC 3339, UTC; `None` while it is running, and if it was killed.
    pub ended: Option<String>,
    /// Whether everything that was requested was done.
    pub complete: bool,
    /// The label that the user gave it.
    pub label: Option<String>,
    /// The command line.
    pub command: Vec<String>,
    /// The number of rows that were requested; `None` before they were planned. An imported record
    /// does not say which rows were requested: there it is the number of all rows.
    pub rows_requested: Option<u64>,
    /// The number of workers that ended, whatever their outcome.
    pub workers: u64,
    /// Whether it was imported as a record.
    pub imported: bool,
    /// Whether its journal has its raw batches; an imported record may have its own.
    pub has_raw_batches: bool,
}

/// The options of every verb that have a value as a word of its own; they may stand before the verb.
const OPTIONS_WITH_VALUE: [&str; 2] = ["--color", "--progress"];

impl Listing {
    /// Whether a bill measured it here for itself: its prices, what is added to them, or the check of
    /// a prediction. Its command line is that of the bill. One that was imported was asked for.
    pub fn is_of_bill(&self) -> bool {
        !self.imported && verb(&self.command) == Some("bill")
    }

    /// Whether it compares its own two sides.
    pub fn is_of_ab(&self) -> bool {
        verb(&self.command) == Some("ab")
    }
}

/// The verb of a command line.
fn verb(command: &[String]) -> Option<&str> {
    let mut words = command.iter().skip(1).map(String::as_str);
    while let Some(word) = words.next() {
        if OPTIONS_WITH_VALUE.contains(&word) {
            words.next();
        } else if !word.starts_with('-') {
            return Some(word);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verb_is_found_behind_options_and_is_no_word_of_a_program() {
        for (line, found) in [
            ("oscost bill -- ls", Some("bill")),
            ("oscost --color never --progress=plain bill --at local -- ls", Some("bill")),
            ("oscost run -- bill", Some("run")),
            ("oscost ab --quick -- ls -- ls -l", Some("ab")),
            ("oscost run --label bill", Some("run")),
            ("oscost", None),
            ("", None),
        ] {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            assert_eq!(verb(&words), found, "{line}");
        }
    }
}
