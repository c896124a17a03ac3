//! The ordinary spread of nodes that should be equal, which a deviation is compared with.

use std::ops::Range;

use oscost_stats::bisquare::{self, spread_degrees};
use oscost_stats::order;
use oscost_stats::repeats::contrasts;
use oscost_stats::student::Estimate;
use oscost_stats::variances::EstimatedVariance;

use crate::fleet::equals::MIN_EQUALS;
use crate::fleet::findings::Adjustment;

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
    adjustment: Option<Adjustment>,
}

impl Effects {
    /// Adds a node. `adjustment` is what was taken away from its values, and `variance_factor` what
    /// their variance is in proportion to: what is taken away from a value contains a part of it.
    pub(super) fn push(
        &mut self,
        member: usize,
        visits: impl Iterator<Item = f64>,
        variance_factor: f64,
        adjustment: Option<Adjustment>,
    ) {
        let first = self.values.len();
        self.values.extend(visits.filter(|value| !value.is_nan()));
        let visits = first..self.values.len();
        if !visits.is_empty() && variance_factor > 0.0 {
            self.nodes.push(NodeEffect { member, visits, variance_factor, adjustment });
        }
    }

    /// The values of a node in units of the root of its factor.
    fn scaled(&self, node: &NodeEffect) -> Vec<f64> {
        let unit = node.variance_factor.sqrt();
        self.values[node.visits.clone()].iter().map(|value| value / unit).collect()
    }

    /// The effect as a column; the distances of errors of visits from 0 are added to `distances`, in
    /// standard deviations. `None` with too few nodes, or if too few of them were visited twice.
    pub(super) fn column(&self, distances: &mut Vec<f64>) -> Option<Column> {
        if self.nodes.len() < MIN_EQUALS {
            return None;
        }
        let mut errors = Vec::new();
        let nodes = self.nodes.iter().map(|node| {
            let visits = self.scaled(node);
            let own = contrasts(&visits);
            let values = NodeValues::of(node, &visits, &own);
            errors.extend(own);
            values
        });
        let nodes: Vec<NodeValues> = nodes.collect();
        let between_visits = bisquare::spread(&errors, 0.0)?;
        if between_visits > 0.0 {
            distances.extend(errors.iter().map(|error| error.abs() / between_visits));
        }
        let factors = self.nodes.iter().map(|node| node.variance_factor).sum::<f64>();
        Some(Column {
            factor: factors / nodes.len() as f64,
            visits: EstimatedVariance {
                value: between_visits.powi(2),
                // Their centre is known, which is worth a value.
                degrees_of_freedom: spread_degrees(errors.len() + 1),
            },
            means: Means::of(&nodes)?,
            nodes,
        })
    }
}

/// An effect of equal nodes, each in the unit in which all have the same variance.
pub(super) struct Column {
    nodes: Vec<NodeValues>,
    /// The mean over nodes of the square of the unit.
    factor: f64,
    /// The variance between visits of a node.
    visits: EstimatedVariance,
    means: Means,
}

/// What the visits of a node show of an effect.
#[derive(Clone, Copy)]
struct NodeValues {
    member: usize,
    /// The unit, as a logarithm of a ratio.
    unit: f64,
    visits: f64,
    mean: f64,
    lowest: f64,
    highest: f64,
    /// The variance between its visits, or more if other columns show more; 0 of a single one.
    own_variance: f64,
    adjustment: Option<Adjustment>,
}

impl NodeValues {
    fn of(node: &NodeEffect, visits: &[f64], errors: &[f64]) -> Self {
        let count = visits.len() as f64;
        let squares: f64 = errors.iter().map(|error| error * error).sum();
        Self {
            member: node.member,
            unit: node.variance_factor.sqrt(),
            visits: count,
            mean: visits.iter().sum::<f64>() / count,
            lowest: visits.iter().copied().fold(f64::INFINITY, f64::min),
            highest: visits.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            own_variance: if errors.is_empty() { 0.0 } else { squares / errors.len() as f64 },
            adjustment: node.adjustment,
        }
    }
}

/// The middle of the means of nodes, and their variance with what visits add to it.
#[derive(Clone, Copy)]
struct Means {
    centre: f64,
    variance: f64,
}

