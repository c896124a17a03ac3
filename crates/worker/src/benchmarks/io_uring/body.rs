//! The work of the family.

use super::super::prelude::*;
use crate::kernel::event::io_uring::{
    self, Batch, FileAccess, RingSetup, TimeoutEnd, Transfer, wait_for_closed_rings,
};

/// How many rings are created before the kernel is given time to destroy them: with 16 of 256
/// entries less than a megabyte waits to be freed, and the wait of some 30 ms is shared by 16 ops.
pub(super) const BATCH_OF_RINGS: u64 = 16;

/// Batches as a body: an op is a whole batch.
struct BatchBody {
    batch: Batch,
    /// Whether a thread of the kernel must be awake.
    has_poller: bool,
    /// Whether ops were run since the buffer was checked.
    has_run: bool,
}

impl WorkBody for BatchBody {
    fn prepare(&mut self, _ops: u64) -> Result<(), Errno> {
        if self.has_poller { self.batch.run() } else { Ok(()) }
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        for op in 0..iterations * u64::from(unroll) {
            self.batch.run().map_err(|errno| OpError { op, errno })?;
            self.has_run = true;
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Errno> {
        if !std::mem::take(&mut self.has_run) {
            return Ok(());
        }
        self.batch.check_and_clear_buffer()
    }
}

/// Work whose ops are `ops` quoted ops each; the reason, if the kernel refuses the first one.
fn work(batch: Result<Batch, Errno>, setup: RingSetup, ops: u64) -> Result<Work, Errno> {
    let tried = batch.and_then(|mut batch| batch.run().map(|()| batch));
    let mut batch = match tried {
        Ok(batch) => batch,
        Err(error) => return or_lacking(error),
    };
    batch.check_and_clear_buffer()?;
    let has_poller = matches!(setup, RingSetup::Polled { .. });
    let body = BatchBody { batch, has_poller, has_run: false };
    let work = match has_poller {
        true => Work::from_prepared_body(Shape::WithLoop, body),
        false => Work::from_body(Shape::WithLoop, body),
    };
    Ok(work.with_op_count(ops))
}

/// A skipped row, if this kernel lacks or forbids something.
pub(super) fn or_lacking(error: Errno) -> Result<Work, Errno> {
    match error {
        Errno::EINVAL => Ok(Work::unavailable(
            "this kernel's io_uring does not have this operation or this way to be set up",
        )),
        Errno::ENOMEM => Ok(Work::unavailable(
            "a ring takes more memory than may be locked here: `ulimit -l` sets the limit",
        )),
        // Such as a folder in which no file can be created: it says so.
        Errno::UNAVAILABLE => or_unavailable(Err(error)),
        error if error.is_unavailable() => {
            Ok(Work::unavailable(format!("io_uring is refused here: {error}")))
        }
        error => Err(error),
    }
}

/// No-ops in batches.
pub(super) fn no_ops(params: Params<'_>) -> Result<Work, Errno> {
    let setup = match params.word("setup") {
        "sqpoll" => match params.context.other_cpu {
            Some(cpu) => RingSetup::Polled { cpu },
            None => {
                return Ok(Work::unavailable(
                    "the kernel's thread polls on another CPU, and this process has one",
                ));
            }
        },
        "defer-taskrun" => RingSetup::Deferred,
        _ => RingSetup::Plain,
    };
    let batch = params.number("batch");
    work(Batch::of_no_ops(batch as u32, setup), setup, batch)
}

/// Reads or writes in batches.
pub(super) fn transfers(
    params: Params<'_>,
    direction: Transfer,
    bytes: usize,
) -> Result<Work, Errno> {
    let access = match params.word("via") {
        "fixed-file" => FileAccess::FixedFile,
        "fixed-buffer" => FileAccess::FixedBuffer,
        _ => FileAccess::Descriptor,
    };
    let ops = params.number("batch");
    let batch = Batch::of_transfers(direction, access, bytes, ops as u32);
    let batch = batch.and_then(|mut batch| Ok((batch.completes_inline()?, batch)));
    match batch {
        Ok((true, batch)) => work(Ok(batch), RingSetup::Plain, ops),
        Ok((false, _)) => Ok(Work::unavailable(
            "this file cannot be accessed without blocking, so that the kernel hands each \
             operation to a worker thread: start oscost in a folder on ext4, xfs or btrfs",
        )),
        Err(error) => or_lacking(error),
    }
}

/// Polls in batches.
pub(super) fn polls(params: Params<'_>) -> Result<Work, Errno> {
    let batch = params.number("batch");
    work(Batch::of_polls(batch as u32), RingSetup::Plain, batch)
}

/// One timeout.
pub(super) fn timeout(params: Params<'_>) -> Result<Work, Errno> {
    let end = match params.word("end") {
        "over" => TimeoutEnd::Over,
        "counted" => TimeoutEnd::Counted,
        "linked" => TimeoutEnd::Linked,
        "linked-over" => TimeoutEnd::LinkedOver,
        _ => TimeoutEnd::Removed,
    };
    work(Batch::of_timeout(end), RingSetup::Plain, 1)
}

/// Two no-ops.
pub(super) fn linked(params: Params<'_>) -> Result<Work, Errno> {
    let is_linked = params.word("order") == "linked";
    work(Batch::of_two_no_ops(is_linked), RingSetup::Plain, 1)
}

/// Rings that are created and closed, at most `batch` before they are destroyed.
pub(super) fn rings(entries: u32, batch: u64) -> Result<Work, Errno> {
    // Before Linux 5.12 the memory of rings that are not destroyed yet counts as locked.
    let tried = (0..batch).try_for_each(|_| io_uring::set_up_and_close(entries));
    if let Err(error) = tried {
        return or_lacking(error);
    }
    let work = Work::with_loop(move || io_uring::set_up_and_close(entries));
    Ok(work.with_preparation(|_| wait_for_closed_rings()).with_max_batch_ops(batch))
}
