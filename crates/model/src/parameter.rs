//! Parameters of commands that have a random value in each round.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A parameter of commands: `{name}` in their words stands for its value, a whole number that is
/// drawn for each round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SampledParameter {
    /// Its name.
    pub name: String,
    /// Its smallest value.
    pub low: i64,
    /// Its largest value.
    pub high: i64,
}

/// The values of parameters, by name.
pub type ParameterValues = BTreeMap<String, i64>;

impl SampledParameter {
    /// The middle of its range, rounded down.
    pub fn middle(&self) -> i64 {
        (i128::from(self.low) + i128::from(self.high)).div_euclid(2) as i64
    }

    /// The value for these random bits. The bias of the multiplication is under 2^-32 for ranges
    /// below 2^32.
    pub fn value(&self, bits: u64) -> i64 {
        let (low, high) = (i128::from(self.low), i128::from(self.high));
        let count = (high - low + 1).max(1) as u128;
        let above_low = (u128::from(bits) * count) >> 64;
        (low + above_low as i128) as i64
    }
}

/// Replaces each `{name}` that has a replacement, once; all other braces are kept.
pub fn replace_placeholders(text: &str, replacement: impl Fn(&str) -> Option<String>) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after_brace)) = rest.split_once('{') {
        filled.push_str(before);
        let name = after_brace.split_once('}');
        match name.and_then(|(name, after)| Some((replacement(name)?, after))) {
            Some((replacement, after)) => {
                filled.push_str(&replacement);
                rest = after;
            }
            None => {
                filled.push('{');
                rest = after_brace;
            }
        }
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;

    fn range(low: i64, high: i64) -> SampledParameter {
        SampledParameter { name: "n".into(), low, high }
    }

    #[test]
    fn every_value_of_a_range_is_drawn_about_equally_often_and_no_other() {
        let parameter = range(-1, 2);
        let mut seed = Seed::new(3);
        let mut times = BTreeMap::new();
        for _ in 0..4_000 {
            *times.entry(parameter.value(seed.bits())).or_insert(0u32) += 1;
        }
        assert_eq!(times.keys().copied().collect::<Vec<_>>(), [-1, 0, 1, 2]);
        // 1000 expected, sd 27: five of them either side.
        assert!(times.values().all(|&n| (865..1_135).contains(&n)), "{times:?}");
    }

    #[test]
    fn the_ends_of_a_range_belong_to_it_and_its_middle_is_rounded_down() {
        for (low, high, middle) in
            [(7, 7, 7), (1, 1_000, 500), (-5, 2, -2), (i64::MIN, i64::MAX, -1)]
        {
            let parameter = range(low, high);
            assert_eq!([0, u64::MAX].map(|bits| parameter.value(bits)), [low, high]);
            assert_eq!(parameter.middle(), middle, "{low}..{high}");
        }
    }
}
