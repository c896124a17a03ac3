//! A small random number generator that is the same on every machine and in every version.
//!
//! SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). A seed in a record must always give the same
//! order, jitter and padding, so the algorithm is fixed here instead of taken from a crate.

/// A random number generator with a seed.
#[derive(Clone, Debug)]
pub struct Seed(u64);

impl Seed {
    /// A generator that starts with `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number in `[0, 1)` with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number in `0..below`; 0 if `below` is 0. The bias of the multiplication is under 2^-32 for
    /// ranges below 2^32.
    pub fn below(&mut self, below: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(below)) >> 64) as u64
    }

    /// Shuffles `items` (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }

    /// A seed for a child generator, so that each worker of a run has its own.
    pub fn child(&mut self) -> u64 {
        self.bits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_the_published_ones() {
        let mut seed = Seed::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| seed.bits()).collect();
        assert_eq!(
            first,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn all_orders_of_three_items_are_about_equally_frequent() {
        let mut seed = Seed::new(7);
        let mut frequencies = std::collections::BTreeMap::new();
        for _ in 0..6_000 {
            let mut items = [0, 1, 2];
            seed.shuffle(&mut items);
            *frequencies.entry(items).or_insert(0u32) += 1;
        }
        assert_eq!(frequencies.len(), 6);
        // 1000 expected, sd 29: five of them either side.
        assert!(frequencies.values().all(|&n| (855..1_145).contains(&n)), "{frequencies:?}");
    }
}
