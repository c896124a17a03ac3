//! A table in the columns of a screen: figures have the width that they need, names the rest.

mod columns;
mod row_names;
#[cfg(test)]
mod tests;

use self::columns::{Column, StyledText, columns, heading_lines, title_width};
use self::row_names::{Line, cell, lines, names_beside_bars, shorten_names};
use super::bars::{Bars, MIN_CELLS};
use super::layout::ScreenFormat;
use super::paint::width;
use super::records::records;
use crate::report::text::fold;
use crate::report::view::document::{RowScale, Table};

/// The space between two columns.
const GAP: usize = 2;

/// The table, its caption above it and its notes below.
pub fn table(table: &Table, screen: ScreenFormat) -> String {
    let room = screen.columns;
    let shortened = needs_short_texts(table, room).then(|| with_short_texts(table, |_| true));
    let table = shortened.as_ref().unwrap_or(table);
    let shortened = shortened_for_optional(table, screen);
    let table = shortened.as_ref().unwrap_or(table);
    let columns = fitting(table, screen);
    if is_too_wide(table, &columns, room) {
        let meanings = table.columns.iter().filter_map(|column| column.meaning.as_deref());
        let line = |text| format!("  {}\n", fold(text, screen.prose() - 4, "    "));
        return records(table, 0, screen) + &meanings.map(line).collect::<String>();
    }
    let mut out = String::new();
    if !table.caption.is_empty() {
        out += &format!("{}\n", fold(&table.caption, screen.prose() - 2, "  "));
    }
    let titles: Vec<&str> = columns.iter().map(|column| column.title).collect();
    let mut bars = None;
    if !table.rows.is_empty() {
        out += &match is_named_by_number(table) {
            true => in_parts(table, &columns, room),
            false => {
                let lines = NamedLines::of(table, &columns, screen);
                bars = lines.bars;
                lines.write(table, &columns, screen)
            }
        };
    }
    let shown = table.columns.iter().filter(|column| titles.contains(&column.title.as_str()));
    let meanings = shown.filter_map(|column| column.meaning.as_deref());
    let notes = table.notes.iter().map(String::as_str);
    for note in meanings.chain(notes).chain(bars.map(Bars::meaning)) {
        out += &format!("  {}\n", fold(note, screen.prose() - 4, "    "));
    }
    out
}

/// Whether the ratios of a table are drawn beside it.
pub(super) fn draws_ratios(table: &Table, screen: ScreenFormat) -> bool {
    if table.scale != Some(RowScale::Ratios) || !screen.is_wide() || is_named_by_number(table) {
        return false;
    }
    NamedLines::of(table, &fitting(table, screen), screen).bars.is_some()
}

fn is_named_by_number(table: &Table) -> bool {
    table.columns.first().is_some_and(|column| column.is_number())
}

