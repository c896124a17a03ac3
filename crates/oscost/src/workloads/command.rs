//! A workload from words of the command line.

use std::collections::BTreeMap;

use oscost_model::program::{FAMILY, ProgramLimits};

use super::parser::{ParseError, defaults, words_of_a_command};
use super::{Folder, Origin, Spec, is_built_in, quoting};

/// As long as names in tables may be.
const MAX_NAME_CHARS: usize = 24;

/// The workload that `oscost run -- WORDS` means. Its words are taken as they stand.
pub fn of_command(words: &[String]) -> Result<Spec, ParseError> {
    words_of_a_command(words).map_err(|why| ParseError { line: 1, reason: why })?;
    let name = name_of(words.first().map_or("", String::as_str));
    Ok(own(&format!("{FAMILY}/{name}"), Origin::CommandLine, words.to_vec()))
}

/// The workload of a person's own of which nothing is known but its command.
pub(super) fn own(id: &str, origin: Origin, command: Vec<String>) -> Spec {
    let shown = quoting::command(&command);
    Spec {
        id: id.to_owned(),
        origin,
        asks: format!("What does `{shown}` cost?"),
        op: format!("`{shown}`, from before its process is made until its end is known"),
        expected: "none was made".to_owned(),
        source: match origin {
            Origin::CommandLine => "the command line".to_owned(),
            Origin::BuiltIn | Origin::File => "a file of the user's own".to_owned(),
        },
        explanation: String::new(),
        rev: 1,
        command,
        variables: BTreeMap::new(),
        folder: Folder::Here,
        before: Vec::new(),
        after: Vec::new(),
        companion: None,
        reads_output: false,
        statuses: vec![0],
        limits: ProgramLimits::default(),
        trials: defaults::TRIALS,
        min_trials: defaults::LEAST,
        quick_trials: defaults::QUICK,
        figures: Vec::new(),
        primary: "real".to_owned(),
        axes: Vec::new(),
        needs: Vec::new(),
        prepare: None,
    }
}

/// A program's or a file's name as a benchmark may have it; never one that comes with oscost, with
/// whose figures its own would be mixed.
pub(super) fn name_of(path: &str) -> String {
    let base = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let mut name = String::new();
    for letter in base.chars() {
        let letter = letter.to_ascii_lowercase();
        match letter {
            'a'..='z' | '0'..='9' => name.push(letter),
            _ if name.is_empty() || name.ends_with('-') => {}
            _ => name.push('-'),
        }
        if name.len() == MAX_NAME_CHARS {
            break;
        }
    }
    let name = name.trim_end_matches('-');
    match name {
        "" => "command".to_owned(),
        name if is_built_in(name) => format!("{name}-command"),
        name => name.to_owned(),
    }
}
