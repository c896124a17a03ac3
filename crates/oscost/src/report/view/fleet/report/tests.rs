mod heat_map;
mod missing;
mod unjudged;

use std::sync::Arc;

use oscost_model::unit::{Better, Unit};

use super::*;
use crate::fleet::{
    Adjustment, CaseChange, CaseFigure, CaseSpread, ClassChanges, ClassSpread, FactCandidate,
    FactGroup, Finding, FindingScope, Fleet, FleetAnalysis, FleetCase, FleetChanges, FleetNode,
    NodeDeviation, NodeVisit, VarianceShares,
};
use crate::report;

const CLASS: &str = "Some CPU, 64 GiB";

/// Nodes of one class with cases of two families, each visited three times.
fn fleet(nodes: usize, cases: usize) -> Fleet {
    let case = |at: usize| FleetCase {
        case: format!("{}/case-{at:03}", if at < cases / 2 { "fault" } else { "syscall" }),
        family: if at < cases / 2 { "fault" } else { "syscall" }.to_owned(),
        unit: Unit::NsPerOp,
        better: Better::Lower,
        rev: 1,
    };
    let node =
        |at: usize| FleetNode { name: format!("node{at}"), class: CLASS.into(), facts: Vec::new() };
    let visit = |at: usize| NodeVisit {
        node: at / 3,
        run: format!("run{at}"),
        started_s: at as f64,
        not_claimable: None,
        numa_node: None,
        figures: vec![CaseFigure { case: 0, median: 100.0, log_error: 0.01 }],
    };
    Fleet {
        name: "night".to_owned(),
        cases: (0..cases).map(case).collect(),
        nodes: (0..nodes).map(node).collect(),
        visits: (0..3 * nodes).map(visit).collect(),
        ..Fleet::default()
    }
}

/// Nothing stands out; each node is known to one per cent.
fn analysis(fleet: &Fleet) -> FleetAnalysis {
    let (nodes, cases) = (fleet.nodes.len(), fleet.cases.len());
    let spread = CaseSpread {
        nodes,
        median: Some(100.0),
        between_nodes: Some(0.02),
        between_visits: Some(0.03),
    };
    let ci95 = Some([(-0.0196f64).exp(), 0.0196f64.exp()]);
    let (ratio, between_visits) = (Some(1.0), Some(0.02));
    let node = NodeDeviation { cases, visits: 3, ratio, ci95, between_visits };
    FleetAnalysis {
        cases: vec![spread; cases],
        nodes: vec![node; nodes],
        ratios: vec![1.0; nodes * cases],
        findings: Vec::new(),
        disturbed: Vec::new(),
        not_judged: Vec::new(),
        judged: nodes * (cases + 3),
        judged_nodes: nodes,
        detectable_ratio: Some(1.062),
        false_discovery_rate: 0.05,
        classes: vec![ClassSpread {
            class: CLASS.into(),
            nodes: (0..nodes).collect(),
            ratio: Some(1.0),
            range: Some([0.98, 1.02]),
        }],
        numa_not_judged: Vec::new(),
        variance: Some(VarianceShares {
            processes: 0.1,
            visits: 0.61,
            numa_nodes: None,
            nodes: 0.29,
            classes: 0.0,
        }),
    }
}

fn fact(found: usize, nodes: usize, others: usize) -> FactCandidate {
    FactCandidate {
        name: "transparent huge pages",
        value: "never".into(),
        usual: "always".into(),
        with: FactGroup { found, nodes },
        without: FactGroup { found: 0, nodes: others },
        p: 1e-6,
    }
}

fn finding(node: usize, scope: FindingScope, ratio: f64, facts: Vec<FactCandidate>) -> Finding {
    let ci95 = [ratio - 0.04, ratio + 0.05];
    Finding {
        node,
        numa_node: None,
        scope,
        ratio,
        ci95,
        adjustment: None,
        not_claimable: None,
        ratio_to_fleet: Some(ratio),
        q: 1e-5,
        facts,
    }
}

