//! Errors about treatments, and text of others in them.

use thiserror::Error;

/// Why a treatment cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("cannot {act}: {why}{}", hint_line(.hint))]
pub struct TreatmentError {
    /// What cannot be done.
    pub act: String,
    /// The cause.
    pub why: String,
    /// The valid form, or another next step; empty if `why` contains it.
    pub hint: String,
}

fn hint_line(hint: &str) -> String {
    if hint.is_empty() { String::new() } else { format!("\n  hint: {hint}") }
}

/// Text of others for a message: bounded, and without control characters.
pub(super) fn quote(text: &str) -> String {
    const MAX_CHARS: usize = 60;
    shorten(text, MAX_CHARS)
}

/// The same with at most `max_chars` characters.
pub(super) fn shorten(text: &str, max_chars: usize) -> String {
    let mut shown: String = text.chars().take(max_chars).collect();
    if shown.len() < text.len() {
        shown += "...";
    }
    shown.escape_debug().to_string().replace("\\'", "'").replace("\\\"", "\"")
}
