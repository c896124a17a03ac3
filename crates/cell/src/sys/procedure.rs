//! A function to call, of which the compiler knows nothing.

use super::arch;
use super::opaque::keep;

/// Calls a function with `ARGS` integer arguments (0 to 7) that wait for nothing.
#[inline(always)]
pub fn call<const ARGS: usize>() {
    keep(arch::call::<ARGS, false>(0));
}

/// Calls it with the result of the last call as its first argument, and hands back its result: that
/// argument and one.
#[inline(always)]
#[must_use]
pub fn call_after<const ARGS: usize>(last: u64) -> u64 {
    arch::call::<ARGS, true>(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_callee_hands_back_its_first_argument_and_one() {
        assert_eq!(call_after::<1>(41), 42);
        assert_eq!(call_after::<7>(41), 42);
        assert_eq!(arch::call::<1, false>(99), 2);
        assert_eq!(arch::call::<7, false>(99), 2);
    }
}