/// Whether the columns are wider than a line even if the names have lines of their own.
fn is_too_wide(table: &Table, columns: &[Column<'_>], room: usize) -> bool {
    let with_gap = |gap: usize| columns.iter().map(|column| column.width + gap).sum::<usize>();
    let fits_by_1 = !is_of_cases(table) && widest_name(table) + with_gap(1) <= room;
    !is_named_by_number(table) && !fits_by_1 && 1 + with_gap(GAP) > room
}

fn is_of_cases(table: &Table) -> bool {
    table.rows.iter().any(|row| row.cells.first().is_some_and(|it| it.case.is_some()))
}

fn widest_name(table: &Table) -> usize {
    table.rows.iter().map(|row| width(cell(row, 0))).max().unwrap_or(0)
}

/// Whether the columns next to the names are wider than a line, and have shorter texts.
fn needs_short_texts(table: &Table, room: usize) -> bool {
    let has_short = table.rows.iter().flat_map(|row| &row.cells).any(|cell| cell.short.is_some());
    let names = match table.columns.first() {
        Some(first) if first.is_number() => {
            1 + table.rows.iter().map(|row| width(cell(row, 0))).max().unwrap_or(0)
        }
        _ => 1,
    };
    // Columns that may be left out do not shorten those that stay.
    let stays = |column: &&Column<'_>| !table.columns[column.index].optional;
    let screen = ScreenFormat { columns: room, colour: false };
    let columns = columns(table, screen);
    let widths: usize = columns.iter().filter(stays).map(|column| column.width + GAP).sum();
    has_short && names + widths > room
}

/// The table with short texts, so that fewer columns are left out; `None` if none is. What may be
/// left out is shortened first, and all other texts only for a column that has short texts itself.
fn shortened_for_optional(table: &Table, screen: ScreenFormat) -> Option<Table> {
    let all = columns(table, screen).len();
    let is_left_out = |table: &Table| fitting(table, screen).len() < all;
    if !is_left_out(table) {
        return None;
    }
    let optional = |at: usize| table.columns.get(at).is_some_and(|column| column.optional);
    let mut cells = table.rows.iter().flat_map(|row| row.cells.iter().enumerate());
    let has_short = cells.any(|(at, cell)| optional(at) && cell.short.is_some());
    let of_optional = with_short_texts(table, optional);
    let of_all = has_short && is_left_out(&of_optional);
    let of_all = of_all.then(|| with_short_texts(table, |_| true));
    Some(of_all.filter(|table| !is_left_out(table)).unwrap_or(of_optional))
}

/// The table with the short texts of some columns, by their indices.
fn with_short_texts(table: &Table, is_short: impl Fn(usize) -> bool) -> Table {
    let mut table = table.clone();
    let shortened = table.columns.iter_mut().enumerate().filter(|(at, _)| is_short(*at));
    for (_, column) in shortened {
        column.is_shortened = true;
        if let Some(short) = column.short_title.take() {
            column.title = short;
        }
    }
    let cells = table.rows.iter_mut().flat_map(|row| row.cells.iter_mut().enumerate());
    for (_, cell) in cells.filter(|(at, _)| is_short(*at)) {
        if let Some(short) = cell.short.take() {
            cell.text = short;
        }
    }
    table
}

/// The columns without the optional ones that do not fit next to the names.
fn fitting(table: &Table, screen: ScreenFormat) -> Vec<Column<'_>> {
    let room = screen.columns;
    let mut columns = columns(table, screen);
    let is_of_cases = !table.rows.is_empty()
        && table.rows.iter().all(|row| row.cells.first().is_some_and(|it| it.case.is_some()));
    let whole = widest_name(table);
    let fits = |columns: &[Column<'_>]| {
        let left = room.checked_sub(columns.iter().map(|column| column.width + GAP).sum());
        left.is_some_and(|left| match is_of_cases {
            // Families and benchmarks are headings: what is left of the names is beside the columns.
            true => lines(&table.rows, left)
                .iter()
                .all(|line| line.row.is_none() || width(&line.name) <= left),
            false => whole <= left,
        })
    };
    while !fits(&columns) {
        let last = columns.iter().rposition(|column| table.columns[column.index].optional);
        let Some(last) = last else { break };
        columns.remove(last);
    }
    columns
}

/// Rows under their headings. A name that is too long has a line of its own, or is shortened on a
/// narrow screen.
struct NamedLines<'a> {
    title: &'a str,
    lines: Vec<Line<'a>>,
    layout: LineLayout,
    bars: Option<Bars>,
}

impl<'a> NamedLines<'a> {
    fn of(table: &'a Table, columns: &[Column<'_>], screen: ScreenFormat) -> Self {
        let room = screen.columns;
        let of_cases = is_of_cases(table);
        // Cases need no title: their family and benchmark are above them.
        let title = table.columns.first().filter(|_| !of_cases).map_or("", |it| it.title.as_str());
        let left_by =
            |gap: usize| room.saturating_sub(columns.iter().map(|column| column.width + gap).sum());
        let fits_by_1 = (left_by(GAP) + 1..=left_by(1)).contains(&widest_name(table));
        let gap = if !of_cases && fits_by_1 { 1 } else { GAP };
        let mut left = left_by(gap);
        if screen.is_wide() && Bars::of(table, MIN_CELLS).is_some() {
            left = names_beside_bars(&table.rows, left, GAP + MIN_CELLS).unwrap_or(left);
        }
        let mut lines = lines(&table.rows, left);
        if screen.is_narrow() {
            shorten_names(&mut lines, left);
        }
        let of_rows = lines.iter().filter(|line| line.row.is_some()).map(|line| width(&line.name));
        let names = of_rows.filter(|&name| name <= left).max().unwrap_or(0).max(1);
        let names = names.max(title_width(title).min(left));
        let layout = LineLayout { names, gap, room };
        let beside = room.saturating_sub(layout.width(columns) + GAP);
        let bars = if screen.is_wide() { Bars::of(table, beside) } else { None };
        Self { title, lines, layout, bars }
    }

    fn write(&self, table: &Table, columns: &[Column<'_>], screen: ScreenFormat) -> String {
        let Self { title, lines, layout, bars } = self;
        let layout = *layout;
        let beside = layout.width(columns) + GAP;
        let room = screen.columns;
        let titles: Vec<&str> =
            [*title].into_iter().chain(columns.iter().map(|it| it.title)).collect();
        let headings = heading_lines(&titles);
        let mut out = String::new();
        for (at, titles) in headings.iter().enumerate() {
            let cells = columns.iter().zip(titles[1..].iter().copied().map(StyledText::heading));
            let drawn = bars.filter(|_| at + 1 == headings.len()).map(Bars::heading);
            out += &with_bar(&line(titles[0], layout, cells), beside, drawn.as_deref());
        }
        let mut above = None;
        for Line { name, row } in lines {
            let Some(row) = row else {
                out += &lines_of_its_own(name, room);
                continue;
            };
            let is_shared = table.rows_share_names && above == Some(name);
            let name = if is_shared { "" } else { above.insert(name) };
            let cells = columns.iter().map(|it| (it, StyledText::cell(row, it.index)));
            let drawn = bars.zip(row.mark).map(|(bars, mark)| bars.bar(mark));
            out += &with_bar(&line(name, layout, cells), beside, drawn.as_deref());
            for note in &row.notes {
                out += &format!("    {}\n", fold(note, screen.prose() - 6, "      "));
            }
        }
        out
    }
}

