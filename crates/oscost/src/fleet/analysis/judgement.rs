//! Which deviations are more than ordinary.

use std::collections::{BTreeMap, BTreeSet};

use oscost_stats::comparison::benjamini_hochberg;
use oscost_stats::interval::Nominal;
use oscost_stats::order;
use oscost_stats::repeats::tail_degrees;
use oscost_stats::variances::{EstimatedVariance, common_variance};

use super::candidate::{
    Candidate, Found, KINDS, Scope, Told, Unit, Way, keep_largest_of_numa_nodes,
};
use super::detection::{WholeNodes, detectable_log};
use super::disturbance::visit_variance_ratios;
use super::disturbed_nodes::{ComparedVisits, compared_visits};
use super::effects::{NodeEffects, take_apart};
use super::families::Families;
use super::spread::{Column, Deviation, Effects};
use super::summary::Summary;
use super::unclaimable_figures::{FamilyDeviation, Visits};
use crate::fleet::equals::{Equals, MIN_EQUALS};
use crate::fleet::facts::{FactIndex, FoundNode, FoundValues};
use crate::fleet::findings::{Finding, FindingScope, NotJudgedNuma, NumaReason};
use crate::fleet::numa::{NumaGroup, numa_groups};
use crate::fleet::table::median_of_numbers;
use crate::fleet::unjudged::{DisturbedNode, NotJudgedNode};

/// What a judgement is based on.
#[derive(Clone, Copy)]
pub(super) struct Basis<'a> {
    pub(super) visits: Visits<'a>,
    /// The nodes that are compared with each other.
    pub(super) groups: &'a [Equals],
    pub(super) families: &'a Families,
    pub(super) summary: &'a Summary,
    /// The nodes with figures of visits without a claim alone, by their index.
    pub(super) not_judged: &'a [NotJudgedNode],
}

/// What was judged.
pub(super) struct Judged {
    /// What differs, the surest first.
    pub(super) findings: Vec<Finding>,
    /// The nodes whose visits support no claim more often, the surest first.
    pub(super) disturbed: Vec<DisturbedNode>,
    /// How many differences were judged.
    pub(super) hypotheses: usize,
    /// How many nodes are judged by visits that support a claim.
    pub(super) nodes: usize,
    /// The deviation of a node over all its cases that is probably found, as a logarithm.
    pub(super) detectable_log: Option<f64>,
    /// The nodes whose NUMA nodes are not among it.
    pub(super) numa_not_judged: Vec<NotJudgedNuma>,
}

/// Where deviations are judged.
#[derive(Clone, Copy)]
struct Judgement<'a> {
    /// The index of the group of equals, by which facts are counted.
    group: usize,
    /// Those that are compared.
    equals: &'a Equals,
    unit: Unit,
}

/// All that is judged.
struct Hypotheses {
    /// The accepted share of false findings.
    rate: f64,
    /// The p values of each kind.
    p: [Vec<f64>; KINDS],
    /// The visits that support no claim, a kind of their own.
    visits: Vec<ComparedVisits>,
    /// The nodes that are judged by visits that support a claim.
    nodes: BTreeSet<usize>,
    /// The effects of whole nodes.
    whole_nodes: Vec<WholeNodes>,
    /// Those with a p value of at most the rate: adjusted p values are never smaller.
    candidates: Vec<Candidate>,
}

/// Judges all nodes, families on nodes, and cases on nodes, and the same of NUMA nodes beside the others
/// of their node.
///
/// An equal part of the accepted rate is for nodes, for families and for cases, for each of these of NUMA
/// nodes if there are any, and for how many visits of a node support no claim if any does not. They are
/// adjusted by themselves: the few nodes do not pay for the many
/// cases, and the rates add up. Deviations of one node depend on each other, but little: each is taken
/// from what the one above it leaves, and nodes do not depend on each other. In simulated fleets the
/// procedure of Benjamini and Hochberg keeps its rate, so that the larger thresholds of Benjamini and
/// Yekutieli are not needed.
pub(super) fn judge(basis: Basis<'_>, rate: f64) -> Judged {
    let Basis { visits, groups, families, .. } = basis;
    let (fleet, table) = (visits.fleet, visits.claimable);
    let mut hypotheses = Hypotheses {
        rate,
        p: Default::default(),
        visits: compared_visits(fleet, groups),
        nodes: BTreeSet::new(),
        whole_nodes: Vec::new(),
        candidates: Vec::new(),
    };
    for (group, of) in groups.iter().enumerate() {
        if let Some(effects) = take_apart(table, &families.cases, &of.members) {
            hypotheses.add(Judgement { group, equals: of, unit: Unit::Node }, &effects);
        }
        for it in visits.family_deviations(&families.cases, of) {
            let FamilyDeviation { family, deviation } = it;
            let of = Judgement { group, equals: of, unit: Unit::Node };
            hypotheses.add_deviation(of, Scope::Family(family), deviation);
        }
    }
    let numa_groups = numa_groups(fleet, table, groups);
    let numa_not_judged =
        numa_groups.iter().flat_map(|group| hypotheses.add_numa(group, families)).collect();
    let q = hypotheses.adjusted();
    let mut found: Vec<Found<'_>> = hypotheses
        .candidates
        .iter()
        .map(|it| Found { q: q[it.unit.kind(it.scope)][it.at], candidate: it })
        .filter(|it| it.q <= rate && it.candidate.deviation.is_reported())
        .collect();
    keep_largest_of_numa_nodes(&mut found);
    found.sort_by(|Found { candidate: one, .. }, Found { candidate: other, .. }| {
        one.p.total_cmp(&other.p).then(other.deviation.size().total_cmp(&one.deviation.size()))
    });
    let members: Vec<&[usize]> = groups.iter().map(|group| group.members.as_slice()).collect();
    let facts = FactIndex::of(fleet, &members);
    Judged {
        findings: findings(basis, &facts, &found),
        disturbed: disturbed_nodes(basis, &facts, &hypotheses),
        hypotheses: hypotheses.count() + hypotheses.visits.len(),
        nodes: hypotheses.nodes.len(),
        detectable_log: detectable_log(&hypotheses.whole_nodes, hypotheses.level_of_nodes()),
        numa_not_judged,
    }
}

