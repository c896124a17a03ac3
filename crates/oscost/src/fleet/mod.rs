//! Fleets: which of many machines differ from the others, by how much, and which facts set them
//! apart (docs/explanation/FLEET.md).
//!
//! What is this room for? `plan` says which node is measured when, `data` holds the figures of all
//! visits of all nodes in little memory, `findings` what an analysis of them says.
//!
//! What may it not know? Where the figures come from, how nodes are reached, and how a finding is
//! shown.

mod data;
mod findings;
mod plan;

pub use data::{CaseFigure, Fleet, FleetCase, FleetFact, FleetNode, NodeVisit};
pub use findings::{
    CaseSpread, ClassSpread, FactCandidate, FactGroup, Finding, FindingScope, FleetAnalysis,
    NodeDeviation, VarianceShares,
};
pub use plan::{
    MAX_FLEET_NAME_BYTES, MAX_VISITS, PlanRequest, check_plan, is_fleet_name, is_node_name,
    is_treated_side, task_seed,
};
