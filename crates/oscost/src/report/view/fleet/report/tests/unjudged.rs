//! What is told of nodes whose visits support no claim.

use super::*;
use crate::fleet::{DisturbedNode, FarthestCase, NotJudgedNode, VisitCount};
use crate::report::view::document::Block;

const VERY_NOISY: &str = "is very noisy";

/// The figures of a node whose visits support no claim: its last case is 612 times as slow.
fn not_judged(node: usize, cases: usize) -> NotJudgedNode {
    let mut ratios = vec![1.0; cases];
    ratios[cases - 1] = 612.0;
    let case = u32::try_from(cases - 1).unwrap();
    NotJudgedNode {
        node,
        reason: VERY_NOISY,
        visits: 3,
        is_whole: true,
        ratios,
        farthest: Some(FarthestCase { case, ratio: 612.0 }),
    }
}

/// A fleet of six nodes, of which these have such visits alone.
fn six(nodes: &[usize]) -> (Fleet, FleetAnalysis) {
    let mut fleet = fleet(6, 4);
    for visit in fleet.visits.iter_mut().filter(|visit| nodes.contains(&visit.node)) {
        visit.not_claimable = Some(VERY_NOISY);
    }
    let mut analysis = analysis(&fleet);
    for &node in nodes {
        analysis.ratios[4 * node..4 * node + 4].fill(f32::NAN);
        analysis.nodes[node].ratio = None;
        analysis.not_judged.push(not_judged(node, 4));
    }
    analysis.judged_nodes = 6 - nodes.len();
    (fleet, analysis)
}

fn disturbed(node: usize) -> DisturbedNode {
    DisturbedNode {
        node,
        reason: VERY_NOISY,
        own: VisitCount { not_claimable: 3, visits: 3 },
        equals: VisitCount { not_claimable: 0, visits: 15 },
        q: 0.029,
        facts: vec![FactCandidate { name: "tracers", value: "strace".into(), ..fact(1, 1, 5) }],
    }
}

fn lead(fleet: &Fleet, analysis: &FleetAnalysis) -> Vec<String> {
    view(&content(fleet, analysis)).lead.into_iter().map(|it| it.text).collect()
}

#[test]
fn a_node_whose_visits_are_all_noisy_is_named_with_the_reason_and_its_farthest_case() {
    let (fleet, analysis) = six(&[5]);
    let told = lead(&fleet, &analysis);
    assert_eq!(
        told[..2],
        [
            "None of the 5 nodes that were judged stands out: a node slower by 6.2 % or more over \
             all its cases would probably have been found.",
            "node5 was not judged: its 3 visits are very noisy (612 times as slow as its equals in \
             syscall/case-003)."
        ]
    );
    let (fleet, mut analysis) = six(&[0, 1, 2, 3, 4]);
    analysis.not_judged[1].farthest = None;
    analysis.not_judged[2].farthest = Some(FarthestCase { case: 0, ratio: 0.5 });
    assert_eq!(
        lead(&fleet, &analysis)[1],
        "5 nodes were not judged: node0 (its 3 visits are very noisy, 612 times as slow as its \
         equals in syscall/case-003), node1 (its 3 visits are very noisy), node2 (its 3 visits are \
         very noisy, 2.00 times as fast as its equals in fault/case-000) and 2 more."
    );
    let (fleet, mut analysis) = six(&[0, 1, 2, 3, 4, 5]);
    analysis.cases.iter_mut().for_each(|it| it.between_visits = None);
    let told = lead(&fleet, &analysis);
    assert!(told[0].contains("of one node from which something may be concluded"), "{told:?}");
}