/// The same finding if the ratio is without something, and what it is with that.
fn adjusted(finding: Finding, adjustment: Adjustment, ratio_to_fleet: f64) -> Finding {
    let (adjustment, ratio_to_fleet) = (Some(adjustment), Some(ratio_to_fleet));
    Finding { adjustment, ratio_to_fleet, ..finding }
}

fn faults() -> FindingScope {
    FindingScope::Family("fault".to_owned())
}

fn content<'a>(fleet: &'a Fleet, analysis: &'a FleetAnalysis) -> FleetContent<'a> {
    FleetContent { fleet, analysis, rejected: &[], changes: None, source: "night" }
}

/// The report of a screen in one line.
fn flat(content: &FleetContent<'_>) -> String {
    let text = report::terminal(&view(content));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn first_sentences(findings: Vec<Finding>) -> Vec<String> {
    let fleet = fleet(64, 18);
    let analysis = FleetAnalysis { findings, ..analysis(&fleet) };
    let mut lead: Vec<String> =
        view(&content(&fleet, &analysis)).lead.into_iter().map(|it| it.text).collect();
    lead.pop();
    lead
}

#[test]
fn the_head_names_node_family_equals_and_the_fact_with_its_support() {
    assert_eq!(
        first_sentences(vec![finding(17, faults(), 1.31, vec![fact(3, 3, 61)])]),
        [
            "node17 is 1.31 times as slow in fault (9 cases) as its 63 equals [1.27 .. 1.36]; of its \
          facts `transparent huge pages: never` sets it apart (3 of 3 such nodes are slow, 0 of 61 \
          others): a candidate, no proof."
        ]
    );
    assert_eq!(
        first_sentences(vec![finding(3, FindingScope::Node, 1.31, vec![fact(1, 1, 63)])]),
        ["node3 is 1.31 times as slow over all its cases as its 63 equals [1.27 .. 1.36]; of its \
          facts `transparent huge pages: never` sets it apart (1 of 1 such node is slow, 0 of 63 \
          others): a candidate, no proof."]
    );
}

#[test]
fn a_numa_node_is_named_with_its_node_and_compared_with_the_rest_of_it() {
    let slow = finding(7, faults(), 1.31, Vec::new());
    let slow = Finding { numa_node: Some(1), ratio_to_fleet: None, ..slow };
    let alike = Finding { node: 9, ..slow.clone() };
    let whole = Finding { numa_node: None, ..slow.clone() };
    let told = first_sentences(vec![slow.clone(), alike, whole]);
    assert_eq!(
        told,
        [
            "node7, NUMA node 1 is 1.31 times as slow in fault (9 cases) as the rest of the node, \
             beyond what its equals differ by [1.27 .. 1.36]; no recorded fact sets it apart. The \
             same holds for node9: 1.31 times as slow.",
            "node7 is 1.31 times as slow in fault (9 cases) as its 63 equals [1.27 .. 1.36]; no \
             recorded fact sets it apart."
        ]
    );
    let fleet = fleet(64, 18);
    let analysis = FleetAnalysis { findings: vec![slow], ..analysis(&fleet) };
    let content = content(&fleet, &analysis);
    assert!(flat(&content).contains("node7, NUMA node 1"));
    let json: serde_json::Value = serde_json::from_str(&json(&content).unwrap()).unwrap();
    let found = &json["findings"][0];
    assert!(found["node"] == "node7" && found["numa_node"] == 1, "{found}");
}

#[test]
fn a_faster_case_is_turned_around_and_a_node_without_a_fact_says_so() {
    let faster = finding(0, FindingScope::Case(17), 0.5, Vec::new());
    let told = first_sentences(vec![adjusted(faster, Adjustment::Family, 0.6)]);
    assert_eq!(
        told,
        ["node0 is 2.00 times as fast in syscall/case-017 as its 63 equals [1.82 .. 2.17], \
          apart from what its other cases of the family differ by; with that its costs there are \
          0.60 times the fleet's median; no recorded fact sets it apart."]
    );
}

#[test]
fn the_ratio_of_a_family_is_told_without_and_with_what_the_node_differs_by() {
    let fleet = fleet(8, 4);
    let mut analysis = analysis(&fleet);
    let slow = finding(3, faults(), 1.31, Vec::new());
    analysis.findings = vec![
        adjusted(slow, Adjustment::Node, 1.702),
        finding(5, FindingScope::Node, 1.25, Vec::new()),
    ];
    let content = content(&fleet, &analysis);
    let text = flat(&content);
    for words in [
        "node3 is 1.31 times as slow in fault (2 cases) as its 7 equals [1.27 .. 1.36], apart from \
         what it differs by as a whole; with that its costs there are 1.70 times the fleet's median;",
        "node5 is 1.25 times as slow over all its cases as its 7 equals [1.21 .. 1.30]; no",
        "the ratio to fleet is to the fleet's medians",
    ] {
        assert!(text.contains(words), "`{words}` is not in:\n{text}");
    }
    let document: serde_json::Value = serde_json::from_str(&json(&content).unwrap()).unwrap();
    let [first, second] = [0usize, 1].map(|at| &document["findings"][at]);
    assert_eq!(first["ratio"], 1.31);
    assert_eq!(first["ratio_to_fleet"], 1.702);
    assert_eq!(first["adjusted_for"], "node");
    assert!(second["adjusted_for"].is_null());
}

#[test]
fn findings_of_one_kind_are_told_once_and_of_many_kinds_the_first() {
    let of = |nodes: &[usize]| -> Vec<Finding> {
        nodes
            .iter()
            .map(|&at| finding(at, faults(), 1.2 + 0.01 * at as f64, vec![fact(3, 3, 61)]))
            .collect()
    };
    let told = first_sentences(of(&[1, 2, 3]));
    assert_eq!(told.len(), 1);
    let end = " no proof. The same holds for node2 and node3: 1.22 to 1.23 times as slow.";
    assert!(told[0].ends_with(end), "{told:?}");
    let told = first_sentences(of(&[1, 2, 3, 4, 5, 6]));
    assert!(told[0].contains("for node2, node3, node4 and 2 more: 1.22 to 1.26"), "{told:?}");
    let cases = |at: u32| finding(at as usize, FindingScope::Case(at), 1.3, Vec::new());
    let told = first_sentences((0..6).map(cases).collect());
    assert_eq!((told.len(), told[4].as_str()), (5, "2 more findings are in the table."));
    let told = first_sentences((0..5).map(cases).collect());
    assert_eq!(told[4], "1 more finding is in the table.");
}

#[test]
fn without_a_finding_the_head_says_what_would_have_been_found() {
    let fleet = fleet(64, 18);
    let told = |analysis: &FleetAnalysis| view(&content(&fleet, analysis)).lead[0].text.clone();
    assert_eq!(
        told(&analysis(&fleet)),
        "No node of 64 stands out: a node slower by 6.2 % or more over all its cases would \
         probably have been found."
    );
    let fewer = FleetAnalysis { judged_nodes: 50, ..analysis(&fleet) };
    let text = told(&fewer);
    assert!(text.starts_with("None of the 50 nodes that were judged stands out: a node"), "{text}");
    assert!(text.ends_with(" probably have been found; 14 nodes were not judged."), "{text}");
    let unknown = FleetAnalysis { detectable_ratio: None, ..analysis(&fleet) };
    assert!(told(&unknown).contains("how slow a node must be to be found is not known"));
    let mut nothing = FleetAnalysis { judged: 0, ..unknown };
    assert!(told(&nothing).ends_with("was measured on enough nodes."));
    nothing.cases.iter_mut().for_each(|it| it.between_visits = None);
    assert!(told(&nothing).contains("no case was measured in two visits of one node"));
}

#[test]
fn with_a_finding_the_conditions_say_what_may_have_been_missed() {
    let fleet = fleet(64, 18);
    let conditions = |analysis: &FleetAnalysis| {
        let lead = view(&content(&fleet, analysis)).lead;
        lead.last().map(|it| it.text.clone()).unwrap_or_default()
    };
    let nothing = analysis(&fleet);
    assert!(!conditions(&nothing).contains("missed"), "the head says it");
    let findings = vec![finding(17, faults(), 1.31, Vec::new())];
    let found = FleetAnalysis { findings: findings.clone(), ..analysis(&fleet) };
    let text = conditions(&found);
    assert!(text.contains("missed: a node slower by 6.2 % or more over all its cases"), "{text}");
    let unknown = FleetAnalysis { findings, detectable_ratio: None, ..analysis(&fleet) };
    assert!(conditions(&unknown).contains("missed: how slow a node must be to be found is not"));
}

#[test]
fn a_screen_has_the_table_the_map_the_variance_and_the_next_command() {
    let fleet = fleet(64, 18);
    let mut analysis = analysis(&fleet);
    analysis.findings = vec![finding(17, faults(), 1.31, vec![fact(3, 3, 61)])];
    analysis.ratios[17 * 18..17 * 18 + 9].fill(1.31);
    let content = content(&fleet, &analysis);
    let text = report::terminal(&view(&content));
    assert!(text.contains("node17  333333333 ........."), "{text}");
    assert!(text.is_ascii(), "{text}");
    let flat = flat(&content);
    for words in [
        "What stands out",
        "61 % is between visits of one node",
        "oscost fleet check node17 --against night",
        "Cases with the most spread",
    ] {
        assert!(flat.contains(words), "`{words}` is not in:\n{text}");
    }
}

#[test]
fn what_changed_is_told_by_class() {
    let fleet = fleet(8, 4);
    let analysis = analysis(&fleet);
    let change = |case: &str, ratio: f64, verdict| CaseChange {
        case: case.to_owned(),
        nodes: 8,
        ratio: Some(ratio),
        ci95: Some([ratio - 0.02, ratio + 0.02]),
        q: Some(0.001),
        verdict,
    };
    let cases = vec![
        change("fault/case-000", 1.0, "equivalent"),
        change("fault/case-001", 1.2, "slower"),
        change("syscall/case-002", 1.1, "inconclusive"),
        change("syscall/case-003", 0.9, "faster"),
    ];
    let changes = FleetChanges {
        base: "june".to_owned(),
        common_nodes: 8,
        only_base: 1,
        only_new: 0,
        changed_class: 2,
        changed_revision: vec!["fault/case-009".to_owned()],
        classes: vec![ClassChanges { class: CLASS.into(), cases }],
    };
    let content = FleetContent { changes: Some(&changes), ..content(&fleet, &analysis) };
    let text = flat(&content);
    assert!(text.contains("Compared with june: 8 nodes measured at both times"), "{text}");
    assert!(text.contains("2 of them are of another class now and are not compared"), "{text}");
    assert!(
        text.contains("of another revision of their benchmarks now: fault/case-009."),
        "{text}"
    );
    let counts = "of 4 cases 1 slower, 1 faster, 1 equivalent and 1 inconclusive";
    assert!(text.contains(counts), "{text}");
    // What is decided comes first, the largest change before others.
    let places = ["fault/case-001", "syscall/case-003", "syscall/case-002"]
        .map(|case| text.rfind(case).unwrap());
    assert!(places.is_sorted(), "{text}");
    let document: serde_json::Value = serde_json::from_str(&json(&content).unwrap()).unwrap();
    assert_eq!(document["changes"]["classes"][0]["cases"][1]["verdict"], "slower");
}

#[test]
fn names_from_outside_do_nothing_and_long_ones_are_shortened_in_sentences() {
    let mut fleet = fleet(4, 4);
    fleet.name = "<script>alert(1)</script>".to_owned();
    fleet.nodes[1].name = "<img src=x>|\u{1b}[2J".to_owned();
    fleet.nodes[2].name = "n".repeat(253);
    fleet.nodes[1].class = "<b>".into();
    fleet.cases[0].case = "fault/<i>".to_owned();
    let mut analysis = analysis(&fleet);
    let value: Arc<str> = "<u>\u{1b}".into();
    let fact = FactCandidate { value, ..fact(1, 1, 3) };
    analysis.findings = vec![
        finding(1, FindingScope::Case(0), 1.3, vec![fact]),
        finding(2, FindingScope::Node, 1.2, Vec::new()),
    ];
    let rejected = [Rejected { file: "<s>", why: "<p>" }];
    let shown = view(&FleetContent {
        rejected: &rejected,
        source: "$(reboot)",
        ..content(&fleet, &analysis)
    });
    let page = report::html(&shown).unwrap();
    assert_eq!(page.matches("<script").count(), 2);
    for tag in ["<img", "<i>", "<b>", "<u>", "<s>", "\u{1b}"] {
        assert!(!page.contains(tag), "{tag}");
    }
    assert!(page.contains("fleet check NODE --against SOURCE"));
    let text = report::terminal(&shown);
    assert!(!text.contains('\u{1b}') && !text.contains("$(reboot)"), "{text}");
    let short = format!("{0}..{0} is 1.20 times", "n".repeat(19));
    assert!(shown.lead[1].text.starts_with(&short), "{text}");
    assert!(!report::markdown_page(&shown).contains("<img"));
}

#[test]
fn a_page_answers_with_what_stands_out() {
    let fleet = fleet(64, 18);
    let mut analysis = analysis(&fleet);
    analysis.findings = vec![finding(17, faults(), 1.31, vec![fact(1, 1, 63)])];
    let shown = page(&content(&fleet, &analysis));
    assert!(shown.answer.unwrap().findings[0].starts_with("node17 is 1.31 times as slow"));
    assert!(shown.lead.len() == 1 && shown.lead[0].text.starts_with("Fleet night: 64 nodes"));
    let screen = view(&content(&fleet, &analysis));
    assert!(screen.answer.is_none() && screen.lead[0].text.starts_with("node17 is"));
}

#[test]
fn an_empty_fleet_and_indices_beyond_it_are_shown() {
    let (fleet, analysis) = (Fleet::default(), FleetAnalysis::default());
    let text = report::terminal(&view(&content(&fleet, &analysis)));
    assert!(text.starts_with("Nothing can be judged"), "{text}");
    let findings = vec![finding(9, FindingScope::Case(9), 1.3, Vec::new())];
    let analysis = FleetAnalysis { findings, ..analysis };
    assert!(json(&content(&fleet, &analysis)).unwrap().contains("\"node\": \"\""));
    let shown = view(&content(&fleet, &analysis));
    assert!(!report::html(&shown).unwrap().contains("class=\"map\""));
}

#[test]
fn the_document_names_what_it_is_of() {
    let fleet = fleet(4, 4);
    let mut analysis = analysis(&fleet);
    analysis.findings = vec![finding(3, faults(), 1.31, vec![fact(1, 1, 3)])];
    let document = json(&content(&fleet, &analysis)).unwrap();
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["schema"], SCHEMA);
    let keys = ["fleet", "nodes", "cases", "findings", "classes", "variance", "rejected"];
    assert!(keys.iter().all(|key| !document[*key].is_null()), "{document}");
    let found = &document["findings"][0];
    assert_eq!(found["node"], "node3");
    assert_eq!(found["scope"]["kind"], "family");
    assert_eq!(found["scope"]["name"], "fault");
    assert_eq!(found["facts"][0]["with"]["nodes"], 1);
    assert_eq!(document["nodes"][3]["visits"], 3);
    assert!(document["changes"].is_null());
}
