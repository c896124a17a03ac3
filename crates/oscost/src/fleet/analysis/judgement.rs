//! Which deviations are more than ordinary.

use std::collections::{BTreeMap, BTreeSet};

use oscost_stats::comparison::benjamini_hochberg;
use oscost_stats::interval::Nominal;
use oscost_stats::order;
use oscost_stats::repeats::tail_degrees;
use oscost_stats::student::Estimate;

use super::detection::{OrdinaryNode, detectable_log};
use super::effects::{NodeEffects, take_apart};
use super::families::Families;
use super::spread::{Deviation, Effects};
use crate::fleet::data::Fleet;
use crate::fleet::equals::{Equals, equals};
use crate::fleet::facts::{FactIndex, FoundNode, FoundValues};
use crate::fleet::findings::{Finding, FindingScope};
use crate::fleet::table::CostTable;

/// Smaller differences are not reported, however sure they are: nothing on a machine depends on them.
const MIN_RATIO: f64 = 1.02;

/// What was judged.
pub(super) struct Judged {
    /// What differs, the surest first.
    pub(super) findings: Vec<Finding>,
    /// How many differences were judged.
    pub(super) hypotheses: usize,
    /// How many nodes they are of.
    pub(super) nodes: usize,
    /// The deviation of a node over all its cases that is probably found, as a logarithm.
    pub(super) detectable_log: Option<f64>,
}

/// What of a node is judged; indices are those of families and cases.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Scope {
    Node,
    Family(usize),
    Case(usize),
}

/// A deviation that may be a finding.
struct Candidate {
    node: usize,
    /// The index of its equals.
    group: usize,
    scope: Scope,
    deviation: Deviation,
    /// Its index among the p values.
    at: usize,
}

/// All that is judged.
struct Hypotheses {
    /// The accepted share of false findings.
    rate: f64,
    /// The p value of each.
    p: Vec<f64>,
    /// The nodes that they are of.
    nodes: BTreeSet<usize>,
    /// What ordinary nodes vary by over all their cases.
    ordinary: Vec<OrdinaryNode>,
    /// Those with a p value of at most the rate: adjusted p values are never smaller.
    candidates: Vec<Candidate>,
}

/// Judges all nodes, families on nodes, and cases on nodes.
///
/// Deviations of one node depend on each other, but little: each is taken from what the one above it
/// leaves, and nodes do not depend on each other. In simulated fleets the procedure of Benjamini and
/// Hochberg keeps its rate, so that the larger thresholds of Benjamini and Yekutieli are not needed.
pub(super) fn judge(fleet: &Fleet, table: &CostTable, families: &Families, rate: f64) -> Judged {
    let groups = equals(fleet);
    let mut hypotheses = Hypotheses {
        rate,
        p: Vec::new(),
        nodes: BTreeSet::new(),
        ordinary: Vec::new(),
        candidates: Vec::new(),
    };
    for (group, of) in groups.iter().enumerate() {
        if let Some(effects) = take_apart(table, &families.cases, &of.members) {
            hypotheses.add(group, of, &effects);
        }
    }
    let q = benjamini_hochberg(&hypotheses.p);
    let is_finding = |it: &&Candidate| {
        let is_large = it.size() >= MIN_RATIO.ln();
        q[it.at] <= rate && is_large && it.deviation.is_repeated
    };
    let mut found: Vec<&Candidate> = hypotheses.candidates.iter().filter(is_finding).collect();
    found.sort_by(|one, other| {
        let by_p = hypotheses.p[one.at].total_cmp(&hypotheses.p[other.at]);
        by_p.then(other.size().total_cmp(&one.size()))
    });
    let findings = findings(fleet, families, &groups, &found, &q);
    let count = hypotheses.p.len();
    let detectable_log = detectable_log(&hypotheses.ordinary, rate, count);
    Judged { findings, hypotheses: count, nodes: hypotheses.nodes.len(), detectable_log }
}

impl Candidate {
    fn size(&self) -> f64 {
        self.deviation.measured.value.abs()
    }

    /// What it is, and whether it is slow: nodes that differ in the same way may have a fact in common.
    fn way(&self) -> Way {
        Way { scope: self.scope, is_slow: self.deviation.measured.value > 0.0 }
    }
}

