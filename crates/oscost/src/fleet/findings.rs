//! What an analysis of a fleet says. All indices are those of the fleet's lists.
//!
//! Ratios are costs over the fleet's: above 1 is slower, also of cases where more is better. That of a
//! finding is to the equals of its node, and without what the node differs by otherwise.

use std::sync::Arc;

use super::fact_candidate::FactCandidate;
use super::unjudged::{DisturbedNode, NotJudgedNode};

/// Which nodes, and which cases on which nodes, differ from the rest of the fleet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FleetAnalysis {
    /// The spread of each case, in the order of the fleet's cases.
    pub cases: Vec<CaseSpread>,
    /// How far each node is from its fleet, in the order of the fleet's nodes.
    pub nodes: Vec<NodeDeviation>,
    /// The ratio of each case on each node, in the geometric mean over its visits, to the fleet's median
    /// of the case: `nodes` rows of `cases` values; NaN where it was not measured.
    pub ratios: Vec<f32>,
    /// What differs, the surest first.
    pub findings: Vec<Finding>,
    /// The nodes whose visits support no claim more often than those of their equals, the surest first.
    pub disturbed: Vec<DisturbedNode>,
    /// The nodes with figures that are of such visits alone, by their index.
    pub not_judged: Vec<NotJudgedNode>,
    /// How many differences were judged: of nodes, of families on nodes, and of cases on nodes, the same
    /// of NUMA nodes, and of how often visits of nodes support no claim.
    pub judged: usize,
    /// How many nodes are judged by visits that support a claim.
    pub judged_nodes: usize,
    /// The ratio over all its cases from which a node is probably found, if it is the only one; `None`
    /// if no node was judged, or none is enough.
    pub detectable_ratio: Option<f64>,
    /// The expected share of false findings.
    pub false_discovery_rate: f64,
    /// The classes of nodes, the largest first.
    pub classes: Vec<ClassSpread>,
    /// The nodes of which several NUMA nodes were measured and not judged.
    pub numa_not_judged: Vec<NotJudgedNuma>,
    /// How much of the variance of figures is from where; `None` where nothing was visited twice.
    pub variance: Option<VarianceShares>,
}

/// The spread of a case over the fleet, as standard deviations of the natural logarithm.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseSpread {
    /// How many nodes have it.
    pub nodes: usize,
    /// The median over nodes, in the case's unit; `None` if no node has it.
    pub median: Option<f64>,
    /// Between nodes, robust, without what visits explain; `None` below four nodes.
    pub between_nodes: Option<f64>,
    /// Between visits of one node; `None` if no node was visited twice.
    pub between_visits: Option<f64>,
}

/// How far a node is from its fleet, over all its cases.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeDeviation {
    /// How many cases it has.
    pub cases: usize,
    /// How many visits it has.
    pub visits: usize,
    /// The ratio of its costs to the fleet's: the middle over its cases; `None` without a case.
    pub ratio: Option<f64>,
    /// Its interval of 95 %; `None` if the spread between visits is not known.
    pub ci95: Option<[f64; 2]>,
    /// The standard deviation of the logarithms of that ratio in its visits; `None` of a single one.
    pub between_visits: Option<f64>,
}

/// A difference that stands out.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The node.
    pub node: usize,
    /// The NUMA node that differs from the others of this node, by its number; `None` if the node
    /// differs from other nodes. Of two NUMA nodes it is the slower one.
    pub numa_node: Option<u32>,
    /// What of it.
    pub scope: FindingScope,
    /// The ratio of its costs to those of its equals, without what the adjustment is for. Of a NUMA
    /// node it is to the others of its node, without what these differ by on the equals of the node.
    pub ratio: f64,
    /// Its interval of 95 %.
    pub ci95: [f64; 2],
    /// What else the node differs by that the ratio is without; `None` if it is without nothing.
    pub adjustment: Option<Adjustment>,
    /// Why its visits support no other claim, as what each of them is or has; `None` if they do. The
    /// interval then contains what such disturbances ordinarily do.
    pub not_claimable: Option<&'static str>,
    /// The ratio of its costs to the fleet's medians, with all that the node differs by: of several
    /// cases the middle; `None` if no visit that counts has such a case, and of a NUMA node.
    pub ratio_to_fleet: Option<f64>,
    /// The p value adjusted over all that was judged: nodes, families on nodes and cases on nodes each
    /// have an equal part of the rate.
    pub q: f64,
    /// The facts that set it apart, the best supported first; none if no fact does.
    pub facts: Vec<FactCandidate>,
}

/// A node whose NUMA nodes were not judged, though several were measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotJudgedNuma {
    /// The node.
    pub node: usize,
    /// How many of its NUMA nodes were measured.
    pub numa_nodes: usize,
    /// Why they were not judged.
    pub reason: NumaReason,
}

/// Why NUMA nodes were not judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NumaReason {
    /// Of too few of its equals each was visited twice, so how far such visits differ is not known.
    TooFewVisits,
    /// Too few of its equals have the same NUMA nodes.
    TooFewEquals,
}

impl NumaReason {
    /// Its name in documents.
    pub fn name(self) -> &'static str {
        match self {
            NumaReason::TooFewVisits => "too-few-visits",
            NumaReason::TooFewEquals => "too-few-equals",
        }
    }
}

/// What of a node differs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingScope {
    /// All that it does.
    Node,
    /// The cases of a family.
    Family(String),
    /// One case, by its index.
    Case(u32),
}

/// What a ratio is without, as a part of its node is judged by what is left of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adjustment {
    /// What the node as a whole differs by.
    Node,
    /// What the family of the case differs by on the node.
    Family,
}

impl Adjustment {
    /// Its name in documents and tables.
    pub fn name(self) -> &'static str {
        match self {
            Adjustment::Node => "node",
            Adjustment::Family => "family",
        }
    }
}

/// Nodes of one class.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassSpread {
    /// The class as a text.
    pub class: Arc<str>,
    /// Its nodes.
    pub nodes: Vec<usize>,
    /// The ratio of its costs to the fleet's: the middle over its nodes.
    pub ratio: Option<f64>,
    /// The lowest and the highest node.
    pub range: Option<[f64; 2]>,
}

/// Shares of the variance of the logarithms of figures, which add up to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VarianceShares {
    /// Between worker processes, within a visit.
    pub processes: f64,
    /// Between visits of one node, of each NUMA node by itself where these are told apart.
    pub visits: f64,
    /// Between NUMA nodes of one node; `None` where nodes have one, or none was visited twice.
    pub numa_nodes: Option<f64>,
    /// Between nodes of one class.
    pub nodes: f64,
    /// Between classes.
    pub classes: f64,
}
