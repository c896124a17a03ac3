//! The groups of a resample beside the original ones.

/// How many costs each of `count` groups shares with each group of a resample.
pub(super) fn shared_costs(of: &[usize], now: &[usize], count: usize) -> Vec<Vec<u32>> {
    let there = now.iter().max().map_or(0, |last| last + 1);
    let mut shared = vec![vec![0; there]; count];
    for (&then, &now) in of.iter().zip(now) {
        shared[then][now] += 1;
    }
    shared
}

/// The Jaccard similarity of each group with the most similar group of a resample.
pub(super) fn greatest_similarities(shared: &[Vec<u32>]) -> Vec<f64> {
    let there = shared.first().map_or(0, Vec::len);
    let sizes: Vec<u32> =
        (0..there).map(|now| shared.iter().map(|groups| groups[now]).sum()).collect();
    let greatest = |groups: &Vec<u32>| {
        let size: u32 = groups.iter().sum();
        let similarity = |(&both, &other): (&u32, &u32)| {
            // No group is empty.
            f64::from(both) / f64::from(size + other - both)
        };
        groups.iter().zip(&sizes).map(similarity).fold(0.0, f64::max)
    };
    shared.iter().map(greatest).collect()
}

/// Matches the groups of a resample with the original groups by the most costs that they share, one
/// to one; `None` for a group without a match.
pub(super) fn match_groups(shared: &[Vec<u32>]) -> Vec<Option<usize>> {
    let there = shared.first().map_or(0, Vec::len);
    let pairs = shared.iter().enumerate().flat_map(|(then, groups)| {
        groups.iter().enumerate().map(move |(now, &costs)| (costs, then, now))
    });
    let mut pairs: Vec<(u32, usize, usize)> = pairs.filter(|&(costs, ..)| costs > 0).collect();
    // The most costs first; ties go to the cheaper groups.
    pairs.sort_by_key(|&(costs, then, now)| (std::cmp::Reverse(costs), then, now));
    let mut names = vec![None; there];
    for (_, then, now) in pairs {
        if names[now].is_none() && !names.contains(&Some(then)) {
            names[now] = Some(then);
        }
    }
    names
}
