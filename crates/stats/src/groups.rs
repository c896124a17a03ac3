//! Cost groups: exact one-dimensional k-means. Resampling tells which groups would be found again, and
//! which of their members are borderline.
//!
//! Costs are compared by ratio, so groups are formed on logarithms to base 10. A group means that
//! its costs are close to each other and far from the others, not that they have a common cause
//! (docs/explanation/METHOD.md, section 7).

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::interval::Interval;
use super::order;
use super::random::standard_normal;
use super::scaling::bootstrap_median;

/// The maximum number of groups.
const MAX_GROUPS: usize = 6;
/// The minimum standard deviation of a group, as a logarithm to base 10: 5 %. Without it a group of
/// one value would fit infinitely well, and every value would become its own group.
const MIN_SD_LOG10: f64 = 0.02;
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

/// A cost and its interval, all above zero.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cost {
    value: f64,
    interval: Interval,
}

/// A cost with what varies in it.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredCost {
    cost: Cost,
    /// The values that the cost is the median of; empty if they are not known.
    repetitions: Vec<f64>,
    /// Their median.
    median: f64,
    /// What varies besides the repetitions, as the standard deviation of the logarithm below and
    /// above the cost.
    log_deviations: [f64; 2],
}

impl MeasuredCost {
    /// A cost that varies as its 95 % interval says. `None` unless the interval is positive, finite
    /// and contains the value.
    pub fn new(value: f64, interval: Interval) -> Option<Self> {
        const QUANTILE: f64 = 1.959_963_984_540_054;
        let fits = interval.lo > 0.0 && interval.contains(value) && interval.hi.is_finite();
        let deviation = |end: f64| (end / value).ln().abs() / QUANTILE;
        fits.then(|| Self {
            cost: Cost { value, interval },
            repetitions: Vec::new(),
            median: value,
            log_deviations: [deviation(interval.lo), deviation(interval.hi)],
        })
    }

    /// The same cost as the median of repetitions, which are resampled. What its interval holds
    /// beyond theirs, as the variation between runs, still varies beside them.
    #[must_use]
    pub fn with_repetitions(mut self, values: &[f64], interval: Interval) -> Self {
        let Some(of_repetitions) = Self::new(self.cost.value, interval) else { return self };
        let sorted = order::sorted(values);
        let have_ratios = sorted.first().is_some_and(|&least| least > 0.0);
        let Some(median) = order::median(&sorted).filter(|_| have_ratios) else { return self };
        let both = self.log_deviations.iter_mut().zip(of_repetitions.log_deviations);
        for (deviation, theirs) in both {
            // An interval that is no wider than theirs holds nothing beyond it.
            *deviation = (deviation.powi(2) - theirs.powi(2)).max(0.0).sqrt();
        }
        Self { repetitions: sorted, median, ..self }
    }

    /// A random draw of the cost: the median of resampled repetitions, and log-normal on each side
    /// what varies besides.
    fn resampled(&self, random: &mut Xoshiro256PlusPlus) -> Cost {
        let drawn = bootstrap_median(&self.repetitions, random).unwrap_or(self.median);
        let deviate = standard_normal(random);
        let [below, above] = self.log_deviations;
        let besides = deviate * if deviate < 0.0 { below } else { above };
        let factor = drawn / self.median * besides.exp();
        let Cost { value, interval: Interval { lo, hi } } = self.cost;
        Cost { value: value * factor, interval: Interval { lo: lo * factor, hi: hi * factor } }
    }
}

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

/// The start indices of all groups but the first, for the k from 1 to 6 that minimises
/// `BIC(k) = n ln(SS / n + s0^2) + 2 k ln n`.
fn best_partition(sorted: &[f64]) -> Vec<usize> {
    let n = sorted.len() as f64;
    let bic = |k: usize, squares: f64| {
        n * (squares / n + MIN_SD_LOG10 * MIN_SD_LOG10).ln() + 2.0 * k as f64 * n.ln()
    };
    let max_groups = MAX_GROUPS.min(sorted.len());
    let all = partitions(sorted, max_groups).into_iter().enumerate();
    let judged = all.map(|(at, (squares, starts))| (bic(at + 1, squares), starts));
    let best = judged.min_by(|(one, _), (other, _)| one.total_cmp(other));
    best.map(|(_, starts)| starts).unwrap_or_default()
}

