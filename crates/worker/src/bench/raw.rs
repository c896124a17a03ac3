//! Work that is made of raw system calls. Every raw call is the same instruction, so that one loop,
//! compiled once for each number of copies, serves them all.

use super::work::loop_of;
use super::{AtOp, Run, Shape, Work};
use crate::kernel::Errno;
use crate::kernel::syscall::prepared::{Call, Pair};

impl Work {
    /// A raw system call that can be repeated at will.
    #[inline(never)]
    pub fn raw(call: Call) -> Self {
        Self::of(Shape::Repeat, Raw(call))
    }

    /// Two raw system calls, one after the other.
    #[inline(never)]
    pub fn raw_pair(pair: Pair) -> Self {
        Self::of(Shape::Looped, RawPair(pair))
    }
}

struct Raw(Call);

impl Run for Raw {
    fn run(&mut self, turns: u64, copies: u32) -> Result<(), AtOp> {
        let call = self.0.ready();
        let op = move || call.make().map(drop);
        match copies {
            1 => by_value::<1, _>(op, turns),
            2 => by_value::<2, _>(op, turns),
            4 => by_value::<4, _>(op, turns),
            8 => by_value::<8, _>(op, turns),
            _ => Err(AtOp { op: 0, why: Errno::EINVAL }),
        }
    }
}

struct RawPair(Pair);

impl Run for RawPair {
    fn run(&mut self, turns: u64, copies: u32) -> Result<(), AtOp> {
        let pair = self.0.ready();
        by_value::<1, _>(move || pair.make(), turns * u64::from(copies))
    }
}

/// The timed loop of an op that only holds plain values: it is handed over by value, so that they
/// stay in registers from op to op. Behind a reference they would be loaded anew after each call,
/// which may have written anywhere for all that the compiler knows.
#[inline(never)]
fn by_value<const COPIES: u64, F>(mut op: F, turns: u64) -> Result<(), AtOp>
where
    F: Fn() -> Result<(), Errno> + Copy,
{
    loop_of::<COPIES, false, F>(&mut op, turns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::syscall::prepared::Tally;

    #[test]
    fn a_raw_call_is_made_as_often_as_it_is_asked_for_with_any_number_of_copies() {
        let tally = Tally::new().unwrap();
        let mut work = Work::raw(tally.add_one());
        for (turns, copies) in [(0, 1), (1, 1), (23, 1), (23, 2), (23, 4), (23, 8)] {
            assert_eq!(work.run(turns, copies), Ok(()));
            assert_eq!(tally.take(), turns * u64::from(copies), "{turns} turns of {copies}");
        }
        assert!(work.run(1, 3).is_err());
    }

    #[test]
    fn a_pair_is_made_as_often_as_its_loop_turns() {
        let tally = Tally::new().unwrap();
        let mut work = Work::raw_pair(tally.add_two());
        for (turns, copies) in [(0, 1), (23, 1), (5, 8)] {
            assert_eq!(work.run(turns, copies), Ok(()));
            assert_eq!(tally.take(), 2 * turns * u64::from(copies), "{turns} turns of {copies}");
        }
    }

    #[test]
    fn the_first_call_that_fails_ends_the_batch_and_says_at_which_op() {
        let tally = Tally::new().unwrap();
        let mut work = Work::raw(tally.add_until(5));
        assert_eq!(work.run(100, 1), Err(AtOp { op: 5, why: Errno(libc::EAGAIN) }));
        assert_eq!(tally.take(), 5);
    }
}
