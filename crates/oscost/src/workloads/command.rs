//! Commands: their words checked, and the workload of one on the command line.

use std::collections::BTreeMap;
use std::str::FromStr;

use oscost_model::point::Value;
use oscost_model::program::FAMILY;
use oscost_model::untrusted_text::{ParseError, is_control};

use super::files::built_in::name_of;
use super::files::spec::{Origin, Spec, WorkloadAxis};

/// The maximum number of words of a command: a list of files.
pub(super) const MAX_WORDS: usize = 1_024;
/// The maximum length of all words of a command: a script.
pub(super) const MAX_COMMAND_BYTES: usize = 64 << 10;

/// The longest name of a parameter.
const MAX_NAME_CHARS: usize = 16;
/// The longest value of a parameter.
const MAX_VALUE_CHARS: usize = 32;
/// The most values of a parameter.
const MAX_VALUES: usize = 32;

/// A parameter of commands on the command line: `{name}` in their words stands for its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its values.
    pub values: Vec<String>,
}

/// The workload of `oscost run -- WORDS`. The words are literal, except for parameters.
pub fn of_command(words: &[String], parameters: &[Parameter]) -> Result<Spec, ParseError> {
    check_command(words).map_err(|reason| ParseError { line: 1, reason })?;
    let name = name_of(words.first().map_or("", String::as_str));
    let id = format!("{FAMILY}/{name}");
    let mut spec = Spec::of_command(&id, Origin::CommandLine, words.to_vec());
    for Parameter { name, values } in parameters {
        let points: Vec<Value> = values.iter().map(|value| value_of(value)).collect();
        spec.axes.push(WorkloadAxis {
            name: name.clone(),
            sets: format!("`{{{name}}}` in the command"),
            default_points: points.clone(),
            points,
            words: BTreeMap::new(),
        });
    }
    Ok(spec)
}

/// A number, if a number prints the same.
fn value_of(text: &str) -> Value {
    match text.parse::<u64>() {
        Ok(number) if number.to_string() == text => Value::Number(number),
        _ => Value::Word(text.to_owned()),
    }
}

impl FromStr for Parameter {
    type Err = String;

    /// Reads `n=1,2,4`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, values) = text.split_once('=').ok_or("it is not NAME=VALUE,VALUE...")?;
        let is_name = |letter: char| letter.is_ascii_lowercase() || letter == '_';
        if name.is_empty() || name.len() > MAX_NAME_CHARS || !name.chars().all(is_name) {
            return Err(format!(
                "its name has up to {MAX_NAME_CHARS} lower-case letters and `_`, like `n`"
            ));
        }
        let values: Vec<String> = values.split(',').map(str::to_owned).collect();
        // They are part of the names of cases, which have a grammar.
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-+%".contains(letter);
        let is_value = |value: &String| {
            (1..=MAX_VALUE_CHARS).contains(&value.len()) && value.chars().all(is_plain)
        };
        if !values.iter().all(is_value) {
            return Err(format!(
                "its values have 1 to {MAX_VALUE_CHARS} letters, digits or `._-+%` each"
            ));
        }
        if values.len() > MAX_VALUES {
            return Err(format!("it has at most {MAX_VALUES} values"));
        }
        match (1..values.len()).any(|at| values[..at].contains(&values[at])) {
            true => Err("it has a value twice".to_owned()),
            false => Ok(Self { name: name.to_owned(), values }),
        }
    }
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
