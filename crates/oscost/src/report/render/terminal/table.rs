//! A table in the columns of a screen: figures have the width that they need, names the rest.

use std::collections::BTreeSet;

use crate::report::text::{fold, plain};
use crate::report::view::document::{CaseName, Cell, ColumnKind, RowScale, Table, TableRow};

use super::bars::{Bars, MIN_CELLS};
use super::layout::{ScreenFormat, short_names};
use super::paint::{Paint, width};
use super::records::records;

/// The space between two columns.
const GAP: usize = 2;
/// The minimum width of a column of sentences, unless all of them are shorter.
const MIN_PROSE: usize = 30;
/// The same of a column of texts of which the beginning may do.
const MIN_EXCERPT: usize = 16;

/// The table, its caption above it and its notes below.
pub fn table(table: &Table, screen: ScreenFormat) -> String {
    let room = screen.columns;
    let shortened = needs_short_texts(table, room).then(|| with_short_texts(table, |_| true));
    let table = shortened.as_ref().unwrap_or(table);
    // What may be left out is shortened first.
    let is_left_out = fitting(table, screen).len() < columns(table, screen).len();
    let optional = |at: usize| table.columns.get(at).is_some_and(|column| column.optional);
    let shortened = is_left_out.then(|| with_short_texts(table, optional));
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

/// The table with the short texts of some columns, by their indices.
fn with_short_texts(table: &Table, is_short: impl Fn(usize) -> bool) -> Table {
    let mut table = table.clone();
    let cells = table.rows.iter_mut().flat_map(|row| row.cells.iter_mut().enumerate());
    for (_, cell) in cells.filter(|(at, _)| is_short(*at)) {
        if let Some(short) = cell.short.take() {
            cell.text = short;
        }
    }
    table
}

/// A column after the first as it is written.
struct Column<'a> {
    title: &'a str,
    /// The index of its cells in a row.
    index: usize,
    width: usize,
    kind: ColumnKind,
    screen: ScreenFormat,
}

/// A text in a cell or a heading.
#[derive(Clone, Copy, Debug, Default)]
struct Shown<'a> {
    text: &'a str,
    /// Its style; empty for none.
    style: &'a str,
}

impl<'a> Shown<'a> {
    fn heading(text: &'a str) -> Self {
        Self { text, style: "" }
    }

    fn cell(row: &'a TableRow, index: usize) -> Self {
        row.cells.get(index).map_or(Self::default(), |it| Self { text: &it.text, style: it.style })
    }
}

impl Column<'_> {
    fn write(&self, Shown { text, style }: Shown<'_>, gap: usize, line: &mut String) {
        line.push_str(&" ".repeat(gap));
        let start = width(line);
        let left = self.screen.columns.saturating_sub(start).max(1);
        let padding = " ".repeat(self.width.saturating_sub(width(text)));
        let painted = Paint::Word(style).of(text, self.screen.colour);
        match self.kind {
            ColumnKind::Number => line.extend([padding, painted]),
            ColumnKind::Text | ColumnKind::Choice => line.extend([painted, padding]),
            ColumnKind::Excerpt if !self.screen.is_wide() => line.push_str(&excerpt(text, left)),
            ColumnKind::Excerpt | ColumnKind::Prose => {
                let indent = " ".repeat(start);
                let parts: Vec<String> =
                    text.lines().map(|part| fold(part, left, &indent)).collect();
                line.push_str(&parts.join(&format!("\n{indent}")));
            }
        }
    }
}

/// A text, shortened to the available width.
fn excerpt(text: &str, room: usize) -> String {
    match width(text) > room {
        true => text.chars().take(room.saturating_sub(3)).chain("...".chars()).collect(),
        false => text.to_owned(),
    }
}

/// The columns that are not empty, each with the width that it needs.
fn columns(table: &Table, screen: ScreenFormat) -> Vec<Column<'_>> {
    let columns = table.columns.iter().enumerate().skip(1);
    let columns = columns.filter(|(_, column)| column.min_line <= screen.columns);
    let shown = columns.filter_map(|(index, column)| {
        let widest = table.rows.iter().filter_map(|row| Some(width(&row.cells.get(index)?.text)));
        let widest = widest.max().filter(|&widest| widest > 0)?;
        let widest = match column.kind {
            ColumnKind::Prose => widest.min(MIN_PROSE),
            ColumnKind::Excerpt => widest.min(MIN_EXCERPT),
            _ => widest,
        };
        let title = column.title.as_str();
        let width = widest.max(title_width(title));
        Some(Column { title, index, width, kind: column.kind, screen })
    });
    shown.collect()
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

/// The width of a heading, which may have several lines.
fn title_width(title: &str) -> usize {
    title.split('\n').map(width).max().unwrap_or(0)
}

/// The lines of headings: those with fewer lines end at the bottom.
fn heading_lines<'a>(titles: &[&'a str]) -> Vec<Vec<&'a str>> {
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

