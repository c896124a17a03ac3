//! Reports of made-up networks.

use oscost_model::unit::{Better, Unit};

use super::*;
use crate::fleet::{Link, LinkCase, analyse_links};
use crate::report;
use crate::report::view::document::heat_map::HeatMap;

/// A network of these nodes; the link of the first two has another cost, and the last pair failed.
fn network(nodes: &[&str], repeats: u32, slow: f64) -> MeasuredNetwork {
    let count = nodes.len();
    let mut links: Vec<Link> = Vec::new();
    for a in 0..count {
        for b in a + 1..count {
            let cost = if [a, b] == [0, 1] { slow } else { 1.0 };
            // A few thousandths, which differ between links and repeats.
            let value = |repeat: u32| {
                let step = (a * 7 + b * 13 + repeat as usize * 5) % 9;
                24_000.0 * cost * (1.0 + 0.001 * step as f64)
            };
            let values = (0..repeats).map(value).collect();
            let (not_claimable, reasons) = (Vec::new(), Vec::new());
            links.push(Link { pair: [a, b], values, not_claimable, reasons });
        }
    }
    if let Some(last) = links.last_mut() {
        (last.values, last.reasons) = (Vec::new(), vec!["no route".to_owned()]);
    }
    let case = LinkCase {
        case: "socket/round-trip:by=tcp".to_owned(),
        unit: Unit::NsPerOp,
        better: Better::Lower,
        links,
    };
    let analysis = analyse_links(std::slice::from_ref(&case), count).remove(0);
    MeasuredNetwork {
        nodes: nodes.iter().map(|name| (*name).to_owned()).collect(),
        seed: 7,
        pairs: count * (count - 1) / 2,
        repeats,
        is_interrupted: false,
        cases: vec![AnalysedLinks { case, analysis }],
    }
}

fn lead(view: &View) -> String {
    view.lead.iter().map(|it| it.text.as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_matrix_is_symmetric_and_has_no_figure_where_there_is_none() {
    let network = network(&["n1", "n2", "n3"], 1, 1.0);
    let tables = matrix::tables(&network, &network.cases[0]);
    let [only] = &tables[..] else { panic!("{} tables", tables.len()) };
    let texts: Vec<Vec<&str>> = only
        .rows
        .iter()
        .map(|row| row.cells.iter().map(|cell| cell.text.as_str()).collect())
        .collect();
    let [one, two, three] = &texts[..] else { panic!("{texts:?}") };
    assert_eq!((one[0], one[1], two[2], three[3]), ("n1", "-", "-", "-"));
    assert_eq!((one[2], one[3]), (two[1], three[1]));
    assert!(one[2].starts_with("24."), "{texts:?}");
    assert_eq!((two[3], three[2]), ("-", "-"), "the pair that failed");
    assert_eq!(only.caption, "In us");
    assert_eq!(only.columns[1].title, "n1");
}

#[test]
fn a_page_has_a_heat_map_of_each_case_with_the_cost_of_each_link() {
    let mut network = network(&["n1", "n2", "<b>n3", "n4"], 1, 2.0);
    network.cases.push(network.cases[0].clone());
    let shown = page(&network);
    let answer = &shown.answer.as_ref().unwrap().findings;
    assert_eq!((&answer[0], shown.lead.len()), (&view(&network).lead[0].text, 1));
    let maps: Vec<&HeatMap> = shown
        .sections
        .iter()
        .flat_map(|section| &section.blocks)
        .filter_map(|block| match block {
            Block::HeatMap(map) => Some(map.as_ref()),
            _ => None,
        })
        .collect();
    let [map, other] = &maps[..] else { panic!("{} maps", maps.len()) };
    assert_eq!((&*map.id, &*other.id), ("links-map-0", "links-map-1"));
    let ratio = |row: usize, column: usize| map.row(row)[column];
    assert!((1.95..2.05).contains(&ratio(0, 1)) && ratio(0, 1) == ratio(1, 0), "{:?}", map.ratios);
    assert!((0.95..1.05).contains(&ratio(0, 2)), "{:?}", map.ratios);
    assert!(ratio(2, 2).is_nan() && ratio(2, 3).is_nan(), "itself, and the pair that failed");
    // Of a rate the inverse is the cost.
    network.cases[0].case.better = Better::Higher;
    let inverse = map::heat_map(&network, 0, &network.cases[0]).unwrap();
    assert!((0.45..0.55).contains(&inverse.row(0)[1]), "{:?}", inverse.ratios);
    let html = report::html(&page(&network)).unwrap();
    assert!(html.contains("id=\"links-map-1\"") && !html.contains("<b>n3"));
    let is_map = |block: &Block| matches!(block, Block::HeatMap(_));
    assert!(!view(&network).sections.iter().flat_map(|it| &it.blocks).any(is_map));
}

#[test]
fn many_nodes_have_several_tables_and_long_names_are_numbered() {
    let names: Vec<String> = (0..10).map(|at| format!("rack-1-node-{at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let network = network(&names, 1, 1.0);
    let tables = matrix::tables(&network, &network.cases[0]);
    let columns: Vec<usize> = tables.iter().map(|table| table.columns.len()).collect();
    assert_eq!(columns, [9, 3]);
    assert_eq!(tables[1].columns[1].title, "9");
    assert_eq!(tables[0].rows[9].cells[0].text, "10 rack-1-node-9");
}

#[test]
fn the_slow_link_is_named_and_marked_and_once_nothing_is_judged() {
    let names = ["n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"];
    let slow = network(&names, 3, 1.5);
    let text = lead(&view(&slow));
    assert!(text.starts_with("the link of n1 and n2 is not like the others: "), "{text}");
    assert!(text.contains("28 pairs of 8 nodes, measured 3 times"), "{text}");
    let tables = matrix::tables(&slow, &slow.cases[0]);
    assert!(tables[0].rows[0].cells[2].text.ends_with(" *"));
    let once = lead(&view(&network(&names, 1, 1.5)));
    assert!(once.starts_with("nothing is judged: each pair was measured once"), "{once}");
    assert!(lead(&view(&network(&names, 3, 1.0))).starts_with("no node and no link stands out"));
}

#[test]
fn very_noisy_measurements_are_counted_and_why_nothing_is_judged() {
    let mut noisy = network(&["n1", "n2", "n3"], 3, 1.0);
    noisy.cases[0].case.links[0].not_claimable = vec![0, 2];
    noisy.cases[0].analysis.judged = 0;
    let text = lead(&view(&noisy));
    assert!(text.starts_with("nothing is judged: without the measurements that are"), "{text}");
    assert!(text.contains("; nothing is concluded from 2 of the measurements"), "{text}");
    let document: serde_json::Value = serde_json::from_str(&json(&noisy).unwrap()).unwrap();
    assert_eq!(document["cases"][0]["links"][0]["not_claimable"], serde_json::json!([0, 2]));
}

#[test]
fn programs_have_a_line_for_each_link_with_the_reason_of_a_failure() {
    let network = network(&["n1", "n2", "n3"], 2, 1.0);
    let table = figures(&network);
    assert_eq!(table.rows.len(), 3);
    let last = &table.rows[2].cells;
    assert_eq!((last[1].text.as_str(), last[2].text.as_str()), ("n2", "n3"));
    assert_eq!((last[5].text.as_str(), last[9].text.as_str()), ("", "no route"));
    let document: serde_json::Value = serde_json::from_str(&json(&network).unwrap()).unwrap();
    let link = &document["cases"][0]["links"][2];
    assert!(link["median"].is_null(), "and not 0");
    assert_eq!(link["reasons"], serde_json::json!(["no route"]));
}