/// Effects of one kind, whose errors have the same tails.
struct Level {
    columns: Vec<(Scope, Column)>,
    /// The degrees of freedom of the tails, if they are heavier than normal.
    tails: Option<f64>,
}

impl Level {
    fn of<'a>(effects: impl Iterator<Item = (Scope, &'a Effects)>) -> Self {
        let mut distances = Vec::new();
        let column = |(scope, effects): (Scope, &Effects)| {
            effects.column(&mut distances).map(|column| (scope, column))
        };
        let columns = effects.filter_map(column).collect();
        // The tails are those of visits: they are more than nodes, and contain no faults of nodes.
        Self { columns, tails: tail_degrees(&order::sorted(&distances)) }
    }
}

impl Hypotheses {
    /// Adds the deviations of the judged members of a group.
    fn add(&mut self, of: Judgement<'_>, effects: &NodeEffects) {
        let NodeEffects { node, families, cases } = effects;
        let families = families.iter().enumerate().map(|(at, it)| (Scope::Family(at), it));
        let cases = cases.iter().enumerate().map(|(at, it)| (Scope::Case(at), it));
        let node = Level::of([(Scope::Node, node)].into_iter());
        let (families, cases) = (Level::of(families), Level::of(cases));
        let of_cases = cases.columns.iter().map(|(_, column)| column);
        let ratios = visit_variance_ratios(of_cases, of.equals.members.len());
        for level in [node, families, cases] {
            self.add_level(of, level, &ratios);
        }
    }

    /// Adds the deviations of NUMA nodes; returns the nodes of which there are none.
    fn add_numa(&mut self, group: &NumaGroup, families: &Families) -> Vec<NotJudgedNuma> {
        let NumaGroup { equals: of_group, members, numa_nodes, sides } = group;
        let not_judged = |reason: NumaReason| {
            let of_node = |&node: &usize| NotJudgedNuma { node, numa_nodes: *numa_nodes, reason };
            members.iter().map(of_node).collect::<Vec<NotJudgedNuma>>()
        };
        if members.len() < MIN_EQUALS {
            return not_judged(NumaReason::TooFewEquals);
        }
        let equals = Equals { members: members.clone(), is_judged: vec![true; members.len()] };
        let before = self.count();
        for side in sides {
            let unit = Unit::NumaNode { number: side.numa_node, other: side.other };
            if let Some(effects) = take_apart(&side.differences, &families.cases, members) {
                self.add(Judgement { group: *of_group, equals: &equals, unit }, &effects);
            }
        }
        match self.count() == before {
            true => not_judged(NumaReason::TooFewVisits),
            false => Vec::new(),
        }
    }

    /// How many deviations there are.
    fn count(&self) -> usize {
        self.p.iter().map(Vec::len).sum()
    }

    /// Adds effects of one kind. `visit_variance_ratios` are those of members.
    fn add_level(&mut self, of: Judgement<'_>, level: Level, visit_variance_ratios: &[f64]) {
        let Level { columns, tails } = level;
        let variances: Vec<EstimatedVariance> =
            columns.iter().map(|(_, column)| column.variance()).collect();
        let prior = common_variance(&variances);
        for (scope, column) in columns {
            let column = column.with_visit_variance_ratios(visit_variance_ratios);
            for deviation in column.deviations(prior) {
                if of.equals.is_judged[deviation.member] {
                    self.nodes.insert(of.equals.members[deviation.member]);
                    self.add_deviation(of, scope, deviation.with_tails(tails));
                }
            }
            if scope == Scope::Node && of.unit == Unit::Node {
                let is_judged = of.equals.is_judged.clone();
                self.whole_nodes.push(WholeNodes::new(column, is_judged, tails));
            }
        }
    }

