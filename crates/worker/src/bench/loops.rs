//! Bodies that are closures, and the timed loop around them.

use super::work_body::WorkBody;
use crate::kernel::cpu::black_box::{barrier, opaque, store_and_reload};
use crate::kernel::{Errno, OpError};

/// An op that can be repeated.
pub(super) struct Repeat<F, const UNOPTIMIZED: bool>(pub(super) F);

impl<F: FnMut() -> Result<(), Errno>, const UNOPTIMIZED: bool> WorkBody for Repeat<F, UNOPTIMIZED> {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        match unroll {
            1 => repeat::<1, UNOPTIMIZED, F>(&mut self.0, iterations),
            2 => repeat::<2, UNOPTIMIZED, F>(&mut self.0, iterations),
            4 => repeat::<4, UNOPTIMIZED, F>(&mut self.0, iterations),
            8 => repeat::<8, UNOPTIMIZED, F>(&mut self.0, iterations),
            _ => Err(OpError { op: 0, errno: Errno::EINVAL }),
        }
    }
}

/// The timed loop, compiled around an op.
#[inline(never)]
pub(super) fn repeat<
    const UNROLL: u64,
    const UNOPTIMIZED: bool,
    F: FnMut() -> Result<(), Errno>,
>(
    op: &mut F,
    iterations: u64,
) -> Result<(), OpError> {
    timed_loop::<UNROLL, UNOPTIMIZED, F>(op, iterations)
}

/// The timed loop. Its counter passes through [`opaque`], so that the compiler can neither compute
/// the number of iterations in advance nor unroll the loop: every unroll factor pays for the same
/// loop, and the slope over the unroll factors is the op alone. With `UNOPTIMIZED` the counter goes
/// through memory in each iteration.
#[inline(always)]
pub(super) fn timed_loop<
    const UNROLL: u64,
    const UNOPTIMIZED: bool,
    F: FnMut() -> Result<(), Errno>,
>(
    op: &mut F,
    iterations: u64,
) -> Result<(), OpError> {
    let counter = |left| if UNOPTIMIZED { store_and_reload(left) } else { opaque(left) };
    let mut left = counter(iterations);
    while left != 0 {
        if let Err(errno) = unrolled_ops::<UNROLL, F>(op) {
            return Err(OpError { op: (iterations - left) * UNROLL, errno });
        }
        left = counter(left - 1);
    }
    Ok(())
}

/// `UNROLL` ops, written out: the conditions are compile-time constants.
#[inline(always)]
fn unrolled_ops<const UNROLL: u64, F: FnMut() -> Result<(), Errno>>(
    op: &mut F,
) -> Result<(), Errno> {
    let mut once = || {
        let done = op();
        barrier();
        done
    };
    once()?;
    if UNROLL >= 2 {
        once()?;
    }
    if UNROLL >= 4 {
        once()?;
        once()?;
    }
    if UNROLL >= 8 {
        once()?;
        once()?;
        once()?;
        once()?;
    }
    Ok(())
}

/// An op that is timed with its loop.
pub(super) struct WithLoop<F>(pub(super) F);

impl<F: FnMut() -> Result<(), Errno>> WorkBody for WithLoop<F> {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        repeat::<1, false, F>(&mut self.0, iterations * u64::from(unroll))
    }
}

/// A transfer of a number of bytes.
pub(super) struct Transfer<F>(pub(super) F);

impl<F: FnMut(u64) -> Result<(), Errno>> WorkBody for Transfer<F> {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        (self.0)(iterations * u64::from(unroll)).map_err(|errno| OpError { op: 0, errno })
    }
}

/// An op that computes its own figure.
pub(super) struct OwnValue<F> {
    pub(super) op: F,
    pub(super) last: i64,
}

impl<F: FnMut() -> Result<i64, Errno>> WorkBody for OwnValue<F> {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        for op in 0..iterations * u64::from(unroll) {
            self.last = (self.op)().map_err(|errno| OpError { op, errno })?;
        }
        Ok(())
    }

    fn last_value(&self) -> i64 {
        self.last
    }
}
