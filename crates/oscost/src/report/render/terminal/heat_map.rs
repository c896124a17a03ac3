//! A heat map in characters: a letter or a digit for each ratio, or for several neighbours the one that
//! is farthest from 1.

use super::layout::{ScreenFormat, fold_lines, short_names};
use super::paint::Paint;
use crate::report::text::{plain, plural};
use crate::report::view::document::heat_map::{ColumnGroup, HeatMap, STEPS, step};

/// Longer names are shortened.
const MAX_NAME: usize = 24;
/// Slower by the steps of the scale, and faster by them.
const SLOWER: [char; STEPS.len()] = ['1', '2', '3', '4'];
const FASTER: [char; STEPS.len()] = ['a', 'b', 'c', 'd'];
/// A ratio from which nothing is concluded.
const NOT_JUDGED: &str = "?";

/// The rows, or the first of them, which matter most, a line each; empty without any.
pub(super) fn heat_map(map: &HeatMap, screen: ScreenFormat) -> String {
    let shown = map.rows_of_text.unwrap_or(map.rows.len());
    let rows = &map.rows[..map.rows.len().min(shown)];
    if rows.is_empty() || map.columns.is_empty() {
        return String::new();
    }
    let names: Vec<String> = rows.iter().map(|row| plain(&row.name)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let names = short_names(&names, MAX_NAME);
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let Cells { groups, columns_of_cell, left_out } =
        Cells::that_fit(map, screen.columns.saturating_sub(width + 2));
    let mut out = fold_lines(&map.caption, 0, 2, screen.prose());
    for (at, name) in names.iter().enumerate() {
        let parts =
            groups.iter().map(|group| cells(map, at, *group, columns_of_cell, screen.colour));
        let parts: Vec<String> = parts.collect();
        let line = format!("{name:<width$}  {}", parts.join(" "));
        out += line.trim_end();
        out.push('\n');
    }
    for note in notes(map, &groups, rows.len(), columns_of_cell, left_out) {
        out += &fold_lines(&note, 0, 2, screen.prose());
    }
    out
}

/// How columns become cells of a line.
struct Cells<'a> {
    groups: Vec<ColumnGroup<'a>>,
    /// How many neighbouring columns a cell stands for.
    columns_of_cell: usize,
    /// How many groups have no room.
    left_out: usize,
}

impl<'a> Cells<'a> {
    fn that_fit(map: &'a HeatMap, room: usize) -> Self {
        let mut groups = map.groups();
        let all = groups.len();
        // A cell for each group and a space between two are the least.
        groups.truncate(room.div_ceil(2).max(1));
        let most = groups.iter().map(|group| group.count).max().unwrap_or(1);
        let width = |columns: usize| -> usize {
            groups.iter().map(|group| group.count.div_ceil(columns) + 1).sum::<usize>() - 1
        };
        let columns_of_cell = (1..most).find(|&columns| width(columns) <= room).unwrap_or(most);
        let left_out = all - groups.len();
        Self { groups, columns_of_cell, left_out }
    }
}

/// The cells of a group in a row.
fn cells(
    map: &HeatMap,
    row: usize,
    group: ColumnGroup<'_>,
    columns_of_cell: usize,
    colour: bool,
) -> String {
    let columns: Vec<usize> = (group.first..group.first + group.count).collect();
    columns.chunks(columns_of_cell).map(|columns| cell(map, row, columns, colour)).collect()
}

/// The letter of the judged ratio that is farthest from 1; without one, the mark of those that are not
/// judged.
fn cell(map: &HeatMap, row: usize, columns: &[usize], colour: bool) -> String {
    let ratios = map.row(row);
    let is_not_judged = |column: &usize| map.is_not_judged(row, *column);
    let judged = columns.iter().filter(|column| !is_not_judged(column));
    let known = judged.filter_map(|column| ratios.get(*column)).filter(|it| step(**it).is_some());
    let farthest = known.max_by(|one, other| one.ln().abs().total_cmp(&other.ln().abs()));
    match farthest.and_then(|ratio| step(*ratio)) {
        None if columns.iter().any(is_not_judged) => NOT_JUDGED.to_owned(),
        None => " ".to_owned(),
        Some(0) => ".".to_owned(),
        Some(step) if step > 0 => Paint::Word("slower").of(&letter(SLOWER, step), colour),
        Some(step) => Paint::Word("faster").of(&letter(FASTER, -step), colour),
    }
}

fn letter(letters: [char; STEPS.len()], step: i32) -> String {
    letters.get((step - 1) as usize).map(char::to_string).unwrap_or_default()
}

