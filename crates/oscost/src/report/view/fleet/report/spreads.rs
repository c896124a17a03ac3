//! Classes of nodes, the cases with the most spread, where the variance is from, and the nodes whose
//! visits differ most.

use oscost_stats::order;

use super::content::{FleetContent, class_name, section};
use crate::fleet::{CaseSpread, ClassSpread, FleetCase, VarianceShares};
use crate::report::figures::Style;
use crate::report::text::{plain, plural};
use crate::report::view::document::{Block, Cell, Column, Section, Table, TableRow};
use crate::report::view::machine_table::texts::{factor, joined};

/// Of more classes the largest are shown.
const MAX_CLASSES: usize = 100;
/// Of more cases those with the most spread are shown.
const MAX_CASES: usize = 1_000;
/// Of more nodes those are named whose visits differ most.
const MAX_UNSTEADY: usize = 5;
/// Two visits differ by any factor by chance.
const MIN_VISITS: usize = 3;
/// A node is named whose visits differ by more than so many times what those of the middle node do ...
const MANY_TIMES: f64 = 4.0;
/// ... and by more than this, as a standard deviation of logarithms.
const MIN_DEVIATION: f64 = 0.02;

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
    let shown = known.len();
    let row = |(at, (case, spread)): (usize, &(&FleetCase, &CaseSpread))| TableRow {
        priority: (shown - at) as u32,
        ..case_row(case, spread)
    };
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
        rows: known.iter().enumerate().map(row).collect(),
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
    let VarianceShares { processes, visits, numa_nodes, nodes, classes } = *shares;
    let mut parts = vec![
        (visits, "between visits of one node"),
        (nodes, "between nodes of one class"),
        (classes, "between classes of nodes"),
        (processes, "between processes of one visit"),
    ];
    parts.extend(numa_nodes.map(|share| (share, "between NUMA nodes of one node")));
    parts.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let parts = parts.iter().map(|(share, what)| format!("{:.0} % is {what}", 100.0 * share));
    let parts: Vec<String> = parts.collect();
    format!("Of the variance of the logarithms of figures, {}.", joined(&parts))
}

/// The nodes whose visits differ more from each other than those of others; `None` without one.
pub(super) fn unsteady_nodes(content: &FleetContent<'_>) -> Option<Section> {
    let known = content.analysis.nodes.iter().enumerate().filter_map(|(node, it)| {
        let deviation = it.between_visits.filter(|_| it.visits >= MIN_VISITS)?;
        Some(NodeVisits { node, deviation })
    });
    let mut known: Vec<NodeVisits> = known.collect();
    let deviations: Vec<f64> = known.iter().map(|it| it.deviation).collect();
    let usual = order::median(&order::sorted(&deviations))?;
    known.retain(|it| it.deviation > MIN_DEVIATION.max(MANY_TIMES * usual));
    known.sort_by(|one, other| other.deviation.total_cmp(&one.deviation));
    let more = known.len().saturating_sub(MAX_UNSTEADY);
    let more = (more > 0).then(|| format!("and {more} more"));
    let line = |it: &NodeVisits| {
        let name = content.short_name(it.node);
        let [own, usual] = [it.deviation, usual].map(|it| 100.0 * it);
        format!("{name}: {own:.1} %, those of the middle node {usual:.1} %")
    };
    let list = Block::list(known.iter().take(MAX_UNSTEADY).map(line).chain(more))?;
    let text = "Standard deviations of what a node costs over all its cases, between its visits. Such \
                a node is disturbed more often than others, or a part of it is slow that only some \
                visits measured, as a socket. It is judged by its own visits, so that less of it \
                stands out.";
    let blocks = [Some(Block::Text(text.to_owned())), Some(list)];
    section("unsteady", "Nodes whose visits differ most", blocks)
}

/// How much the visits of a node differ.
struct NodeVisits {
    node: usize,
    deviation: f64,
}