impl Means {
    fn of(nodes: &[NodeValues]) -> Option<Self> {
        let means: Vec<f64> = nodes.iter().map(|node| node.mean).collect();
        let count = means.len() as f64;
        let centre = order::median_in_place(&mut means.clone())?;
        // The robust deviation of few values is too small (Croux and Rousseeuw 1992).
        let variance = bisquare::spread(&means, centre)?.powi(2) * count / (count - 0.8);
        Some(Self { centre, variance })
    }
}

impl Column {
    /// The variance of the means of its nodes, of logarithms.
    pub(super) fn variance(&self) -> EstimatedVariance {
        EstimatedVariance { value: self.means.variance * self.factor, ..self.own_variance() }
    }

    /// The same in its unit.
    fn own_variance(&self) -> EstimatedVariance {
        EstimatedVariance {
            value: self.means.variance,
            degrees_of_freedom: spread_degrees(self.nodes.len()),
        }
    }

    /// Adds the variance between the visits of each node, over that of all nodes and over the median of
    /// such a ratio, to those of its member.
    pub(super) fn add_visit_variance_ratios(&self, ratios: &mut [Vec<f64>]) {
        let varied = self.nodes.iter().filter(|node| self.visits.value > 0.0 && node.visits > 1.0);
        for node in varied {
            // The median of a chi-squared variable over its mean (Wilson and Hilferty 1931).
            let typical = (1.0 - 2.0 / (9.0 * (node.visits - 1.0))).powi(3);
            ratios[node.member].push(node.own_variance / (self.visits.value * typical));
        }
    }

    /// The same, if it is known from elsewhere that the visits of each member vary by at least so much
    /// more than those of all nodes, as ratios of variances.
    #[must_use]
    pub(super) fn with_visit_variance_ratios(mut self, ratios: &[f64]) -> Self {
        for node in &mut self.nodes {
            node.own_variance = node.own_variance.max(ratios[node.member] * self.visits.value);
        }
        self
    }

    /// How far each node is from the middle of all of them. `prior` is what other columns say of the
    /// variance of means, of logarithms.
    pub(super) fn deviations(&self, prior: Option<EstimatedVariance>) -> Vec<Deviation> {
        let own = self.own_variance();
        let of_means = prior.map_or(own, |prior| {
            own.pooled_with(EstimatedVariance { value: prior.value / self.factor, ..prior })
        });
        let limit = of_means.upper_limit(LIMIT_SHARE);
        let spread = Spread::of(self, self.means.centre, of_means, limit);
        self.nodes.iter().map(|node| spread.deviation(node)).collect()
    }

    /// The upper confidence limit of the variance of means over that variance, without a prior.
    pub(super) fn limit_factor(&self) -> f64 {
        EstimatedVariance { value: 1.0, ..self.own_variance() }.upper_limit(LIMIT_SHARE)
    }

    /// The deviation of the node at this index, without a prior, if its visits were on average so far
    /// from the present middle, as a logarithm: it then also moves the middle and the spread that it is
    /// compared with. The factor is that of `limit_factor`, which takes longer than the rest.
    pub(super) fn deviation_at(&self, at: usize, log: f64, limit_factor: f64) -> Option<Deviation> {
        let mut nodes = self.nodes.clone();
        let moved = nodes.get_mut(at)?;
        let by = self.means.centre + log / moved.unit - moved.mean;
        moved.mean += by;
        moved.lowest += by;
        moved.highest += by;
        let moved = *moved;
        let means = Means::of(&nodes)?;
        let of_means = EstimatedVariance { value: means.variance, ..self.own_variance() };
        let limit = limit_factor * means.variance;
        Some(Spread::of(self, means.centre, of_means, limit).deviation(&moved))
    }
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
    /// What of the node it is without.
    pub(super) adjustment: Option<Adjustment>,
    /// Whether it is also seen without the visit that shows most of it.
    is_repeated: bool,
}

/// Smaller differences are not reported, however sure they are: nothing on a machine depends on them.
const MIN_RATIO: f64 = 1.02;

impl Deviation {
    /// A deviation whose error is not that of the spread between visits of all nodes.
    pub(super) fn of_estimate(member: usize, estimate: Estimate, is_repeated: bool) -> Self {
        let (among_equals, measured) = (estimate, estimate);
        Self { member, among_equals, measured, adjustment: None, is_repeated }
    }