/// The best partitions of ascending values into 1 to `max_groups` groups: the sum of squares about
/// the group means, and the start indices of all groups but the first.
///
/// Exact, by dynamic programming (Wang and Song 2011): the best k groups of the first i values are
/// the best k-1 groups of the first j values, and one group of the rest. The best start of the last
/// group is monotonic in i, so divide and conquer needs `n log n` steps for each k.
fn partitions(sorted: &[f64], max_groups: usize) -> Vec<(f64, Vec<usize>)> {
    debug_assert!(sorted.is_sorted(), "the values are not in order");
    let n = sorted.len();
    if n == 0 {
        return Vec::new();
    }
    let sums = Sums::of(sorted);
    let first: Vec<f64> = (0..n).map(|last| sums.squares(0, last)).collect();
    let mut best = vec![first];
    let mut begins: Vec<Vec<usize>> = vec![vec![0; n]];
    for k in 1..max_groups.min(n) {
        let mut row =
            Row { before: &best[k - 1], sums: &sums, best: vec![0.0; n], begin: vec![0; n] };
        // i values have at most i groups, so k + 1 groups start at index k.
        row.fill(k, n - 1, k, n - 1);
        let Row { best: now, begin, .. } = row;
        best.push(now);
        begins.push(begin);
    }
    (0..best.len())
        .map(|k| {
            let mut starts = Vec::new();
            let mut last = n - 1;
            for k in (1..=k).rev() {
                let begin = begins[k][last];
                starts.push(begin);
                last = begin - 1;
            }
            starts.reverse();
            (best[k][n - 1], starts)
        })
        .collect()
}

/// The dynamic programming row for one more group than the row before.
struct Row<'a> {
    before: &'a [f64],
    sums: &'a Sums,
    best: Vec<f64>,
    begin: Vec<usize>,
}

impl Row<'_> {
    /// Finds the best start of the last group for the values from `low` to `high`; all these starts
    /// lie between `from` and `to`.
    fn fill(&mut self, low: usize, high: usize, from: usize, to: usize) {
        let middle = usize::midpoint(low, high);
        let cost = |begin: usize| self.before[begin - 1] + self.sums.squares(begin, middle);
        let begins = from..=to.min(middle);
        let costs = begins.map(|begin| (cost(begin), begin));
        let Some((best, begin)) = costs.min_by(|one, other| one.0.total_cmp(&other.0)) else {
            return;
        };
        (self.best[middle], self.begin[middle]) = (best, begin);
        if middle > low {
            self.fill(low, middle - 1, from, begin);
        }
        if middle < high {
            self.fill(middle + 1, high, begin, to);
        }
    }
}

/// Prefix sums of the values and of their squares, relative to the median for precision.
struct Sums(Vec<(f64, f64)>);

impl Sums {
    fn of(sorted: &[f64]) -> Self {
        let centre = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
        let mut sums = vec![(0.0, 0.0)];
        let (mut sum, mut squares) = (0.0, 0.0);
        for value in sorted {
            let apart = value - centre;
            sum += apart;
            squares += apart * apart;
            sums.push((sum, squares));
        }
        Self(sums)
    }

    /// The sum of squares of the values from `first` to `last` about their mean; a negative
    /// rounding error becomes 0.
    fn squares(&self, first: usize, last: usize) -> f64 {
        let (before, through) = (self.0[first], self.0[last + 1]);
        let (sum, squares) = (through.0 - before.0, through.1 - before.1);
        (squares - sum * sum / (last + 1 - first) as f64).max(0.0)
    }
}

/// How many costs each of `count` groups shares with each group of a resample.
fn shared_costs(of: &[usize], now: &[usize], count: usize) -> Vec<Vec<u32>> {
    let there = now.iter().max().map_or(0, |last| last + 1);
    let mut shared = vec![vec![0; there]; count];
    for (&then, &now) in of.iter().zip(now) {
        shared[then][now] += 1;
    }
    shared
}

