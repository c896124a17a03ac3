//! Fleets: which of many machines differ from the others, by how much, and which facts set them
//! apart (docs/explanation/FLEET.md).
//!
//! What is this room for? `data` holds the figures of all visits of all nodes in little memory,
//! `analysis` finds nodes that differ from their equals, and `facts` what sets them apart; `findings` is
//! what they say. `baseline` and `check` judge a single node, `sides` a change on a fleet. `simulation`
//! makes fleets with known faults.
//!
//! What may it not know? Where the figures come from, how nodes are reached, and how a finding is
//! shown.

mod analysis;
mod baseline;
mod check;
mod data;
mod equals;
mod facts;
mod findings;
mod prior;
mod sides;
mod simulation;
mod table;
mod variance;

pub use analysis::{AnalysisOptions, analyse};
pub use baseline::{Baseline, CaseBaseline, GroupBaseline, UsualFact};
pub use check::{
    CheckedCase, CheckedFigure, MAX_FALSE_FINDINGS, MAX_FALSE_SUSPECTS, NodeCheck, NotJudged,
    check_node,
};
pub use data::{CaseFigure, Fleet, FleetCase, FleetFact, FleetNode, NodeVisit};
pub use findings::{
    CaseSpread, ClassSpread, FactCandidate, FactGroup, Finding, FindingScope, FleetAnalysis,
    NodeDeviation, VarianceShares,
};
pub use sides::{MeasuredSides, NodeSides, SideComparison, SideVerdict, compare_sides};
pub use simulation::{FleetSimulation, PlantedFault, SimulatedFleet, simulate};