fn cell(row: &TableRow, index: usize) -> &str {
    row.cells.get(index).map_or("", |cell| cell.text.as_str())
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
            left = names_beside_bars(&table.rows, left).unwrap_or(left);
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
            let cells = columns.iter().zip(titles[1..].iter().copied().map(Shown::heading));
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
            let cells = columns.iter().map(|it| (it, Shown::cell(row, it.index)));
            let drawn = bars.zip(row.mark).map(|(bars, mark)| bars.bar(mark));
            out += &with_bar(&line(name, layout, cells), beside, drawn.as_deref());
            for note in &row.notes {
                out += &format!("    {}\n", fold(note, screen.prose() - 6, "      "));
            }
        }
        out
    }
}

/// The columns of names that leave room for a scale, if most names fit into them: the others have
/// lines of their own, as on a narrower screen.
fn names_beside_bars(rows: &[TableRow], left: usize) -> Option<usize> {
    let names = left.checked_sub(GAP + MIN_CELLS)?;
    let lines = lines(rows, names);
    let is_fitting = |line: &&Line<'_>| line.row.is_some() && width(&line.name) <= names;
    (4 * lines.iter().filter(is_fitting).count() >= 3 * rows.len()).then_some(names)
}

/// Shortens the names of rows that do not fit beside the columns; those below one title stay
/// different.
fn shorten_names(lines: &mut [Line<'_>], columns: usize) {
    for below_title in lines.split_mut(|line| line.row.is_none()) {
        let names: Vec<&str> = below_title.iter().map(|line| line.name.as_str()).collect();
        let short = short_names(&names, columns);
        below_title.iter_mut().zip(short).for_each(|(line, name)| line.name = name);
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
    cells: impl Iterator<Item = (&'a Column<'a>, Shown<'a>)>,
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

/// A line of a table: a row with its name, or a title above rows.
struct Line<'a> {
    name: String,
    row: Option<&'a TableRow>,
}

/// The rows with their names; cases by family and benchmark.
fn lines(rows: &[TableRow], left: usize) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    for of_family in rows.chunk_by(|one, other| family(one) == family(other)) {
        let Some(family) = family(&of_family[0]) else {
            lines.extend(
                of_family.iter().map(|row| Line { name: cell(row, 0).to_owned(), row: Some(row) }),
            );
            continue;
        };
        lines.push(Line { name: plain(family), row: None });
        for of_benchmark in of_family.chunk_by(|one, other| benchmark(one) == benchmark(other)) {
            lines.extend(of_one_benchmark(of_benchmark, left));
        }
    }
    lines
}

/// The case that a row is named by.
fn case(row: &TableRow) -> Option<&CaseName> {
    row.cells.first()?.case.as_ref()
}

fn family(row: &TableRow) -> Option<&str> {
    case(row).map(CaseName::family)
}

fn benchmark(row: &TableRow) -> Option<&str> {
    case(row).map(|case| case.benchmark.as_str())
}

/// The axes on which all cases have the value of the first, found once: if each row asked for them,
/// each would be compared with all others. If some leave an axis out, a shared title could leave
/// the others without a name, so they agree on none.
struct SharedAxes<'a> {
    /// Whether all have the same axes.
    all_named: bool,
    agreed: BTreeSet<&'a str>,
}

impl<'a> SharedAxes<'a> {
    fn of(first: &'a CaseName, others: &[&CaseName]) -> Self {
        let axes = |case: &'a CaseName| case.point.iter().map(|(axis, _)| axis);
        let has_axes = |case: &&CaseName| case.point.iter().map(|(axis, _)| axis).eq(axes(first));
        let all_named = others.iter().all(has_axes);
        let is_agreed =
            |axis: &&str| others.iter().all(|it| it.point.get(axis) == first.point.get(axis));
        let agreed = axes(first).filter(|axis| all_named && is_agreed(axis)).collect();
        Self { all_named, agreed }
    }
}

/// The rows of a benchmark. If there are several, a title names the axes on which they agree, and each
/// row the others. If those do not fit, the title names these axes too, and a row only its values.
fn of_one_benchmark(rows: &[TableRow], left: usize) -> Vec<Line<'_>> {
    let cases: Vec<(&TableRow, &CaseName)> =
        rows.iter().filter_map(|row| Some((row, case(row)?))).collect();
    let [(row, first), rest @ ..] = &cases[..] else { return Vec::new() };
    if rest.is_empty() {
        let name = row.cells.first().map_or("", |Cell { text, .. }| without_family(text));
        return vec![Line { name: plain(&format!(" {name}")), row: Some(row) }];
    }
    let others: Vec<&CaseName> = rest.iter().map(|&(_, case)| case).collect();
    let SharedAxes { all_named, agreed } = SharedAxes::of(first, &others);
    let agreed = |axis: &str| agreed.contains(axis);
    let joined = |parts: &mut dyn Iterator<Item = String>| parts.collect::<Vec<_>>().join(",");
    let full = |case: &CaseName| {
        let axes = case.point.iter().filter(|(axis, _)| !agreed(axis));
        joined(&mut axes.map(|(axis, value)| format!("{axis}={value}")))
    };
    let values = |case: &CaseName| {
        let axes = case.point.iter().filter(|(axis, _)| !agreed(axis));
        joined(&mut axes.map(|(_, value)| value.to_string()))
    };
    let fits = !all_named || cases.iter().all(|(_, case)| width(&full(case)) + 2 <= left);
    let axes = first.point.iter().filter_map(|(axis, value)| match (agreed(axis), fits) {
        (true, _) => Some(format!("{axis}={value}")),
        (false, true) => None,
        (false, false) => Some(axis.to_owned()),
    });
    let axes = joined(&mut { axes });
    let colon = if axes.is_empty() { "" } else { ":" };
    let title = plain(&format!(" {}{colon}{axes}", without_family(&first.benchmark)));
    let of_rows = cases.iter().map(|(row, case)| {
        let name = if fits { full(case) } else { values(case) };
        Line { name: plain(&format!("  {name}")), row: Some(row) }
    });
    [Line { name: title, row: None }].into_iter().chain(of_rows).collect()
}

