//! What is told of a fleet beside its findings: what is missing, and how its nodes were measured.

use super::*;
use crate::advice::machine_facts::NUMA_NODES;
use crate::fleet::{FleetFact, NotJudgedNuma, NumaReason, OtherRevision, USE_OF_NODE, use_of_node};

#[test]
fn what_is_missing_is_listed_by_its_reason() {
    let mut fleet = fleet(8, 4);
    fleet.visits.retain(|it| it.node != 2 || it.started_s == 6.0);
    fleet.visits[0].not_claimable = Some("is very noisy");
    fleet.visits[9..11].iter_mut().for_each(|it| it.not_claimable = Some("has tracers"));
    let analysis = analysis(&fleet);
    let rejected = ["1.json", "2.json", "3.json"].map(|file| Rejected { file, why: "cut short" });
    let content = FleetContent { rejected: &rejected, ..content(&fleet, &analysis) };
    let text = flat(&content);
    for words in [
        "1 of 3 visits: node2",
        "2 of 3 visits: node0",
        "1 visit that supports no claim (is very noisy): node0",
        "2 visits that support no claim (has tracers): node",
        "3 records not used (cut short): 1.json, 2.json and 3.json",
        "oscost fleet status night",
    ] {
        assert!(text.contains(words), "`{words}` is not in:\n{text}");
    }
}

#[test]
fn a_node_with_more_numa_nodes_than_visits_is_named() {
    let mut fleet = fleet(8, 4);
    for (node, count) in fleet.nodes.iter_mut().zip(["1", "2", "3", "4", "8"]) {
        node.facts = vec![FleetFact { name: NUMA_NODES, value: Some(count.into()) }];
    }
    let told = "a NUMA node that no visit measured, since there are more of them than visits:";
    let analysis = analysis(&fleet);
    let text = flat(&content(&fleet, &analysis));
    assert!(text.contains(&format!("{told} node3 and node4")), "{text}");
    fleet.nodes.iter_mut().for_each(|node| node.facts.clear());
    assert!(!flat(&content(&fleet, &analysis)).contains(told));
}

#[test]
fn nodes_whose_numa_nodes_are_not_judged_are_named_with_what_would_do() {
    let fleet = fleet(8, 4);
    let not_judged = |node: usize, numa_nodes: usize, reason: NumaReason| NotJudgedNuma {
        node,
        numa_nodes,
        reason,
    };
    let numa_not_judged = vec![
        not_judged(1, 2, NumaReason::TooFewVisits),
        not_judged(4, 2, NumaReason::TooFewVisits),
        not_judged(6, 3, NumaReason::TooFewEquals),
    ];
    let analysis = FleetAnalysis { numa_not_judged, ..analysis(&fleet) };
    let content = content(&fleet, &analysis);
    let text = flat(&content);
    for words in [
        "whether a NUMA node is slow was not judged: 4 visits of a node, two for each of its 2 NUMA \
         nodes, would do: node1 and node4",
        "whether a NUMA node is slow was not judged: 4 nodes of a class with visits of the same 3 \
         NUMA nodes would do: node6",
    ] {
        assert!(text.contains(words), "`{words}` is not in:\n{text}");
    }
    let json: serde_json::Value = serde_json::from_str(&json(&content).unwrap()).unwrap();
    let first = &json["numa_not_judged"][0];
    assert!(first["node"] == "node1" && first["reason"] == "too-few-visits", "{first}");
}

#[test]
fn nodes_whose_visits_differ_more_than_those_of_others_are_named() {
    let fleet = fleet(8, 4);
    let steady = analysis(&fleet);
    let title = "Nodes whose visits differ most";
    assert!(!flat(&content(&fleet, &steady)).contains(title));
    let mut unsteady = analysis(&fleet);
    unsteady.nodes[3].between_visits = Some(0.2);
    unsteady.nodes[5].between_visits = Some(0.07);
    // Two visits differ by any factor by chance.
    unsteady.nodes[6].between_visits = Some(0.5);
    unsteady.nodes[6].visits = 2;
    let text = flat(&content(&fleet, &unsteady));
    assert!(text.contains(title), "{text}");
    assert!(text.contains("node3: 20.0 %, those of the middle node 2.0 %"), "{text}");
    assert!(!text.contains("node5: 7.0 %") && !text.contains("node6: 50.0 %"), "{text}");
}

#[test]
fn nodes_that_other_jobs_might_use_are_counted() {
    let mut fleet = fleet(4, 4);
    for (node, is_exclusive) in fleet.nodes.iter_mut().zip([true, false, true]) {
        let value = Some(use_of_node(is_exclusive).into());
        node.facts = vec![FleetFact { name: USE_OF_NODE, value }];
    }
    let analysis = analysis(&fleet);
    let text = flat(&content(&fleet, &analysis));
    let counts = "use of the nodes at their newest visits: 2 exclusive and 1 shared";
    assert!(text.contains(counts), "{text}");
}

#[test]
fn figures_of_older_revisions_are_told() {
    let mut fleet = fleet(4, 4);
    let case = "fault/case-000".to_owned();
    fleet.other_revisions = vec![OtherRevision { case, rev: 1, newest: 2, figures: 3 }];
    let analysis = analysis(&fleet);
    let text = report::terminal(&view(&content(&fleet, &analysis)));
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains("fault/case-000: 3 figures of revision 1 of the benchmark left"),
        "{text}"
    );
    let document: serde_json::Value =
        serde_json::from_str(&json(&content(&fleet, &analysis)).unwrap()).unwrap();
    assert_eq!(document["other_revisions"][0]["newest"], 2);
}
