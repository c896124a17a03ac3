//! Which facts set nodes apart that differ in the same way from their equals: candidates, and no
//! causes.

use std::collections::HashMap;
use std::sync::Arc;

use oscost_stats::contingency::{Count, fisher_exact};

use super::data::Fleet;
use super::fact_candidate::{FactCandidate, FactGroup};

/// More are not read.
const MAX_CANDIDATES: usize = 5;
/// Facts that separate no better than this are no candidates, unless no other node has the value.
const MAX_P: f64 = 0.05;

/// A node that was found to differ.
#[derive(Clone, Copy)]
pub(super) struct FoundNode {
    /// The node.
    pub(super) node: usize,
    /// The index of the group of its equals.
    pub(super) equals: usize,
}

/// The values of facts of the nodes that were found to differ in the same way.
#[derive(Default)]
pub(super) struct FoundValues<'a> {
    /// How many of them have a value.
    having: HashMap<ValueKey<'a>, usize>,
    /// How many of them have a known value of a fact.
    known: HashMap<FactKey, usize>,
}

/// A fact in a group of nodes, by their indices.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct FactKey {
    group: usize,
    fact: usize,
}

/// A value of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct ValueKey<'a> {
    key: FactKey,
    value: &'a str,
}

/// How often each value of each fact occurs, in the whole fleet and among equals.
pub(super) struct FactIndex<'a> {
    fleet: &'a Fleet,
    names: Vec<&'static str>,
    /// Of each group of equals, and behind them of the whole fleet: of each fact.
    groups: Vec<Vec<ValueCounts<'a>>>,
}

/// The values of a fact in some nodes.
#[derive(Default)]
struct ValueCounts<'a> {
    nodes: HashMap<&'a str, usize>,
    /// How many nodes have a known value.
    known: usize,
    /// The most common value, and the most common of the others; the first by name of equally common
    /// ones.
    most_common: Vec<&'a str>,
}

/// A candidate and what it is ranked by.
struct Ranked {
    candidate: FactCandidate,
    values: usize,
}

impl<'a> FactIndex<'a> {
    pub(super) fn of(fleet: &'a Fleet, equals: &[&[usize]]) -> Self {
        let all: Vec<usize> = (0..fleet.nodes.len()).collect();
        let mut names: Vec<&'static str> = Vec::new();
        for fact in fleet.nodes.iter().flat_map(|node| &node.facts) {
            if !names.contains(&fact.name) {
                names.push(fact.name);
            }
        }
        let groups: Vec<&[usize]> = equals.iter().copied().chain([&all[..]]).collect();
        let counts = |group: &&[usize]| {
            names.iter().map(|name| ValueCounts::of(fleet, group, name)).collect::<Vec<_>>()
        };
        let groups = groups.iter().map(counts).collect();
        Self { fleet, names, groups }
    }

    /// The group behind those of equals.
    fn whole_fleet(&self) -> usize {
        self.groups.len() - 1
    }

    /// Adds a node to those that differ in the same way.
    pub(super) fn add(&self, found: &mut FoundValues<'a>, FoundNode { node, equals }: FoundNode) {
        for (fact, name) in self.names.iter().enumerate() {
            let Some(value) = value_of(self.fleet, node, name) else { continue };
            for group in [equals, self.whole_fleet()] {
                let key = FactKey { group, fact };
                *found.having.entry(ValueKey { key, value }).or_default() += 1;
                *found.known.entry(key).or_default() += 1;
            }
        }
    }

    /// The facts whose value on this node separates best the nodes that were found like it from the
    /// others, among its equals or in the whole fleet, whichever separates better. Of equal ones those
    /// with fewer values come first. With one found node that is how rare its value is.
    pub(super) fn candidates(&self, of: FoundNode, found: &FoundValues<'a>) -> Vec<FactCandidate> {
        let mut ranked: Vec<Ranked> = (0..self.names.len())
            .filter_map(|fact| {
                let keys = [of.equals, self.whole_fleet()].map(|group| FactKey { group, fact });
                let candidates = keys.map(|key| self.ranked(of.node, key, found));
                candidates.into_iter().flatten().min_by(Ranked::by_separation)
            })
            .collect();
        ranked.sort_by(Ranked::by_separation);
        ranked.into_iter().take(MAX_CANDIDATES).map(|it| it.candidate).collect()
    }

