//! Random numbers of iterations and random starts.

use oscost_model::seed::Seed;
use oscost_model::worker::BatchPlan;

use crate::kernel::cpu::black_box::barrier;

/// The maximum number of iterations of a batch, as a multiple of those of the plan.
pub const MAX_JITTER: f64 = 1.1;

/// The jitter of batches: a random number of iterations around that of the plan, and a random
/// start.
///
/// A constant number of ops can alias with the clock's quantum or with the timer interrupt; then
/// every batch has the same error.
pub struct BatchJitter {
    seed: Seed,
}

impl BatchJitter {
    /// Jitter from `seed`: two arms with the same seed get the same numbers of iterations.
    pub fn new(seed: u64) -> Self {
        Self { seed: Seed::new(seed) }
    }

    /// The number of iterations of the next group, within 10 % of the plan's, and the order of its
    /// batches. Single shots stay single.
    pub(super) fn next(&mut self, plan: &BatchPlan, order: &mut [u32]) -> u64 {
        self.seed.shuffle(order);
        let factor = 0.9 + (MAX_JITTER - 0.9) * self.seed.unit();
        if plan.mode.is_single_shot() {
            return plan.iterations;
        }
        ((plan.iterations as f64 * factor).round() as u64).max(1)
    }

    /// Delays by up to some 20 ns, so that the next START falls anywhere in the clock's quantum.
    pub(super) fn dither(&mut self) {
        for _ in 0..self.seed.below(64) {
            barrier();
        }
    }
}
