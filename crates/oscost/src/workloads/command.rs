//! Commands: their words checked, and the workload of one on the command line.

use oscost_model::program::FAMILY;
use oscost_model::untrusted_text::{ParseError, is_control};

use super::files::built_in::name_of;
use super::files::spec::{Origin, Spec};

/// The maximum number of words of a command: a list of files.
pub(super) const MAX_WORDS: usize = 1_024;
/// The maximum length of all words of a command: a script.
pub(super) const MAX_COMMAND_BYTES: usize = 64 << 10;

/// The workload of `oscost run -- WORDS`. The words are literal.
pub fn of_command(words: &[String]) -> Result<Spec, ParseError> {
    check_command(words).map_err(|reason| ParseError { line: 1, reason })?;
    let name = name_of(words.first().map_or("", String::as_str));
    Ok(Spec::of_command(&format!("{FAMILY}/{name}"), Origin::CommandLine, words.to_vec()))
}

/// Checks the words of a command. The error is the reason why it is invalid.
pub(super) fn check_command(words: &[String]) -> Result<(), String> {
    match words.first() {
        None => Err("a command has words".to_owned()),
        Some(program) if program.is_empty() => {
            Err("the program of a command has no name".to_owned())
        }
        Some(_) => check_words(words),
    }
}

/// Checks words that are part of a command. The error is the reason why they are invalid.
pub(super) fn check_words(words: &[String]) -> Result<(), String> {
    if words.len() > MAX_WORDS {
        return Err(format!("a command has at most {MAX_WORDS} words"));
    }
    if words.iter().map(String::len).sum::<usize>() > MAX_COMMAND_BYTES {
        return Err(format!("a command has at most {} KiB", MAX_COMMAND_BYTES >> 10));
    }
    match words.iter().any(|word| has_control(word)) {
        true => Err("a word of a command has a control character".to_owned()),
        false => Ok(()),
    }
}

/// Whether a text has control characters other than the white space of scripts.
pub(super) fn has_control(text: &str) -> bool {
    text.chars().any(|letter| is_control(letter) && !matches!(letter, '\n' | '\t'))
}
