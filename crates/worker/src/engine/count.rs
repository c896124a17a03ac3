//! The untimed copy of a case whose system calls are counted and which is single-stepped.

use oscost_model::mark::{BEGIN, BITS, END, SINGLE_STEP_BEGIN, SINGLE_STEP_END};

use crate::bench::{OpError, Work};
use crate::kernel::syscall::mark;

/// The ops of the two passes that are single-stepped: their difference excludes the marks.
const STEPPED_OPS: [u64; 2] = [1, 4];

/// Runs `warm_ops` ops, then `ops` between two marks that the tracer sees (in several such batches
/// if one cannot have as many), then some ops to single-step.
///
/// During the warm-up ops libraries initialise themselves. The counted number is a prime, so that a
/// call made every second or third op is noticed. Both are quoted ops: a body that counts as many
/// of them runs fewer times, but at least a minimum. A long pass over a file, which is prepared anew
/// each time (its file is evicted), runs fewer times.
pub fn run_counted(work: &mut Work, warm_ops: u64, ops: u64) -> Result<(), OpError> {
    let batches =
        |ops: u64, max: u64| (0..ops.div_ceil(max)).map(move |index| max.min(ops - index * max));
    /// The prime of the method (docs/explanation/METHOD.md, section 7).
    const MIN_BODIES: u64 = 23;
    /// Fewer bodies if each makes thousands of calls: a traced call takes microseconds.
    const MAX_OPS: u64 = 1 << 17;
    /// The same of passes that are prepared: 23 of them in reads of 64 KiB would read a file of 128
    /// MiB from its disk as many times.
    const MAX_PREPARED_OPS: u64 = 1 << 13;
    /// Of a pass over a file: 64 buffers of the C library in the smallest reads, and 4 of the pieces
    /// that a fault maps at once.
    const MAX_PASS_OPS: u64 = 1 << 15;
    /// More than are single-stepped: the pass is then incomplete, as a whole one would be.
    const MAX_STEPPED_PASS_OPS: u64 = 1 << 11;
    work.limit_op_count(warm_ops);
    for ops in batches(warm_ops.div_ceil(work.op_count()), work.max_batch_ops()) {
        work.prepare(ops)?;
        work.run(ops, 1)?;
        work.verify()?;
    }
    let is_pass = work.limit_op_count(MAX_PASS_OPS) && work.has_preparation();
    let ops_per_body = work.op_count();
    let max_ops = if is_pass { MAX_PREPARED_OPS } else { MAX_OPS };
    let min_bodies = MIN_BODIES.min((max_ops / ops_per_body).max(1));
    // Zero ops are counted as well, with their marks.
    let bodies = ops.div_ceil(ops_per_body).max(ops.min(min_bodies));
    for ops in batches(bodies, work.max_batch_ops()).chain((ops == 0).then_some(0)) {
        work.prepare(ops)?;
        mark(u64::from(BEGIN));
        let done = work.run(ops, 1);
        mark(u64::from(END) | (ops * ops_per_body) << BITS);
        done.and_then(|()| work.verify())?;
    }
    work.limit_op_count(MAX_STEPPED_PASS_OPS);
    for (begin_mark, ops) in (SINGLE_STEP_BEGIN..).zip(STEPPED_OPS) {
        // The counts are complete: an error here loses only the instruction count.
        let _ = run_stepped(work, begin_mark, ops);
    }
    Ok(())
}

/// Out of line, so that both passes execute the same instructions around their ops.
#[inline(never)]
fn run_stepped(work: &mut Work, begin_mark: u32, ops: u64) -> Result<(), OpError> {
    work.prepare(ops)?;
    mark(u64::from(begin_mark) | (ops * work.op_count()) << BITS);
    let done = work.run(ops, 1);
    mark(u64::from(SINGLE_STEP_END));
    done
}
