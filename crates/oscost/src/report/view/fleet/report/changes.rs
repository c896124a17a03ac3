//! What changed for a fleet since another moment, by class of nodes.

use super::content::{FleetContent, class_name, section as section_of};
use crate::fleet::{CaseChange, ClassChanges, FleetChanges};
use crate::report::text::{plain, plural};
use crate::report::view::document::{Block, Cell, Column, Section, Table, TableRow};
use crate::report::view::machine_table::texts::{factor, joined};

/// Of more cases those are shown that changed most.
const MAX_ROWS: usize = 200;

/// What changed; `None` if the fleet was not compared.
pub(super) fn section(content: &FleetContent<'_>) -> Option<Section> {
    let changes = content.changes?;
    let blocks =
        [Some(Block::Text(overlap(changes))), Block::list(sentences(changes)), table(changes)];
    section_of("changes", "What changed", blocks)
}

/// How many nodes were compared with themselves.
fn overlap(changes: &FleetChanges) -> String {
    let FleetChanges { base, common_nodes, only_base, only_new, changed_class, .. } = changes;
    let revised = match changes.changed_revision.len() {
        0 => String::new(),
        _ => format!(
            " Not compared, of another revision of their benchmarks now: {}.",
            plain(&joined(&changes.changed_revision))
        ),
    };
    let changed = match *changed_class {
        0 => String::new(),
        1 => "; 1 of them is of another class now and is not compared".to_owned(),
        count => format!("; {count} of them are of another class now and are not compared"),
    };
    format!(
        "Compared with {}: {} measured at both times{changed}; {only_base} only then and {only_new} \
         only now. A ratio is the middle over nodes, each compared with itself; two moments: other \
         things may have changed, too.{revised}",
        plain(base),
        plural(*common_nodes as u64, "node"),
    )
}

/// A sentence for each class.
fn sentences(changes: &FleetChanges) -> Vec<String> {
    let sentence = |class: &ClassChanges| {
        let count = |verdict: &str| class.cases.iter().filter(|it| it.verdict == verdict).count();
        let told = ["slower", "faster", "equivalent", "inconclusive"];
        let counts: Vec<String> = told
            .into_iter()
            .filter_map(|verdict| match count(verdict) {
                0 => None,
                some => Some(format!("{some} {verdict}")),
            })
            .collect();
        let name = class_name(&class.class);
        let cases = plural(class.cases.len() as u64, "case");
        match counts.is_empty() {
            true => format!("class {name}: {cases}"),
            false => format!("class {name}: of {cases} {}", joined(&counts)),
        }
    };
    changes.classes.iter().map(sentence).collect()
}

/// The cases of all classes, those that changed most first.
fn table(changes: &FleetChanges) -> Option<Block> {
    let mut all: Vec<(&ClassChanges, &CaseChange)> = changes
        .classes
        .iter()
        .flat_map(|class| class.cases.iter().map(move |case| (class, case)))
        .collect();
    if all.is_empty() {
        return None;
    }
    let is_decided = |it: &CaseChange| matches!(it.verdict, "slower" | "faster");
    let size = |it: &CaseChange| it.ratio.map_or(0.0, |ratio| ratio.ln().abs());
    all.sort_by(|(_, one), (_, other)| {
        is_decided(other).cmp(&is_decided(one)).then(size(other).total_cmp(&size(one)))
    });
    let count = all.len();
    all.truncate(MAX_ROWS);
    let shown = all.len();
    let note = (shown < count).then(|| format!("the {shown} of {count} rows that changed most"));
    let row = |(at, (class, case)): (usize, (&ClassChanges, &CaseChange))| TableRow {
        priority: (shown - at) as u32,
        ..TableRow::of(cells(class, case))
    };
    Some(Block::Table(Table {
        id: "changes-table".to_owned(),
        caption: "Cost now over cost then, what changed most first".to_owned(),
        columns: vec![
            Column::text("case"),
            Column::choice("verdict"),
            Column::number("ratio", "ratio"),
            Column::number("95 % low", "ratio_ci95_low"),
            Column::number("95 % high", "ratio_ci95_high"),
            Column::number("q", "q").in_lines_of(100),
            Column::number("nodes", "nodes"),
            Column { has_words: false, ..Column::choice("class") }.in_lines_of(120),
        ],
        rows: all.into_iter().enumerate().map(row).collect(),
        notes: note.into_iter().collect(),
        interactive: true,
        ..Table::default()
    }))
}

fn cells(class: &ClassChanges, case: &CaseChange) -> Vec<Cell> {
    let number =
        |value: Option<f64>| Cell::number(value.map_or_else(|| "-".to_owned(), factor), value);
    let q = case.q.map_or_else(|| "-".to_owned(), |q| format!("{q:.3}"));
    vec![
        Cell::text(plain(&case.case)),
        Cell::text(case.verdict).with_style(case.verdict),
        number(case.ratio),
        number(case.ci95.map(|it| it[0])),
        number(case.ci95.map(|it| it[1])),
        Cell::number(q, case.q),
        Cell::number(case.nodes.to_string(), Some(case.nodes as f64)),
        Cell::text(class_name(&class.class)),
    ]
}