/// A line with something drawn from a column on.
fn with_bar(line: &str, column: usize, drawn: Option<&str>) -> String {
    let Some(drawn) = drawn.filter(|drawn| !drawn.is_empty()) else { return line.to_owned() };
    let line = line.trim_end_matches('\n');
    let last = line.rsplit('\n').next().unwrap_or(line);
    let gap = column.saturating_sub(width(last));
    format!("{line}{:gap$}{drawn}\n", "")
}

/// How the lines of a table are laid out.
#[derive(Clone, Copy)]
struct LineLayout {
    /// The width of the names.
    names: usize,
    /// The space between two columns.
    gap: usize,
    /// The width of a line.
    room: usize,
}

impl LineLayout {
    /// The width of names and columns.
    fn width(self, columns: &[Column<'_>]) -> usize {
        self.names + columns.iter().map(|column| column.width + self.gap).sum::<usize>()
    }
}

fn line<'a>(
    name: &str,
    LineLayout { names, gap, room }: LineLayout,
    cells: impl Iterator<Item = (&'a Column<'a>, StyledText<'a>)>,
) -> String {
    let (above, name) = match width(name) > names {
        true => (lines_of_its_own(name, room), ""),
        false => (String::new(), name),
    };
    let mut text = format!("{name:<names$}");
    for (column, cell) in cells {
        column.write(cell, gap, &mut text);
    }
    format!("{above}{}\n", text.trim_end())
}

/// A name on lines of its own.
fn lines_of_its_own(name: &str, room: usize) -> String {
    let letters: Vec<char> = name.chars().collect();
    letters.chunks(room).map(|line| line.iter().collect::<String>() + "\n").collect()
}

/// Rows named by numbers: as many columns side by side as fit, the others below.
fn in_parts(table: &Table, columns: &[Column<'_>], room: usize) -> String {
    let title = table.columns.first().map_or("", |column| column.title.as_str());
    let names = table.rows.iter().map(|row| width(cell(row, 0))).chain([title_width(title)]).max();
    let names = names.unwrap_or(0);
    let mut left = columns;
    let mut parts = Vec::new();
    while !left.is_empty() {
        let mut wide = 1 + names;
        let fitting = left.iter().take_while(|column| {
            wide += GAP + column.width;
            wide <= room
        });
        let (now, later) = left.split_at(fitting.count().max(1));
        parts.push(part(table, now, names));
        left = later;
    }
    parts.join("\n")
}

/// Some columns of a table, and the rows that are not empty in all of them.
fn part(table: &Table, columns: &[Column<'_>], names: usize) -> String {
    let line = |name: &str, cells: &mut dyn Iterator<Item = StyledText<'_>>| {
        let mut text = format!(" {name:>names$}");
        columns.iter().zip(cells).for_each(|(column, cell)| column.write(cell, GAP, &mut text));
        format!("{}\n", text.trim_end())
    };
    let title = table.columns.first().map_or("", |column| column.title.as_str());
    let titles: Vec<&str> = [title].into_iter().chain(columns.iter().map(|it| it.title)).collect();
    let mut out = String::new();
    for titles in heading_lines(&titles) {
        out += &line(titles[0], &mut titles[1..].iter().copied().map(StyledText::heading));
    }
    for row in &table.rows {
        if columns.iter().any(|column| !cell(row, column.index).is_empty()) {
            let cells = &mut columns.iter().map(|column| StyledText::cell(row, column.index));
            out += &line(cell(row, 0), cells);
        }
    }
    out
}