fn notes(
    map: &HeatMap,
    groups: &[ColumnGroup<'_>],
    rows: usize,
    columns_of_cell: usize,
    left_out: usize,
) -> Vec<String> {
    let list = |letters: [char; STEPS.len()]| {
        let steps = letters.iter().zip(STEPS);
        let texts = steps.map(|(letter, step)| format!("{letter} from {step:.2}"));
        texts.collect::<Vec<_>>().join(", ")
    };
    let of_group = |it: &ColumnGroup<'_>| format!("{} {}", plain(it.name), it.count);
    let of_groups: Vec<String> = groups.iter().map(of_group).collect();
    let scale = format!(
        "times as slow: {}; times as fast: {}; . nearer to 1; blank: not measured",
        list(SLOWER),
        list(FASTER)
    );
    let scale = match map.not_judged.contains(&true) {
        true => format!("{scale}; {NOT_JUDGED} measured, not judged"),
        false => scale,
    };
    let columns = format!("{}s from the left: {}", map.column_noun, of_groups.join(", "));
    let noun = plural(map.rows.len() as u64, map.row_noun);
    [
        (!map.order_note.is_empty()).then(|| map.order_note.clone()),
        Some(scale),
        Some(columns),
        (columns_of_cell > 1).then(|| {
            format!(
                "a letter stands for up to {columns_of_cell} neighbours: the one farthest from 1"
            )
        }),
        (left_out > 0).then(|| {
            format!("no room for {}: the page has them", plural(left_out as u64, "more group"))
        }),
        (rows < map.rows.len())
            .then(|| format!("the {rows} of {noun} that matter most: `--all-rows` shows all")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::view::document::heat_map::{HeatMapColumn, HeatMapRow};

    /// A map of this many rows, of which the first is slow in its second group.
    fn map(rows: usize, groups: usize, columns: usize) -> HeatMap {
        let column = |at: usize| HeatMapColumn {
            name: format!("case{at}"),
            group: format!("family{}", at / columns),
        };
        let row = |at: usize| HeatMapRow {
            name: format!("node{at}"),
            class: String::new(),
            ratio: Some(1.0),
        };
        let all = groups * columns;
        let mut ratios = vec![1.0; rows * all];
        ratios[columns..2 * columns].fill(1.31);
        ratios[0] = f32::NAN;
        ratios[columns - 1] = 0.8;
        HeatMap {
            id: "map".to_owned(),
            caption: "Ratios".to_owned(),
            row_noun: "node",
            column_noun: "case",
            columns: (0..all).map(column).collect(),
            rows: (0..rows).map(row).collect(),
            order_note: "The slow ones first".to_owned(),
            ratios,
            ..HeatMap::default()
        }
    }

    #[test]
    fn each_ratio_has_its_letter_and_each_group_its_place() {
        let text = heat_map(&map(3, 2, 4), ScreenFormat::PLAIN);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..4],
            ["Ratios", "node0   ..c 3333", "node1  .... ....", "node2  .... ...."]
        );
        assert!(text.contains("\nThe slow ones first\n"), "{text}");
        assert!(text.contains("cases from the left: family0 4, family1 4"), "{text}");
        assert!(!text.contains("stands for") && !text.contains("matter most"), "{text}");
    }

    #[test]
    fn what_is_not_judged_has_a_mark_and_hides_no_judged_neighbour() {
        let mut map = map(2, 2, 4);
        map.ratios[4..8].fill(612.0);
        map.ratios[8..16].fill(612.0);
        map.not_judged = vec![false; 16];
        map.not_judged[4..8].fill(true);
        map.not_judged[8..15].fill(true);
        let text = heat_map(&map, ScreenFormat::PLAIN);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1..3], ["node0   ..c ????", "node1  ???? ???4"]);
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains("; ? measured, not judged"), "{text}");
        map.not_judged[15] = true;
        // A cell of both is of what is judged.
        let both = cell(&map, 0, &[2, 3, 4, 5], false);
        assert_eq!([both, cell(&map, 1, &[6, 7], false)], ["c", "?"]);
    }

    #[test]
    fn what_has_no_room_is_joined_and_of_many_rows_those_that_matter_are_shown() {
        let whole = map(40, 10, 30);
        let all = heat_map(&whole, ScreenFormat::PLAIN);
        assert_eq!(all.lines().filter(|line| line.starts_with("node")).count(), 40, "{all}");
        assert!(!all.contains("matter most"), "{all}");
        let map = HeatMap { rows_of_text: Some(15), ..whole };
        for columns in [60, 80, 120, 160] {
            let text = heat_map(&map, ScreenFormat { columns, colour: false });
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(columns), "{widest:?} of {columns}\n{text}");
            assert_eq!(text.lines().filter(|line| line.starts_with("node")).count(), 15);
            assert!(text.contains("node14") && text.contains("the 15 of 40 nodes"), "{text}");
            assert!(text.contains("a letter stands for up to"), "{text}");
            // What is slow is still seen, and in no other row.
            let slow: Vec<&str> = text
                .lines()
                .filter_map(|line| line.strip_prefix("node")?.split_once("  "))
                .filter(|(_, cells)| cells.contains('3'))
                .map(|(name, _)| name)
                .collect();
            assert_eq!(slow, ["0"], "{text}");
        }
    }

    #[test]
    fn more_groups_than_columns_are_left_out_and_counted() {
        let text = heat_map(&map(2, 300, 1), ScreenFormat { columns: 60, colour: false });
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
        assert!(text.contains("more groups: the page has them"), "{text}");
    }

    #[test]
    fn a_map_without_rows_is_nothing() {
        assert_eq!(heat_map(&HeatMap::default(), ScreenFormat::PLAIN), "");
    }
}
