//! Cost groups: exact one-dimensional k-means. Resampling tells which groups would be found again, and
//! which of their members are borderline.
//!
//! Costs are compared by ratio, so groups are formed on logarithms to base 10. A group means that
//! its costs are close to each other and far from the others, not that they have a common cause
//! (docs/explanation/METHOD.md, section 7).

mod measured_cost;
mod partition;
mod similarity;
#[cfg(test)]
mod tests;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use self::measured_cost::Cost;
pub use self::measured_cost::MeasuredCost;
use self::partition::best_partition;
use self::similarity::{greatest_similarities, match_groups, shared_costs};

/// Neighbours closer than this ratio are in the same group.
const MIN_GAP_RATIO: f64 = 1.5;
/// How often the costs are resampled ...
const MAX_RESAMPLES: u32 = 500;
/// ... but of many values only as often as so many draws allow ...
const MAX_DRAWS: usize = 2_000_000;
/// ... and at least so often: a cost is then borderline if it changes its group twice.
const MIN_RESAMPLES: u32 = 20;
/// Beside the draws of its repetitions, placing a cost in a group takes as long as so many.
const DRAWS_OF_A_COST: usize = 4;
/// A cost that is in another group in more than this share of the resamples is borderline.
const BORDERLINE_SHARE: f64 = 0.05;

/// The largest ratio of two costs of a group: a chain of costs without a gap has no boundary, and
/// what lies at its ends is not close together.
const MAX_SPAN_RATIO: f64 = 10.0;
/// The mean Jaccard similarity with the resamples from which a group is stable: "highly stable" for
/// Hennig (2007), who trusts none below 0.6.
const MIN_SIMILARITY: f64 = 0.85;

/// The groups of some costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Groups {
    /// The group of each cost, in the order of the costs; group 0 is the cheapest.
    pub assignments: Vec<usize>,
    /// The number of groups.
    pub count: usize,
    /// Of each group, how similar the most similar one of a resample is, in the mean: the number of
    /// costs that are in both over that of costs in either (Jaccard 1901).
    pub similarities: Vec<f64>,
    /// Of each group, its largest cost over its smallest.
    pub span_ratios: Vec<f64>,
    /// The costs whose group is uncertain, in the order of the costs.
    pub borderline: Vec<Borderline>,
}

impl Groups {
    /// Whether a group is found again when the costs are resampled.
    pub fn is_stable(&self, group: usize) -> bool {
        self.similarities.get(group).is_some_and(|&similarity| similarity >= MIN_SIMILARITY)
    }

    /// Whether the costs of a group are close together, and far from those of other groups in the
    /// resamples too. All costs in one group are far from nothing.
    pub fn is_distinct(&self, group: usize) -> bool {
        let is_close = self.span_ratios.get(group).is_some_and(|&ratio| ratio <= MAX_SPAN_RATIO);
        self.count > 1 && is_close && self.is_stable(group)
    }
}

/// A cost whose group is uncertain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Borderline {
    /// The index of the cost.
    pub item: usize,
    /// Its group.
    pub group: usize,
    /// The group that it is in most often otherwise; `None` for a group that exists only in the
    /// resamples.
    pub alternative: Option<usize>,
}

/// Groups costs by exact k-means with the number of groups chosen by BIC, and finds by resampling all
/// of them which groups are stable and which costs borderline. Deterministic for a `seed`.
pub fn group_costs(measured: &[MeasuredCost], seed: u64) -> Groups {
    let costs: Vec<Cost> = measured.iter().map(|it| it.cost).collect();
    let of = assign_groups(&costs);
    let count = of.iter().max().map_or(0, |last| last + 1);
    let mut similarities = vec![0.0; count];
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    // For each cost, how often it was in each other group; the last column counts new groups.
    let mut elsewhere = vec![vec![0u32; count + 1]; costs.len()];
    let draws: usize = measured.iter().map(|it| it.repetitions.len() + DRAWS_OF_A_COST).sum();
    let resamples = resamples(draws);
    for _ in 0..resamples {
        let redrawn: Vec<Cost> = measured.iter().map(|it| it.resampled(&mut random)).collect();
        let now = assign_groups(&redrawn);
        let shared = shared_costs(&of, &now, count);
        for (mean, similarity) in similarities.iter_mut().zip(greatest_similarities(&shared)) {
            *mean += similarity / f64::from(resamples);
        }
        let names = match_groups(&shared);
        for (item, &group) in now.iter().enumerate() {
            if names[group] != Some(of[item]) {
                elsewhere[item][names[group].unwrap_or(count)] += 1;
            }
        }
    }
    let borderline = elsewhere.iter().enumerate().filter_map(|(item, times)| {
        let often = f64::from(times.iter().sum::<u32>()) > BORDERLINE_SHARE * f64::from(resamples);
        let (alternative, _) = times.iter().enumerate().max_by_key(|&(group, &times)| {
            // Ties go to the cheaper group.
            (times, std::cmp::Reverse(group))
        })?;
        let alternative = (alternative < count).then_some(alternative);
        often.then_some(Borderline { item, group: of[item], alternative })
    });
    let borderline = borderline.collect();
    let span_ratios = span_ratios(&costs, &of, count);
    Groups { count, borderline, assignments: of, similarities, span_ratios }
}

/// The largest cost of each group over its smallest.
fn span_ratios(costs: &[Cost], of: &[usize], count: usize) -> Vec<f64> {
    let mut ends = vec![(f64::INFINITY, 0.0f64); count];
    for (cost, &group) in costs.iter().zip(of) {
        let (low, high) = ends[group];
        ends[group] = (low.min(cost.value), high.max(cost.value));
    }
    ends.into_iter().map(|(low, high)| high / low).collect()
}

/// How often costs are resampled if that takes so many draws: their number must not decide how long
/// all resamples take.
fn resamples(draws: usize) -> u32 {
    let affordable = u32::try_from(MAX_DRAWS / draws.max(1)).unwrap_or(MAX_RESAMPLES);
    affordable.clamp(MIN_RESAMPLES, MAX_RESAMPLES)
}

/// The group of each cost: k-means with the number of groups of the lowest BIC, without boundaries
/// that are not significant.
fn assign_groups(costs: &[Cost]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..costs.len()).collect();
    order.sort_by(|&one, &other| costs[one].value.total_cmp(&costs[other].value));
    let logs: Vec<f64> = order.iter().map(|&item| costs[item].value.log10()).collect();
    let mut of = vec![0; costs.len()];
    let mut group = 0;
    let starts = best_partition(&logs);
    for (at, &item) in order.iter().enumerate() {
        if at > 0 && starts.contains(&at) && is_boundary(&costs[order[at - 1]], &costs[item]) {
            group += 1;
        }
        of[item] = group;
    }
    of
}

/// Whether there is a group boundary between two neighbours.
fn is_boundary(below: &Cost, above: &Cost) -> bool {
    above.value / below.value >= MIN_GAP_RATIO && above.interval.lo > below.interval.hi
}
