//! The heat map of a fleet: what it shows of how many nodes, and in which order.

use super::*;
use crate::report::view::document::Block;
use crate::report::view::document::heat_map::HeatMap;

fn map(shown: &View) -> &HeatMap {
    let mut blocks = shown.sections.iter().flat_map(|section| &section.blocks);
    let map = blocks.find_map(|block| match block {
        Block::HeatMap(map) => Some(map.as_ref()),
        _ => None,
    });
    map.unwrap()
}

/// How many rows and columns the heat map has.
fn map_size(shown: &View) -> [usize; 2] {
    let map = map(shown);
    assert_eq!(map.ratios.len(), map.rows.len() * map.columns.len());
    [map.rows.len(), map.columns.len()]
}

#[test]
fn nodes_and_cases_with_a_finding_come_first_in_the_map_and_then_those_far_from_1() {
    let fleet = fleet(8, 8);
    let mut analysis = analysis(&fleet);
    for (node, ratio) in [(2, 1.02), (3, 0.5), (5, 1.4), (6, 1.1)] {
        analysis.nodes[node].ratio = Some(ratio);
    }
    analysis.nodes[7].ratio = None;
    // Of `fault` are the cases 0 to 3, of `syscall` 4 to 7.
    for (case, ratio) in [(1, 3.0), (5, 0.8), (6, 1.1)] {
        analysis.ratios[case] = ratio;
    }
    let names = |analysis: &FleetAnalysis| {
        let shown = view(&content(&fleet, analysis));
        let map = map(&shown);
        let rows: Vec<&str> = map.rows.iter().map(|row| &row.name["node".len()..]).collect();
        let cases = map.columns.iter();
        let columns: Vec<&str> = cases.map(|it| it.name.rsplit_once('-').unwrap().1).collect();
        [rows.join(" "), columns.join(" "), map.order_note.clone()]
    };
    let [rows, columns, note] = names(&analysis);
    assert_eq!(rows, "3 5 6 2 0 1 4 7");
    assert_eq!(columns, "001 000 002 003 005 006 004 007");
    assert_eq!(note, "Nodes and cases are ordered by how far they are from 1, the farthest first.");

    let calls = || FindingScope::Family("syscall".to_owned());
    analysis.findings = vec![
        finding(6, FindingScope::Case(7), 1.5, Vec::new()),
        finding(2, calls(), 1.2, Vec::new()),
        finding(6, FindingScope::Node, 1.1, Vec::new()),
    ];
    let [rows, columns, note] = names(&analysis);
    assert_eq!(rows, "6 2 3 5 0 1 4 7");
    assert_eq!(columns, "007 005 006 004 001 000 002 003");
    assert!(note.starts_with("Nodes and cases with a finding come first, then the others"));
    // Of a screen and of a page.
    let shown = view(&content(&fleet, &analysis));
    assert!(flat(&content(&fleet, &analysis)).contains(&note));
    assert!(report::html(&shown).unwrap().contains(&format!("<p>{note}</p>")));
}

#[test]
fn a_page_of_2000_nodes_by_100_cases_is_whole_and_small() {
    let fleet = fleet(2_000, 100);
    let mut analysis = analysis(&fleet);
    // No two ratios are alike, so that nothing of it is packed for free.
    for (at, ratio) in analysis.ratios.iter_mut().enumerate() {
        *ratio = (1.0 + 0.1 * ((at as f64 * 0.618_033_988_75).fract() - 0.5)) as f32;
    }
    analysis.findings =
        (0..2_000).map(|at| finding(at, FindingScope::Node, 1.31, vec![fact(3, 3, 61)])).collect();
    let shown = view(&content(&fleet, &analysis));
    assert_eq!(map_size(&shown), [2_000, 100]);
    let page = report::html(&shown).unwrap();
    assert!(page.len() <= 10_000_000, "{} bytes", page.len());
    assert!(page.contains("the surest 1000 of 2000 findings"));
    assert!(!page.contains("too many cells"));
}

#[test]
fn a_larger_fleet_is_folded_into_its_classes_and_the_nodes_that_stand_out() {
    let fleet = fleet(2_001, 100);
    let mut analysis = analysis(&fleet);
    analysis.ratios[5 * 100] = 1.5;
    analysis.findings = vec![
        finding(5, FindingScope::Case(0), 1.5, Vec::new()),
        finding(9, FindingScope::Node, 1.2, Vec::new()),
        finding(9, faults(), 1.2, Vec::new()),
    ];
    let shown = view(&content(&fleet, &analysis));
    assert_eq!(map_size(&shown), [3, 100]);
    let rows: Vec<&str> = map(&shown).rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(rows[..2], ["node5", "node9"]);
    assert!(rows[2].starts_with("class of 2001 nodes: "), "{rows:?}");
    let page = report::html(&shown).unwrap();
    let note = "2001 nodes by 100 cases are too many cells for one page: its rows are the medians of 1 \
                class, and 2 nodes that stand out.";
    assert!(page.contains(note));
}
