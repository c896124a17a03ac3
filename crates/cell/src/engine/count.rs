//! The untimed copy of a case whose calls are counted, and whose steps are looked at.

use crate::bench::{AtOp, Work};
use crate::sys::syscall::mark;

/// The mark before the counted ops.
pub const BEGIN: u64 = 1;
/// The mark after them.
pub const END: u64 = 2;
/// The mark before the first of two walks: ops that a tracer may step through, one instruction at a
/// time. The second walk's mark is the next number.
pub const WALK: u64 = 3;
/// The mark after a walk.
pub const WALKED: u64 = 9;

/// The ops of either walk: what the longer one takes more is the ops' own, without the marks.
pub const WALKED_OPS: [u64; 2] = [1, 4];

/// Runs `warm_ops` ops, then `ops` between two marks that a tracer sees, then some to step through.
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
    done?;
    for (mark_of, ops) in (WALK..).zip(WALKED_OPS) {
        // The counts stand: what goes wrong in a walk costs its evidence, and not the count.
        let _ = walk(work, mark_of, ops);
    }
    Ok(())
}

/// Out of line, so that both walks run the same instructions around their ops.
#[inline(never)]
fn walk(work: &mut Work, mark_of: u64, ops: u64) -> Result<(), AtOp> {
    work.prepare(ops)?;
    mark(mark_of);
    let done = work.run(ops, 1);
    mark(WALKED);
    done
}
