//! The columns after the first, and their headings.

use crate::report::render::terminal::layout::ScreenFormat;
use crate::report::render::terminal::paint::{Paint, width};
use crate::report::text::fold;
use crate::report::view::document::{ColumnKind, Table, TableRow};

/// The minimum width of a column of sentences, unless all of them are shorter.
const MIN_PROSE: usize = 30;
/// The same of a column of texts of which the beginning may do.
const MIN_EXCERPT: usize = 16;
/// The same beside short texts.
const MIN_SHORT_EXCERPT: usize = 7;
/// The most lines of such a text where there is room for more than one.
const MAX_EXCERPT_LINES: usize = 3;
/// What stands for the rest of a text.
const ELLIPSIS: &str = "...";

/// A column after the first as it is written.
pub(super) struct Column<'a> {
    pub(super) title: &'a str,
    /// The index of its cells in a row.
    pub(super) index: usize,
    pub(super) width: usize,
    kind: ColumnKind,
    screen: ScreenFormat,
}

/// A text in a cell or a heading.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StyledText<'a> {
    text: &'a str,
    /// Its style; empty for none.
    style: &'a str,
}

impl<'a> StyledText<'a> {
    pub(super) fn heading(text: &'a str) -> Self {
        Self { text, style: "" }
    }

    pub(super) fn cell(row: &'a TableRow, index: usize) -> Self {
        row.cells.get(index).map_or(Self::default(), |it| Self { text: &it.text, style: it.style })
    }
}

impl Column<'_> {
    pub(super) fn write(
        &self,
        StyledText { text, style }: StyledText<'_>,
        gap: usize,
        line: &mut String,
    ) {
        line.push_str(&" ".repeat(gap));
        let start = width(line);
        let left = self.screen.columns.saturating_sub(start).max(1);
        let padding = " ".repeat(self.width.saturating_sub(width(text)));
        let painted = Paint::Word(style).of(text, self.screen.colour);
        match self.kind {
            ColumnKind::Number => line.extend([padding, painted]),
            ColumnKind::Text | ColumnKind::Choice => line.extend([painted, padding]),
            ColumnKind::Excerpt if !self.screen.is_wide() => line.push_str(&excerpt(text, left)),
            ColumnKind::Excerpt => line.push_str(&first_lines(text, left, start)),
            ColumnKind::Prose => {
                let indent = " ".repeat(start);
                let parts: Vec<String> =
                    text.lines().map(|part| fold(part, left, &indent)).collect();
                line.push_str(&parts.join(&format!("\n{indent}")));
            }
        }
    }
}

/// The columns that are not empty, each with the width that it needs.
pub(super) fn columns(table: &Table, screen: ScreenFormat) -> Vec<Column<'_>> {
    let columns = table.columns.iter().enumerate().skip(1);
    let columns = columns.filter(|(_, column)| column.min_line <= screen.columns);
    let shown = columns.filter_map(|(index, column)| {
        let widest = table.rows.iter().filter_map(|row| Some(width(&row.cells.get(index)?.text)));
        let widest = widest.max().filter(|&widest| widest > 0)?;
        let widest = match column.kind {
            ColumnKind::Prose => widest.min(MIN_PROSE),
            ColumnKind::Excerpt if column.is_shortened => widest.min(MIN_SHORT_EXCERPT),
            ColumnKind::Excerpt => widest.min(MIN_EXCERPT),
            _ => widest,
        };
        let title = column.title.as_str();
        let width = widest.max(title_width(title));
        Some(Column { title, index, width, kind: column.kind, screen })
    });
    shown.collect()
}

/// A text, shortened to the available width.
fn excerpt(text: &str, room: usize) -> String {
    match width(text) > room {
        true => {
            let kept = room.saturating_sub(ELLIPSIS.len());
            text.chars().take(kept).chain(ELLIPSIS.chars()).collect()
        }
        false => text.to_owned(),
    }
}

/// The first lines of a text, each but the first indented.
fn first_lines(text: &str, room: usize, indent: usize) -> String {
    let parts: Vec<String> = text.lines().map(|part| fold(part, room, "")).collect();
    let folded = parts.join("\n");
    let mut lines: Vec<String> =
        folded.lines().take(MAX_EXCERPT_LINES).map(str::to_owned).collect();
    if folded.lines().count() > MAX_EXCERPT_LINES
        && let Some(last) = lines.last_mut()
    {
        let kept: String = last.chars().take(room.saturating_sub(ELLIPSIS.len())).collect();
        *last = format!("{}{ELLIPSIS}", kept.trim_end());
    }
    lines.join(&format!("\n{:indent$}", ""))
}

/// The width of a heading, which may have several lines.
pub(super) fn title_width(title: &str) -> usize {
    title.split('\n').map(width).max().unwrap_or(0)
}

/// The lines of headings: those with fewer lines end at the bottom.
pub(super) fn heading_lines<'a>(titles: &[&'a str]) -> Vec<Vec<&'a str>> {
    let height = |title: &str| if title.is_empty() { 0 } else { title.split('\n').count() };
    let lines = titles.iter().map(|title| height(title)).max().unwrap_or(0);
    let line = |at: usize| {
        let of = |title: &&'a str| {
            let skipped = lines - height(title);
            at.checked_sub(skipped).and_then(|at| title.split('\n').nth(at)).unwrap_or_default()
        };
        titles.iter().map(of).collect()
    };
    (0..lines).map(line).collect()
}
