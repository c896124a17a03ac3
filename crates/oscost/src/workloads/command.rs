//! Commands: their words checked, and the workload of one on the command line.

use std::collections::BTreeMap;
use std::str::FromStr;

use oscost_model::parameter::SampledParameter;
use oscost_model::point::Value;
use oscost_model::program::{FAMILY, MAX_COMMAND_BYTES, MAX_COMMAND_WORDS};
use oscost_model::untrusted_text::{ParseError, is_control};

use super::files::built_in::name_of;
use super::files::spec::{Origin, Spec, WorkloadAxis};

/// The longest name of a parameter.
const MAX_NAME_CHARS: usize = 16;
/// The longest value of a parameter.
const MAX_VALUE_CHARS: usize = 32;
/// The most values of a parameter.
const MAX_VALUES: usize = 32;
/// The largest end of a range: readers of JSON may keep numbers with 53 bits.
const MAX_SAMPLED_VALUE: i64 = 1 << 53;

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
        check_name(name)?;
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

fn check_name(name: &str) -> Result<(), String> {
    let is_name = |letter: char| letter.is_ascii_lowercase() || letter == '_';
    match !name.is_empty() && name.len() <= MAX_NAME_CHARS && name.chars().all(is_name) {
        true => Ok(()),
        false => {
            Err(format!("its name has up to {MAX_NAME_CHARS} lower-case letters and `_`, like `n`"))
        }
    }
}

/// Reads `n=1..1000`: a parameter with a random value in each round.
pub fn sampled_parameter(text: &str) -> Result<SampledParameter, String> {
    const FORM: &str = "it is not NAME=LOW..HIGH, like `n=1..1000`";
    let (name, range) = text.split_once('=').ok_or(FORM)?;
    check_name(name)?;
    let (low, high) = range.split_once("..").ok_or(FORM)?;
    let end = |text: &str| {
        let number = text.parse::<i64>().ok();
        let number = number.filter(|it| it.unsigned_abs() <= MAX_SAMPLED_VALUE.unsigned_abs());
        number.ok_or_else(|| {
            format!("the ends of its range are whole numbers of at most {MAX_SAMPLED_VALUE}")
        })
    };
    let (low, high) = (end(low)?, end(high)?);
    match low <= high {
        true => Ok(SampledParameter { name: name.to_owned(), low, high }),
        false => Err(format!(
            "its range has no value, since {low} is more than {high}: write {name}={high}..{low}"
        )),
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
    if words.len() > MAX_COMMAND_WORDS {
        return Err(format!(
            "a command has at most {MAX_COMMAND_WORDS} words; a script in a file may have more"
        ));
    }
    if words.iter().map(String::len).sum::<usize>() > MAX_COMMAND_BYTES {
        return Err(format!(
            "a command has at most {} KiB; a script in a file may have more",
            MAX_COMMAND_BYTES >> 10
        ));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_has_lines_and_tabs_and_nothing_else_that_controls_a_terminal() {
        let script = |text: &str| ["sh", "-c", text].map(str::to_owned);
        assert_eq!(check_command(&script("for i in 1 2\ndo\n\techo $i\ndone\n")), Ok(()));
        for control in ['\u{1b}', '\r', '\u{202e}', '\u{2066}', '\u{9b}'] {
            assert!(check_command(&script(&format!("echo {control}"))).is_err(), "{control:?}");
        }
    }

    #[test]
    fn a_range_is_read_with_both_ends_and_a_wrong_one_is_refused_with_the_form_of_a_right_one() {
        let read = |text: &str| sampled_parameter(text).map(|it| (it.name, it.low, it.high));
        assert_eq!(read("n=1..1000"), Ok(("n".to_owned(), 1, 1_000)));
        assert_eq!(read("cache_size=-5..-5"), Ok(("cache_size".to_owned(), -5, -5)));
        let most = format!("n=-{MAX_SAMPLED_VALUE}..{MAX_SAMPLED_VALUE}");
        assert_eq!(read(&most), Ok(("n".to_owned(), -MAX_SAMPLED_VALUE, MAX_SAMPLED_VALUE)));
        let beyond = format!("n=0..{}", MAX_SAMPLED_VALUE + 1);
        for (text, why) in [
            ("n", "NAME=LOW..HIGH"),
            ("n=1", "NAME=LOW..HIGH"),
            ("N=1..2", "lower-case"),
            ("=1..2", "lower-case"),
            ("n=1..", "whole numbers"),
            ("n=1.5..2", "whole numbers"),
            ("n=1...2", "whole numbers"),
            ("n=a..b", "whole numbers"),
            (beyond.as_str(), "at most 9007199254740992"),
            ("n=9..3", "write n=3..9"),
        ] {
            let refused = read(text).unwrap_err();
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }
}
