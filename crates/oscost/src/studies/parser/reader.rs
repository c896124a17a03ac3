//! Reads the values of a study file, and names the line of an error.

use oscost_model::untrusted_text::{ParseError, line_at, one_line};
use toml::Spanned;

/// A study file.
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
}

impl Reader<'_> {
    /// The line of a byte offset, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        line_at(self.text.as_bytes(), at)
    }

    pub(super) fn error<T>(&self, at: &Spanned<T>, why: impl Into<String>) -> ParseError {
        ParseError { line: self.line(at.span().start), reason: why.into() }
    }

    /// Checks the length of a list.
    pub(super) fn bounded<T>(
        &self,
        what: &str,
        list: &[T],
        min: usize,
        max: usize,
    ) -> Result<(), ParseError> {
        if (min..=max).contains(&list.len()) {
            return Ok(());
        }
        let bound = if min == max { format!("{max}") } else { format!("{min} to {max}") };
        Err(ParseError {
            line: 1,
            reason: format!("the study has {} {what}, allowed: {bound}", list.len()),
        })
    }

    /// A text in one line of at most `max_chars` characters.
    pub(super) fn text_line(
        &self,
        raw: &Spanned<String>,
        what: &str,
        max_chars: usize,
    ) -> Result<String, ParseError> {
        one_line(raw.as_ref(), what, max_chars).map_err(|why| self.error(raw, why))
    }

    pub(super) fn within<T: Copy + PartialOrd + std::fmt::Display>(
        &self,
        raw: Option<&Spanned<T>>,
        range: &std::ops::RangeInclusive<T>,
        what: &str,
    ) -> Result<Option<T>, ParseError> {
        let Some(raw) = raw else { return Ok(None) };
        if range.contains(raw.as_ref()) {
            return Ok(Some(*raw.as_ref()));
        }
        Err(self.error(raw, format!("{what} must be {} to {}", range.start(), range.end())))
    }
}

/// Whether a byte may be part of a name in kebab case.
pub(super) fn is_kebab(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'
}
