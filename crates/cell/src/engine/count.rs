//! The untimed copy of a case whose calls are counted.

use crate::bench::{AtOp, Work};
use crate::sys::syscall::mark;

/// The mark before the counted ops.
pub const BEGIN: u64 = 1;
/// The mark after them.
pub const END: u64 = 2;

/// Runs `warm_ops` ops, then `ops` between two marks that a tracer sees.
///
/// The warm ops are those in which libraries set themselves up; the counted number is a prime, so
/// that a call made every second or third op cannot hide in it.
pub fn counted(work: &mut Work, warm_ops: u64, ops: u64) -> Result<(), AtOp> {
    work.prepare(warm_ops)?;
    work.run(warm_ops, 1)?;
    work.prepare(ops)?;
    mark(BEGIN);
    let done = work.run(ops, 1);
    mark(END);
    done
}
