//! Nodes whose visits vary more than those of others.

use oscost_stats::order;

use super::spread::Column;

/// In so many standard errors of a median ratio nodes differ by chance.
const BY_CHANCE: f64 = 2.0;

/// The variance between the visits of each member over that of all nodes: the median over cases, less
/// what it may exceed 1 by. Three visits tell little of how much a node is disturbed, those of all its
/// cases tell more, since what disturbs a visit as a whole is not in them. 1 of a node that was not
/// visited twice.
pub(super) fn visit_variance_ratios<'a>(
    cases: impl Iterator<Item = &'a Column>,
    members: usize,
) -> Vec<f64> {
    let mut ratios = vec![Vec::new(); members];
    cases.for_each(|column| column.add_visit_variance_ratios(&mut ratios));
    let typical = |mut ratios: Vec<f64>| {
        let count = ratios.len() as f64;
        let median = order::median_in_place(&mut ratios);
        median.map_or(1.0, |median| median / (1.0 + BY_CHANCE / count.sqrt()))
    };
    ratios.into_iter().map(typical).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::analysis::spread::Effects;

    #[test]
    fn a_node_whose_visits_vary_more_in_most_cases_is_told_from_one_with_a_bad_visit() {
        let column = |case: usize| {
            let mut effects = Effects::default();
            for member in 0..6 {
                let by = match (member, case) {
                    (2, _) => 4.0,
                    (3, 0) => 100.0,
                    _ => 1.0,
                };
                // Their variance is 1, the median of which is 0.7 of that of a normal one.
                effects.push(member, [-by, 0.0, by].into_iter(), 1.0, None);
            }
            effects.push(6, [0.0].into_iter(), 1.0, None);
            effects.column(&mut Vec::new()).unwrap()
        };
        let columns: Vec<Column> = (0..16).map(column).collect();
        let ratios = visit_variance_ratios(columns.iter(), 7);
        assert!(ratios[2] > 3.0, "{ratios:?}");
        assert!([0, 1, 3, 4, 5, 6].iter().all(|&at| ratios[at] < 1.1), "{ratios:?}");
        assert_eq!(ratios[6], 1.0);
    }
}
