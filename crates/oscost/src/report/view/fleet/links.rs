//! The network between nodes: what stands out, in one sentence; then a matrix for each case, on a
//! page below its heat map.

mod document;
mod map;
mod matrix;

use crate::fleet::{
    AnalysedLinks, LinkFinding, LinkScope, MAX_NODES_OF_ALL_PAIRS, MeasuredNetwork,
};
use crate::report::text::{plain, plural};
use crate::report::view::document::{
    Answer, Block, Cell, Column, Paragraph, Section, Table, TableRow, View,
};
use crate::report::view::sections::section_of_cases;

pub use self::document::{SCHEMA, json};
use super::ratio_texts::factor;

/// Of more findings the first are told.
const MAX_TOLD: usize = 12;

/// The network as a screen shows it.
pub fn view(network: &MeasuredNetwork) -> View {
    assembled(network, |_, links| section(network, links))
}

/// The network as a page shows it: with a heat map of each case.
pub fn page(network: &MeasuredNetwork) -> View {
    let mut view = assembled(network, |number, links| {
        let mut section = section(network, links);
        section.id = format!("case-{number}");
        if let Some(map) = map::heat_map(network, number, links) {
            section.blocks.insert(0, Block::HeatMap(Box::new(map)));
        }
        section
    });
    let findings = view.lead.drain(..1).map(|it| it.text).collect();
    View { answer: Some(Answer { findings, ..Answer::default() }), ..view }
}

/// The report, with a section for each case by its number.
fn assembled(
    network: &MeasuredNetwork,
    of_case: impl Fn(usize, &AnalysedLinks) -> Section,
) -> View {
    let findings = findings(network);
    let first = findings.first().map(|it| sentence(network, it));
    let lead = [first.unwrap_or_else(|| nothing(network)), conditions(network)];
    let mut sections: Vec<Section> = Vec::new();
    let more = findings.len().saturating_sub(MAX_TOLD);
    let more = (more > 0).then(|| format!("and {more} more"));
    let told = findings.iter().take(MAX_TOLD).skip(1).map(|it| sentence(network, it));
    let list = Block::list(told.chain(more));
    sections.extend(list.map(|list| Section {
        id: "findings".to_owned(),
        ..Section::of("What else stands out", [list])
    }));
    sections.extend(network.cases.iter().enumerate().map(|(number, it)| of_case(number, it)));
    let reasons = network.cases.iter().flat_map(|it| reasons(network, it));
    sections.extend(section_of_cases("failed", "Not measured", reasons));
    let title = "Links between nodes by oscost".to_owned();
    View { title, lead: lead.map(Paragraph::from).into(), sections, ..View::default() }
}

/// A finding and its case.
#[derive(Clone, Copy)]
struct CaseFinding<'a> {
    case: &'a str,
    finding: &'a LinkFinding,
}

/// All findings, the surest first.
fn findings(network: &MeasuredNetwork) -> Vec<CaseFinding<'_>> {
    let mut found: Vec<CaseFinding<'_>> = Vec::new();
    for AnalysedLinks { case, analysis } in &network.cases {
        let of_case = analysis.findings.iter();
        found.extend(of_case.map(|finding| CaseFinding { case: &case.case, finding }));
    }
    found.sort_by(|one, other| one.finding.q.total_cmp(&other.finding.q));
    found
}

fn name(network: &MeasuredNetwork, node: usize) -> String {
    network.nodes.get(node).map(|name| plain(name)).unwrap_or_default()
}

fn sentence(network: &MeasuredNetwork, CaseFinding { case, finding }: &CaseFinding<'_>) -> String {
    let (case, ratio) = (plain(case), factor(finding.ratio));
    match finding.scope {
        LinkScope::Node(node) => format!(
            "{} is not like the other nodes: {case} costs {ratio} times as much on its links",
            name(network, node)
        ),
        LinkScope::Pair([a, b]) => format!(
            "the link of {} and {} is not like the others: {case} costs {ratio} times what the two \
             nodes let expect",
            name(network, a),
            name(network, b)
        ),
    }
}

/// The sentence where nothing stands out.
fn nothing(network: &MeasuredNetwork) -> String {
    let judged: usize = network.cases.iter().map(|it| it.analysis.judged).sum();
    match judged {
        _ if !network.has_figures() => "no pair of nodes has a figure".to_owned(),
        0 if network.repeats < 2 => {
            "nothing is judged: each pair was measured once (`--repeat 3` repeats it)".to_owned()
        }
        0 if not_claimable(network) > 0 => {
            "nothing is judged: without the measurements that are very noisy, or have a clock that \
             drifted, too few are left"
                .to_owned()
        }
        0 => "nothing is judged: there are too few nodes and pairs to say which are the others"
            .to_owned(),
        _ => format!(
            "no node and no link stands out among {}",
            plural(network.nodes.len() as u64, "node")
        ),
    }
}

