//! What the figures of an act over the years say: whether it became cheaper with the core, with the
//! memory, or with neither.

use crate::studies::figures::unit::UnitKind;

/// A cost is about the same as another if neither is more than this many times the other. Between
/// machines of one year the cycles of an act differ by as much.
pub const SAME_WITHIN: f64 = 2.0;

/// What an act's cost went along with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trend {
    /// About the same in cycles.
    WithCore,
    /// About the same in memory latencies.
    WithMemory,
    /// About the same in both.
    WithBoth,
    /// Fewer cycles than then, and not with the memory.
    FewerCycles,
    /// More cycles than then, and not with the memory.
    MoreCycles,
    /// Some studies' figures have less than half as many cycles as here, others more than twice.
    Disagreement,
    /// The frequency of a core or a figure is not known.
    Unknown,
}

/// Ratios of costs then to costs here, one for each study's figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratios {
    /// The number of figures.
    pub count: usize,
    /// The smallest.
    pub min: f64,
    /// The median.
    pub median: f64,
    /// The largest.
    pub max: f64,
    /// That of the oldest.
    pub oldest: f64,
}

/// What the figures of an act say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lesson {
    /// In time.
    pub in_time: Option<Ratios>,
    /// In cycles of each core.
    pub in_cycles: Option<Ratios>,
    /// In latencies of each memory.
    pub in_loads: Option<Ratios>,
    /// What the cost went along with.
    pub trend: Trend,
}

/// A figure then and here, from the oldest on: each a cost, of which less is better.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pair {
    /// In nanoseconds, or per byte.
    pub in_time: Option<[f64; 2]>,
    /// In cycles.
    pub in_cycles: Option<[f64; 2]>,
    /// In memory latencies.
    pub in_loads: Option<[f64; 2]>,
}

impl Ratios {
    /// The ratios of these pairs, then over here; the oldest is first.
    fn of(pairs: impl Iterator<Item = [f64; 2]>) -> Option<Self> {
        let ratios: Vec<f64> = pairs
            .map(|[then, here]| then / here)
            .filter(|ratio| ratio.is_finite() && *ratio > 0.0)
            .collect();
        let mut sorted = ratios.clone();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        let (low, high) = (sorted.get((count.max(1) - 1) / 2)?, sorted.get(count / 2)?);
        Some(Self {
            count,
            min: *sorted.first()?,
            // The middle of two ratios is that of their logarithms.
            median: (low * high).sqrt(),
            max: *sorted.last()?,
            oldest: *ratios.first()?,
        })
    }

    /// Whether figures lie outside on both sides, so that no median stands for them.
    fn is_on_both_sides(self) -> bool {
        self.min < 1.0 / SAME_WITHIN && self.max > SAME_WITHIN
    }

    fn is_about_one(self) -> bool {
        (1.0 / SAME_WITHIN..=SAME_WITHIN).contains(&self.median)
    }
}

impl Lesson {
    /// What these pairs say.
    pub fn of(pairs: &[Pair]) -> Self {
        let in_time = Ratios::of(pairs.iter().filter_map(|it| it.in_time));
        let in_cycles = Ratios::of(pairs.iter().filter_map(|it| it.in_cycles));
        let in_loads = Ratios::of(pairs.iter().filter_map(|it| it.in_loads));
        let with_memory = in_loads.is_some_and(Ratios::is_about_one);
        let trend = match in_cycles {
            None if with_memory => Trend::WithMemory,
            None => Trend::Unknown,
            Some(it) if it.is_on_both_sides() => Trend::Disagreement,
            Some(it) if it.is_about_one() && with_memory => Trend::WithBoth,
            Some(it) if it.is_about_one() => Trend::WithCore,
            Some(_) if with_memory => Trend::WithMemory,
            Some(it) if it.median > 1.0 => Trend::FewerCycles,
            Some(_) => Trend::MoreCycles,
        };
        Self { in_time, in_cycles, in_loads, trend }
    }
}

/// A figure as a cost: that of a rate is its inverse.
pub(in crate::studies) fn cost(kind: UnitKind, figure: f64) -> f64 {
    match kind {
        UnitKind::Rate => 1.0 / figure,
        _ => figure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(in_cycles: &[[f64; 2]], in_loads: &[[f64; 2]]) -> Vec<Pair> {
        let count = in_cycles.len().max(in_loads.len());
        let at = |list: &[[f64; 2]], at: usize| list.get(at).copied();
        let pair = |nth| Pair {
            in_time: Some([10.0, 1.0]),
            in_cycles: at(in_cycles, nth),
            in_loads: at(in_loads, nth),
        };
        (0..count).map(pair).collect()
    }

    fn trend(in_cycles: &[[f64; 2]], in_loads: &[[f64; 2]]) -> Trend {
        Lesson::of(&pairs(in_cycles, in_loads)).trend
    }

    #[test]
    fn the_trend_is_that_of_the_median_within_a_factor_of_two() {
        assert_eq!(trend(&[[100.0, 51.0]], &[]), Trend::WithCore);
        assert_eq!(trend(&[[100.0, 49.0]], &[]), Trend::FewerCycles);
        assert_eq!(trend(&[[100.0, 199.0]], &[]), Trend::WithCore);
        assert_eq!(trend(&[[100.0, 201.0]], &[]), Trend::MoreCycles);
        // One study that is far off does not decide.
        assert_eq!(trend(&[[900.0, 100.0], [110.0, 100.0], [90.0, 100.0]], &[]), Trend::WithCore);
        assert_eq!(trend(&[], &[[3.0, 2.0]]), Trend::WithMemory);
        assert_eq!(trend(&[[100.0, 400.0]], &[[3.0, 2.0]]), Trend::WithMemory);
        assert_eq!(trend(&[[100.0, 90.0]], &[[3.0, 2.0]]), Trend::WithBoth);
        assert_eq!(trend(&[[100.0, 90.0]], &[[30.0, 2.0]]), Trend::WithCore);
        assert_eq!(trend(&[], &[]), Trend::Unknown);
        assert_eq!(trend(&[[900.0, 100.0], [10.0, 100.0]], &[]), Trend::Disagreement);
        assert_eq!(trend(&[[900.0, 100.0], [51.0, 100.0]], &[]), Trend::FewerCycles);
    }

    #[test]
    fn ratios_are_then_over_here_and_the_oldest_is_the_first() {
        let all = Lesson::of(&pairs(&[[8.0, 1.0], [2.0, 1.0]], &[]));
        let in_cycles = all.in_cycles.unwrap();
        assert_eq!((in_cycles.count, in_cycles.min, in_cycles.max), (2, 2.0, 8.0));
        assert_eq!((in_cycles.oldest, in_cycles.median), (8.0, 4.0));
        assert_eq!(all.in_time.unwrap().oldest, 10.0);
        assert_eq!(Ratios::of([[1.0, 0.0], [0.0, 1.0]].into_iter()), None);
        assert_eq!([cost(UnitKind::Rate, 4.0), cost(UnitKind::Time, 4.0)], [0.25, 4.0]);
    }
}
