//! The figures of a fleet: a few numbers for each case of each visit, so that ten thousand nodes
//! with three visits of a hundred cases take some 100 MB.

use std::sync::Arc;

use oscost_model::unit::{Better, Unit};

/// All visits of all nodes. Indices are those of these lists.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fleet {
    /// The name of the fleet.
    pub name: String,
    /// The cases, sorted by name.
    pub cases: Vec<FleetCase>,
    /// The nodes, sorted by name.
    pub nodes: Vec<FleetNode>,
    /// The visits, sorted by node and time.
    pub visits: Vec<NodeVisit>,
    /// The figures that are no part of it, by case and revision.
    pub other_revisions: Vec<OtherRevision>,
}

/// Figures of a case that are of an older revision of its benchmark than the others: they are never
/// mixed with those.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherRevision {
    /// The case.
    pub case: String,
    /// The revision of these figures.
    pub rev: u32,
    /// The newest revision of the fleet.
    pub newest: u32,
    /// How many figures there are.
    pub figures: usize,
}

/// A case that was measured on nodes of a fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetCase {
    /// Its name, as records spell it, with its treatments behind it if it has any.
    pub case: String,
    /// The family of its benchmark.
    pub family: String,
    /// The unit of its figures.
    pub unit: Unit,
    /// Which direction is better.
    pub better: Better,
    /// The revision of its benchmark.
    pub rev: u32,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetNode {
    /// Its name.
    pub name: String,
    /// Its class as a text: nodes of one class are expected to be equal. Empty if it is not known.
    pub class: Arc<str>,
    /// Its facts at the newest visit, those of its class first, in the same order for all nodes.
    pub facts: Vec<FleetFact>,
}

/// A fact of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetFact {
    /// Its name in sentences.
    pub name: &'static str,
    /// Its value; `None` if it is not known.
    pub value: Option<Arc<str>>,
}

/// The fact whether other jobs might use a node at a visit.
pub const USE_OF_NODE: &str = "use of the node";

/// The value of that fact.
pub fn use_of_node(is_exclusive: bool) -> &'static str {
    if is_exclusive { "exclusive" } else { "shared" }
}

/// The fact how much of a node's time its hypervisor took at a visit.
pub const STOLEN_TIME: &str = "stolen time";

/// The fact for how much of a visit its workers could run and did not: other tasks, or the hypervisor,
/// had the CPU.
pub const LOST_TIME: &str = "lost time";

/// The value of a fact that is a share of the time, in per cent. It is a step, since no two visits have
/// the same share.
pub fn share_of_time(pct: f64) -> &'static str {
    match pct {
        pct if pct < 0.1 => "under 0.1 %",
        pct if pct < 1.0 => "0.1 to 1 %",
        pct if pct < 5.0 => "1 to 5 %",
        _ => "5 % and more",
    }
}

/// A visit of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeVisit {
    /// The index of the node.
    pub node: usize,
    /// The id of its run.
    pub run: String,
    /// The beginning, in seconds since 1970.
    pub started_s: f64,
    /// Why nothing is concluded from it, as what it is or has (`very noisy`); `None` if something
    /// may be.
    pub not_claimable: Option<&'static str>,
    /// The NUMA node whose CPU it measured on, counted from 0 over those that are online; `None` of a
    /// machine with one alone, and if it is not known.
    pub numa_node: Option<u32>,
    /// Its figures, sorted by case.
    pub figures: Vec<CaseFigure>,
}

/// The figure of a case in one visit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CaseFigure {
    /// The index of the case.
    pub case: u32,
    /// The median over the repetitions, above 0, in the case's unit.
    pub median: f64,
    /// The standard error of its natural logarithm, from its interval within the visit; NaN if it
    /// has none.
    pub log_error: f32,
}
