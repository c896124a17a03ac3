//! What the figures of visits that support no claim show in spite of it.
//!
//! A disturbance multiplies costs by a factor that nobody knows. So only the difference of a node that is
//! far beyond what disturbances ordinarily do is a finding, and the interval of such a one contains that.

use std::collections::BTreeMap;
use std::f64::consts::LN_2;

use oscost_stats::bisquare;
use oscost_stats::repeats::contrasts;
use oscost_stats::student::Estimate;

use super::spread::Deviation;
use super::summary::Summary;
use crate::fleet::data::Fleet;
use crate::fleet::equals::{Equals, MIN_EQUALS};
use crate::fleet::table::{CostTable, log_cost, median_of_numbers};
use crate::fleet::unjudged::{FarthestCase, NotJudgedNode};

/// What disturbances multiply the costs of a visit by, as the standard deviation of a logarithm: who
/// shares a CPU with one competitor takes twice as long. It is common to all visits of a node, since
/// what disturbs one may disturb the others.
const DISTURBANCE: f64 = LN_2;
/// The degrees of freedom of the Student's distribution of that: one disturbance in twenty is beyond a
/// factor of 4.7, one in a thousand beyond 24.
const DISTURBANCE_DEGREES: f64 = 10.0;
/// A single visit may have had any bad moment.
const MIN_VISITS: usize = 2;
/// Fewer other nodes have no middle.
const MIN_OTHERS: usize = MIN_EQUALS - 1;
/// Half the width of a normal interval of 95 %, in standard deviations.
const Z_95: f64 = 1.960;

/// The visits of a fleet.
#[derive(Clone, Copy)]
pub(super) struct Visits<'a> {
    pub(super) fleet: &'a Fleet,
    /// The costs of those that support claims.
    pub(super) claimable: &'a CostTable,
    /// The costs of the others.
    pub(super) unclaimable: &'a CostTable,
}

/// A family on a node.
pub(super) struct FamilyDeviation {
    pub(super) family: usize,
    pub(super) deviation: Deviation,
}

impl Visits<'_> {
    /// Why most of the visits of a node that support no claim do not; `None` if there is none.
    pub(super) fn reason(self, node: usize) -> Option<&'static str> {
        let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
        for row in self.unclaimable.rows[node].clone() {
            if let Some(why) = self.fleet.visits[self.unclaimable.visits[row]].not_claimable {
                *counts.entry(why).or_default() += 1;
            }
        }
        counts.into_iter().max_by_key(|(_, count)| *count).map(|(why, _)| why)
    }

    /// Whether no visit of a node supports a claim.
    pub(super) fn is_whole(self, node: usize) -> bool {
        self.claimable.rows[node].is_empty() && !self.unclaimable.rows[node].is_empty()
    }

    /// The nodes with figures that are of visits without a claim alone.
    pub(super) fn not_judged_nodes(
        self,
        summary: &Summary,
        groups: &[Equals],
    ) -> Vec<NotJudgedNode> {
        let better = self.fleet.cases.iter().map(|case| case.better);
        let medians = summary.cases.iter().zip(better).map(|(spread, better)| {
            spread.median.and_then(|median| log_cost(better, median)).unwrap_or(f64::NAN)
        });
        let medians: Vec<f64> = medians.collect();
        let mut found = Vec::new();
        for group in groups {
            let is_part = |node: &usize| !self.unclaimable.rows[*node].is_empty();
            let nodes: Vec<usize> = group.judged().filter(is_part).collect();
            if !nodes.is_empty() {
                let centres = EqualCosts::of(self.claimable, &group.members).centres;
                let nodes = nodes.iter();
                found.extend(nodes.filter_map(|&node| self.not_judged(node, &medians, &centres)));
            }
        }
        found.sort_by_key(|it| it.node);
        found
    }

    fn not_judged(self, node: usize, medians: &[f64], centres: &[f64]) -> Option<NotJudgedNode> {
        let judged = self.claimable.means(node);
        let own = self.unclaimable.means(node);
        let costs = own.iter().zip(&judged);
        let costs = costs.map(|(own, judged)| if judged.is_nan() { *own } else { f64::NAN });
        let costs: Vec<f64> = costs.collect();
        let is_whole = self.is_whole(node);
        if !is_whole && costs.iter().all(|cost| cost.is_nan()) {
            return None;
        }
        Some(NotJudgedNode {
            node,
            reason: self.reason(node)?,
            visits: self.unclaimable.rows[node].len(),
            is_whole,
            ratios: differences(&costs, medians).map(|log| log.exp() as f32).collect(),
            farthest: farthest(&costs, centres),
        })
    }

    /// The families of those members of a group no visit of which supports a claim.
    pub(super) fn family_deviations(
        self,
        families: &[Vec<usize>],
        group: &Equals,
    ) -> Vec<FamilyDeviation> {
        let is_part =
            |node: &usize| self.is_whole(*node) && self.unclaimable.rows[*node].len() >= MIN_VISITS;
        if !group.judged().any(|node| is_part(&node)) {
            return Vec::new();
        }
        let equals = EqualCosts::of(self.claimable, &group.members);
        let disturbance = self.disturbance_variance();
        let mut found = Vec::new();
        for (family, cases) in families.iter().enumerate() {
            let variance = disturbance + equals.variance_of(cases);
            for (member, node) in group.members.iter().enumerate() {
                if !(group.is_judged[member] && is_part(node)) {
                    continue;
                }
                let rows = self.unclaimable.rows[*node].clone();
                let rows = rows.map(|row| self.unclaimable.row(row));
                let visits = rows.filter_map(|row| middle(cases, row, &equals.centres));
                let visits: Vec<f64> = visits.collect();
                let deviation = deviation(member, &visits, variance);
                found.extend(deviation.map(|deviation| FamilyDeviation { family, deviation }));
            }
        }
        found
    }

    /// The variance of what disturbances multiply costs by, as logarithms: more than is assumed if nodes
    /// that also have other visits show more.
    fn disturbance_variance(self) -> f64 {
        let mut seen = Vec::new();
        let nodes = self.unclaimable.rows.iter().enumerate();
        for (node, rows) in nodes.filter(|(_, rows)| !rows.is_empty()) {
            let means = self.claimable.means(node);
            let rows = rows.clone().map(|row| self.unclaimable.row(row));
            seen.extend(rows.filter_map(|row| median_of_numbers(differences(row, &means))));
        }
        bisquare::spread(&seen, 0.0).unwrap_or(0.0).max(DISTURBANCE).powi(2)
    }
}