#[test]
fn a_node_that_is_disturbed_more_often_than_its_equals_stands_out_with_its_fact() {
    let (fleet, mut analysis) = six(&[5]);
    analysis.disturbed.push(disturbed(5));
    let told = lead(&fleet, &analysis);
    assert_eq!(
        told[0],
        "node5 is disturbed more often than its 5 equals: 3 of its 3 visits are very noisy, 0 of 15 \
         of theirs; there it is 612 times as slow as its equals in syscall/case-003; it was not \
         judged otherwise; these visits of it are of one day, and one cause may have disturbed them \
         all; of its facts `tracers: strace` sets it apart (1 of 1 such node is disturbed, 0 of 5 \
         others): a candidate, no proof."
    );
    let by_costs = "None of the 5 nodes that were judged stands out by its costs: a node slower";
    assert!(told[1].starts_with(by_costs), "{told:?}");
    assert_eq!(told.len(), 3, "it is told once: {told:?}");
    let text = flat(&content(&fleet, &analysis));
    assert!(text.contains("oscost fleet check node5 --against night"), "{text}");
    let document: serde_json::Value =
        serde_json::from_str(&json(&content(&fleet, &analysis)).unwrap()).unwrap();
    let found = &document["disturbed"][0];
    assert!(found["node"] == "node5" && found["not_claimable"] == VERY_NOISY, "{found}");
    assert!(found["own"]["not_claimable"] == 3 && found["equals"]["visits"] == 15, "{found}");
    assert_eq!(found["facts"][0]["value"], "strace");
    let not_judged = &document["not_judged"][0];
    assert!(not_judged["farthest_ratio"] == 612.0 && not_judged["visits"] == 3, "{not_judged}");
    assert_eq!(not_judged["farthest_case"], "syscall/case-003");
    assert_eq!(not_judged["has_other_visits"], false);
    let mut of_three_days = fleet.clone();
    of_three_days.visits.iter_mut().for_each(|visit| visit.started_s *= 86_400.0);
    let told_of_days = lead(&of_three_days, &analysis);
    let without = told[0].replace(
        "; these visits of it are of one day, and one cause may have disturbed them all",
        "",
    );
    assert!(without != told[0] && told_of_days[0] == without, "{told_of_days:?}");
    // It may have other visits, by which it is judged.
    let all_judged = FleetAnalysis { judged_nodes: 6, not_judged: Vec::new(), ..analysis.clone() };
    let told = lead(&fleet, &all_judged);
    assert!(told[1].starts_with("No node of 6 stands out by its costs: a node slower"), "{told:?}");
    let mut no_costs = FleetAnalysis { judged_nodes: 0, ..analysis.clone() };
    no_costs.cases.iter_mut().for_each(|it| it.between_visits = None);
    let told = lead(&fleet, &no_costs);
    assert!(told[1].starts_with("No cost can be judged: no case was measured in two"), "{told:?}");
    // More of them are counted.
    analysis.disturbed = (0..5).map(disturbed).collect();
    let told = lead(&fleet, &analysis);
    assert_eq!(told[3], "2 more nodes are disturbed more often than their equals.");
}

#[test]
fn what_is_found_in_spite_of_the_visits_says_so() {
    let (fleet, mut analysis) = six(&[5]);
    let slow = finding(5, FindingScope::Family("syscall".to_owned()), 612.0, Vec::new());
    let ci95 = [130.0, 2_900.0];
    analysis.findings = vec![Finding { not_claimable: Some(VERY_NOISY), ci95, ..slow }];
    let told = lead(&fleet, &analysis);
    assert_eq!(
        told[0],
        "node5 is 612 times as slow in syscall (2 cases) as its 5 equals [130 .. 2900], in visits \
         that are very noisy: the interval has what such disturbances ordinarily do; no recorded \
         fact sets it apart."
    );
    assert_eq!(told.len(), 2, "it is not called a node that was not judged: {told:?}");
    let content = content(&fleet, &analysis);
    assert!(flat(&content).contains("only differences far beyond what disturbances do"));
    let document: serde_json::Value = serde_json::from_str(&json(&content).unwrap()).unwrap();
    assert_eq!(document["findings"][0]["not_claimable"], VERY_NOISY);
}

#[test]
fn findings_of_visits_that_support_no_other_claim_are_told_apart_from_others() {
    let (fleet, mut analysis) = six(&[5]);
    let slow = |node: usize, not_claimable: Option<&'static str>| {
        let syscalls = FindingScope::Family("syscall".to_owned());
        Finding { not_claimable, ..finding(node, syscalls, 612.0, Vec::new()) }
    };
    for of in [[None, Some(VERY_NOISY)], [Some(VERY_NOISY), None]] {
        analysis.findings = vec![slow(1, of[0]), slow(5, of[1])];
        let told = lead(&fleet, &analysis);
        let is_noisy = |text: &String| text.contains("in visits that are very noisy");
        assert_eq!([&told[0], &told[1]].map(is_noisy), of.map(|it| it.is_some()), "{told:?}");
    }
    analysis.findings = vec![slow(4, Some(VERY_NOISY)), slow(5, Some(VERY_NOISY))];
    let told = lead(&fleet, &analysis);
    assert!(told[0].contains(" The same holds for node5: 612 times as slow."), "{told:?}");
}

#[test]
fn figures_that_are_not_judged_are_in_the_map_with_a_mark_and_their_node_comes_first() {
    let (fleet, mut analysis) = six(&[5]);
    analysis.disturbed.push(disturbed(5));
    let shown = view(&content(&fleet, &analysis));
    let mut blocks = shown.sections.iter().flat_map(|section| &section.blocks);
    let map = blocks.find_map(|block| match block {
        Block::HeatMap(map) => Some(map),
        _ => None,
    });
    let map = map.unwrap();
    assert_eq!(map.rows[0].name, "node5");
    assert!((0..4).all(|column| map.is_not_judged(0, column) && !map.is_not_judged(1, column)));
    assert!(map.row(0).contains(&612.0));
    let text = report::terminal(&shown);
    assert!(text.lines().any(|line| line == "node5  ?? ??"), "{text}");
    assert!(flat(&content(&fleet, &analysis)).contains("? measured, not judged"), "{text}");
    let page = report::html(&shown).unwrap();
    for part in
        ["612, not judged", "grey with a bar: measured, not judged", "stroke-width=\"0.45\""]
    {
        assert!(page.contains(part), "{part}");
    }
    analysis.disturbed.clear();
    let shown = view(&content(&fleet, &analysis));
    assert!(report::terminal(&shown).lines().any(|line| line == "node5  ?? ??"));
}
