//! Nodes by cases as a heat map; of a fleet that is too large for one, classes of nodes and the nodes
//! that stand out.

use std::collections::BTreeSet;

use oscost_stats::order;

use super::content::{FleetContent, argument, class_name, section as section_of};
use super::map_order;
use crate::fleet::ClassSpread;
use crate::report::text::{plain, plural};
use crate::report::view::document::heat_map::{HeatMap, HeatMapColumn, HeatMapRow};
use crate::report::view::document::{Block, Section};

/// More cells are seen by no one, and make a page of megabytes: 2,000 nodes by 100 cases.
const MAX_CELLS: usize = 200_000;
/// More columns are narrower than a dot of a screen.
const MAX_COLUMNS: usize = 1_000;
/// More classes are no classes.
const MAX_CLASSES: usize = 200;

/// A row with its ratios, one for each column.
struct MapLine {
    row: HeatMapRow,
    cells: Vec<MapCell>,
}

/// A ratio, and whether nothing is concluded from it.
#[derive(Clone, Copy)]
struct MapCell {
    ratio: f32,
    is_not_judged: bool,
}

/// Rows that stand for more nodes than they are.
struct FoldedLines {
    lines: Vec<MapLine>,
    /// What they leave out.
    note: String,
}

/// The map, and below it what it leaves out; `None` without a node or a case.
pub(super) fn section(content: &FleetContent<'_>) -> Option<Section> {
    let columns = columns(content);
    if columns.is_empty() || content.fleet.nodes.is_empty() {
        return None;
    }
    let nodes = content.fleet.nodes.len();
    let is_whole = nodes * columns.len() <= MAX_CELLS;
    let mut notes = Vec::new();
    let all = content.fleet.cases.len();
    if columns.len() < all {
        notes.push(format!(
            "Of {all} cases those {} are shown whose spread between nodes is largest.",
            columns.len()
        ));
    }
    let lines = match is_whole {
        true => node_lines(content, &columns, &map_order::nodes(content, (0..nodes).collect())),
        false => {
            let FoldedLines { lines, note } = folded_lines(content, &columns);
            notes.push(note);
            lines
        }
    };
    let cells = || lines.iter().flat_map(|line| &line.cells);
    let ratios = cells().map(|cell| cell.ratio).collect();
    let not_judged = match cells().any(|cell| cell.is_not_judged) {
        true => cells().map(|cell| cell.is_not_judged).collect(),
        false => Vec::new(),
    };
    let map = HeatMap {
        id: "fleet-map".to_owned(),
        caption:
            "Ratio of each cost to the fleet's median of the case: above 1 is slower, also of \
                  cases where more is better"
                .to_owned(),
        row_noun: if is_whole { "node" } else { "row" },
        column_noun: "case",
        columns: columns.iter().filter_map(|&at| column(content, at)).collect(),
        rows: lines.into_iter().map(|line| line.row).collect(),
        order_name: "what stands out",
        order_note: map_order::note(content, is_whole),
        ratios,
        not_judged,
        rows_of_text: None,
    };
    let blocks = [Some(Block::HeatMap(Box::new(map)))];
    let notes = notes.into_iter().map(|text| Some(Block::Text(text)));
    section_of("map", "Nodes by cases", blocks.into_iter().chain(notes))
}

/// The cases that have a column, those of a family together.
fn columns(content: &FleetContent<'_>) -> Vec<usize> {
    let cases = &content.fleet.cases;
    let mut columns: Vec<usize> = (0..cases.len()).collect();
    if columns.len() > MAX_COLUMNS {
        let spread = |at: &usize| {
            content.analysis.cases.get(*at).and_then(|it| it.between_nodes).unwrap_or(0.0)
        };
        columns.sort_by(|one, other| spread(other).total_cmp(&spread(one)));
        columns.truncate(MAX_COLUMNS);
    }
    map_order::cases(content, columns)
}

fn column(content: &FleetContent<'_>, at: usize) -> Option<HeatMapColumn> {
    let case = content.fleet.cases.get(at)?;
    Some(HeatMapColumn { name: plain(&case.case), group: plain(&case.family) })
}

/// The ratio of a node over its cases.
fn ratio(content: &FleetContent<'_>, node: usize) -> Option<f64> {
    content.analysis.nodes.get(node)?.ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0)
}

