//! Nodes down, nodes across.

use std::collections::{BTreeMap, BTreeSet};

use crate::fleet::{AnalysedLinks, Link, LinkScope, MeasuredNetwork, NodePair};
use crate::report::figures::Style;
use crate::report::text::plain;
use crate::report::view::document::{Cell, Column, Table, TableRow};

/// Columns of a table: with a name of usual length they fit into 80 letters.
const MAX_COLUMNS: usize = 8;
/// Names up to so many letters head columns; longer ones are numbered.
const MAX_HEADING: usize = 7;

/// The matrix of a case, in as many tables as its columns take.
pub(super) fn tables(network: &MeasuredNetwork, links: &AnalysedLinks) -> Vec<Table> {
    let matrix = Matrix::of(network, links);
    let all: Vec<usize> = (0..network.nodes.len()).collect();
    all.chunks(MAX_COLUMNS).map(|columns| matrix.table(columns)).collect()
}

/// What the cells of a matrix are made of.
struct Matrix<'a> {
    names: Vec<String>,
    are_numbered: bool,
    links: BTreeMap<NodePair, &'a Link>,
    unusual: BTreeSet<NodePair>,
    style: Style,
}

impl<'a> Matrix<'a> {
    fn of(network: &MeasuredNetwork, AnalysedLinks { case, analysis }: &'a AnalysedLinks) -> Self {
        let names: Vec<String> = network.nodes.iter().map(|name| plain(name)).collect();
        let are_numbered = names.iter().any(|name| name.chars().count() > MAX_HEADING);
        let unusual = analysis.findings.iter().filter_map(|finding| match finding.scope {
            LinkScope::Pair(pair) => Some(pair),
            LinkScope::Node(_) => None,
        });
        let smallest = case.links.iter().filter_map(Link::median).reduce(f64::min);
        Self {
            names,
            are_numbered,
            links: case.links.iter().map(|link| (link.pair, link)).collect(),
            unusual: unusual.collect(),
            style: Style::of(smallest.unwrap_or(0.0), case.unit),
        }
    }

    fn table(&self, columns: &[usize]) -> Table {
        let heading = |node: &usize| {
            let name = &self.names[*node];
            let number = (node + 1).to_string();
            let title = if self.are_numbered { &number } else { name };
            Column { title: title.clone(), ..Column::number("", name) }
        };
        let row = |node: usize| {
            let name = match self.are_numbered {
                true => format!("{} {}", node + 1, self.names[node]),
                false => self.names[node].clone(),
            };
            let cells = columns.iter().map(|column| self.cell(node, *column));
            TableRow::of([Cell::text(name)].into_iter().chain(cells).collect())
        };
        let has_unusual =
            columns.iter().any(|column| self.unusual.iter().any(|pair| pair.contains(column)));
        Table {
            caption: format!("In {}", self.style.unit()),
            columns: [Column::text("node")]
                .into_iter()
                .chain(columns.iter().map(heading))
                .collect(),
            rows: (0..self.names.len()).map(row).collect(),
            notes: has_unusual.then(|| "*: not like the others".to_owned()).into_iter().collect(),
            ..Table::default()
        }
    }

    /// The figure of two nodes; `-` where there is none.
    fn cell(&self, one: usize, other: usize) -> Cell {
        let pair = [one.min(other), one.max(other)];
        match self.links.get(&pair).and_then(|link| link.median()) {
            None => Cell::number("-", None),
            Some(median) => {
                let mark = if self.unusual.contains(&pair) { " *" } else { "" };
                Cell::number(format!("{}{mark}", self.style.number(median)), Some(median))
            }
        }
    }
}
