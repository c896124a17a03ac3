//! The untimed copy of a case whose system calls are counted and which is single-stepped.

use oscost_model::mark::{BEGIN, BITS, END, SINGLE_STEP_BEGIN, SINGLE_STEP_END};

use crate::bench::{OpError, Work};
use crate::kernel::syscall::mark;

/// The ops of the two passes that are single-stepped: their difference excludes the marks.
const STEPPED_OPS: [u64; 2] = [1, 4];

/// Runs `warm_ops` ops, then `ops` between two marks that the tracer sees (in several such batches if
/// one cannot have as many), then some ops to single-step.
///
/// During the warm-up ops libraries initialise themselves. The counted number is a prime, so that a
/// call made every second or third op is noticed. Both are quoted ops: a body that counts as many of
/// them runs fewer times, but at least a minimum.
pub fn run_counted(work: &mut Work, warm_ops: u64, ops: u64) -> Result<(), OpError> {
    let pieces = |ops: u64, most: u64| {
        (0..ops.div_ceil(most)).map(move |piece| most.min(ops - piece * most))
    };
    /// The prime of the method (docs/explanation/METHOD.md, section 7).
    const FEWEST_BODIES: u64 = 23;
    /// Fewer bodies if each makes thousands of calls: a traced call takes microseconds.
    const MOST_OPS: u64 = 1 << 17;
    let each = work.op_count();
    for ops in pieces(warm_ops.div_ceil(each), work.max_batch_ops()) {
        work.prepare(ops)?;
        work.run(ops, 1)?;
        work.verify()?;
    }
    // Zero ops are counted, too, with their marks.
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
        // The counts are complete: an error here loses only the instruction count.
        let _ = run_stepped(work, mark_of, ops);
    }
    Ok(())
}

/// Out of line, so that both passes execute the same instructions around their ops.
#[inline(never)]
fn run_stepped(work: &mut Work, mark_of: u32, ops: u64) -> Result<(), OpError> {
    work.prepare(ops)?;
    mark(u64::from(mark_of) | (ops * work.op_count()) << BITS);
    let done = work.run(ops, 1);
    mark(u64::from(SINGLE_STEP_END));
    done
}
