//! Which nodes a node is compared with.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::data::Fleet;

/// Fewer nodes have no middle that one of them could not move.
pub const MIN_EQUALS: usize = 4;

/// The nodes of a class.
pub(super) struct ClassNodes {
    /// The class.
    pub(super) class: Arc<str>,
    /// Its nodes, ascending.
    pub(super) nodes: Vec<usize>,
}

/// The classes of a fleet, the largest first.
pub(super) fn classes(fleet: &Fleet) -> Vec<ClassNodes> {
    let mut by_class: BTreeMap<&Arc<str>, Vec<usize>> = BTreeMap::new();
    for (at, node) in fleet.nodes.iter().enumerate() {
        by_class.entry(&node.class).or_default().push(at);
    }
    let class =
        |(class, nodes): (&Arc<str>, Vec<usize>)| ClassNodes { class: class.clone(), nodes };
    let mut classes: Vec<ClassNodes> = by_class.into_iter().map(class).collect();
    classes.sort_by_key(|class| std::cmp::Reverse(class.nodes.len()));
    classes
}

/// Nodes that are compared with each other.
pub(super) struct Equals {
    /// All of them, ascending.
    pub(super) members: Vec<usize>,
    /// Of each member, whether it is judged here.
    pub(super) is_judged: Vec<bool>,
}

impl Equals {
    /// The members that are judged here.
    pub(super) fn judged(&self) -> impl Iterator<Item = usize> {
        let members = self.members.iter().zip(&self.is_judged);
        members.filter(|(_, is_judged)| **is_judged).map(|(node, _)| *node)
    }
}

/// The nodes that each node is compared with: those of its class, if it has enough of them, otherwise
/// the whole fleet.
pub(super) fn equals(fleet: &Fleet) -> Vec<Equals> {
    let (own, others): (Vec<ClassNodes>, Vec<ClassNodes>) =
        classes(fleet).into_iter().partition(has_enough);
    let of_class = |class: ClassNodes| {
        let is_judged = vec![true; class.nodes.len()];
        Equals { members: class.nodes, is_judged }
    };
    let mut all: Vec<Equals> = own.into_iter().map(of_class).collect();
    if !others.is_empty() {
        let mut is_judged = vec![false; fleet.nodes.len()];
        others.iter().flat_map(|class| &class.nodes).for_each(|&node| is_judged[node] = true);
        all.push(Equals { members: (0..fleet.nodes.len()).collect(), is_judged });
    }
    all
}

/// Whether nodes of the class are compared with each other. An unknown class says nothing of equality.
pub(super) fn has_enough(class: &ClassNodes) -> bool {
    class.nodes.len() >= MIN_EQUALS && !class.class.is_empty()
}
