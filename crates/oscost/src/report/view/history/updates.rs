//! What was updated between two runs, in words.

use crate::estimate::history::Update;
use crate::report::text::plain;

/// A value that was updated is quoted up to here: it may be a whole command line.
const MAX_VALUE_CHARS: usize = 120;

/// What was updated, from what and to what.
pub(in crate::report::view) fn update_text(mark: &Update) -> String {
    let of_peer = if mark.peer { " of the other end" } else { "" };
    let [from, to] = [&mark.from, &mark.to].map(|text| shortened(&plain(text)));
    format!("{}{of_peer} {from} -> {to}", mark.part.text())
}

/// The beginning of a value that may be long.
fn shortened(value: &str) -> String {
    match value.char_indices().nth(MAX_VALUE_CHARS) {
        Some((at, _)) => format!("{}...", &value[..at]),
        None => value.to_owned(),
    }
}