/// The ratios of a node in these columns; where it has none, those from which nothing is concluded.
fn cells(content: &FleetContent<'_>, node: usize, columns: &[usize]) -> Vec<MapCell> {
    let cases = content.fleet.cases.len();
    let all = &content.analysis.ratios;
    let not_judged = content.not_judged(node);
    let cell = |at: &usize| {
        let ratio = all.get(node * cases + at).copied().unwrap_or(f32::NAN);
        let other = not_judged.and_then(|it| it.ratios.get(*at).copied());
        match other.filter(|other| !ratio.is_finite() && other.is_finite()) {
            Some(ratio) => MapCell { ratio, is_not_judged: true },
            None => MapCell { ratio, is_not_judged: false },
        }
    };
    columns.iter().map(cell).collect()
}

/// A row of each of these nodes.
fn node_lines(content: &FleetContent<'_>, columns: &[usize], nodes: &[usize]) -> Vec<MapLine> {
    let row = |&node: &usize| {
        let class = content.node(node).map_or_else(String::new, |it| plain(&it.class));
        let (name, ratio) = (content.node_name(node), ratio(content, node));
        let row = HeatMapRow { name, class, ratio };
        MapLine { row, cells: cells(content, node, columns) }
    };
    nodes.iter().map(row).collect()
}

/// The nodes that stand out, then the classes of nodes, each with the medians of its nodes; and what
/// that leaves out.
fn folded_lines(content: &FleetContent<'_>, columns: &[usize]) -> FoldedLines {
    let classes = &content.analysis.classes;
    let shown = &classes[..classes.len().min(MAX_CLASSES)];
    let room = (MAX_CELLS / columns.len()).saturating_sub(shown.len());
    let found = content.analysis.findings.iter().map(|it| it.node);
    let disturbed = content.analysis.disturbed.iter().map(|it| it.node);
    let found: BTreeSet<usize> = found.chain(disturbed).collect();
    let all = found.len();
    let mut nodes = map_order::nodes(content, found.into_iter().collect());
    nodes.truncate(room);
    let told = match nodes.len() {
        some if some < all => format!("{some} of {all} nodes that stand out"),
        _ => format!("{} that stand out", plural(all as u64, "node")),
    };
    let of_classes = match shown.len() {
        some if some < classes.len() => format!("{some} of {} classes", classes.len()),
        1 => "1 class".to_owned(),
        all => format!("{all} classes"),
    };
    let note = format!(
        "{} by {} are too many cells for one page: its rows are the medians of {of_classes}, and \
         {told}. `oscost fleet report {} --data-set FOLDER` writes all.",
        plural(content.fleet.nodes.len() as u64, "node"),
        plural(columns.len() as u64, "case"),
        argument(content.source).unwrap_or("SOURCE"),
    );
    let mut lines = node_lines(content, columns, &nodes);
    lines.extend(shown.iter().map(|class| class_line(content, columns, class)));
    FoldedLines { lines, note }
}

/// A row of the medians of a class.
fn class_line(content: &FleetContent<'_>, columns: &[usize], class: &ClassSpread) -> MapLine {
    let nodes = plural(class.nodes.len() as u64, "node");
    let row = HeatMapRow {
        name: format!("class of {nodes}: {}", class_name(&class.class)),
        class: plain(&class.class),
        ratio: class.ratio,
    };
    let medians = medians(content, &class.nodes, columns).into_iter();
    MapLine { row, cells: medians.map(|ratio| MapCell { ratio, is_not_judged: false }).collect() }
}

/// The median ratio over these nodes in each column; NaN where none of them has the case.
fn medians(content: &FleetContent<'_>, nodes: &[usize], columns: &[usize]) -> Vec<f32> {
    let cases = content.fleet.cases.len();
    let all = &content.analysis.ratios;
    let of_column = |at: &usize| {
        let known = nodes.iter().filter_map(|node| all.get(node * cases + at));
        let known = known.filter(|ratio| ratio.is_finite()).map(|ratio| f64::from(*ratio));
        let sorted = order::sorted(&known.collect::<Vec<_>>());
        order::median(&sorted).map_or(f32::NAN, |median| median as f32)
    };
    columns.iter().map(of_column).collect()
}
