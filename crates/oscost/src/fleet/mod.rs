//! Fleets: which of many machines differ from the others, by how much, and which facts set them
//! apart (docs/explanation/FLEET.md).
//!
//! What is this room for? `plan` says which node is measured when, `data` holds the figures of all
//! visits of all nodes in little memory. `analysis` finds nodes that differ from their equals, and
//! `facts` what sets them apart; `findings` is what they say, `unjudged` what they say of visits that
//! support no claim, and `numa` tells NUMA nodes of one machine apart. `changes` is what differs between two moments, `sides` and `compared_sides` what a
//! treatment changes. `baseline`, `check`, `check_cases` and `health` judge a single node;
//! `link_pairs`, `link_model` and `measured_network` are for the network between nodes. `simulation`
//! makes fleets with known faults.
//!
//! What may it not know? Where the figures come from, how nodes are reached, and how a finding is
//! shown.

mod analysis;
mod baseline;
mod changes;
mod check;
mod check_cases;
mod compared_sides;
mod data;
mod equals;
mod fact_candidate;
mod facts;
mod findings;
mod health;
mod link_model;
mod link_pairs;
mod measured_network;
mod numa;
mod plan;
mod prior;
mod sides;
mod simulation;
mod table;
mod unjudged;
mod variance;

pub use analysis::{AnalysisOptions, analyse};
pub use baseline::{Baseline, CaseBaseline, GroupBaseline, UsualFact};
pub use changes::{CaseChange, ClassChanges, FleetChanges, fleet_changes};
pub use check::{
    CheckedCase, CheckedFigure, MAX_FALSE_FINDINGS, MAX_FALSE_SUSPECTS, NodeCheck, NotJudged,
    check_node,
};
pub use check_cases::{CheckCandidate, choose_cases};
pub use compared_sides::{ComparedSides, ExcludedRun, UnreadRecords};
pub use data::{
    CaseFigure, Fleet, FleetCase, FleetFact, FleetNode, LOST_TIME, NodeVisit, OtherRevision,
    STOLEN_TIME, USE_OF_NODE, share_of_time, use_of_node,
};
pub use equals::MIN_EQUALS;
pub use fact_candidate::{FactCandidate, FactGroup};
pub use findings::{
    Adjustment, CaseSpread, ClassSpread, Finding, FindingScope, FleetAnalysis, NodeDeviation,
    NotJudgedNuma, NumaReason, VarianceShares,
};
pub use health::{HealthVerdict, NodeHealth, UnmeasuredCase, UnusualFact};
pub use link_model::{Link, LinkAnalysis, LinkCase, LinkFinding, LinkScope, analyse_links};
pub use link_pairs::{MAX_NODES_OF_ALL_PAIRS, NodePair, all_pairs, balanced_pairs, usual_pairs};
pub use measured_network::{AnalysedLinks, MeasuredNetwork};
pub use plan::{MAX_VISITS, PlanRequest, check_plan, is_treated_side, task_seed};
pub use sides::{MeasuredSides, NodeSides, SideComparison, SideVerdict, compare_sides};
pub use simulation::{FleetSimulation, PlantedFault, SimulatedFleet, simulate};
pub use unjudged::{DisturbedNode, FarthestCase, NotJudgedNode, VisitCount};