/// In which way a node differs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Way {
    scope: Scope,
    is_slow: bool,
}

impl Hypotheses {
    /// Adds the deviations of the judged members of a group.
    fn add(&mut self, group: usize, equals: &Equals, effects: &NodeEffects) {
        let NodeEffects { node, families, cases } = effects;
        let families = families.iter().enumerate().map(|(at, it)| (Scope::Family(at), it));
        let cases = cases.iter().enumerate().map(|(at, it)| (Scope::Case(at), it));
        self.add_level(group, equals, [(Scope::Node, node)].into_iter());
        self.add_level(group, equals, families);
        self.add_level(group, equals, cases);
    }

    /// Adds effects of one kind, whose errors have the same tails.
    fn add_level<'a>(
        &mut self,
        group: usize,
        equals: &Equals,
        level: impl Iterator<Item = (Scope, &'a Effects)>,
    ) {
        let mut distances = Vec::new();
        let mut columns = Vec::new();
        for (scope, effects) in level {
            let Some(found) = effects.deviations() else { continue };
            distances.extend(found.distances);
            columns.push((scope, found.nodes));
        }
        // The tails are those of visits: they are more than nodes, and contain no faults of nodes.
        let tails = tail_degrees(&order::sorted(&distances));
        for (scope, deviations) in columns {
            for deviation in deviations.into_iter().filter(|it| equals.is_judged[it.member]) {
                self.add_deviation(group, equals, scope, deviation, tails);
            }
        }
    }

    fn add_deviation(
        &mut self,
        group: usize,
        equals: &Equals,
        scope: Scope,
        deviation: Deviation,
        tails: Option<f64>,
    ) {
        let among_equals = with_tails(deviation.among_equals, tails);
        let measured = with_tails(deviation.measured, tails);
        let p = among_equals.two_sided_p();
        let at = self.p.len();
        let node = equals.members[deviation.member];
        self.p.push(p);
        self.nodes.insert(node);
        if scope == Scope::Node {
            let repeat_error = deviation.repeat_error;
            self.ordinary.push(OrdinaryNode { among_equals, repeat_error });
        }
        if p <= self.rate {
            let deviation = Deviation { among_equals, measured, ..deviation };
            self.candidates.push(Candidate { node, group, scope, deviation, at });
        }
    }
}

/// The estimate if its error also has the tails of so many degrees of freedom.
fn with_tails(estimate: Estimate, degrees: Option<f64>) -> Estimate {
    let own = 1.0 / estimate.degrees_of_freedom;
    let of_tails = degrees.map_or(0.0, |degrees| 1.0 / degrees);
    Estimate { degrees_of_freedom: 1.0 / (own + of_tails), ..estimate }
}

/// The findings with their facts, in the same order.
fn findings(
    fleet: &Fleet,
    families: &Families,
    groups: &[Equals],
    found: &[&Candidate],
    q: &[f64],
) -> Vec<Finding> {
    let members: Vec<&[usize]> = groups.iter().map(|group| group.members.as_slice()).collect();
    let facts = FactIndex::of(fleet, &members);
    let mut alike: BTreeMap<Way, FoundValues> = BTreeMap::new();
    for it in found {
        let node = FoundNode { node: it.node, equals: it.group };
        facts.add(alike.entry(it.way()).or_default(), node);
    }
    let finding = |it: &&Candidate| {
        let measured = it.deviation.measured;
        let interval = measured.interval(Nominal::FIXED);
        let scope = match it.scope {
            Scope::Node => FindingScope::Node,
            Scope::Family(family) => FindingScope::Family(families.names[family].clone()),
            Scope::Case(case) => FindingScope::Case(u32::try_from(case).unwrap_or(u32::MAX)),
        };
        let node = FoundNode { node: it.node, equals: it.group };
        let facts = alike.get(&it.way()).map(|alike| facts.candidates(node, alike));
        Finding {
            node: it.node,
            scope,
            ratio: measured.value.exp(),
            ci95: [interval.lo.exp(), interval.hi.exp()],
            q: q[it.at],
            facts: facts.unwrap_or_default(),
        }
    };
    found.iter().map(finding).collect()
}
