//! Deviations that may be findings: what they are of, and what is told of them.

use std::collections::BTreeMap;

use oscost_stats::student::Estimate;

use super::spread::Deviation;

/// What of a node is judged; indices are those of families and cases.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scope {
    Node,
    Family(usize),
    Case(usize),
}

/// How many kinds of scopes there are.
const SCOPES: usize = 3;
/// How many kinds of deviations there are: of nodes, and of NUMA nodes.
pub(super) const KINDS: usize = 2 * SCOPES;

impl Scope {
    /// The index of its kind: node, family, or case.
    pub(super) fn kind(self) -> usize {
        match self {
            Scope::Node => 0,
            Scope::Family(_) => 1,
            Scope::Case(_) => 2,
        }
    }
}

/// What is compared with its equals: a node, or one of its NUMA nodes beside its others.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Node,
    NumaNode {
        number: u32,
        /// The other one, if there are two.
        other: Option<u32>,
    },
}

impl Unit {
    /// The index of the kind of a deviation of it.
    pub(super) fn kind(self, scope: Scope) -> usize {
        match self {
            Unit::Node => scope.kind(),
            Unit::NumaNode { .. } => SCOPES + scope.kind(),
        }
    }
}

/// A deviation that may be a finding.
pub(super) struct Candidate {
    pub(super) node: usize,
    /// The index of its equals.
    pub(super) group: usize,
    pub(super) unit: Unit,
    pub(super) scope: Scope,
    pub(super) deviation: Deviation,
    pub(super) p: f64,
    /// Its index among the p values of its kind.
    pub(super) at: usize,
}

/// A finding.
pub(super) struct Found<'a> {
    pub(super) candidate: &'a Candidate,
    /// Its adjusted p value.
    pub(super) q: f64,
}

impl Candidate {
    /// What it is, and whether it is slow: nodes that differ in the same way may have a fact in common.
    pub(super) fn way(&self) -> Way {
        let Told { numa_node, ratio } = self.told();
        let is_of_numa_node = numa_node.is_some();
        Way { is_of_numa_node, scope: self.scope, is_slow: ratio.value > 0.0 }
    }

    /// What is told of it: of two NUMA nodes the slower one.
    pub(super) fn told(&self) -> Told {
        let ratio = self.deviation.measured;
        match self.unit {
            Unit::Node => Told { numa_node: None, ratio },
            Unit::NumaNode { other: Some(other), .. } if ratio.value < 0.0 => {
                Told { numa_node: Some(other), ratio: Estimate { value: -ratio.value, ..ratio } }
            }
            Unit::NumaNode { number, .. } => Told { numa_node: Some(number), ratio },
        }
    }
}

/// A deviation as it is told.
pub(super) struct Told {
    /// The number of the NUMA node; `None` of a whole node.
    pub(super) numa_node: Option<u32>,
    /// The logarithm of the ratio.
    pub(super) ratio: Estimate,
}

/// In which way a node differs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Way {
    is_of_numa_node: bool,
    scope: Scope,
    is_slow: bool,
}

/// Of several NUMA nodes of a node the one that differs most is told: beside a slow one the others seem
/// fast.
pub(super) fn keep_largest_of_numa_nodes(found: &mut Vec<Found<'_>>) {
    let is_of_numa_node = |it: &Found<'_>| it.candidate.unit != Unit::Node;
    let size = |it: &Found<'_>| it.candidate.deviation.size();
    let mut largest: BTreeMap<(usize, Scope), f64> = BTreeMap::new();
    for it in found.iter().filter(|it| is_of_numa_node(it)) {
        let known = largest.entry((it.candidate.node, it.candidate.scope)).or_insert(0.0);
        *known = known.max(size(it));
    }
    found.retain(|it| {
        let most = largest.get(&(it.candidate.node, it.candidate.scope));
        !is_of_numa_node(it) || most.is_none_or(|most| size(it) >= *most)
    });
}
