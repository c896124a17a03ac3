//! Fleets: which of many machines differ from the others, by how much, and which facts set them
//! apart (docs/explanation/FLEET.md).
//!
//! What is this room for? `data` holds the figures of all visits of all nodes in little memory,
//! `findings` what an analysis of them says, `changes` what differs between two moments.
//!
//! What may it not know? Where the figures come from, how nodes are reached, and how a finding is
//! shown.

mod changes;
mod data;
mod findings;

pub use changes::{CaseChange, ClassChanges, FleetChanges, fleet_changes};
pub use data::{CaseFigure, Fleet, FleetCase, FleetFact, FleetNode, NodeVisit};
pub use findings::{
    CaseSpread, ClassSpread, FactCandidate, FactGroup, Finding, FindingScope, FleetAnalysis,
    NodeDeviation, VarianceShares,
};
