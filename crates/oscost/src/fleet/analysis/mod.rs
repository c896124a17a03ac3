//! Which nodes of a fleet, and which families and cases on them, differ from their equals.
//!
//! `effects` takes the costs of each visit apart (`reach` says which case is too far from the others of
//! its family), `spread` compares each part with the ordinary spread of equal nodes, and `disturbance`
//! tells the nodes whose visits vary more. `disturbed_nodes` and `unclaimable_figures` are of visits that
//! support no claim. `judgement` finds what is beyond it (`candidate`),
//! `detection` what would be, and `summary` describes the rest. The model is in docs/explanation/FLEET.md.

mod candidate;
mod detection;
mod disturbance;
mod disturbed_nodes;
mod effects;
mod families;
mod judgement;
mod reach;
mod spread;
mod summary;
mod unclaimable_figures;

use families::Families;
use judgement::Basis;
use unclaimable_figures::Visits;

use super::data::Fleet;
use super::equals::equals;
use super::findings::FleetAnalysis;
use super::table::CostTable;
use super::variance::variance_shares;

/// How a fleet is judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AnalysisOptions {
    /// The accepted share of false findings, on average.
    pub false_discovery_rate: f64,
}

impl Default for AnalysisOptions {
    fn default() -> Self {
        Self { false_discovery_rate: 0.05 }
    }
}

/// Analyses a fleet. Its time and memory are in proportion to the number of figures.
///
/// Visits that support no claim are left out, but for how many of them a node has, and for differences
/// that no disturbance explains. If no node was visited twice, nothing else is judged: how far visits of
/// one node differ is what differences between nodes are compared with.
pub fn analyse(fleet: &Fleet, options: AnalysisOptions) -> FleetAnalysis {
    let table = CostTable::of(fleet);
    let families = Families::of(fleet);
    let summary = summary::summarise(fleet, &table);
    let unclaimable = CostTable::of_unclaimable(fleet);
    let visits = Visits { fleet, claimable: &table, unclaimable: &unclaimable };
    let groups = equals(fleet);
    let not_judged = visits.not_judged_nodes(&summary, &groups);
    let basis = Basis {
        visits,
        groups: &groups,
        families: &families,
        summary: &summary,
        not_judged: &not_judged,
    };
    let judged = judgement::judge(basis, options.false_discovery_rate);
    FleetAnalysis {
        cases: summary.cases,
        nodes: summary.nodes,
        ratios: summary.ratios,
        findings: judged.findings,
        disturbed: judged.disturbed,
        not_judged,
        judged: judged.hypotheses,
        judged_nodes: judged.nodes,
        detectable_ratio: judged.detectable_log.map(f64::exp),
        false_discovery_rate: options.false_discovery_rate,
        classes: summary.classes,
        numa_not_judged: judged.numa_not_judged,
        variance: variance_shares(fleet, &table),
    }
}

#[cfg(test)]
mod tests;
