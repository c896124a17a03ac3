//! Work made of raw system calls. Every raw call is the same instruction, so that one loop,
//! compiled once per unroll factor, serves them all.

use super::loops::timed_loop;
use super::work::Work;
use super::work_body::{Shape, WorkBody};
use crate::kernel::syscall::prepared::{Call, CallPair};
use crate::kernel::{Errno, OpError};

impl Work {
    /// A raw system call, repeated.
    #[inline(never)]
    pub fn raw(call: Call) -> Self {
        Self::from_body(Shape::Repeat, Raw(call))
    }

    /// Two raw system calls, one after the other.
    #[inline(never)]
    pub fn raw_pair(pair: CallPair) -> Self {
        Self::from_body(Shape::WithLoop, RawPair(pair))
    }
}

struct Raw(Call);

impl WorkBody for Raw {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        let call = self.0.ready();
        let op = move || call.make().map(drop);
        match unroll {
            1 => run_by_value::<1, _>(op, iterations),
            2 => run_by_value::<2, _>(op, iterations),
            4 => run_by_value::<4, _>(op, iterations),
            8 => run_by_value::<8, _>(op, iterations),
            _ => Err(OpError { op: 0, errno: Errno::EINVAL }),
        }
    }
}

struct RawPair(CallPair);

impl WorkBody for RawPair {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        let pair = self.0.ready();
        run_by_value::<1, _>(move || pair.make(), iterations * u64::from(unroll))
    }
}

/// The timed loop of an op that only holds plain values: it is passed by value, so that they stay
/// in registers from op to op. Behind a reference they would be reloaded after each call, since the
/// compiler must assume that a call may write anywhere.
#[inline(never)]
fn run_by_value<const UNROLL: u64, F>(mut op: F, iterations: u64) -> Result<(), OpError>
where
    F: Fn() -> Result<(), Errno> + Copy,
{
    timed_loop::<UNROLL, false, F>(&mut op, iterations)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::syscall::prepared::CallCounter;

    #[test]
    fn every_unroll_factor_makes_exactly_its_raw_calls() {
        let counter = CallCounter::new().unwrap();
        let mut work = Work::raw(counter.add_one());
        for (iterations, unroll) in [(0, 1), (1, 1), (23, 1), (23, 2), (23, 4), (23, 8)] {
            assert_eq!(work.run(iterations, unroll), Ok(()));
            assert_eq!(
                counter.take_count(),
                iterations * u64::from(unroll),
                "{iterations} iterations of {unroll}"
            );
        }
        assert!(work.run(1, 3).is_err());
    }

    #[test]
    fn a_pair_is_made_once_per_op() {
        let counter = CallCounter::new().unwrap();
        let mut work = Work::raw_pair(counter.add_two());
        for (iterations, unroll) in [(0, 1), (23, 1), (5, 8)] {
            assert_eq!(work.run(iterations, unroll), Ok(()));
            assert_eq!(
                counter.take_count(),
                2 * iterations * u64::from(unroll),
                "{iterations} iterations of {unroll}"
            );
        }
    }

    #[test]
    fn the_first_call_that_fails_ends_the_batch_and_names_its_op() {
        let counter = CallCounter::new().unwrap();
        let mut work = Work::raw(counter.add_until_full(5));
        assert_eq!(work.run(100, 1), Err(OpError { op: 5, errno: Errno(libc::EAGAIN) }));
        assert_eq!(counter.take_count(), 5);
    }
}
