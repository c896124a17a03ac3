//! Fleets some visits of which support no claim.

use std::sync::Arc;

use oscost_model::unit::Better;
use oscost_stats::random::uniform;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::*;
use crate::fleet::data::{FleetCase, FleetFact, NodeVisit};
use crate::fleet::unjudged::{DisturbedNode, VisitCount};

const VERY_NOISY: &str = "is very noisy";
const TRACERS: &str = "tracers";

fn analysed(fleet: &Fleet) -> FleetAnalysis {
    analyse(fleet, AnalysisOptions::default())
}

/// Says of the first visits of a node that they are very noisy.
fn disturb(fleet: &mut Fleet, node: usize, visits: usize) {
    let of_node = fleet.visits.iter_mut().filter(|visit| visit.node == node);
    of_node.take(visits).for_each(|visit| visit.not_claimable = Some(VERY_NOISY));
}

/// Multiplies the costs of a visit.
fn multiply(cases: &[FleetCase], visit: &mut NodeVisit, factor: f64) {
    for figure in &mut visit.figures {
        let is_cost = cases[figure.case as usize].better == Better::Lower;
        figure.median *= if is_cost { factor } else { 1.0 / factor };
    }
}

/// Equal nodes, of which one is slow in its first family, and alone has a tracer.
fn fleet_with_slow_node(nodes: usize, visits: usize, factor: f64, seed: u64) -> Fleet {
    let equal = FleetSimulation { nodes, visits, seed, ..FleetSimulation::default() };
    let mut fleet = simulate(&equal).fleet;
    let family = fleet.cases[0].family.clone();
    slow_down(&mut fleet, 3, factor, |case| case.family == family);
    for (at, node) in fleet.nodes.iter_mut().enumerate() {
        let value: Arc<str> = Arc::from(if at == 3 { "strace" } else { "none" });
        node.facts.push(FleetFact { name: TRACERS, value: Some(value) });
    }
    fleet
}

#[test]
fn of_six_nodes_the_one_whose_visits_are_all_noisy_is_found_by_them_and_by_huge_costs() {
    let mut others = 0;
    for seed in 0..10 {
        let mut fleet = fleet_with_slow_node(6, 3, 600.0, seed);
        disturb(&mut fleet, 3, 3);
        let analysis = analysed(&fleet);
        let [DisturbedNode { node, reason, own, equals, q, facts }] = &analysis.disturbed[..]
        else {
            panic!("{seed}: {:?}", analysis.disturbed);
        };
        assert_eq!((*node, *reason), (3, VERY_NOISY));
        assert_eq!(*own, VisitCount { not_claimable: 3, visits: 3 });
        assert_eq!(*equals, VisitCount { not_claimable: 0, visits: 15 });
        // One of the 816 ways to choose three of 18 visits, six nodes, and four kinds.
        assert!((q - 24.0 / 816.0).abs() < 1e-9, "{q}");
        assert!(facts.iter().any(|it| it.name == TRACERS && it.with.nodes == 1), "{facts:?}");

        let scope = FindingScope::Family(fleet.cases[0].family.clone());
        let found = analysis.findings.iter().find(|it| it.node == 3 && it.scope == scope);
        let found = found.unwrap_or_else(|| panic!("{seed}: {:?}", analysis.findings));
        assert!((found.ratio / 600.0 - 1.0).abs() < 0.1, "{found:?}");
        assert!((found.ratio_to_fleet.unwrap() / 600.0 - 1.0).abs() < 0.1, "{found:?}");
        // What a disturbance may do is in its interval.
        assert!(found.ci95[0] < 200.0 && found.ci95[1] > 1_800.0, "{found:?}");
        assert_eq!((found.not_claimable, found.adjustment), (Some(VERY_NOISY), None));
        let of_node = analysis.findings.iter().filter(|it| it.node == 3).count();
        assert_eq!(of_node, 1, "its other families are usual: {:?}", analysis.findings);
        others += usize::from(analysis.findings.len() > of_node);

        let [not_judged] = &analysis.not_judged[..] else { panic!("{:?}", analysis.not_judged) };
        assert_eq!((not_judged.node, not_judged.visits, not_judged.is_whole), (3, 3, true));
        let farthest = not_judged.farthest.unwrap();
        assert_eq!(fleet.cases[farthest.case as usize].family, fleet.cases[0].family);
        assert!((500.0..720.0).contains(&farthest.ratio), "{farthest:?}");
        let ratio = f64::from(not_judged.ratios[farthest.case as usize]);
        assert!((ratio / farthest.ratio - 1.0).abs() < 1e-5, "all nodes are of one class");
        assert_eq!((analysis.judged_nodes, analysis.nodes[3].ratio), (5, None));
    }
    assert!(others <= 1, "other nodes are found in {others} of 10 fleets");
}