/// What nodes that should be equal cost.
struct EqualCosts {
    /// The mean of each case on each node with visits that support claims.
    means: Vec<Vec<f64>>,
    /// The median of each case over these nodes; NaN if too few have it.
    centres: Vec<f64>,
}

impl EqualCosts {
    fn of(claimable: &CostTable, members: &[usize]) -> Self {
        let nodes = members.iter().filter(|node| !claimable.rows[**node].is_empty());
        let means: Vec<Vec<f64>> = nodes.map(|node| claimable.means(*node)).collect();
        let centre = |case: usize| {
            let known = means.iter().map(|of_node| of_node[case]).filter(|mean| !mean.is_nan());
            let known: Vec<f64> = known.collect();
            match known.len() >= MIN_OTHERS {
                true => median_of_numbers(known.into_iter()).unwrap_or(f64::NAN),
                false => f64::NAN,
            }
        };
        let centres = (0..claimable.cases).map(centre).collect();
        Self { means, centres }
    }

    /// The variance between these nodes of the middle of some cases.
    fn variance_of(&self, cases: &[usize]) -> f64 {
        let nodes = self.means.iter().filter_map(|means| middle(cases, means, &self.centres));
        let nodes: Vec<f64> = nodes.collect();
        bisquare::spread(&nodes, 0.0).unwrap_or(0.0).powi(2)
    }
}

/// Costs less their centres; NaN where one of both is not known.
fn differences(costs: &[f64], centres: &[f64]) -> impl Iterator<Item = f64> {
    costs.iter().zip(centres).map(|(cost, centre)| cost - centre)
}

/// The middle of some cases from their centres. `None` without a known one.
fn middle(cases: &[usize], costs: &[f64], centres: &[f64]) -> Option<f64> {
    median_of_numbers(cases.iter().map(|&case| costs[case] - centres[case]))
}

fn farthest(costs: &[f64], centres: &[f64]) -> Option<FarthestCase> {
    let known = differences(costs, centres).enumerate().filter(|(_, log)| !log.is_nan());
    let (case, log) = known.max_by(|(_, one), (_, other)| one.abs().total_cmp(&other.abs()))?;
    Some(FarthestCase { case: u32::try_from(case).ok()?, ratio: log.exp() })
}

/// A deviation as some visits show it, whose variance is that of a disturbance of all of them, and of
/// what they differ by. `None` of too few.
fn deviation(member: usize, visits: &[f64], common: f64) -> Option<Deviation> {
    if visits.len() < MIN_VISITS {
        return None;
    }
    let count = visits.len() as f64;
    let value = visits.iter().sum::<f64>() / count;
    let errors = contrasts(visits);
    let squares: f64 = errors.iter().map(|error| error * error).sum();
    let of_visits = squares / errors.len() as f64 / count;
    let variance = common + of_visits;
    let parts = common.powi(2) / DISTURBANCE_DEGREES + of_visits.powi(2) / (count - 1.0);
    let degrees_of_freedom = variance.powi(2) / parts;
    let estimate = Estimate { value, standard_error: variance.sqrt(), degrees_of_freedom };
    let sizes = visits.iter().map(|visit| visit * value.signum());
    let most = sizes.fold(f64::NEG_INFINITY, f64::max);
    let left = (value.abs() * count - most) / (count - 1.0);
    Some(Deviation::of_estimate(member, estimate, left > Z_95 * estimate.standard_error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_far_beyond_a_disturbance_is_sure_and_what_a_disturbance_does_is_not() {
        let p = |visits: &[f64]| {
            let found = deviation(0, visits, DISTURBANCE.powi(2)).unwrap();
            (found.among_equals.two_sided_p(), found.is_reported())
        };
        let logs = |ratios: [f64; 3]| ratios.map(f64::ln);
        let (huge, is_reported) = p(&logs([610.0, 590.0, 600.0]));
        assert!(huge < 1e-5 && is_reported, "{huge}");
        assert!(p(&logs([1.0 / 610.0, 1.0 / 590.0, 1.0 / 600.0])).0 < 1e-5);
        for usual in [1.2, 2.0, 4.0] {
            assert!(p(&logs([usual; 3])).0 > 0.05, "{usual}");
        }
        // One visit of three is no repeated difference.
        assert!(!p(&logs([600.0, 1.0, 1.0])).1);
        assert!(deviation(0, &[6.4], 0.5).is_none());
    }

    #[test]
    fn the_case_that_is_farthest_from_its_equals_is_named_whichever_way_it_differs() {
        let found = farthest(&[1.0, -3.0, f64::NAN, 2.0], &[0.0, 0.0, 9.0, f64::NAN]).unwrap();
        assert_eq!((found.case, found.ratio), (1, (-3.0f64).exp()));
        assert_eq!(farthest(&[f64::NAN], &[0.0]), None);
    }
}