/// An id or a case without its family, which is above it.
fn without_family(id: &str) -> &str {
    id.split_once('/').map_or(id, |(_, name)| name)
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
    let line = |name: &str, cells: &mut dyn Iterator<Item = Shown<'_>>| {
        let mut text = format!(" {name:>names$}");
        columns.iter().zip(cells).for_each(|(column, cell)| column.write(cell, GAP, &mut text));
        format!("{}\n", text.trim_end())
    };
    let title = table.columns.first().map_or("", |column| column.title.as_str());
    let titles: Vec<&str> = [title].into_iter().chain(columns.iter().map(|it| it.title)).collect();
    let mut out = String::new();
    for titles in heading_lines(&titles) {
        out += &line(titles[0], &mut titles[1..].iter().copied().map(Shown::heading));
    }
    for row in &table.rows {
        if columns.iter().any(|column| !cell(row, column.index).is_empty()) {
            let cells = &mut columns.iter().map(|column| Shown::cell(row, column.index));
            out += &line(cell(row, 0), cells);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use oscost_model::point::Point;

    use super::*;
    use crate::report::view::document::Column;

    fn rows(names: &[&str], figure: &str) -> Vec<TableRow> {
        let cells = |name: &&str| vec![Cell::text(*name), Cell::text(figure), Cell::text("")];
        names.iter().map(|name| TableRow::of(cells(name))).collect()
    }

    fn of(names: Column, rows: Vec<TableRow>) -> Table {
        let columns = vec![names, Column::number("cost", "cost"), Column::text("empty")];
        Table { columns, rows, ..Table::default() }
    }

    #[test]
    fn an_empty_column_is_left_out() {
        let text =
            table(&of(Column::text("case"), rows(&["one", "three"], "12 ns")), ScreenFormat::PLAIN);
        assert_eq!(text, "case    cost\none    12 ns\nthree  12 ns\n");
    }

    #[test]
    fn a_name_that_does_not_fit_has_a_line_of_its_own() {
        let long = "x".repeat(78);
        let text =
            table(&of(Column::text("case"), rows(&[&long, "one"], "12 ns")), ScreenFormat::PLAIN);
        assert_eq!(text, format!("case   cost\n{long}\n      12 ns\none   12 ns\n"));
    }

    #[test]
    fn columns_that_do_not_fit_side_by_side_follow_below() {
        let names = Column::number("fds", "fds");
        let mut wide = of(names, rows(&["1", "10"], &"9".repeat(60)));
        wide.columns[2] = Column::number("more", "more");
        wide.rows.iter_mut().for_each(|row| row.cells[2].text = "8".repeat(60));
        let text = table(&wide, ScreenFormat::PLAIN);
        assert!(text.lines().all(|line| line.len() <= ScreenFormat::PLAIN.columns), "{text}");
        assert_eq!(text.lines().filter(|line| line.starts_with("  10")).count(), 2, "{text}");
    }

    /// In time that is quadratic in the rows, this takes minutes.
    #[test]
    fn many_rows_of_one_benchmark_are_named_by_the_axis_in_which_they_differ() {
        const ROWS: u64 = 20_000;
        let row = |size: u64| {
            let point = Point::none().with("way", "raw").with("size", size);
            let case = CaseName { benchmark: "pipe/copy".to_owned(), point };
            let name = Cell { case: Some(case), ..Cell::text(format!("pipe/copy:size={size}")) };
            TableRow::of(vec![name, Cell::text("12 ns"), Cell::text("")])
        };
        let text =
            table(&of(Column::text("case"), (1..=ROWS).map(row).collect()), ScreenFormat::PLAIN);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len() as u64, 3 + ROWS, "the titles of columns, family and benchmark");
        assert_eq!(lines[1..4], ["pipe", " copy:way=raw", "  size=1      12 ns"]);
        assert_eq!(lines[lines.len() - 1], "  size=20000  12 ns");
    }
}
