//! Nodes by nodes as a heat map, for a page.

use oscost_model::unit::Better;
use oscost_stats::order;

use crate::fleet::{AnalysedLinks, Link, MeasuredNetwork};
use crate::report::text::plain;
use crate::report::view::document::heat_map::{HeatMap, HeatMapColumn, HeatMapRow};

/// More nodes have more cells than are seen: 160,000.
const MAX_NODES: usize = 400;
/// Two nodes are one link, which has a sentence.
const MIN_NODES: usize = 3;

/// The map of a case, which is the one of this number; `None` of too few or too many nodes, and
/// without a figure.
pub(super) fn heat_map(
    network: &MeasuredNetwork,
    number: usize,
    AnalysedLinks { case, analysis }: &AnalysedLinks,
) -> Option<HeatMap> {
    let count = network.nodes.len();
    if !(MIN_NODES..=MAX_NODES).contains(&count) {
        return None;
    }
    let costs: Vec<f64> = case.links.iter().filter_map(|link| cost(link, case.better)).collect();
    let middle = order::median(&order::sorted(&costs))?;
    // A node has no link with itself.
    let mut ratios = vec![f32::NAN; count * count];
    for link in &case.links {
        let [a, b] = link.pair;
        if let Some(cost) = cost(link, case.better).filter(|_| a < count && b < count) {
            let ratio = (cost / middle) as f32;
            (ratios[a * count + b], ratios[b * count + a]) = (ratio, ratio);
        }
    }
    let name = |node: usize| network.nodes.get(node).map_or_else(String::new, |it| plain(it));
    let row = |node: usize| HeatMapRow {
        name: name(node),
        class: String::new(),
        ratio: analysis.nodes.get(node).copied().flatten(),
    };
    let column = |node: usize| HeatMapColumn { name: name(node), group: String::new() };
    Some(HeatMap {
        id: format!("links-map-{number}"),
        caption:
            "Ratio of the cost of each link to that of the middle link: above 1 is slower, also \
                  where more is better"
                .to_owned(),
        row_noun: "node",
        column_noun: "other node",
        columns: (0..count).map(column).collect(),
        rows: (0..count).map(row).collect(),
        order_name: "by number",
        ratios,
        ..HeatMap::default()
    })
}

/// The cost of a link, or the inverse of its rate; `None` without a figure above 0.
fn cost(link: &Link, better: Better) -> Option<f64> {
    let median = link.median().filter(|median| *median > 0.0 && median.is_finite())?;
    Some(match better {
        Better::Lower => median,
        Better::Higher => 1.0 / median,
    })
}
