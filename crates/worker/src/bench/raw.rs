//! Work made of raw system calls. Every raw call is the same instruction, so that one loop,
//! compiled once per unroll factor, serves them all. It is compiled once more with a function around
//! the instruction, as programs make their calls (treatment `call=function`).

use oscost_model::raw_call::RawCall;

use super::loops::{Repeat, repeat, timed_loop};
use super::work::Work;
use super::work_body::{Shape, WorkBody};
use crate::kernel::syscall::prepared::{Call, CallPair};
use crate::kernel::{Errno, OpError};

impl Work {
    /// A raw system call, repeated.
    #[inline(never)]
    pub fn raw(call: Call) -> Self {
        Self::from_body(Shape::Repeat, Raw { call, how: RawCall::Inline })
    }

    /// Two raw system calls, one after the other.
    #[inline(never)]
    pub fn raw_pair(pair: CallPair) -> Self {
        Self::from_body(Shape::WithLoop, RawPair { pair, how: RawCall::Inline })
    }

    /// A raw system call that has an inlined loop of its own around `op`; through a function it is
    /// made as `call`, which must be the same one.
    pub fn raw_by_own_loop(op: impl FnMut() -> Result<(), Errno> + 'static, call: Call) -> Self {
        let (op, call) = (Repeat::<_, false>(op), Raw { call, how: RawCall::Function });
        Self::from_body(Shape::Repeat, OwnLoop { op, call, how: RawCall::Inline })
    }

    /// An op on `state` that makes raw calls and nothing else of the kernel's, timed with its loop:
    /// with the instructions in the loop, and with a function around each.
    pub fn raw_loop<S: 'static>(
        state: S,
        inline: impl FnMut(&mut S) -> Result<(), Errno> + 'static,
        function: impl FnMut(&mut S) -> Result<(), Errno> + 'static,
    ) -> Self {
        let how = RawCall::Inline;
        Self::from_body(Shape::WithLoop, BothLoops { state, inline, function, how })
    }
}

struct Raw {
    call: Call,
    how: RawCall,
}

impl WorkBody for Raw {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        let call = self.call.ready();
        match self.how {
            RawCall::Inline => run_unrolled(move || call.make().map(drop), iterations, unroll),
            RawCall::Function => {
                run_unrolled(move || call.make_by::<true>().map(drop), iterations, unroll)
            }
        }
    }

    fn set_raw_call(&mut self, how: RawCall) -> bool {
        self.how = how;
        true
    }
}

struct RawPair {
    pair: CallPair,
    how: RawCall,
}

impl WorkBody for RawPair {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        let (pair, ops) = (self.pair.ready(), iterations * u64::from(unroll));
        match self.how {
            RawCall::Inline => run_by_value::<1, _>(move || pair.make(), ops),
            RawCall::Function => run_by_value::<1, _>(move || pair.make_by::<true>(), ops),
        }
    }

    fn set_raw_call(&mut self, how: RawCall) -> bool {
        self.how = how;
        true
    }
}

/// A raw call with a loop of its own while it is inlined.
struct OwnLoop<F> {
    op: Repeat<F, false>,
    call: Raw,
    how: RawCall,
}

impl<F: FnMut() -> Result<(), Errno>> WorkBody for OwnLoop<F> {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        match self.how {
            RawCall::Inline => self.op.run(iterations, unroll),
            RawCall::Function => self.call.run(iterations, unroll),
        }
    }

    fn set_raw_call(&mut self, how: RawCall) -> bool {
        self.how = how;
        true
    }
}

/// An op of several raw calls, or with arguments of its own, with a loop for each way.
struct BothLoops<S, I, F> {
    state: S,
    inline: I,
    function: F,
    how: RawCall,
}

impl<S, I, F> WorkBody for BothLoops<S, I, F>
where
    I: FnMut(&mut S) -> Result<(), Errno>,
    F: FnMut(&mut S) -> Result<(), Errno>,
{
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        let Self { state, inline, function, how } = self;
        let ops = iterations * u64::from(unroll);
        match how {
            RawCall::Inline => repeat::<1, false, _>(&mut || inline(state), ops),
            RawCall::Function => repeat::<1, false, _>(&mut || function(state), ops),
        }
    }

    fn set_raw_call(&mut self, how: RawCall) -> bool {
        self.how = how;
        true
    }
}

/// The op in the loop of this unroll factor.
fn run_unrolled<F>(op: F, iterations: u64, unroll: u32) -> Result<(), OpError>
where
    F: Fn() -> Result<(), Errno> + Copy,
{
    match unroll {
        1 => run_by_value::<1, _>(op, iterations),
        2 => run_by_value::<2, _>(op, iterations),
        4 => run_by_value::<4, _>(op, iterations),
        8 => run_by_value::<8, _>(op, iterations),
        _ => Err(OpError { op: 0, errno: Errno::EINVAL }),
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

    /// Fails unless the work makes exactly this many calls in each op, inlined and through a
    /// function.
    fn assert_call_counts(work: &mut Work, counter: &CallCounter, calls_per_op: u64) {
        for how in RawCall::ALL {
            assert!(work.set_raw_call(how));
            for (iterations, unroll) in [(0, 1), (1, 1), (23, 1), (23, 2), (23, 4), (23, 8)] {
                assert_eq!(work.run(iterations, unroll), Ok(()));
                assert_eq!(
                    counter.take_count(),
                    calls_per_op * iterations * u64::from(unroll),
                    "{iterations} iterations of {unroll}, {how:?}"
                );
            }
        }
    }

    #[test]
    fn every_unroll_factor_makes_exactly_its_raw_calls() {
        let counter = CallCounter::new().unwrap();
        let mut work = Work::raw(counter.add_one());
        assert_call_counts(&mut work, &counter, 1);
        assert!(work.run(1, 3).is_err());
    }

    #[test]
    fn a_pair_is_made_once_per_op() {
        let counter = CallCounter::new().unwrap();
        assert_call_counts(&mut Work::raw_pair(counter.add_two()), &counter, 2);
    }

    #[test]
    fn a_call_with_a_loop_of_its_own_is_made_as_often_through_a_function() {
        let counter = CallCounter::new().unwrap();
        let call = counter.add_one();
        let own_loop = move || call.ready().make().map(drop);
        let mut work = Work::raw_by_own_loop(own_loop, counter.add_one());
        assert_call_counts(&mut work, &counter, 1);
    }

    #[test]
    fn an_op_with_a_loop_for_each_way_makes_as_many_calls_in_both() {
        let counter = CallCounter::new().unwrap();
        let mut work = Work::raw_loop(
            counter.add_one(),
            |call| call.ready().make().map(drop),
            |call| call.ready().make_by::<true>().map(drop),
        );
        assert_call_counts(&mut work, &counter, 1);
    }

    #[test]
    fn the_first_call_that_fails_ends_the_batch_and_names_its_op() {
        for how in RawCall::ALL {
            let counter = CallCounter::new().unwrap();
            let mut work = Work::raw(counter.add_until_full(5));
            assert!(work.set_raw_call(how));
            assert_eq!(work.run(100, 1), Err(OpError { op: 5, errno: Errno(libc::EAGAIN) }));
            assert_eq!(counter.take_count(), 5);
        }
    }

    #[test]
    fn other_work_has_no_raw_calls_to_be_made_otherwise() {
        assert!(!Work::repeat(|| Ok(())).set_raw_call(RawCall::Function));
        assert!(!Work::transfer(|_| Ok(())).set_raw_call(RawCall::Inline));
        assert!(Work::repeat(|| Ok(())).without_calls().set_raw_call(RawCall::Function));
    }
}
