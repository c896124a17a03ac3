//! Tables for screens of any width, with and without colours.

use anstream::adapter::strip_str;
use oscost_model::point::Point;
use oscost_model::unit::Unit;
use proptest::prelude::*;

use super::*;
use crate::report::view::document::{
    Answer, CaseName, Cell, Column, ColumnKind, RowMark, RowScale, Table, TableRow,
};

/// The first character of escape sequences.
const ESCAPE: char = '\u{1b}';
const STYLES: [&str; 6] = ["", "heavy", "slower", "equivalent", "good", "small"];

/// Up to five columns of short texts.
fn tables() -> impl Strategy<Value = Table> {
    let kinds = proptest::sample::select(vec![
        ColumnKind::Text,
        ColumnKind::Number,
        ColumnKind::Choice,
        ColumnKind::Text,
    ]);
    let column = (kinds, "[a-z]{0,8}", 0usize..120);
    let cell = ("[a-z0-9.]{0,10}( [a-z]{1,3})?", proptest::sample::select(STYLES.to_vec()));
    let columns = proptest::collection::vec(column, 1..6);
    columns.prop_flat_map(move |columns| {
        let cells = proptest::collection::vec(cell.clone(), columns.len());
        let row = ("[a-z]{1,40}", cells, 0.1f64..1e6);
        (proptest::collection::vec(row, 1..8), any::<bool>()).prop_map(move |(rows, scaled)| {
            let column = |(kind, title, min_line): &(ColumnKind, String, usize)| Column {
                kind: *kind,
                min_line: *min_line,
                ..Column::text(title)
            };
            let first = Column::text("name");
            let row = |(name, cells, value): (String, Vec<(String, &'static str)>, f64)| {
                let cells = cells.into_iter();
                let cells = cells.map(|(text, style)| Cell::text(text).with_style(style));
                let mark = Some(RowMark { value, interval: Some([0.9 * value, 1.2 * value]) });
                let all = std::iter::once(Cell::text(name)).chain(cells).collect();
                TableRow { mark, ..TableRow::of(all) }
            };
            Table {
                columns: std::iter::once(first).chain(columns.iter().map(column)).collect(),
                rows: rows.into_iter().map(row).collect(),
                notes: vec!["NOT_CONVERGED: a sentence that is about these rows".to_owned()],
                scale: scaled.then_some(RowScale::Figures(Unit::NsPerOp)),
                ..Table::default()
            }
        })
    })
}

fn widest(text: &str) -> usize {
    text.lines().map(paint::width).max().unwrap_or(0)
}

#[test]
fn an_answer_is_last_or_first_with_the_next_step_before_the_details() {
    let shown = |answer_place: AnswerPlace, parts: [&str; 2]| {
        let section = |text: &str| Section::of("", [Block::Text(text.to_owned())]);
        let answer = Answer {
            findings: vec!["It costs 1 ns.".to_owned()],
            trust: Some("Trust: good.".to_owned()),
            next: vec!["Next: look.".to_owned()],
        };
        let sections = parts.into_iter().filter(|text| !text.is_empty()).map(section).collect();
        let lead = vec![Paragraph::from("the machine".to_owned())];
        report(&View { lead, answer: Some(answer), answer_place, sections, ..View::default() })
    };
    let all = ["a result", "a detail"];
    assert_eq!(
        shown(AnswerPlace::Last, all),
        "the machine\n\na result\n\na detail\n\nIt costs 1 ns.\nTrust: good.\nNext: look.\n"
    );
    let first = |next_before: usize| AnswerPlace::First { next_before };
    assert_eq!(
        shown(first(1), all),
        "It costs 1 ns.\nTrust: good.\n\nthe machine\n\na result\n\nNext: look.\n\na detail\n"
    );
    let end = "the machine\n\na result\n\na detail\n\nNext: look.\n";
    assert!(shown(first(2), all).ends_with(end));
    assert!(shown(first(2), ["", ""]).ends_with("\n\nthe machine\n\nNext: look.\n"));
}

proptest! {
    #[test]
    fn colours_add_nothing_but_escape_sequences(it in tables(), columns in 60usize..=160) {
        let plain = table(&it, ScreenFormat { columns, colour: false });
        let coloured = table(&it, ScreenFormat { columns, colour: true });
        prop_assert_eq!(strip_str(&coloured).to_string(), plain.clone());
        prop_assert!(!plain.contains(ESCAPE), "{plain:?}");
        // A pager shows any line by itself.
        for line in coloured.lines() {
            let last = line.rfind(ESCAPE).map(|at| &line[at..]);
            prop_assert!(last.is_none_or(|last| last.starts_with("\u{1b}[0m")), "{}", line);
        }
    }

    #[test]
    fn no_line_is_wider_than_the_screen(it in tables(), columns in 60usize..=160) {
        let text = table(&it, ScreenFormat { columns, colour: false });
        prop_assert!(widest(&text) <= columns, "{}\n{}", columns, text);
    }
}

fn cases(sizes: &[u64]) -> Table {
    let row = |&size: &u64| {
        let point = Point::none().with("peer_cpu", "same").with("size", size);
        let case = CaseName { benchmark: "pipe/round-trip".to_owned(), point };
        let name = format!("pipe/round-trip:peer_cpu=same,size={size}");
        let cells = ["4.512 us", "4.498 .. 4.530", "heavy"].map(Cell::text);
        let cells = std::iter::once(Cell { case: Some(case), ..Cell::text(name) }).chain(cells);
        let mark = Some(RowMark { value: size as f64, interval: None });
        TableRow { mark, ..TableRow::of(cells.collect()) }
    };
    let columns = vec![
        Column::text("case"),
        Column::number("per op", "median"),
        Column::number("95 % interval", "ci95"),
        Column::choice("class"),
    ];
    let scale = Some(RowScale::Figures(Unit::NsPerOp));
    Table { columns, rows: sizes.iter().map(row).collect(), scale, ..Table::default() }
}

#[test]
fn a_narrow_screen_has_whole_figures_and_short_names() {
    let mut long = cases(&[1, 2]);
    for (row, name) in
        long.rows.iter_mut().zip(["copy-a-large-tree-back", "copy-a-large-tree-away"])
    {
        row.cells[0] = Cell::text(format!("workload/{name}"));
    }
    let text = table(&long, ScreenFormat { columns: 60, colour: false });
    let rows = || text.lines().skip(1);
    let names: Vec<&str> = rows().filter_map(|it| Some(it.split_once("  ")?.0)).collect();
    assert_eq!(names, ["workload/copy..ge-tree-back", "workload/copy..ge-tree-away"], "{text}");
    assert!(rows().all(|line| line.contains("4.512 us  4.498 .. 4.530  heavy")));
}

#[test]
fn a_wide_screen_has_bars() {
    let it = cases(&[10, 100, 1_000]);
    let bars = |columns: usize| {
        let text = table(&it, ScreenFormat { columns, colour: false });
        text.lines().filter(|line| line.ends_with('o')).count()
    };
    assert_eq!([60, 80, 100, 119, 120, 140, 160].map(bars), [0, 0, 0, 0, 3, 3, 3]);
    let text = table(&it, ScreenFormat { columns: 140, colour: false });
    assert!(text.lines().next().unwrap().ends_with("1 us"), "{text}");
    assert!(text.ends_with("and = its interval.\n"), "{text}");
}

#[test]
fn a_long_name_has_a_line_of_its_own_where_bars_need_the_room() {
    let mut it = cases(&[10, 100, 1_000]);
    let long = "x".repeat(90);
    let mut row = it.rows[2].clone();
    let case = CaseName { benchmark: format!("fault/{long}"), point: Point::none() };
    row.cells[0] = Cell { case: Some(case), ..Cell::text(format!("fault/{long}")) };
    it.rows.push(row);
    let text = table(&it, ScreenFormat { columns: 140, colour: false });
    assert_eq!(text.lines().filter(|line| line.ends_with('o')).count(), 4, "{text}");
    assert!(text.lines().any(|line| line.trim() == long), "{text}");
    assert!(widest(&text) <= 140);
    // Of most rows it would be a second line.
    it.rows.drain(..2);
    let text = table(&it, ScreenFormat { columns: 140, colour: false });
    assert!(!text.contains("logarithmic"), "{text}");
}

#[test]
fn a_table_without_room_for_its_columns_is_written_row_by_row() {
    let mut it = cases(&[1]);
    it.rows[0].cells[2] = Cell::text("0123456789".repeat(5));
    let text = table(&it, ScreenFormat { columns: 60, colour: false });
    assert!(
        text.starts_with("pipe/round-trip:peer_cpu=same,size=1\n  per op: 4.512 us\n"),
        "{text}"
    );
    assert!(widest(&text) <= 60);
}

#[test]
fn words_that_classify_have_colours_and_others_have_none() {
    let text = table(&cases(&[1, 2]), ScreenFormat { columns: 80, colour: true });
    assert!(!text.contains(ESCAPE), "these cells have no style: {text:?}");
    let mut it = cases(&[1, 2]);
    it.rows[1].cells[3].style = "heavy";
    let text = table(&it, ScreenFormat { columns: 80, colour: true });
    assert_eq!(text.matches("\u{1b}[33mheavy\u{1b}[0m").count(), 1, "{text:?}");
}

#[test]
fn a_long_command_can_be_copied_line_by_line() {
    let command = "for i in 26 31 36 38 40 42; do echo 0 | sudo tee \
                   /proc/irq/$i/smp_affinity_list; done";
    let facts = [Fact::new("effect", "x"), Fact::command("fix", command)];
    let text = super::facts(&facts, 8, ScreenFormat::PLAIN);
    let (_, lines) = text.split_once("fix").unwrap();
    assert!(lines.lines().count() > 1 && widest(&text) <= ScreenFormat::PLAIN.columns, "{text}");
    let joined: Vec<&str> = lines.split(" \\\n").map(str::trim).collect();
    assert_eq!(joined.join(" "), command);
    let wide = super::facts(&facts, 8, ScreenFormat { columns: 160, colour: false });
    assert!(wide.ends_with(&format!("{command}\n")), "{wide}");
}