    /// The same if errors also have the tails of so many degrees of freedom.
    pub(super) fn with_tails(self, degrees: Option<f64>) -> Self {
        let heavier = |estimate: Estimate| {
            let own = 1.0 / estimate.degrees_of_freedom;
            let of_tails = degrees.map_or(0.0, |degrees| 1.0 / degrees);
            Estimate { degrees_of_freedom: 1.0 / (own + of_tails), ..estimate }
        };
        let [among_equals, measured] = [self.among_equals, self.measured].map(heavier);
        Self { among_equals, measured, ..self }
    }

    /// Its size, as a logarithm.
    pub(super) fn size(&self) -> f64 {
        self.measured.value.abs()
    }

    /// Whether it may be a finding, if it is sure.
    pub(super) fn is_reported(&self) -> bool {
        self.is_repeated && self.size() >= MIN_RATIO.ln()
    }
}

/// The spread of one kind of effects, in the scaled unit.
struct Spread {
    centre: f64,
    centre_variance: f64,
    node_variance: f64,
    /// The upper confidence limit of the variance between nodes.
    node_limit: f64,
    node_degrees: f64,
    visits: EstimatedVariance,
}

/// The variance of the median of normal values over that of their mean.
const MEDIAN_VARIANCE_FACTOR: f64 = std::f64::consts::FRAC_PI_2;
/// Half the width of a normal interval of 95 %, in standard deviations.
const Z_95: f64 = 1.960;
/// How often the variance between nodes is above its limit.
const LIMIT_SHARE: f64 = 0.05;

impl Spread {
    /// The spread around a centre, by the variance of means and its upper confidence limit.
    fn of(column: &Column, centre: f64, of_means: EstimatedVariance, limit: f64) -> Self {
        let count = column.nodes.len() as f64;
        let shares = column.nodes.iter().map(|node| 1.0 / node.visits).sum::<f64>();
        let of_visits = column.visits.value * shares / count;
        // A variance is not negative: the method of moments has none below zero.
        let between = |of_means: f64| (of_means - of_visits).max(0.0);
        Self {
            centre,
            centre_variance: MEDIAN_VARIANCE_FACTOR * of_means.value / count,
            node_variance: between(of_means.value),
            node_limit: between(limit),
            node_degrees: of_means.degrees_of_freedom,
            visits: column.visits,
        }
    }

    fn deviation(&self, node: &NodeValues) -> Deviation {
        let value = node.mean - self.centre;
        let error = self.visit_variance_of(node) / node.visits;
        let estimate = |variance: f64, degrees_of_freedom: f64| Estimate {
            value: node.unit * value,
            standard_error: node.unit * variance.sqrt(),
            degrees_of_freedom,
        };
        let visit_degrees = self.visits.degrees_of_freedom;
        Deviation {
            member: node.member,
            among_equals: estimate(self.node_variance + error, self.degrees_of_ordinary(error)),
            measured: estimate(error + self.centre_variance, visit_degrees),
            adjustment: node.adjustment,
            is_repeated: self.is_repeated(node, value),
        }
    }

    /// The degrees of freedom of the variance of an ordinary node (Satterthwaite 1946), at the limit of
    /// that between nodes: where few nodes happen to agree, the error of visits is most of the variance
    /// that is seen, and would let it look well known.
    fn degrees_of_ordinary(&self, error: f64) -> f64 {
        let squares = self.node_limit.powi(2) / self.node_degrees
            + error.powi(2) / self.visits.degrees_of_freedom;
        // Without any variance they do not matter.
        if squares > 0.0 { (self.node_limit + error).powi(2) / squares } else { 1.0 }
    }

    /// The variance between the visits of a node: that of all nodes, or its own if that is more. A node
    /// whose visits vary more than those of others is disturbed more often, which does not make it slow;
    /// a few visits that happen to agree do not make it known better than others.
    fn visit_variance_of(&self, node: &NodeValues) -> f64 {
        self.visits.value.max(node.own_variance)
    }

    /// Whether the other visits show the deviation too, beyond an interval of 95 %, if the one that
    /// shows most of it is left out. A single visit has no others.
    fn is_repeated(&self, node: &NodeValues, value: f64) -> bool {
        let others = node.visits - 1.0;
        if others < 1.0 {
            return true;
        }
        let most = if value > 0.0 { node.highest - self.centre } else { self.centre - node.lowest };
        let left = (value.abs() * node.visits - most) / others;
        left > Z_95 * (self.node_variance + self.visit_variance_of(node) / others).sqrt()
    }
}
