//! Machines of which one NUMA node is slow.

use super::*;
use crate::fleet::findings::{NotJudgedNuma, NumaReason};

/// Fleets of 60 machines with this many NUMA nodes, each of which is visited three times.
fn fleets(numa_nodes: u32, slow_numa_share: f64) -> impl Iterator<Item = FleetSimulation> {
    (0..12).map(move |seed| FleetSimulation {
        nodes: 60,
        cases: 24,
        visits: 3 * numa_nodes as usize,
        numa_nodes,
        between_numa_nodes: 0.01,
        slow_numa_share,
        seed,
        ..FleetSimulation::default()
    })
}

/// What was found of slow NUMA nodes.
#[derive(Debug, Default)]
struct NumaScore {
    /// Those that are slow by 10 % or more.
    large: usize,
    large_found: usize,
    false_shares: FalseShares,
}

impl NumaScore {
    fn of(simulations: impl Iterator<Item = FleetSimulation>) -> Self {
        let mut score = Self::default();
        for simulation in simulations {
            score.add(&simulate(&simulation));
        }
        score
    }

    fn add(&mut self, SimulatedFleet { fleet, planted }: &SimulatedFleet) {
        let findings = analyse(fleet, AnalysisOptions::default()).findings;
        let scope = |fault: &PlantedFault| FindingScope::Family(fault.family.clone());
        let is_of = |it: &Finding, fault: &PlantedFault| {
            it.node == fault.node && it.ratio > 1.0 && it.scope == scope(fault)
        };
        // That the whole machine is slow is true, too: by a part of it.
        let is_true = |it: &&Finding| {
            let is_part = |fault: &PlantedFault| {
                is_of(it, fault) && it.numa_node.is_none_or(|it| Some(it) == fault.numa_node)
            };
            planted.iter().any(is_part)
        };
        let is_found = |fault: &PlantedFault| {
            findings.iter().any(|it| is_of(it, fault) && it.numa_node == fault.numa_node)
        };
        let large = planted.iter().filter(|fault| fault.ratio >= 1.1);
        self.large += large.clone().count();
        self.large_found += large.filter(|fault| is_found(fault)).count();
        self.false_shares.add(&findings, is_true);
    }
}

#[test]
fn slow_numa_nodes_are_found_with_their_number_and_few_others() {
    for numa_nodes in [2, 3, 4] {
        let score = NumaScore::of(fleets(numa_nodes, 0.05));
        assert!(score.large >= 15, "{numa_nodes}: {score:?}");
        assert!(score.large_found * 10 >= score.large * 9, "{numa_nodes}: {score:?}");
        // A rate of 5 % has a standard error of about 3 % over twelve fleets with three findings each.
        assert!(score.false_shares.mean() <= 0.12, "{numa_nodes}: {score:?}");
    }
}

#[test]
fn equal_numa_nodes_are_rarely_called_different() {
    let score = NumaScore::of(fleets(2, 0.0).chain(fleets(4, 0.0)));
    let alarms = score.false_shares.alarms();
    // One in twenty fleets is expected to have one.
    assert!(alarms <= 5, "{alarms} of 24: {score:?}");
}

#[test]
fn what_numa_nodes_of_all_machines_differ_by_is_usual() {
    let simulation = fleets(2, 0.0).next().unwrap();
    let mut fleet = simulate(&simulation).fleet;
    for visit in fleet.visits.iter_mut().filter(|visit| visit.numa_node == Some(1)) {
        for figure in &mut visit.figures {
            let is_cost = fleet.cases[figure.case as usize].better == Better::Lower;
            figure.median *= if is_cost { 1.3 } else { 1.0 / 1.3 };
        }
    }
    let analysis = analyse(&fleet, AnalysisOptions::default());
    assert!(analysis.findings.is_empty(), "{:?}", analysis.findings);
    // And it is no difference between visits.
    let shares = analysis.variance.unwrap();
    assert!(shares.numa_nodes.unwrap() > 0.9, "{shares:?}");
}

#[test]
fn the_variance_between_numa_nodes_is_apart_from_that_of_visits() {
    let simulation = FleetSimulation {
        visits: 8,
        numa_nodes: 2,
        between_numa_nodes: 0.05,
        ..FleetSimulation::default()
    };
    let shares = |simulation: &FleetSimulation| {
        analyse(&simulate(simulation).fleet, AnalysisOptions::default()).variance.unwrap()
    };
    // 0.05^2 of 0.05^2 + 0.03^2 + 0.01^2 is 71 %, 0.03^2 is 26 %.
    let two = shares(&simulation);
    let numa_nodes = two.numa_nodes.unwrap();
    assert!((0.6..0.8).contains(&numa_nodes), "{two:?}");
    assert!((0.18..0.34).contains(&(two.visits + two.processes)), "{two:?}");
    let sum = two.processes + two.visits + numa_nodes + two.nodes + two.classes;
    assert!((sum - 1.0).abs() < 1e-9, "{two:?}");
    // One visit of each NUMA node tells nothing of visits, and machines with one have no such part.
    let once = FleetSimulation { visits: 2, ..simulation.clone() };
    let alone = FleetSimulation { numa_nodes: 1, ..simulation };
    assert_eq!([shares(&once).numa_nodes, shares(&alone).numa_nodes], [None; 2]);
}

#[test]
fn too_few_visits_or_equals_are_told_and_not_judged() {
    let told = |nodes: usize, visits: usize| {
        let simulation = FleetSimulation {
            nodes,
            visits,
            cases: 24,
            numa_nodes: 2,
            slow_numa_share: 0.5,
            ..FleetSimulation::default()
        };
        let analysis = analyse(&simulate(&simulation).fleet, AnalysisOptions::default());
        let of_numa_node = analysis.findings.iter().any(|it| it.numa_node.is_some());
        assert!(!of_numa_node || analysis.numa_not_judged.is_empty());
        analysis.numa_not_judged
    };
    let not_judged = |count: usize, reason: NumaReason| -> Vec<NotJudgedNuma> {
        (0..count).map(|node| NotJudgedNuma { node, numa_nodes: 2, reason }).collect()
    };
    assert_eq!(told(8, 3), not_judged(8, NumaReason::TooFewVisits));
    assert_eq!(told(3, 4), not_judged(3, NumaReason::TooFewEquals));
    assert_eq!(told(8, 4), []);
    // One visit measures one of them: there is nothing to tell apart.
    assert_eq!(told(8, 1), []);
}
