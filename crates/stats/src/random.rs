//! Random numbers for resampling and simulation, from a generator that the caller has seeded.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

/// A uniform random number above 0, at most 1, of 53 bits.
pub fn uniform(random: &mut Xoshiro256PlusPlus) -> f64 {
    ((random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
}

/// A standard normal random number (Box and Muller 1958).
pub fn standard_normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    let (radius, angle) = (uniform(random), uniform(random));
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

/// A random number of Student's distribution with so many degrees of freedom.
pub fn student(random: &mut Xoshiro256PlusPlus, degrees_of_freedom: u32) -> f64 {
    let numerator = standard_normal(random);
    let squares: f64 = (0..degrees_of_freedom).map(|_| standard_normal(random).powi(2)).sum();
    numerator / (squares / f64::from(degrees_of_freedom)).sqrt()
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::rand_core::SeedableRng;

    use super::*;

    #[test]
    fn shares_beyond_a_quantile_are_those_of_the_tables() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        let mut beyond = [0; 3];
        for _ in 0..40_000 {
            beyond[0] += u32::from(uniform(&mut random) > 0.95);
            beyond[1] += u32::from(standard_normal(&mut random) > 1.644_854);
            beyond[2] += u32::from(student(&mut random, 3) > 2.353_363);
        }
        // 2000 of each are expected, with a standard deviation of 44.
        assert!(beyond.iter().all(|&count| (1_825..=2_175).contains(&count)), "{beyond:?}");
    }
}
