//! Times with their intervals.

use serde::{Deserialize, Serialize};

bill! {
    /// A time with its interval, in nanoseconds.
    pub struct Amount {
        /// The time.
        pub ns: f64,
        /// Its interval; null if a part of it has none.
        pub ci95: Option<[f64; 2]>,
    }
}

impl Amount {
    /// A time whose interval is not known.
    pub fn exact(ns: f64) -> Self {
        Self { ns, ci95: None }
    }

    /// So many of it.
    #[must_use]
    pub fn times(&self, factor: f64) -> Self {
        let ends = |[low, high]: [f64; 2]| {
            let (one, other) = (low * factor, high * factor);
            [one.min(other), one.max(other)]
        };
        Self { ns: self.ns * factor, ci95: self.ci95.map(ends) }
    }

    /// So many of it, where the ends of their number are known, too: the widest of all products of
    /// ends, whatever their signs.
    #[must_use]
    pub fn times_between(&self, factor: f64, ends: Option<[f64; 2]>) -> Self {
        let ci95 = self.ci95.zip(ends).map(|([low, high], [least, most])| {
            let products = [low * least, low * most, high * least, high * most];
            let low = products.into_iter().fold(f64::INFINITY, f64::min);
            let high = products.into_iter().fold(f64::NEG_INFINITY, f64::max);
            [low, high]
        });
        Self { ns: self.ns * factor, ci95 }
    }

    /// Both together: their intervals are added end by end, since prices of one run share errors.
    #[must_use]
    pub fn plus(&self, other: &Amount) -> Self {
        let both = self.ci95.zip(other.ci95);
        let ci95 = both.map(|(one, other)| [one[0] + other[0], one[1] + other[1]]);
        Self { ns: self.ns + other.ns, ci95 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_scaled_and_added_with_their_intervals() {
        let one = Amount { ns: 10.0, ci95: Some([9.0, 12.0]) };
        assert_eq!(one.times(2.0), Amount { ns: 20.0, ci95: Some([18.0, 24.0]) });
        assert_eq!(one.times(-1.0), Amount { ns: -10.0, ci95: Some([-12.0, -9.0]) });
        let other = Amount { ns: 1.0, ci95: Some([1.0, 2.0]) };
        assert_eq!(one.plus(&other), Amount { ns: 11.0, ci95: Some([10.0, 14.0]) });
        let most = one.times_between(2.0, Some([1.0, 3.0]));
        assert_eq!(most, Amount { ns: 20.0, ci95: Some([9.0, 36.0]) });
        let negative = one.times(-1.0).times_between(2.0, Some([1.0, 3.0]));
        assert_eq!(negative, Amount { ns: -20.0, ci95: Some([-36.0, -9.0]) });
        assert_eq!(one.times_between(2.0, None), Amount { ns: 20.0, ci95: None });
        assert_eq!(one.plus(&Amount::exact(1.0)), Amount { ns: 11.0, ci95: None });
    }
}