    fn add_deviation(&mut self, of: Judgement<'_>, scope: Scope, deviation: Deviation) {
        let Judgement { group, equals, unit } = of;
        let p = deviation.among_equals.two_sided_p();
        let of_kind = &mut self.p[unit.kind(scope)];
        let at = of_kind.len();
        of_kind.push(p);
        let node = equals.members[deviation.member];
        if p <= self.rate {
            self.candidates.push(Candidate { node, group, unit, scope, deviation, p, at });
        }
    }

    /// How many kinds there are something of: each has an equal part of the rate.
    fn kinds(&self) -> f64 {
        let of_figures = self.p.iter().filter(|p| !p.is_empty()).count();
        (of_figures + usize::from(!self.visits.is_empty())) as f64
    }

    /// These p values of one kind, adjusted.
    fn adjusted_kind(&self, p: &[f64]) -> Vec<f64> {
        let kinds = self.kinds();
        benjamini_hochberg(p).into_iter().map(|q| (kinds * q).min(1.0)).collect()
    }

    /// The adjusted p values of each kind.
    fn adjusted(&self) -> [Vec<f64>; KINDS] {
        self.p.each_ref().map(|p| self.adjusted_kind(p))
    }

    /// The p value up to which a node is found if it is the only one.
    fn level_of_nodes(&self) -> f64 {
        self.rate / (self.kinds() * self.p[Scope::Node.kind()].len() as f64)
    }
}

/// The findings with their facts, in the same order.
fn findings(basis: Basis<'_>, facts: &FactIndex<'_>, found: &[Found<'_>]) -> Vec<Finding> {
    let Basis { visits, families, summary, .. } = basis;
    let mut alike: BTreeMap<Way, FoundValues> = BTreeMap::new();
    for Found { candidate: it, .. } in found {
        let node = FoundNode { node: it.node, equals: it.group };
        facts.add(alike.entry(it.way()).or_default(), node);
    }
    let finding = |Found { candidate: it, q }: &Found<'_>| {
        let Told { numa_node, ratio } = it.told();
        let interval = ratio.interval(Nominal::FIXED);
        let scope = match it.scope {
            Scope::Node => FindingScope::Node,
            Scope::Family(family) => FindingScope::Family(families.names[family].clone()),
            Scope::Case(case) => FindingScope::Case(u32::try_from(case).unwrap_or(u32::MAX)),
        };
        let not_claimable = visits.reason(it.node).filter(|_| visits.is_whole(it.node));
        let ratio_to_fleet = match it.scope {
            Scope::Family(family) if not_claimable.is_some() => {
                unclaimable_ratio(basis, it.node, &families.cases[family])
            }
            Scope::Node => summary.nodes[it.node].ratio,
            Scope::Family(family) => summary.ratio_of_cases(it.node, &families.cases[family]),
            Scope::Case(case) => summary.ratio_of_cases(it.node, &[case]),
        };
        // Those are medians over visits of all NUMA nodes.
        let ratio_to_fleet = ratio_to_fleet.filter(|_| numa_node.is_none());
        let node = FoundNode { node: it.node, equals: it.group };
        let facts = alike.get(&it.way()).map(|alike| facts.candidates(node, alike));
        Finding {
            node: it.node,
            numa_node,
            scope,
            ratio: ratio.value.exp(),
            ci95: [interval.lo.exp(), interval.hi.exp()],
            adjustment: it.deviation.adjustment,
            not_claimable,
            ratio_to_fleet,
            q: *q,
            facts: facts.unwrap_or_default(),
        }
    };
    found.iter().map(finding).collect()
}

/// The ratio of some cases of a node to the fleet's medians, by visits without a claim: the middle over
/// those that it has.
fn unclaimable_ratio(basis: Basis<'_>, node: usize, cases: &[usize]) -> Option<f64> {
    let of_node = basis.not_judged.iter().find(|it| it.node == node)?;
    let logs = cases.iter().map(|&case| f64::from(of_node.ratios[case]).ln());
    median_of_numbers(logs).map(f64::exp)
}

/// The nodes whose visits support no claim more often than those of their equals, with their facts.
fn disturbed_nodes(
    basis: Basis<'_>,
    facts: &FactIndex<'_>,
    hypotheses: &Hypotheses,
) -> Vec<DisturbedNode> {
    let p: Vec<f64> = hypotheses.visits.iter().map(|it| it.p).collect();
    let all = hypotheses.visits.iter().zip(hypotheses.adjusted_kind(&p));
    let mut found: Vec<(&ComparedVisits, f64)> =
        all.filter(|(_, q)| *q <= hypotheses.rate).collect();
    found.sort_by(|(one, _), (other, _)| one.p.total_cmp(&other.p));
    let of_node = |it: &ComparedVisits| FoundNode { node: it.node, equals: it.group };
    let mut alike = FoundValues::default();
    found.iter().for_each(|(it, _)| facts.add(&mut alike, of_node(it)));
    let disturbed = |(it, q): &(&ComparedVisits, f64)| {
        let ComparedVisits { node, own, equals, .. } = **it;
        let facts = facts.candidates(of_node(it), &alike);
        Some(DisturbedNode { node, reason: basis.visits.reason(node)?, own, equals, q: *q, facts })
    };
    found.iter().filter_map(disturbed).collect()
}
