//! Texts from outside, as they may be shown.

pub(super) use oscost_model::untrusted::display_text;
use oscost_model::untrusted::truncate;

/// Letters of a command that are shown: a line or two.
const MAX_COMMAND_CHARS: usize = 120;

/// A command in one line: words that have blanks or quotes stand in quotes.
pub(super) fn command(words: &[String]) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "-_./=+,:@%{}".contains(letter);
    let word = |word: &String| match !word.is_empty() && word.chars().all(plain) {
        true => word.clone(),
        false => format!("'{}'", display_text(word, MAX_COMMAND_CHARS)),
    };
    truncate(words.iter().map(word).collect::<Vec<_>>().join(" "), MAX_COMMAND_CHARS)
}

/// The last lines of what a program has written, escaped, in one line and bounded.
pub(super) fn last_lines(output: &str) -> String {
    const LINES: usize = 3;
    const LETTERS: usize = 200;
    let written = || output.lines().rev().filter(|line| !line.trim().is_empty());
    let mut lines: Vec<String> =
        written().take(LINES).map(|line| display_text(line, LETTERS)).collect();
    lines.reverse();
    lines.iter().map(|line| format!("`{line}`")).collect::<Vec<_>>().join(", ")
}
