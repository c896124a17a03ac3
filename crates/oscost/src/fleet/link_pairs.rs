//! Which pairs of nodes are measured: all of a few nodes, a random balanced design of many.

use oscost_model::seed::Seed;

/// Up to so many nodes, all pairs are measured.
pub const MAX_NODES_OF_ALL_PAIRS: usize = 32;

/// In a random design, each node is in so many pairs, unless told otherwise.
const PAIRS_OF_A_NODE: usize = 8;

/// Two nodes, by their indices, the smaller one first.
pub type NodePair = [usize; 2];

/// The number of pairs that is measured unless told otherwise.
pub fn usual_pairs(nodes: usize) -> usize {
    match nodes <= MAX_NODES_OF_ALL_PAIRS {
        true => all_pairs(nodes),
        false => nodes * PAIRS_OF_A_NODE / 2,
    }
}

/// The number of pairs that there are.
pub fn all_pairs(nodes: usize) -> usize {
    nodes * nodes.saturating_sub(1) / 2
}

/// So many different pairs in random order; the numbers of pairs of two nodes differ by at most 1. Of
/// fewer pairs than asked for, all.
pub fn balanced_pairs(nodes: usize, pairs: usize, seed: u64) -> Vec<NodePair> {
    if nodes < 2 {
        return Vec::new();
    }
    let mut seed = Seed::new(seed);
    let mut names: Vec<usize> = (0..nodes).collect();
    seed.shuffle(&mut names);
    let slots = match nodes.is_multiple_of(2) {
        true => pairs_of_even(nodes, pairs, &mut seed),
        false => pairs_of_odd(nodes, pairs, &mut seed),
    };
    let named = slots.into_iter().map(|[a, b]| {
        let (a, b) = (names[a], names[b]);
        [a.min(b), a.max(b)]
    });
    let mut named: Vec<NodePair> = named.collect();
    seed.shuffle(&mut named);
    named
}

/// Rounds of a tournament, in each of which every node has one partner: one node stays, the others go
/// around.
fn pairs_of_even(nodes: usize, pairs: usize, seed: &mut Seed) -> Vec<NodePair> {
    let moving = nodes - 1;
    let mut rounds: Vec<usize> = (0..moving).collect();
    seed.shuffle(&mut rounds);
    let round = |round: usize| {
        let opposite = (1..nodes / 2)
            .map(move |step| [(round + step) % moving, (round + moving - step) % moving]);
        [[round, moving]].into_iter().chain(opposite)
    };
    rounds.into_iter().flat_map(round).take(pairs).collect()
}

/// Rings: all pairs of a distance along a circle, in which every node has two partners. The last ring
/// may be a part of one of distance 1, whose pairs come in an order that keeps the balance: every
/// second one, the one that closes the gap, and then the others.
fn pairs_of_odd(nodes: usize, pairs: usize, seed: &mut Seed) -> Vec<NodePair> {
    let mut rings: Vec<usize> = (2..=nodes / 2).collect();
    seed.shuffle(&mut rings);
    let ring = |distance: usize| (0..nodes).map(move |at| [at, (at + distance) % nodes]);
    let whole_rings = (pairs / nodes).min(rings.len());
    let mut found: Vec<NodePair> = rings.into_iter().take(whole_rings).flat_map(ring).collect();
    let every_second = (0..nodes - 1).step_by(2);
    let others = (1..nodes - 2).step_by(2);
    let neighbours = every_second.chain([nodes - 2]).chain(others).chain([nodes - 1]);
    let rest = pairs - found.len().min(pairs);
    found.extend(neighbours.map(|at| [at, (at + 1) % nodes]).take(rest));
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The lowest and the highest number of pairs of a node.
    fn range_of_pairs(nodes: usize, pairs: &[NodePair]) -> [usize; 2] {
        let count = |node: usize| pairs.iter().filter(|pair| pair.contains(&node)).count();
        let counts: Vec<usize> = (0..nodes).map(count).collect();
        [*counts.iter().min().unwrap(), *counts.iter().max().unwrap()]
    }

    #[test]
    fn every_design_is_balanced_and_has_each_pair_once() {
        for nodes in 2..=13 {
            for wanted in 0..=all_pairs(nodes) {
                let pairs = balanced_pairs(nodes, wanted, 7);
                let different: BTreeSet<NodePair> = pairs.iter().copied().collect();
                assert_eq!((pairs.len(), different.len()), (wanted, wanted), "{nodes} nodes");
                assert!(pairs.iter().all(|[a, b]| a < b && *b < nodes), "{pairs:?}");
                let [min, max] = range_of_pairs(nodes, &pairs);
                assert!(max - min <= 1, "{nodes} nodes, {wanted} pairs: {min} to {max}");
            }
        }
    }

    #[test]
    fn more_pairs_than_there_are_is_all_and_few_nodes_have_few() {
        assert_eq!(balanced_pairs(5, 100, 1).len(), 10);
        assert_eq!(balanced_pairs(6, 100, 1).len(), 15);
        assert_eq!(balanced_pairs(3, 100, 1).len(), 3);
        assert!(balanced_pairs(0, 9, 1).is_empty() && balanced_pairs(1, 9, 1).is_empty());
        assert_eq!(balanced_pairs(2, 9, 1), [[0, 1]]);
    }

    #[test]
    fn the_seed_decides_and_many_nodes_have_eight_pairs_each() {
        assert_eq!(balanced_pairs(9, 12, 3), balanced_pairs(9, 12, 3));
        assert_ne!(balanced_pairs(9, 12, 3), balanced_pairs(9, 12, 4));
        assert_eq!([usual_pairs(4), usual_pairs(32), usual_pairs(100)], [6, 496, 400]);
        let pairs = balanced_pairs(101, usual_pairs(101), 5);
        assert_eq!(range_of_pairs(101, &pairs), [8, 8]);
    }
}