/// How many measurements nothing is concluded from: of the case that has most of them.
fn not_claimable(network: &MeasuredNetwork) -> usize {
    let of_case = |it: &AnalysedLinks| -> usize {
        it.case.links.iter().map(|link| link.not_claimable.len()).sum()
    };
    network.cases.iter().map(of_case).max().unwrap_or(0)
}

fn conditions(network: &MeasuredNetwork) -> String {
    let MeasuredNetwork { nodes, pairs, repeats, seed, is_interrupted, .. } = network;
    let ended = if *is_interrupted { "; interrupted before all were measured" } else { "" };
    let times = match repeats {
        1 => "measured once".to_owned(),
        repeats => format!("measured {repeats} times, in both directions by turns"),
    };
    let pairs = plural(*pairs as u64, "pair");
    let nodes = plural(nodes.len() as u64, "node");
    let noisy = match not_claimable(network) {
        0 => String::new(),
        count => format!(
            "; nothing is concluded from {count} of the measurements, which are very noisy or have a \
             clock that drifted"
        ),
    };
    format!("{pairs} of {nodes}, {times}; seed {seed}{noisy}{ended}")
}

fn section(network: &MeasuredNetwork, links: &AnalysedLinks) -> Section {
    let mut blocks: Vec<Block> = Vec::new();
    if network.nodes.len() <= MAX_NODES_OF_ALL_PAIRS {
        blocks.extend(matrix::tables(network, links).into_iter().map(Block::Table));
    }
    if network.nodes.len() > 2 {
        blocks.push(Block::Table(node_table(network, links)));
    }
    Section::of(plain(&links.case.case), blocks)
}

/// What the links of each node cost over those of the middle node.
fn node_table(network: &MeasuredNetwork, links: &AnalysedLinks) -> Table {
    let row = |(node, ratio): (usize, &Option<f64>)| {
        let own = links.case.links.iter().filter(|link| link.pair.contains(&node));
        let count = own.filter(|link| !link.values.is_empty()).count();
        let text = ratio.map_or("-".to_owned(), |ratio| format!("x {}", factor(ratio)));
        TableRow::of(vec![
            Cell::text(name(network, node)),
            Cell::number(count.to_string(), Some(count as f64)),
            Cell::number(text, *ratio),
        ])
    };
    Table {
        columns: vec![
            Column::text("node"),
            Column::number("links", "links"),
            Column::number("cost", "ratio"),
        ],
        rows: links.analysis.nodes.iter().enumerate().map(row).collect(),
        notes: vec!["cost: of the links of a node, over those of the middle node".to_owned()],
        ..Table::default()
    }
}

/// Why links have no figure.
fn reasons<'a>(
    network: &'a MeasuredNetwork,
    links: &'a AnalysedLinks,
) -> impl Iterator<Item = (String, &'a str)> {
    let case = links.case.case.as_str();
    links.case.links.iter().flat_map(move |link| {
        let [a, b] = link.pair.map(|node| name(network, node));
        link.reasons.iter().map(move |why| (format!("{a} and {b}: {}", plain(why)), case))
    })
}

/// Every link in a line of its own, for other programs.
pub fn figures(network: &MeasuredNetwork) -> Table {
    let rows = network.cases.iter().flat_map(|links| {
        let ratios = links.case.links.iter().zip(&links.analysis.links);
        ratios.map(move |(link, ratio)| {
            let [a, b] = link.pair.map(|node| name(network, node));
            let of = |value: Option<f64>| {
                Cell::number(value.map_or_else(String::new, |value| value.to_string()), value)
            };
            let lowest = link.values.iter().copied().reduce(f64::min);
            let highest = link.values.iter().copied().reduce(f64::max);
            TableRow::of(vec![
                Cell::text(plain(&links.case.case)),
                Cell::text(a),
                Cell::text(b),
                of(Some(link.values.len() as f64)),
                Cell::text(links.case.unit.text()),
                of(link.median()),
                of(lowest),
                of(highest),
                of(*ratio),
                Cell::text(plain(&link.reasons.join("; "))),
                of(Some(link.not_claimable.len() as f64)),
            ])
        })
    });
    Table {
        id: "links".to_owned(),
        columns: vec![
            Column::text("case"),
            Column::text("node"),
            Column::text("other_node"),
            Column::number("measurements", "measurements"),
            Column::text("unit"),
            Column::number("median", "median"),
            Column::number("lowest", "lowest"),
            Column::number("highest", "highest"),
            Column::number("ratio", "ratio_to_expected"),
            Column::text("why"),
            Column::number("not_claimable", "not_claimable"),
        ],
        rows: rows.collect(),
        ..Table::default()
    }
}

#[cfg(test)]
mod tests;
