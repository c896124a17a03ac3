//! Which nodes of a fleet, and which families and cases on them, differ from their equals.
//!
//! `effects` takes the costs of each visit apart (`reach` says which case is too far from the others of
//! its family), `spread` compares each part with the ordinary spread of equal nodes, and `disturbance`
//! tells the nodes whose visits vary more. `judgement` finds what is beyond it (`candidate`),
//! `detection` what would be, and `summary` describes the rest. The model is in docs/explanation/FLEET.md.

mod candidate;
mod detection;
mod disturbance;
mod effects;
mod families;
mod judgement;
mod reach;
mod spread;
mod summary;

use families::Families;

use super::data::Fleet;
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
/// Visits that nothing may be concluded from are left out. If no node was visited twice, nothing is
/// judged: how far visits of one node differ is what differences between nodes are compared with.
pub fn analyse(fleet: &Fleet, options: AnalysisOptions) -> FleetAnalysis {
    let table = CostTable::of(fleet);
    let families = Families::of(fleet);
    let summary = summary::summarise(fleet, &table);
    let rate = options.false_discovery_rate;
    let judged = judgement::judge(fleet, &table, &families, &summary, rate);
    FleetAnalysis {
        cases: summary.cases,
        nodes: summary.nodes,
        ratios: summary.ratios,
        findings: judged.findings,
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
