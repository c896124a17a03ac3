//! Classes of nodes, the cases with the most spread, and where the variance is from.

use super::content::{FleetContent, class_name, section};
use crate::fleet::{CaseSpread, ClassSpread, FleetCase, VarianceShares};
use crate::report::figures::Style;
use crate::report::text::{plain, plural};
use crate::report::view::document::{Block, Cell, Column, Section, Table, TableRow};
use crate::report::view::machine_table::texts::factor;

/// Of more classes the largest are shown.
const MAX_CLASSES: usize = 100;
/// Of more cases those with the most spread are shown.
const MAX_CASES: usize = 20;

/// The classes, the largest first; `None` if there is one at most.
pub(super) fn classes(content: &FleetContent<'_>) -> Option<Section> {
    let classes = &content.analysis.classes;
    if classes.len() < 2 {
        return None;
    }
    let shown = &classes[..classes.len().min(MAX_CLASSES)];
    let left_out = classes.len() - shown.len();
    let note = (left_out > 0).then(|| format!("the largest {} of {}", shown.len(), classes.len()));
    let table = Table {
        id: "classes-table".to_owned(),
        caption: "Classes of nodes: nodes of one class are expected to be equal".to_owned(),
        columns: vec![
            Column::text("class"),
            Column::number("nodes", "nodes"),
            Column::number("ratio", "ratio"),
            Column::number("lowest", "lowest"),
            Column::number("highest", "highest"),
        ],
        rows: shown.iter().map(class_row).collect(),
        notes: note.into_iter().collect(),
        ..Table::default()
    };
    section("classes", "Classes of nodes", [Some(Block::Table(table))])
}

fn class_row(it: &ClassSpread) -> TableRow {
    let ends = |at: usize| ratio_cell(it.range.map(|range| range[at]));
    TableRow::of(vec![
        Cell::text(class_name(&it.class)),
        Cell::number(it.nodes.len().to_string(), Some(it.nodes.len() as f64)),
        ratio_cell(it.ratio),
        ends(0),
        ends(1),
    ])
}

fn ratio_cell(ratio: Option<f64>) -> Cell {
    Cell::number(ratio.map_or_else(|| "-".to_owned(), factor), ratio)
}

/// The cases whose spread between nodes is largest; `None` if no spread is known.
pub(super) fn cases(content: &FleetContent<'_>) -> Option<Section> {
    let known = content.fleet.cases.iter().zip(&content.analysis.cases);
    let mut known: Vec<(&FleetCase, &CaseSpread)> =
        known.filter(|(_, spread)| spread.between_nodes.is_some()).collect();
    if known.is_empty() {
        return None;
    }
    let between = |it: &CaseSpread| it.between_nodes.unwrap_or(0.0);
    known.sort_by(|(_, one), (_, other)| between(other).total_cmp(&between(one)));
    let all = known.len();
    known.truncate(MAX_CASES);
    let mut notes = vec![
        "spreads are standard deviations of the logarithm in per cent; between nodes, without what \
         visits explain"
            .to_owned(),
    ];
    if known.len() < all {
        notes.push(format!(
            "the {} of {} with the largest",
            known.len(),
            plural(all as u64, "case")
        ));
    }
    let table = Table {
        id: "spread-table".to_owned(),
        caption: "The cases that differ most between nodes".to_owned(),
        columns: vec![
            Column::text("case"),
            Column::number("nodes", "nodes"),
            Column::number("median", "median"),
            Column::number("between nodes", "between_nodes_pct"),
            Column::number("between visits", "between_visits_pct"),
        ],
        rows: known.into_iter().map(|(case, spread)| case_row(case, spread)).collect(),
        notes,
        ..Table::default()
    };
    section("spread", "Cases with the most spread", [Some(Block::Table(table))])
}

fn case_row(case: &FleetCase, spread: &CaseSpread) -> TableRow {
    let median = spread.median;
    let text = median.map(|value| Style::of(value, case.unit).with_unit(value));
    TableRow::of(vec![
        Cell::text(plain(&case.case)),
        Cell::number(spread.nodes.to_string(), Some(spread.nodes as f64)),
        Cell::number(text.unwrap_or_else(|| "-".to_owned()), median),
        spread_cell(spread.between_nodes),
        spread_cell(spread.between_visits),
    ])
}

fn spread_cell(deviation: Option<f64>) -> Cell {
    let pct = deviation.map(|it| 100.0 * it);
    Cell::number(pct.map_or_else(|| "-".to_owned(), |pct| format!("{pct:.1} %")), pct)
}

/// Where the variance is from; `None` where that is not known.
pub(super) fn variance(content: &FleetContent<'_>) -> Option<Section> {
    let text = variance_text(content.analysis.variance.as_ref()?);
    section("variance", "Where the variance is from", [Some(Block::Text(text))])
}

fn variance_text(shares: &VarianceShares) -> String {
    let VarianceShares { processes, visits, nodes, classes } = *shares;
    let mut parts = [
        (visits, "between visits of one node"),
        (nodes, "between nodes of one class"),
        (classes, "between classes of nodes"),
        (processes, "between processes of one visit"),
    ];
    parts.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let parts = parts.map(|(share, what)| format!("{:.0} % is {what}", 100.0 * share));
    let [first, second, third, last] = parts;
    format!("Of the variance of the logarithms of figures, {first}, {second}, {third} and {last}.")
}
