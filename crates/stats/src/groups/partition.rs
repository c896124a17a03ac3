//! The exact partition of values on a line: k-means with the number of groups chosen by BIC.

/// The maximum number of groups.
const MAX_GROUPS: usize = 6;

/// The minimum standard deviation of a group, as a logarithm to base 10: 5 %. Without it a group of
/// one value would fit infinitely well, and every value would become its own group.
const MIN_SD_LOG10: f64 = 0.02;

/// The start indices of all groups but the first, for the k from 1 to 6 that minimises
/// `BIC(k) = n ln(SS / n + s0^2) + 2 k ln n`.
pub(super) fn best_partition(sorted: &[f64]) -> Vec<usize> {
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
pub(super) fn partitions(sorted: &[f64], max_groups: usize) -> Vec<(f64, Vec<usize>)> {
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
