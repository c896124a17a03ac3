//! Single instructions as the subject of a measurement: arithmetic in a chain, branches whose
//! directions are more or less predictable, and those that hold up the core.

pub use crate::kernel::arch::instructions::{
    HAS_CPUID, add_32, add_64, add_f32, add_f64, cpuid, divide_32, divide_64, divide_f32,
    divide_f64, fence, multiply_32, multiply_64, multiply_f32, multiply_f64, pause, root_f32,
    root_f64, xor_32, xor_64,
};

use crate::kernel::arch::instructions;
use crate::kernel::cpu::black_box::opaque;

/// In which order a branch is taken and not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directions {
    /// Never taken.
    Constant,
    /// Taken half of the time, in a pattern of sixteen branches.
    Alternating,
    /// Taken or not, as a generator of random numbers says.
    Random,
}

/// Conditional branches, of the same instructions whatever their directions are: each tests one bit
/// of the next number of a generator. Its fourth bit repeats after 16 branches, and changes after
/// eight: in a loop with eight of them each branch alternates, where the lowest bit would give each
/// one direction. Its highest is as good as random and does not repeat for 2^64 branches, so that
/// no predictor can learn it.
pub struct Branches {
    number: u64,
    mask: u64,
    not_taken: u64,
}

impl Branches {
    /// Branches in these directions.
    pub fn new(directions: Directions) -> Self {
        let mask = match directions {
            Directions::Constant => 0,
            Directions::Alternating => 1 << 3,
            Directions::Random => 1 << 63,
        };
        Self { number: 1, mask: opaque(mask), not_taken: 0 }
    }

    /// Executes one.
    #[inline(always)]
    pub fn execute(&mut self) {
        instructions::branch(&mut self.number, self.mask, &mut self.not_taken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operation_computes_what_its_name_says() {
        assert_eq!((add_32(41, 1), add_64(41, 1)), (42, 42));
        assert_eq!((xor_32(40, 2), xor_64(40, 2)), (42, 42));
        assert_eq!((multiply_32(6, 7), multiply_64(6, 7)), (42, 42));
        assert_eq!((divide_32(6, 257), divide_64(6, 257)), (42, 42));
        assert_eq!((add_f32(41.5, 0.5), add_f64(41.5, 0.5)), (42.0, 42.0));
        assert_eq!((multiply_f32(10.5, 4.0), multiply_f64(10.5, 4.0)), (42.0, 42.0));
        assert_eq!((divide_f32(2.0, 84.0), divide_f64(2.0, 84.0)), (42.0, 42.0));
        assert_eq!((root_f32(36.0, 7.0), root_f64(36.0, 7.0)), (42.0, 42.0));
    }

    #[test]
    fn branches_are_taken_never_in_a_pattern_or_at_random() {
        const BRANCHES: u64 = 10_000;
        let not_taken = |directions| {
            let mut branches = Branches::new(directions);
            (0..BRANCHES).for_each(|_| branches.execute());
            branches.not_taken
        };
        assert_eq!(not_taken(Directions::Constant), BRANCHES);
        assert_eq!(not_taken(Directions::Alternating), BRANCHES / 2);
        // In an unrolled loop each of eight branches goes the other way in the next turn.
        let mut branches = Branches::new(Directions::Alternating);
        let taken: Vec<bool> = (0..64)
            .map(|_| {
                let before = branches.not_taken;
                branches.execute();
                branches.not_taken == before
            })
            .collect();
        assert!((8..64).all(|at| taken[at] != taken[at - 8]), "{taken:?}");
        let at_random = not_taken(Directions::Random);
        assert!((4_700..5_300).contains(&at_random), "{at_random}");
        // Each differs from the one before about half the time, and not always.
        let mut branches = Branches::new(Directions::Random);
        let mut changes = 0;
        let mut last = 0;
        for _ in 0..BRANCHES {
            let before = branches.not_taken;
            branches.execute();
            let now = branches.not_taken - before;
            changes += u64::from(now != last);
            last = now;
        }
        assert!((4_700..5_300).contains(&changes), "{changes}");
    }

    #[test]
    fn instructions_that_hold_up_the_core_return() {
        pause();
        fence();
        cpuid();
    }
}
