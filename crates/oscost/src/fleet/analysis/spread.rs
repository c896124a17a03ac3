//! The ordinary spread of nodes that should be equal, which a deviation is compared with.

use std::ops::Range;

use oscost_stats::bisquare::{self, SPREAD_EFFICIENCY};
use oscost_stats::order;
use oscost_stats::repeats::contrasts;
use oscost_stats::student::Estimate;

use crate::fleet::equals::MIN_EQUALS;
use crate::fleet::prior::{degrees_of_freedom, shrunk_variance};

/// Values of one kind: an effect of each of some nodes, as each of its visits shows it.
#[derive(Default)]
pub(super) struct Effects {
    values: Vec<f64>,
    nodes: Vec<NodeEffect>,
}

struct NodeEffect {
    member: usize,
    visits: Range<usize>,
    variance_factor: f64,
}

impl Effects {
    /// Adds a node. `variance_factor` is what the variance of its values is in proportion to: what is
    /// taken away from a value contains a part of it.
    pub(super) fn push(
        &mut self,
        member: usize,
        visits: impl Iterator<Item = f64>,
        variance_factor: f64,
    ) {
        let first = self.values.len();
        self.values.extend(visits.filter(|value| !value.is_nan()));
        let visits = first..self.values.len();
        if !visits.is_empty() && variance_factor > 0.0 {
            self.nodes.push(NodeEffect { member, visits, variance_factor });
        }
    }

    /// The values of a node in units of the root of its factor.
    fn scaled(&self, node: &NodeEffect) -> Vec<f64> {
        let unit = node.variance_factor.sqrt();
        self.values[node.visits.clone()].iter().map(|value| value / unit).collect()
    }

    /// How far each node is from the middle of all of them. `None` with too few nodes, or if too few
    /// of them were visited twice.
    pub(super) fn deviations(&self) -> Option<Deviations> {
        if self.nodes.len() < MIN_EQUALS {
            return None;
        }
        let scaled: Vec<Vec<f64>> = self.nodes.iter().map(|node| self.scaled(node)).collect();
        let errors: Vec<f64> = scaled.iter().flat_map(|visits| contrasts(visits)).collect();
        let spread = Spread::of(self, &scaled, &errors)?;
        let nodes = self.nodes.iter().zip(&scaled);
        let nodes = nodes.map(|(node, visits)| spread.deviation(node, visits)).collect();
        let between_visits = spread.visit_variance.sqrt();
        let distances = match between_visits > 0.0 {
            true => errors.iter().map(|error| error.abs() / between_visits).collect(),
            false => Vec::new(),
        };
        Some(Deviations { nodes, distances })
    }
}

/// How far nodes are from the middle of their equals.
pub(super) struct Deviations {
    /// Of each node that has the effect.
    pub(super) nodes: Vec<Deviation>,
    /// The distances of errors of visits from 0, in standard deviations: their tails.
    pub(super) distances: Vec<f64>,
}

/// How far a node is from the middle of its equals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deviation {
    /// The index of the node among the members.
    pub(super) member: usize,
    /// The deviation, with the standard deviation of that of an ordinary node.
    pub(super) among_equals: Estimate,
    /// The same with the error of its measurement alone.
    pub(super) measured: Estimate,
    /// Whether it is also seen without the visit that shows most of it.
    pub(super) is_repeated: bool,
    /// The standard deviation of what the others show of an ordinary node.
    pub(super) repeat_error: f64,
}

/// The spread of one kind of effects, in the scaled unit.
struct Spread {
    centre: f64,
    centre_variance: f64,
    node_variance: f64,
    node_degrees: f64,
    visit_variance: f64,
    visit_degrees: f64,
}

/// The variance of the median of normal values over that of their mean.
const MEDIAN_VARIANCE_FACTOR: f64 = std::f64::consts::FRAC_PI_2;
/// Half the width of a normal interval of 95 %, in standard deviations.
const Z_95: f64 = 1.960;

