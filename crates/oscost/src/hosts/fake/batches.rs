//! The batches of a worker, in the order in which it times them.

/// One group of batches.
#[derive(Clone, Copy)]
pub(super) struct BatchGroup {
    pub(super) arm: u8,
    pub(super) round: u32,
    pub(super) added_ns: f64,
}

/// Groups of batches of one arm.
#[derive(Clone, Copy)]
pub(super) struct BatchGroups {
    pub(super) arm: u8,
    pub(super) groups: u32,
    pub(super) added_ns: f64,
}

/// The groups of a worker that times these arms in turns, each with what is added to its ops.
pub(super) fn in_turns(arms: &[(u8, f64)], groups: u32) -> Vec<BatchGroup> {
    let round =
        |round| arms.iter().map(move |&(arm, added_ns)| BatchGroup { arm, round, added_ns });
    (0..groups).flat_map(round).collect()
}

/// The groups of a toggled worker, as they were ordered. `applied_ns` is added to each of its ops.
pub(super) fn as_ordered(ordered: &[BatchGroups], applied_ns: f64) -> Vec<BatchGroup> {
    let mut next_round = [0; 2];
    let mut all = Vec::new();
    for &BatchGroups { arm, groups, added_ns } in ordered {
        for _ in 0..groups {
            let round = &mut next_round[usize::from(arm)];
            let added_ns = added_ns + applied_ns;
            all.push(BatchGroup { arm, round: *round, added_ns });
            *round += 1;
        }
    }
    all
}
