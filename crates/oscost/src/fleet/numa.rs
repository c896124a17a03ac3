//! How far each NUMA node of a machine is from the others of the same machine.
//!
//! A visit measures one NUMA node, and visits take them in turn. A round is one visit of each: of two
//! visits of a round the difference contains nothing of their machine, and rounds are repetitions of
//! it. What NUMA nodes of all equal machines differ by is usual, so differences are judged among those
//! of equal machines, as the costs of whole machines are.

use std::collections::BTreeMap;

use oscost_stats::order;

use super::data::Fleet;
use super::equals::Equals;
use super::table::CostTable;

/// Machines that are judged among each other, of which the same NUMA nodes were measured.
pub(super) struct NumaGroup {
    /// The index of the group of equals that they are of.
    pub(super) equals: usize,
    /// The machines, as indices of nodes of the fleet.
    pub(super) members: Vec<usize>,
    /// How many NUMA nodes of each were measured.
    pub(super) numa_nodes: usize,
    /// What is judged. Of two NUMA nodes it is one, since the other differs by the same.
    pub(super) sides: Vec<NumaSide>,
}

/// A NUMA node beside the others of its machine.
pub(super) struct NumaSide {
    /// Its number.
    pub(super) numa_node: u32,
    /// The other one, if there are two.
    pub(super) other: Option<u32>,
    /// The differences, as logarithms, with a row for each round.
    pub(super) differences: CostTable,
}

/// The rows of a machine's visits by what they measured.
type Turns = BTreeMap<u32, Vec<usize>>;

/// The rows of the visits of a node by the NUMA node that they measured, those by time of which it is
/// known.
pub(super) fn turns(fleet: &Fleet, table: &CostTable, node: usize) -> Turns {
    let mut turns = Turns::new();
    for row in table.rows[node].clone() {
        if let Some(numa_node) = fleet.visits[table.visits[row]].numa_node {
            turns.entry(numa_node).or_default().push(row);
        }
    }
    turns
}

/// The machines of which several NUMA nodes were measured.
pub(super) fn numa_groups(fleet: &Fleet, table: &CostTable, equals: &[Equals]) -> Vec<NumaGroup> {
    let all: Vec<Turns> = (0..table.rows.len()).map(|node| turns(fleet, table, node)).collect();
    let mut found = Vec::new();
    for (at, group) in equals.iter().enumerate() {
        let mut alike: BTreeMap<Vec<u32>, Vec<usize>> = BTreeMap::new();
        for (&node, &is_judged) in group.members.iter().zip(&group.is_judged) {
            let numa_nodes: Vec<u32> = all[node].keys().copied().collect();
            if is_judged && numa_nodes.len() > 1 {
                alike.entry(numa_nodes).or_default().push(node);
            }
        }
        for (numa_nodes, members) in alike {
            let sides = sides(&numa_nodes, &members, table, &all);
            found.push(NumaGroup { equals: at, members, numa_nodes: numa_nodes.len(), sides });
        }
    }
    found
}

fn sides(
    numa_nodes: &[u32],
    members: &[usize],
    table: &CostTable,
    turns: &[Turns],
) -> Vec<NumaSide> {
    let side = |numa_node: u32, other: Option<u32>| {
        let mut rows = vec![Vec::new(); table.rows.len()];
        for &node in members {
            rows[node] = differences(table, &turns[node], numa_node);
        }
        NumaSide { numa_node, other, differences: CostTable::of_rows(table.cases, rows) }
    };
    match *numa_nodes {
        [first, second] => vec![side(second, Some(first))],
        _ => numa_nodes.iter().map(|&numa_node| side(numa_node, None)).collect(),
    }
}

