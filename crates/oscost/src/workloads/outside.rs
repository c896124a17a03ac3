//! Texts from outside, as they may be shown.

use oscost_model::untrusted::cut;
pub(super) use oscost_model::untrusted::shown;

/// Letters of a command that are shown: a line or two.
const LONGEST_COMMAND: usize = 120;

/// A command in one line: words that have blanks or quotes stand in quotes.
pub(super) fn command(words: &[String]) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "-_./=+,:@%{}".contains(letter);
    let word = |word: &String| match !word.is_empty() && word.chars().all(plain) {
        true => word.clone(),
        false => format!("'{}'", shown(word, LONGEST_COMMAND)),
    };
    cut(words.iter().map(word).collect::<Vec<_>>().join(" "), LONGEST_COMMAND)
}

/// The last lines of what a program has written, escaped, in one line and bounded.
pub(super) fn last_lines(output: &str) -> String {
    const LINES: usize = 3;
    const LETTERS: usize = 200;
    let written = || output.lines().rev().filter(|line| !line.trim().is_empty());
    let mut lines: Vec<String> = written().take(LINES).map(|line| shown(line, LETTERS)).collect();
    lines.reverse();
    lines.iter().map(|line| format!("`{line}`")).collect::<Vec<_>>().join(", ")
}