    fn ranked(&self, node: usize, key: FactKey, found: &FoundValues<'a>) -> Option<Ranked> {
        let name = self.names[key.fact];
        let counts = &self.groups[key.group][key.fact];
        // A serial number separates every node from all others, so it says nothing; nor does a fact
        // that is nearly one, as an address that a few nodes share.
        if 2 * counts.nodes.len() > counts.known {
            return None;
        }
        let value = value_of(self.fleet, node, name)?;
        let usual = counts.most_common.iter().copied().find(|it| *it != value)?;
        let having = *counts.nodes.get(value)?;
        let found_having = *found.having.get(&ValueKey { key, value })?;
        let found_known = *found.known.get(&key)?;
        let with = FactGroup { found: found_having, nodes: having };
        let without = FactGroup { found: found_known - found_having, nodes: counts.known - having };
        let count = |group: FactGroup| Count { having: group.found, of: group.nodes };
        let p = fisher_exact(count(with), count(without));
        if p > MAX_P && with.found < with.nodes {
            return None;
        }
        let candidate = FactCandidate {
            name,
            value: Arc::from(value),
            usual: Arc::from(usual),
            with,
            without,
            p,
        };
        Some(Ranked { candidate, values: counts.nodes.len() })
    }
}

impl Ranked {
    fn by_separation(&self, other: &Self) -> std::cmp::Ordering {
        let by_p = self.candidate.p.total_cmp(&other.candidate.p);
        by_p.then(self.values.cmp(&other.values))
    }
}

impl<'a> ValueCounts<'a> {
    fn of(fleet: &'a Fleet, group: &[usize], name: &str) -> Self {
        let mut counts = Self::default();
        for value in group.iter().filter_map(|&node| value_of(fleet, node, name)) {
            *counts.nodes.entry(value).or_default() += 1;
            counts.known += 1;
        }
        let mut common: Vec<(&'a str, usize)> =
            counts.nodes.iter().map(|(value, nodes)| (*value, *nodes)).collect();
        common.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(other.0)));
        counts.most_common = common.into_iter().take(2).map(|(value, _)| value).collect();
        counts
    }
}

/// The value of a fact on a node, if it is known.
fn value_of<'a>(fleet: &'a Fleet, node: usize, name: &str) -> Option<&'a str> {
    fleet.nodes[node].facts.iter().find(|fact| fact.name == name)?.value.as_deref()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::data::{FleetFact, FleetNode};

    /// Twelve nodes with a kernel, a governor, a serial number and an address each.
    fn fleet() -> Fleet {
        let node = |at: usize| {
            let kernel = if at < 3 { "6.1" } else { "6.12" };
            let governor = ["performance", "powersave", "schedutil"][at % 3];
            let serial = at.to_string();
            // Two nodes have the same one.
            let address = at.max(1).to_string();
            let values = [
                ("kernel", kernel),
                ("governor", governor),
                ("serial", serial.as_str()),
                ("address", address.as_str()),
            ];
            let fact = |(name, value): (&'static str, &str)| FleetFact {
                name,
                value: Some(Arc::from(value)),
            };
            let facts = values.map(fact).to_vec();
            FleetNode { name: format!("n{at}"), class: Arc::from("a"), facts }
        };
        Fleet { nodes: (0..12).map(node).collect(), ..Fleet::default() }
    }

    fn candidates(found: &[usize]) -> Vec<FactCandidate> {
        let fleet = fleet();
        let all: Vec<usize> = (0..12).collect();
        let index = FactIndex::of(&fleet, &[&all[..]]);
        let nodes = found.iter().map(|&node| FoundNode { node, equals: 0 });
        let mut values = FoundValues::default();
        nodes.clone().for_each(|node| index.add(&mut values, node));
        nodes.take(1).flat_map(|node| index.candidates(node, &values)).collect()
    }

    #[test]
    fn the_fact_that_separates_best_comes_first_and_a_serial_number_never() {
        let found = candidates(&[0, 1, 2]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].name, &*found[0].value, &*found[0].usual), ("kernel", "6.1", "6.12"));
        assert_eq!(found[0].with, FactGroup { found: 3, nodes: 3 });
        assert_eq!(found[0].without, FactGroup { found: 0, nodes: 9 });
        // One of the 220 ways to choose three of twelve.
        assert!((found[0].p - 1.0 / 220.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn the_value_of_most_nodes_sets_none_apart() {
        assert!(candidates(&[5]).is_empty());
    }
}
