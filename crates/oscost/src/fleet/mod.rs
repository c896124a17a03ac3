//! Fleets: which of many machines differ from the others, by how much, and which facts set them
//! apart (docs/explanation/FLEET.md).
//!
//! What is this room for? `data` holds the figures of all visits of all nodes in little memory,
//! `findings` what an analysis of them says. `check_cases` and `health` are for the check of one
//! node, `link_pairs`, `link_model` and `measured_network` for the network between nodes,
//! `compared_sides` for what a treatment costs.
//!
//! What may it not know? Where the figures come from, how nodes are reached, and how a finding is
//! shown.

mod check_cases;
mod compared_sides;
mod data;
mod findings;
mod health;
mod link_model;
mod link_pairs;
mod measured_network;

pub use check_cases::{CheckCandidate, choose_cases};
pub use compared_sides::{ComparedSides, ExcludedRun, UnreadRecords};
pub use data::{CaseFigure, Fleet, FleetCase, FleetFact, FleetNode, NodeVisit};
pub use findings::{
    CaseSpread, ClassSpread, FactCandidate, FactGroup, Finding, FindingScope, FleetAnalysis,
    NodeDeviation, VarianceShares,
};
pub use health::{HealthVerdict, NodeHealth, UnmeasuredCase, UnusualFact};
pub use link_model::{Link, LinkAnalysis, LinkCase, LinkFinding, LinkScope, analyse_links};
pub use link_pairs::{MAX_NODES_OF_ALL_PAIRS, NodePair, all_pairs, balanced_pairs, usual_pairs};
pub use measured_network::{AnalysedLinks, MeasuredNetwork};