#[test]
fn what_a_disturbance_may_do_is_no_finding_of_a_node_whose_visits_are_disturbed() {
    for factor in [0.8, 1.2, 2.0, 4.0] {
        for seed in 0..5 {
            let mut fleet = fleet_with_slow_node(6, 3, factor, seed);
            disturb(&mut fleet, 3, 3);
            let analysis = analysed(&fleet);
            let is_of_node = |it: &Finding| it.node == 3;
            assert!(!analysis.findings.iter().any(is_of_node), "{:?}", analysis.findings);
            assert_eq!(analysis.disturbed.len(), 1, "that it is disturbed is told");
            assert_eq!(analysis.not_judged[0].node, 3);
        }
    }
}

#[test]
fn too_few_visits_for_their_count_are_enough_for_a_huge_difference() {
    for seed in 0..5 {
        let mut fleet = fleet_with_slow_node(4, 2, 600.0, seed);
        disturb(&mut fleet, 3, 2);
        let analysis = analysed(&fleet);
        assert!(analysis.disturbed.is_empty(), "two of eight visits are anyone's");
        let [found] = &analysis.findings[..] else { panic!("{:?}", analysis.findings) };
        assert!(found.node == 3 && (found.ratio / 600.0 - 1.0).abs() < 0.1, "{found:?}");
        assert_eq!(analysis.judged_nodes, 0, "three others do not show how far nodes differ");
    }
    // One visit may have had any bad moment.
    let mut once = fleet_with_slow_node(6, 1, 600.0, 1);
    disturb(&mut once, 3, 1);
    assert!(analysed(&once).findings.is_empty());
}

#[test]
fn what_disturbances_are_seen_to_do_is_no_finding_of_another_node() {
    let mut fleet = fleet_with_slow_node(8, 4, 100.0, 7);
    disturb(&mut fleet, 3, 4);
    let is_found = |fleet: &Fleet| analysed(fleet).findings.iter().any(|it| it.node == 3);
    assert!(is_found(&fleet));
    // Half of the visits of four other nodes are a hundred times as slow as their others.
    let Fleet { cases, visits, .. } = &mut fleet;
    for visit in visits.iter_mut().filter(|it| it.node > 3 && it.run.ends_with(['0', '1'])) {
        visit.not_claimable = Some(VERY_NOISY);
        multiply(cases, visit, 100.0);
    }
    assert!(!is_found(&fleet));
}

#[test]
fn a_node_with_another_visit_is_judged_by_that_and_its_other_cases_are_told() {
    let mut fleet = fleet_with_slow_node(6, 3, 600.0, 2);
    disturb(&mut fleet, 3, 2);
    let all = analysed(&fleet);
    assert!(all.not_judged.is_empty(), "each case is in the third visit");
    assert_eq!((all.judged_nodes, all.nodes[3].visits), (6, 1));
    let third = fleet.visits.iter_mut().filter(|visit| visit.node == 3).nth(2);
    third.unwrap().figures.retain(|figure| figure.case != 1);
    let part = analysed(&fleet);
    let [not_judged] = &part.not_judged[..] else { panic!("{:?}", part.not_judged) };
    assert_eq!((not_judged.visits, not_judged.is_whole), (2, false));
    assert_eq!(not_judged.farthest.map(|it| it.case), Some(1));
    let known: Vec<usize> = (0..40).filter(|at| !not_judged.ratios[*at].is_nan()).collect();
    assert_eq!(known, [1]);
}

#[test]
fn a_fleet_whose_visits_are_all_noisy_has_no_disturbed_node_and_no_ratios() {
    let mut fleet = fleet_with_slow_node(6, 3, 600.0, 3);
    (0..6).for_each(|node| disturb(&mut fleet, node, 3));
    let analysis = analysed(&fleet);
    assert!(analysis.disturbed.is_empty() && analysis.findings.is_empty());
    assert_eq!((analysis.not_judged.len(), analysis.judged_nodes), (6, 0));
    let first = &analysis.not_judged[0];
    assert!(first.farthest.is_none() && first.ratios.iter().all(|ratio| ratio.is_nan()));
}

#[test]
fn equal_nodes_some_visits_of_which_are_noisy_are_rarely_called_different() {
    let mut alarms = Vec::new();
    let mut fleets = 0;
    for nodes in [4, 6, 8, 12, 20] {
        for share in [0.05, 0.15, 0.3] {
            for seed in 0..8 {
                let equal =
                    FleetSimulation { nodes, seed: 3_000 + seed, ..FleetSimulation::default() };
                let mut fleet = simulate(&equal).fleet;
                let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
                let Fleet { cases, visits, .. } = &mut fleet;
                for visit in visits {
                    let is_noisy = uniform(&mut random) < share;
                    // It lost from a tenth to three quarters of its time.
                    let lost = 0.1 + 0.65 * uniform(&mut random);
                    if is_noisy {
                        visit.not_claimable = Some(VERY_NOISY);
                        multiply(cases, visit, 1.0 / (1.0 - lost));
                    }
                }
                let FleetAnalysis { findings, disturbed, .. } = analysed(&fleet);
                fleets += 1;
                if !(findings.is_empty() && disturbed.is_empty()) {
                    alarms.push((nodes, share, seed, findings.len(), disturbed.len()));
                }
            }
        }
    }
    // Of nodes that are all equal every finding is false: one in twenty fleets may have some.
    assert!(alarms.len() * 20 <= fleets, "{} of {fleets}: {alarms:?}", alarms.len());
}