/// The Jaccard similarity of each group with the most similar group of a resample.
fn greatest_similarities(shared: &[Vec<u32>]) -> Vec<f64> {
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
fn match_groups(shared: &[Vec<u32>]) -> Vec<Option<usize>> {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A cost that is known to some per cent on either side.
    fn known_to(pct: f64, value: f64) -> MeasuredCost {
        let factor = 1.0 + pct / 100.0;
        let interval = Interval { lo: value / factor, hi: value * factor };
        MeasuredCost::new(value, interval).unwrap()
    }

    /// Costs that are known to 2 % on either side.
    fn measured(values: &[f64]) -> Vec<MeasuredCost> {
        values.iter().map(|&value| known_to(2.0, value)).collect()
    }

    fn costs(values: &[f64]) -> Vec<Cost> {
        measured(values).iter().map(|it| it.cost).collect()
    }

    /// The sum of squares of some values about their mean.
    fn squares(values: &[f64]) -> f64 {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter().map(|value| (value - mean).powi(2)).sum()
    }

    /// The smallest sum of squares of any way to cut the values into `k` groups.
    fn by_trying_all(values: &[f64], k: usize) -> f64 {
        if k == 1 {
            return squares(values);
        }
        let cuts = k - 1..values.len();
        cuts.map(|cut| by_trying_all(&values[..cut], k - 1) + squares(&values[cut..]))
            .fold(f64::INFINITY, f64::min)
    }

    proptest! {
        #[test]
        fn no_partition_is_better_than_the_result(
            values in prop::collection::vec(-3.0..8.0f64, 1..12),
        ) {
            let sorted = super::super::order::sorted(&values);
            for (at, (found, starts)) in partitions(&sorted, 6).into_iter().enumerate() {
                let k = at + 1;
                prop_assert_eq!(starts.len(), at);
                let bounds: Vec<usize> =
                    [0].into_iter().chain(starts).chain([sorted.len()]).collect();
                let own: f64 =
                    bounds.windows(2).map(|bound| squares(&sorted[bound[0]..bound[1]])).sum();
                prop_assert!((own - found).abs() < 1e-9, "k = {k}: {own}, not {found}");
                let best = by_trying_all(&sorted, k);
                prop_assert!((best - found).abs() < 1e-9, "k = {k}: {best}, not {found}");
            }
        }

        #[test]
        fn groups_do_not_depend_on_order_or_unit(
            values in prop::collection::vec(1.0..1e6f64, 1..20),
            rotation in 0usize..20,
            unit in 1e-3..1e3f64,
        ) {
            let of = assign_groups(&costs(&values));
            let mut rotated: Vec<f64> = values.iter().map(|value| value * unit).collect();
            let by = rotation % rotated.len();
            rotated.rotate_left(by);
            let mut back = assign_groups(&costs(&rotated));
            back.rotate_right(by);
            // A gap of 1.5 to the last bit may fall on either side.
            let close = |one: f64, other: f64| (one / other / MIN_GAP_RATIO - 1.0).abs() < 1e-9;
            let edge = values.iter().any(|&one| values.iter().any(|&other| close(one, other)));
            prop_assert!(edge || back == of, "{of:?}, {back:?}");
        }
    }

    /// Twenty costs from 1.2 ns to 150 us, as section 7 of docs/explanation/METHOD.md describes
    /// them.
    const TWENTY: [f64; 20] = [
        1.2, 1.3, 1.6, 20.0, 22.0, 25.0, 110.0, 124.0, 130.0, 150.0, 170.0, 200.0, 250.0, 900.0,
        1_200.0, 1_500.0, 5_000.0, 25_000.0, 60_000.0, 150_000.0,
    ];

    #[test]
    fn twenty_costs_from_a_call_to_a_process_form_six_groups() {
        let found = group_costs(&measured(&TWENTY), 1);
        assert!((0..6).all(|group| found.is_stable(group)), "{:?}", found.similarities);
        let Groups { assignments: of, count, borderline, .. } = found;
        assert_eq!((count, borderline), (6, vec![]));
        let expected = [0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 4, 5, 5, 5];
        assert_eq!(of, expected);
    }

    #[test]
    fn a_boundary_needs_a_gap_and_intervals_that_do_not_overlap() {
        assert_eq!(
            assign_groups(&costs(&[100.0, 101.0, 102.0, 140.0, 141.0, 142.0])),
            [0; 6],
            "a gap"
        );
        assert_eq!(assign_groups(&costs(&[100.0, 101.0, 102.0, 160.0, 161.0])), [0, 0, 0, 1, 1]);
        let mut wide = costs(&[100.0, 101.0, 102.0, 160.0, 161.0]);
        wide[2].interval.hi = 170.0;
        assert_eq!(assign_groups(&wide), [0; 5], "intervals that overlap");
    }

    #[test]
    fn costs_far_from_every_boundary_are_not_borderline() {
        let found = group_costs(&measured(&[1.0, 1.1, 24.0, 25.0, 120.0, 130.0, 2_000.0]), 7);
        assert_eq!(found.assignments, [0, 0, 1, 1, 2, 2, 3]);
        assert_eq!(found.borderline, []);
    }

    #[test]
    fn a_cost_near_a_boundary_is_borderline() {
        // The gap is 1.5 to a hundredth: in some redraws it holds, in others it does not.
        let found = group_costs(&measured(&[100.0, 100.0, 100.0, 151.0]), 7);
        assert_eq!(found.assignments, [0, 0, 0, 1]);
        assert_eq!(found.borderline, [Borderline { item: 3, group: 1, alternative: Some(0) }]);
        // The same from the other side: no group yet, but often one of its own.
        let found = group_costs(&measured(&[100.0, 100.0, 100.0, 149.0]), 7);
        assert_eq!(found.assignments, [0; 4]);
        assert_eq!(found.borderline, [Borderline { item: 3, group: 0, alternative: None }]);
    }

    /// Costs that lie at equal ratios have groups by chance alone.
    fn chain(pct: f64) -> Vec<MeasuredCost> {
        (0..40).map(|at| known_to(pct, 100.0 * 1.7f64.powi(at))).collect()
    }

    #[test]
    fn groups_of_a_chain_are_stable_only_without_uncertainty() {
        let exact = group_costs(&chain(0.0), 7);
        assert!(exact.count > 1, "{exact:?}");
        assert!(exact.similarities.iter().all(|&it| (it - 1.0).abs() < 1e-9), "{exact:?}");
        let uncertain = group_costs(&chain(25.0), 7);
        assert!(uncertain.similarities.iter().all(|it| (0.0..1.0).contains(it)), "{uncertain:?}");
        let stable = (0..uncertain.count).filter(|&group| uncertain.is_stable(group)).count();
        assert!(stable < uncertain.count, "{uncertain:?}");
    }

    #[test]
    fn a_group_apart_is_stable_beside_a_chain_that_is_not() {
        let near = [1.0, 1.01, 1.02, 1.03, 1.04].map(|value| known_to(10.0, value));
        let found = group_costs(&near.into_iter().chain(chain(25.0)).collect::<Vec<_>>(), 7);
        assert_eq!(found.assignments[..6], [0, 0, 0, 0, 0, 1], "{found:?}");
        assert!(found.is_stable(0), "{found:?}");
        assert!(!(1..found.count).all(|group| found.is_stable(group)), "{found:?}");
        assert!(!found.is_stable(found.count), "there is no such group");
    }

    #[test]
    fn a_distinct_group_is_stable_within_a_decade_and_not_alone() {
        // Costs of one group that span a decade and a tenth, or a decade less a tenth.
        for (ratio, expected) in [(1.25, false), (1.20, true)] {
            let near = (0..12).map(|at| 1_000.0 * f64::powi(ratio, at));
            let far = [1.0, 1.0, 1.0, 1.0];
            let all: Vec<f64> = far.into_iter().chain(near).collect();
            let found = group_costs(&measured(&all), 7);
            assert_eq!(found.count, 2, "{found:?}");
            assert!(found.is_stable(1) && found.is_distinct(0), "{found:?}");
            assert_eq!(found.is_distinct(1), expected, "{found:?}");
        }
        let alone = group_costs(&measured(&[5.0; 9]), 7);
        assert!(alone.is_stable(0) && !alone.is_distinct(0), "{alone:?}");
    }

    #[test]
    fn a_similarity_is_the_shared_part_of_both_groups() {
        // The first group lost one cost and got another; of the second, each is elsewhere.
        let shared = shared_costs(&[0, 0, 0, 1, 1], &[0, 0, 1, 0, 2], 2);
        assert_eq!(shared, [[2, 1, 0], [1, 0, 1]]);
        assert_eq!(greatest_similarities(&shared), [2.0 / 4.0, 1.0 / 2.0]);
        assert_eq!(match_groups(&shared), [Some(0), None, Some(1)]);
    }

    #[test]
    fn repetitions_are_resampled_and_what_varies_between_runs_is_drawn_beside_them() {
        let own = Interval { lo: 9.0, hi: 11.0 };
        let values: Vec<f64> = (0..15).map(|at| 9.3 + 0.1 * f64::from(at)).collect();
        let one =
            |wide: Interval| MeasuredCost::new(10.0, wide).unwrap().with_repetitions(&values, own);
        let deviation = |cost: &MeasuredCost| {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
            let draws: Vec<f64> =
                (0..4_000).map(|_| (cost.resampled(&mut random).value / 10.0).ln()).collect();
            (draws.iter().map(|it| it * it).sum::<f64>() / draws.len() as f64).sqrt()
        };
        let of_run = one(own);
        assert_eq!(of_run.log_deviations, [0.0; 2]);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let is_value = |it: f64| values.iter().any(|value| (value - it).abs() < 1e-9);
        assert!((0..100).all(|_| is_value(of_run.resampled(&mut random).value)));
        let between = deviation(&one(Interval { lo: 5.0, hi: 20.0 }));
        let all = 2f64.ln() / 1.96;
        assert!((between / all - 1.0).abs() < 0.05, "{between}, not {all}");
        assert!(deviation(&of_run) < 0.1 * between, "{}", deviation(&of_run));
        // What cannot be resampled varies as its interval says.
        let plain = MeasuredCost::new(10.0, own).unwrap();
        for unusable in [&[][..], &[0.0, 10.0, 20.0], &[-1.0; 9]] {
            assert_eq!(plain.clone().with_repetitions(unusable, own), plain);
        }
    }

    #[test]
    fn many_values_are_resampled_less_often() {
        assert_eq!([0, 1, 100, 4_000].map(resamples), [500; 4]);
        assert_eq!([8_000, 40_000, 100_000, 1_000_000].map(resamples), [250, 50, 20, 20]);
    }

    #[test]
    fn the_same_seed_gives_the_same_result() {
        let costs = measured(&TWENTY);
        assert_eq!(group_costs(&costs, 3), group_costs(&costs, 3));
    }

    #[test]
    fn few_costs_can_be_grouped() {
        let none = group_costs(&[], 1);
        assert_eq!((none.count, none.assignments, none.borderline), (0, vec![], vec![]));
        assert_eq!(group_costs(&measured(&[5.0]), 1).assignments, [0]);
        assert_eq!(group_costs(&measured(&[5.0, 500.0]), 1).assignments.len(), 2);
        assert_eq!(group_costs(&measured(&[5.0; 9]), 1).count, 1);
    }

    #[test]
    fn a_cost_whose_interval_includes_zero_is_rejected() {
        assert_eq!(MeasuredCost::new(0.1, Interval { lo: -0.1, hi: 0.3 }), None);
        assert_eq!(MeasuredCost::new(0.0, Interval { lo: 0.0, hi: 0.3 }), None);
        assert!(MeasuredCost::new(0.2, Interval { lo: 0.1, hi: 0.3 }).is_some());
    }

    #[test]
    fn ninety_five_percent_of_resamples_are_within_the_interval() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let interval = Interval { lo: 9.9, hi: 14.0 };
        let lopsided = MeasuredCost::new(10.0, interval).unwrap();
        let inside = (0..20_000)
            .filter(|_| interval.contains(lopsided.resampled(&mut random).value))
            .count();
        assert!((18_900..19_100).contains(&inside), "{inside}");
    }
}