impl Spread {
    fn of(effects: &Effects, scaled: &[Vec<f64>], errors: &[f64]) -> Option<Self> {
        let count = scaled.len() as f64;
        let visit_variance = bisquare::spread(errors, 0.0)?.powi(2);
        let means: Vec<f64> = scaled.iter().map(|visits| mean(visits)).collect();
        let centre = order::median_in_place(&mut means.clone())?;
        // The robust deviation of few values is too small (Croux and Rousseeuw 1992).
        let of_means = bisquare::spread(&means, centre)?.powi(2) * count / (count - 0.8);
        let of_visits =
            visit_variance * scaled.iter().map(|it| 1.0 / it.len() as f64).sum::<f64>() / count;
        let factor = effects.nodes.iter().map(|node| node.variance_factor).sum::<f64>() / count;
        // A variance is not negative: the method of moments has none below zero.
        let between = (of_means - of_visits).max(0.0);
        Some(Self {
            centre,
            centre_variance: MEDIAN_VARIANCE_FACTOR * of_means / count,
            node_variance: shrunk_variance(between, scaled.len(), 1.0 / factor.sqrt()),
            node_degrees: degrees_of_freedom(scaled.len()),
            visit_variance,
            visit_degrees: SPREAD_EFFICIENCY * errors.len() as f64,
        })
    }

    fn deviation(&self, node: &NodeEffect, visits: &[f64]) -> Deviation {
        let value = mean(visits) - self.centre;
        let unit = node.variance_factor.sqrt();
        let visit_variance = self.visit_variance_of(visits);
        let error = visit_variance / visits.len() as f64;
        let ordinary = self.node_variance + error;
        // Satterthwaite (1946).
        let squares =
            self.node_variance.powi(2) / self.node_degrees + error.powi(2) / self.visit_degrees;
        let among_equals = Estimate {
            value: unit * value,
            standard_error: unit * ordinary.sqrt(),
            degrees_of_freedom: ordinary.powi(2) / squares,
        };
        let measured = Estimate {
            value: unit * value,
            standard_error: unit * (error + self.centre_variance).sqrt(),
            degrees_of_freedom: self.visit_degrees,
        };
        let is_repeated = self.is_repeated(value, visits, visit_variance);
        let repeat_error = unit * self.repeat_error(visits, visit_variance);
        Deviation { member: node.member, among_equals, measured, is_repeated, repeat_error }
    }

    /// The variance between the visits of a node: that of all nodes, or its own if that is more. A node
    /// whose visits vary more than those of others is disturbed more often, which does not make it slow;
    /// a few visits that happen to agree do not make it known better than others.
    fn visit_variance_of(&self, visits: &[f64]) -> f64 {
        let own = contrasts(visits);
        match own.len() {
            0 => self.visit_variance,
            count => {
                let squares: f64 = own.iter().map(|it| it * it).sum();
                self.visit_variance.max(squares / count as f64)
            }
        }
    }

    /// Whether the other visits show the deviation too, beyond an interval of 95 %, if the one that
    /// shows most of it is left out. A single visit has no others.
    fn is_repeated(&self, value: f64, visits: &[f64], visit_variance: f64) -> bool {
        let others = visits.len() - 1;
        if others == 0 {
            return true;
        }
        let sign = value.signum();
        let toward = |visit: &f64| sign * (visit - self.centre);
        let most = visits.iter().map(toward).fold(f64::NEG_INFINITY, f64::max);
        let left = (visits.iter().map(toward).sum::<f64>() - most) / others as f64;
        left > Z_95 * self.repeat_error(visits, visit_variance)
    }

    /// The standard deviation of the mean of all visits of an ordinary node but one; of a single visit,
    /// of that.
    fn repeat_error(&self, visits: &[f64], visit_variance: f64) -> f64 {
        let others = visits.len().max(2) - 1;
        (self.node_variance + visit_variance / others as f64).sqrt()
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
