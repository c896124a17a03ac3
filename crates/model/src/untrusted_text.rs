//! Untrusted text: how files from others are read, and how their text is shown safely.

use std::fmt::{self, Write as _};

/// Why a text could not be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The line, from 1.
    pub line: usize,
    /// The reason, in one line without control characters.
    pub reason: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for ParseError {}

/// Decodes a file of at most `max_bytes` as UTF-8; `what` names the kind of file.
pub fn utf8_text<'a>(bytes: &'a [u8], what: &str, max_bytes: usize) -> Result<&'a str, ParseError> {
    if bytes.len() > max_bytes {
        let why = format!("a {what} may have at most {} KiB", max_bytes >> 10);
        return Err(ParseError { line: 1, reason: why });
    }
    str::from_utf8(bytes).map_err(|error| ParseError {
        line: line_at(bytes, error.valid_up_to()),
        reason: "it is not UTF-8 text".to_owned(),
    })
}

/// The line of a byte offset, from 1.
pub fn line_at(text: &[u8], at: usize) -> usize {
    let before = text.get(..at).unwrap_or(text);
    1 + before.iter().filter(|&&byte| byte == b'\n').count()
}

/// Joins the words of a text into one line of at most `max_chars` characters. The error is the
/// reason why it is not allowed.
pub fn one_line(text: &str, what: &str, max_chars: usize) -> Result<String, String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.is_empty() {
        return Err(format!("{what} is empty"));
    }
    if text.chars().count() > max_chars {
        return Err(format!("{what} has more than {max_chars} characters"));
    }
    if text.chars().any(is_control) {
        return Err(format!("{what} has a control character"));
    }
    Ok(text)
}

/// A text in one line of bounded length, without characters that control a terminal.
pub fn display_text(text: &str, max_chars: usize) -> String {
    let mut shown = String::new();
    for word in text.split_whitespace() {
        let visible = word.chars().filter(|&c| !is_control(c));
        // Writing to a String cannot fail.
        let _ = write!(shown, "{}", if shown.is_empty() { "" } else { " " });
        shown.extend(visible);
    }
    truncate(shown, max_chars)
}

/// The first `max_chars` characters of a text, followed by dots if it is longer.
pub fn truncate(text: String, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((at, _)) => format!("{}...", text.get(..at).unwrap_or_default()),
        None => text,
    }
}

/// Whether a character is invisible and affects how text is shown, including those that change the
/// direction of text.
pub fn is_control(letter: char) -> bool {
    let changes_direction = matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}');
    changes_direction
        || matches!(letter, '\u{2060}'..='\u{206f}' | '\u{feff}')
        || letter.is_control()
}

/// A text with its control characters written out (`\u{1b}`), except line breaks and tabs: for a
/// terminal that shows what others named, such as the files of a folder.
pub fn escape_controls(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' | '\t' => shown.push(letter),
            letter if is_control(letter) => shown.extend(letter.escape_default()),
            letter => shown.push(letter),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_reduced_to_one_bounded_line_without_control_characters() {
        assert_eq!(one_line(" a\n b ", "it", 3), Ok("a b".to_owned()));
        for (text, why) in [("  ", "is empty"), ("abcd", "more than 3"), ("a\u{202e}", "control")] {
            assert!(one_line(text, "it", 3).unwrap_err().contains(why), "{text:?}");
        }
        assert_eq!(display_text("a\u{1b}[1m\n b\u{feff}", 20), "a[1m b");
        assert_eq!(display_text("abcdef", 3), "abc...");
    }

    #[test]
    fn control_characters_are_written_out_and_lines_kept() {
        assert_eq!(escape_controls("a\n\tb \u{e9}"), "a\n\tb \u{e9}");
        assert_eq!(escape_controls("\u{1b}[2J\r\u{9b}\u{202e}"), "\\u{1b}[2J\\r\\u{9b}\\u{202e}");
    }

    #[test]
    fn invalid_utf8_is_rejected_with_its_line() {
        assert_eq!(utf8_text(b"ab", "study", 4), Ok("ab"));
        assert_eq!(utf8_text(b"a\nb\xff", "study", 4).unwrap_err().line, 2);
        assert!(
            utf8_text(b"abcde", "study", 4)
                .unwrap_err()
                .reason
                .contains("a study may have at most")
        );
        assert_eq!(line_at(b"a\nb\nc", 99), 3);
    }
}
