//! Texts from outside, in files that anybody may have written: how they are read, and how they may
//! be shown.

use std::fmt::{self, Write as _};

/// Why a text is not what it is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there, in one line without control characters.
    pub reason: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for ParseError {}

/// The text of a file of at most so many bytes; `what` is what it is to be.
pub fn utf8_text<'a>(bytes: &'a [u8], what: &str, max_bytes: usize) -> Result<&'a str, ParseError> {
    if bytes.len() > max_bytes {
        let why = format!("a {what} has at most {} KiB", max_bytes >> 10);
        return Err(ParseError { line: 1, reason: why });
    }
    str::from_utf8(bytes).map_err(|error| ParseError {
        line: line_at(bytes, error.valid_up_to()),
        reason: "it is no text (UTF-8)".to_owned(),
    })
}

/// The line of a place in a text, from 1.
pub fn line_at(text: &[u8], at: usize) -> usize {
    let before = text.get(..at).unwrap_or(text);
    1 + before.iter().filter(|&&byte| byte == b'\n').count()
}

/// A text in one line: line ends in it part words as blanks do. The error is what is wrong with it.
pub fn one_line(text: &str, what: &str, longest: usize) -> Result<String, String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.is_empty() {
        return Err(format!("{what} is empty"));
    }
    if text.chars().count() > longest {
        return Err(format!("{what} has more than {longest} letters"));
    }
    if text.chars().any(is_control) {
        return Err(format!("{what} has a control character"));
    }
    Ok(text)
}

/// A text in one line, without what steers a terminal, and of a bounded length.
pub fn display_text(text: &str, longest: usize) -> String {
    let mut shown = String::new();
    for word in text.split_whitespace() {
        let letters = word.chars().filter(|&letter| !is_control(letter));
        // Writing to a String cannot fail.
        let _ = write!(shown, "{}", if shown.is_empty() { "" } else { " " });
        shown.extend(letters);
    }
    truncate(shown, longest)
}

/// The beginning of a text, and dots where that is not all.
pub fn truncate(text: String, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((at, _)) => format!("{}...", text.get(..at).unwrap_or_default()),
        None => text,
    }
}

/// Whether a letter steers what shows it, and is nothing to be seen: also those that turn the
/// direction of a line around.
pub fn is_control(letter: char) -> bool {
    let turns = matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}');
    turns || matches!(letter, '\u{2060}'..='\u{206f}' | '\u{feff}') || letter.is_control()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_one_line_of_a_bounded_length_that_steers_nothing() {
        assert_eq!(one_line(" a\n b ", "it", 3), Ok("a b".to_owned()));
        for (text, why) in [("  ", "is empty"), ("abcd", "more than 3"), ("a\u{202e}", "control")] {
            assert!(one_line(text, "it", 3).unwrap_err().contains(why), "{text:?}");
        }
        assert_eq!(display_text("a\u{1b}[1m\n b\u{feff}", 20), "a[1m b");
        assert_eq!(display_text("abcdef", 3), "abc...");
    }

    #[test]
    fn what_is_no_text_is_refused_where_it_ends() {
        assert_eq!(utf8_text(b"ab", "study", 4), Ok("ab"));
        assert_eq!(utf8_text(b"a\nb\xff", "study", 4).unwrap_err().line, 2);
        assert!(
            utf8_text(b"abcde", "study", 4).unwrap_err().reason.contains("a study has at most")
        );
        assert_eq!(line_at(b"a\nb\nc", 99), 3);
    }
}
