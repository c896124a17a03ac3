//! The width of a terminal, and texts in it.

use crate::report::text::fold;

/// Columns of a terminal.
pub const WIDTH: usize = 80;
/// How far a list under a heading is indented, and every line but the first of a text.
pub(super) const INDENT: usize = 2;

/// A text in lines of which the first is indented by `indent`, and the others by `hanging` more.
pub(super) fn fold_lines(text: &str, indent: usize, hanging: usize) -> String {
    let more = " ".repeat(indent + hanging);
    format!("{:indent$}{}\n", "", fold(text, WIDTH - indent - hanging, &more))
}
