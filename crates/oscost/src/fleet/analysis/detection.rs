//! How slow a node must be to be found.

use super::spread::{Column, Deviation};

/// In 80 of 100 cases a normal value exceeds its mean less this many standard deviations.
const Z_80: f64 = 0.842;
/// No node differs by more, as a logarithm.
const MAX_LOG: f64 = 50.0;
/// Nor is less looked for.
const MIN_LOG: f64 = 0.001;
/// By so much one distance that is tried is smaller than the one before.
const STEP: f64 = 0.9;
/// Among more nodes, none of them moves the spread of all.
const MAX_FEW: usize = 32;

/// The effects of whole nodes that are compared with each other.
pub(super) struct WholeNodes {
    column: Column,
    is_judged: Vec<bool>,
    tails: Option<f64>,
    limit_factor: f64,
}

/// The deviation from which each node is probably found, as a logarithm, if no other one differs: of
/// each, that at which its p value is at most `level` and it is reported, and so much more that what is
/// measured of an ordinary node is beyond it in 80 of 100 cases. `None` without nodes, or where no
/// deviation is enough.
///
/// A slow node also moves what it is compared with, most among few: the judgement is repeated with the
/// node in its new place.
pub(super) fn detectable_log(groups: &[WholeNodes], level: f64) -> Option<f64> {
    let logs: Option<Vec<f64>> = groups.iter().flat_map(|group| group.logs(level)).collect();
    logs?.into_iter().reduce(f64::max)
}

impl WholeNodes {
    /// Some effects, whether each member is judged here, and the degrees of freedom of the tails of
    /// visits, if they are heavier than normal.
    pub(super) fn new(column: Column, is_judged: Vec<bool>, tails: Option<f64>) -> Self {
        let limit_factor = column.limit_factor();
        Self { column, is_judged, tails, limit_factor }
    }

    /// Of each judged node, or of the one of many that is known worst.
    fn logs(&self, level: f64) -> Vec<Option<f64>> {
        let ordinary = self.column.deviations(None);
        let error = |at: usize| ordinary[at].among_equals.standard_error;
        let judged = (0..ordinary.len()).filter(|&at| self.is_judged[ordinary[at].member]);
        let mut judged: Vec<usize> = judged.collect();
        if ordinary.len() > MAX_FEW {
            judged.sort_by(|&one, &other| error(other).total_cmp(&error(one)));
            judged.truncate(1);
        }
        let log = |at: usize| Some(self.distance(at, level)? + Z_80 * error(at));
        judged.into_iter().map(log).collect()
    }

    /// The distance from which on a node is found at every larger one. It is sought from above: a node
    /// that is not far enough away to be taken for disturbed makes the spread larger, so that it may be
    /// found at a smaller distance and not at a larger one.
    fn distance(&self, at: usize, level: f64) -> Option<f64> {
        if !self.is_found(at, MAX_LOG, level) {
            return None;
        }
        let mut high = MAX_LOG;
        while high > MIN_LOG && self.is_found(at, STEP * high, level) {
            high *= STEP;
        }
        let mut low = STEP * high;
        for _ in 0..10 {
            let middle = 0.5 * (low + high);
            if self.is_found(at, middle, level) { high = middle } else { low = middle }
        }
        Some(high)
    }

    fn is_found(&self, at: usize, log: f64, level: f64) -> bool {
        let is_sure = |it: Deviation| {
            let among_equals = it.with_tails(self.tails).among_equals;
            among_equals.value > 0.0 && among_equals.two_sided_p() <= level
        };
        let moved = self.column.deviation_at(at, log, self.limit_factor);
        moved.is_some_and(|it| it.is_reported() && is_sure(it))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::analysis::spread::Effects;

    /// Nodes at these places, with two visits each, which are so far apart.
    fn nodes(places: &[f64], between: f64, tails: Option<f64>) -> WholeNodes {
        let mut effects = Effects::default();
        for (member, place) in places.iter().enumerate() {
            let visits = [place - between / 2.0, place + between / 2.0];
            effects.push(member, visits.into_iter(), 1.0, None);
        }
        let column = effects.column(&mut Vec::new()).unwrap();
        WholeNodes::new(column, vec![true; places.len()], tails)
    }

    /// Places with about this standard deviation.
    fn places(count: usize, spread: f64) -> Vec<f64> {
        let place = |at: usize| (at as f64 + 0.5) / count as f64 - 0.5;
        (0..count).map(|at| 12f64.sqrt() * spread * place(at)).collect()
    }

    #[test]
    fn fewer_nodes_more_spread_heavier_tails_and_a_lower_level_find_less() {
        let of = |count: usize, spread: f64, tails: Option<f64>, level: f64| {
            detectable_log(&[nodes(&places(count, spread), 0.002, tails)], level).unwrap()
        };
        let usual = of(20, 0.02, None, 1e-3);
        // The places are evenly spaced: their spread is a little larger than the standard deviation.
        assert!((0.07..0.15).contains(&usual), "{usual}");
        let less = [
            of(6, 0.02, None, 1e-3),
            of(20, 0.04, None, 1e-3),
            of(20, 0.02, Some(5.0), 1e-3),
            of(20, 0.02, None, 1e-4),
        ];
        assert!(less.iter().all(|it| *it > usual), "{less:?} {usual}");
    }

    #[test]
    fn the_smallest_difference_that_is_reported_is_a_bound() {
        let log = detectable_log(&[nodes(&places(40, 1e-4), 1e-4, None)], 1e-3).unwrap();
        assert!((1.02f64.ln()..1.021f64.ln()).contains(&log), "{log}");
    }

    #[test]
    fn it_holds_for_the_node_that_is_known_worst_and_for_judged_ones_alone() {
        let mut both =
            [nodes(&places(40, 0.01), 0.002, None), nodes(&places(6, 0.03), 0.002, None)];
        let worst = detectable_log(&both[1..], 1e-3);
        assert_eq!(detectable_log(&both, 1e-3), worst);
        both[1].is_judged = vec![false; 6];
        assert_eq!(detectable_log(&both, 1e-3), detectable_log(&both[..1], 1e-3));
        assert!(detectable_log(&both, 1e-3) < worst);
        assert_eq!([detectable_log(&both[1..], 1e-3), detectable_log(&[], 1e-3)], [None; 2]);
    }

    #[test]
    fn a_node_at_that_distance_is_found_although_it_moves_the_spread() {
        let group = nodes(&places(6, 0.01), 0.001, None);
        let distance = group.distance(0, 1e-3).unwrap();
        assert!(group.is_found(0, distance, 1e-3) && !group.is_found(0, 0.98 * distance, 1e-3));
        for farther in [1.1, 1.5, 2.0, 5.0, 20.0] {
            assert!(group.is_found(0, farther * distance, 1e-3), "{farther}");
        }
    }
}
