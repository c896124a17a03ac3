//! Which CPU is measured where the NUMA nodes of a machine are measured in turn.

use oscost_model::facts::Facts;

/// The CPU of this turn: the last one that may be used of a NUMA node, since the first ones serve most
/// interrupts. `None` if there is no choice between nodes: then the least disturbed CPU is measured.
/// Each socket has at least one NUMA node of its own.
pub(crate) fn cpu_of_turn(facts: &Facts, turn: u32) -> Option<u32> {
    let allowed = facts.cpu.allowed_cpus.as_ref()?;
    let nodes = facts.memory.numa_cpus.as_ref()?;
    let last = |cpus: &Vec<u32>| cpus.iter().copied().filter(|cpu| allowed.contains(cpu)).max();
    let usable: Vec<u32> = nodes.iter().filter_map(last).collect();
    let count = u32::try_from(usable.len()).ok().filter(|&count| count > 1)?;
    usable.get((turn % count) as usize).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(allowed: &[u32], nodes: &[&[u32]]) -> Facts {
        let mut facts = Facts::default();
        facts.cpu.allowed_cpus = Some(allowed.to_vec());
        facts.memory.numa_cpus = Some(nodes.iter().map(|cpus| cpus.to_vec()).collect());
        facts
    }

    #[test]
    fn nodes_with_usable_cpus_are_measured_in_turn() {
        let two = facts(&[0, 1, 2, 3, 4, 5], &[&[0, 1, 4], &[2, 3, 5], &[]]);
        let turns: Vec<Option<u32>> = (0..4).map(|turn| cpu_of_turn(&two, turn)).collect();
        assert_eq!(turns, [Some(4), Some(5), Some(4), Some(5)]);
        // The cpuset of a job has a part of each.
        let part = facts(&[1, 3], &[&[0, 1], &[2, 3]]);
        assert_eq!([0, 1].map(|turn| cpu_of_turn(&part, turn)), [Some(1), Some(3)]);
    }

    #[test]
    fn without_a_choice_there_is_none() {
        assert_eq!(cpu_of_turn(&facts(&[0, 1], &[&[0, 1]]), 1), None);
        assert_eq!(cpu_of_turn(&facts(&[0], &[&[0], &[1]]), 1), None);
        assert_eq!(cpu_of_turn(&Facts::default(), 0), None);
    }
}
