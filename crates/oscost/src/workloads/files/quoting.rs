//! Text of others for display.

pub(in crate::workloads) use oscost_model::untrusted_text::display_text;
use oscost_model::untrusted_text::truncate;

/// The maximum length of a displayed command.
const MAX_COMMAND_CHARS: usize = 120;

/// A command in one line; words with blanks or quotes are quoted.
pub(in crate::workloads) fn command(words: &[String]) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "-_./=+,:@%{}".contains(letter);
    let word = |word: &String| match !word.is_empty() && word.chars().all(plain) {
        true => word.clone(),
        false => format!("'{}'", display_text(word, MAX_COMMAND_CHARS)),
    };
    truncate(words.iter().map(word).collect::<Vec<_>>().join(" "), MAX_COMMAND_CHARS)
}

/// The last lines of a program's output as one line of bounded length.
pub(in crate::workloads) fn last_lines(output: &str) -> String {
    const MAX_LINES: usize = 3;
    const MAX_CHARS: usize = 200;
    let written = || output.lines().rev().filter(|line| !line.trim().is_empty());
    let mut lines: Vec<String> =
        written().take(MAX_LINES).map(|line| display_text(line, MAX_CHARS)).collect();
    lines.reverse();
    lines.iter().map(|line| format!("`{line}`")).collect::<Vec<_>>().join(", ")
}