/// What each case costs more on a NUMA node than on the middle one of the others, in each round; NaN
/// where one of them lacks it. The middle is not moved by another one that is slow, if there are three
/// others or more.
fn differences(table: &CostTable, turns: &Turns, numa_node: u32) -> Vec<Vec<f64>> {
    let rounds = turns.values().map(Vec::len).min().unwrap_or(0);
    let difference = |round: usize, case: usize| {
        let cost = |rows: &Vec<usize>| table.row(rows[round])[case];
        let own = turns.get(&numa_node).map_or(f64::NAN, cost);
        let others = turns.iter().filter(|(other, _)| **other != numa_node);
        let mut others: Vec<f64> = others.map(|(_, rows)| cost(rows)).collect();
        match others.iter().any(|cost| cost.is_nan()) {
            true => f64::NAN,
            false => own - order::median_in_place(&mut others).unwrap_or(f64::NAN),
        }
    };
    let row = |round: usize| (0..table.cases).map(|case| difference(round, case)).collect();
    (0..rounds).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::equals::equals;
    use crate::fleet::simulation::{FleetSimulation, simulate};

    /// A fleet of which each figure is its case, its node and what its NUMA node adds.
    fn fleet(numa_nodes: u32, visits: usize, added: &[f64]) -> Fleet {
        let simulation = FleetSimulation {
            nodes: 5,
            cases: 4,
            visits,
            numa_nodes,
            ..FleetSimulation::default()
        };
        let mut fleet = simulate(&simulation).fleet;
        fleet.cases.iter_mut().for_each(|case| case.better = oscost_model::unit::Better::Lower);
        for visit in &mut fleet.visits {
            let numa_node = visit.numa_node.unwrap() as usize;
            for figure in &mut visit.figures {
                let log = f64::from(figure.case) + visit.node as f64 + added[numa_node];
                figure.median = log.exp();
            }
        }
        fleet
    }

    fn groups(fleet: &Fleet) -> Vec<NumaGroup> {
        numa_groups(fleet, &CostTable::of(fleet), &equals(fleet))
    }

    #[test]
    fn of_two_numa_nodes_one_is_judged_in_each_complete_round() {
        let found = groups(&fleet(2, 5, &[0.0, 0.5]));
        let [group] = &found[..] else { panic!("{} groups", found.len()) };
        assert_eq!((&group.members[..], group.numa_nodes), (&[0, 1, 2, 3, 4][..], 2));
        let [side] = &group.sides[..] else { panic!("{} sides", group.sides.len()) };
        assert_eq!((side.numa_node, side.other), (1, Some(0)));
        // Five visits are two rounds.
        assert_eq!(side.differences.rows[4], 8..10);
        let all = (0..10).flat_map(|row| side.differences.row(row));
        assert!(all.copied().all(|it| (it - 0.5).abs() < 1e-9));
    }

    #[test]
    fn a_slow_one_of_four_does_not_move_what_the_others_are_compared_with() {
        let found = groups(&fleet(4, 4, &[0.0, 0.0, 0.4, 0.0]));
        let of_side = |side: &NumaSide| side.differences.row(0)[0];
        let differences: Vec<f64> = found[0].sides.iter().map(of_side).collect();
        let expected = [0.0, 0.0, 0.4, 0.0];
        assert!(differences.iter().zip(expected).all(|(it, of)| (it - of).abs() < 1e-9));
        assert!(found[0].sides.iter().all(|side| side.other.is_none()));
    }

    #[test]
    fn machines_of_which_other_numa_nodes_were_measured_are_not_compared() {
        let mut fleet = fleet(2, 4, &[0.0, 0.0]);
        // Of one the job might use a part, of another it is not known.
        fleet.visits.iter_mut().filter(|visit| visit.node == 1).for_each(|visit| {
            visit.numa_node = visit.numa_node.map(|it| it + 2);
        });
        fleet.visits.iter_mut().filter(|visit| visit.node == 3).for_each(|visit| {
            visit.numa_node = None;
        });
        let members: Vec<Vec<usize>> = groups(&fleet).into_iter().map(|it| it.members).collect();
        assert_eq!(members, [vec![0, 2, 4], vec![1]]);
    }
}
