//! The untimed copy of a case whose calls are counted, and whose steps are looked at.

use oscost_model::mark::{BEGIN, BITS, END, SINGLE_STEP_BEGIN, SINGLE_STEP_END};

use crate::bench::{OpError, Work};
use crate::kernel::syscall::mark;

/// The ops of either walk: what the longer one takes more is the ops' own, without the marks.
const STEPPED_OPS: [u64; 2] = [1, 4];

/// Runs `warm_ops` ops, then `ops` between two marks that a tracer sees (between two more, and so
/// on, where a batch cannot have as many), then some to step through.
///
/// The warm ops are those in which libraries set themselves up; the counted number is a prime, so
/// that a call made every second or third op cannot hide in it. Both are ops whose cost is quoted:
/// of a body that is worth many of them it takes fewer, but of those as many as suffice by
/// themselves.
pub fn run_counted(work: &mut Work, warm_ops: u64, ops: u64) -> Result<(), OpError> {
    let pieces = |ops: u64, most: u64| {
        (0..ops.div_ceil(most)).map(move |piece| most.min(ops - piece * most))
    };
    /// The prime of the method (docs/explanation/METHOD.md, section 7).
    const FEWEST_BODIES: u64 = 23;
    /// Of bodies that are worth thousands of calls fewer do: a traced call takes microseconds.
    const MOST_OPS: u64 = 1 << 17;
    let each = work.op_count();
    for ops in pieces(warm_ops.div_ceil(each), work.max_batch_ops()) {
        work.prepare(ops)?;
        work.run(ops, 1)?;
        work.verify()?;
    }
    // No op at all is counted, too: its marks are.
    let enough = FEWEST_BODIES.min((MOST_OPS / each).max(1));
    let bodies = ops.div_ceil(each).max(ops.min(enough));
    for ops in pieces(bodies, work.max_batch_ops()).chain((ops == 0).then_some(0)) {
        work.prepare(ops)?;
        mark(u64::from(BEGIN));
        let done = work.run(ops, 1);
        mark(u64::from(END) | (ops * each) << BITS);
        done.and_then(|()| work.verify())?;
    }
    for (mark_of, ops) in (SINGLE_STEP_BEGIN..).zip(STEPPED_OPS) {
        // The counts stand: what goes wrong in a walk costs its evidence, and not the count.
        let _ = run_stepped(work, mark_of, ops);
    }
    Ok(())
}

/// Out of line, so that both walks run the same instructions around their ops.
#[inline(never)]
fn run_stepped(work: &mut Work, mark_of: u32, ops: u64) -> Result<(), OpError> {
    work.prepare(ops)?;
    mark(u64::from(mark_of) | (ops * work.op_count()) << BITS);
    let done = work.run(ops, 1);
    mark(u64::from(SINGLE_STEP_END));
    done
}
