//! The table of what stands out.

use super::content::{FleetContent, section as section_of};
use super::fact_text::shortened;
use super::sentence::with_numa_node;
use crate::fleet::{Adjustment, FactCandidate, Finding};
use crate::report::figures::probability;
use crate::report::view::document::{Block, Cell, Column, ColumnKind, Section, Table, TableRow};
use crate::report::view::machine_table::texts::factor;

/// More rows make no one look at them; the document for programs has all.
const MAX_ROWS: usize = 1_000;

/// All findings, the surest first; `None` if there are none.
pub(super) fn section(content: &FleetContent<'_>) -> Option<Section> {
    let findings = &content.analysis.findings;
    if findings.is_empty() {
        return None;
    }
    let shown = &findings[..findings.len().min(MAX_ROWS)];
    let row = |(at, finding): (usize, &Finding)| TableRow {
        priority: (shown.len() - at) as u32,
        ..TableRow::of(cells(content, finding))
    };
    let mut notes = vec![
        "ratios are of costs: above 1 is slower, also of cases where more is better".to_owned(),
        "the ratio to fleet is to the fleet's medians of these cases, of several the middle".to_owned(),
        "the adjusted ratio is to the equals of the node, without what the node as a whole, or the \
         family of the case, differs by, as the column names it; low and high are its 95 % \
         interval, and q is of it"
            .to_owned(),
        "the fact separates nodes that stand out from others best; it is a candidate for the \
         reason, and no proof"
            .to_owned(),
    ];
    if shown.iter().any(|it| it.numa_node.is_some()) {
        notes.push(
            "the adjusted ratio of a NUMA node is to the others of its node, without what these \
             differ by on the equals of the node"
                .to_owned(),
        );
    }
    if shown.iter().any(|it| it.not_claimable.is_some()) {
        notes.push(
            "of a node without a visit that supports a claim, only differences far beyond what \
             disturbances do are told; low and high contain that"
                .to_owned(),
        );
    }
    if shown.len() < findings.len() {
        notes.push(format!("the surest {} of {} findings", shown.len(), findings.len()));
    }
    let table = Table {
        id: "findings-table".to_owned(),
        caption: "The surest first".to_owned(),
        columns: vec![
            Column::text("node"),
            Column { kind: ColumnKind::Choice, ..Column::text("what") },
            Column::number("ratio to fleet", "ratio_to_fleet"),
            Column::number("adjusted ratio", "ratio"),
            Column::number("95 % low", "ci95_low").in_lines_of(100),
            Column::number("95 % high", "ci95_high").in_lines_of(100),
            Column::text("adjusted for"),
            Column::number("q", "q"),
            Column::prose("fact"),
        ],
        rows: shown.iter().enumerate().map(row).collect(),
        notes,
        interactive: true,
        ..Table::default()
    };
    section_of("findings", "What stands out", [Some(Block::Table(table))])
}

fn cells(content: &FleetContent<'_>, it: &Finding) -> Vec<Cell> {
    let scope = content.scope_name(&it.scope).unwrap_or_else(|| "all cases".to_owned());
    let number = |value: f64| Cell::number(factor(value), Some(value));
    let to_fleet = it.ratio_to_fleet;
    let adjustment = it.adjustment.map_or("-", Adjustment::name);
    let [low, high] = it.ci95;
    vec![
        Cell::text(with_numa_node(content.node_name(it.node), it)),
        Cell::text(scope),
        Cell::number(to_fleet.map_or_else(|| "-".to_owned(), factor), to_fleet),
        number(it.ratio),
        number(low),
        number(high),
        Cell::text(adjustment.to_owned()),
        Cell::number(probability(it.q), Some(it.q)),
        Cell::text(it.facts.first().map_or_else(|| "none".to_owned(), fact)),
    ]
}

fn fact(it: &FactCandidate) -> String {
    format!(
        "{}: {} (most: {}); {} of {} with it and {} of {} others stand out",
        it.name,
        shortened(&it.value),
        shortened(&it.usual),
        it.with.found,
        it.with.nodes,
        it.without.found,
        it.without.nodes
    )
}
