//! The search for the lowest free descriptor.

use super::super::prelude::*;
use crate::kernel::event::descriptor_set::{DescriptorKind, explain_error};
use crate::kernel::event::descriptor_table::{
    AcceptSource, FullTable, GapPosition, OpeningCall, close,
};
use crate::kernel::process::limits;

/// Ops of a batch whose descriptors are accepted: each needs two pending connections.
const MAX_ACCEPT_OPS: u64 = 64;

/// The work at a point: an op allocates both free numbers and frees them.
pub(super) fn lowest_descriptor_work(params: Params<'_>) -> Result<Work, Errno> {
    let fds = params.number("fds");
    if limits::raise_descriptor_limit_to(fds + 64)? < fds + 64 {
        return Err(explain_error(Errno::EMFILE, fds, DescriptorKind::Eventfd));
    }
    let gap = match params.word("hole") {
        "low" => GapPosition::Low,
        "middle" => GapPosition::Middle,
        _ => GapPosition::High,
    };
    let opening = match params.word("call") {
        "open" => OpeningCall::Open,
        "dup" => OpeningCall::Dup(std::fs::File::open("/dev/null")?.into()),
        "socket" => OpeningCall::Socket,
        _ => OpeningCall::Accept(AcceptSource::new()?),
    };
    let Some(table) = FullTable::fill(fds, gap)? else {
        return Ok(Work::unavailable(
            "the worker itself has more descriptors open: select larger fds",
        ));
    };
    let accepts = matches!(opening, OpeningCall::Accept(_));
    let work = Work::from_prepared_body(Shape::WithLoop, Body { opening, table });
    Ok(if accepts { work.with_max_batch_ops(MAX_ACCEPT_OPS) } else { work })
}

struct Body {
    opening: OpeningCall,
    table: FullTable,
}

impl Body {
    #[inline(always)]
    fn op(&self) -> Result<(), Errno> {
        let lower = self.opening.open()?;
        let higher = self.opening.open();
        let is_expected = higher.is_ok_and(|higher| [lower, higher] == self.table.free());
        // The higher one first: the search of the next op starts at the lowest number closed.
        higher.and_then(close)?;
        close(lower)?;
        if is_expected { Ok(()) } else { Err(Errno::EPROTO) }
    }
}

impl WorkBody for Body {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        for op in 0..iterations * u64::from(unroll) {
            self.op().map_err(|errno| OpError { op, errno })?;
        }
        Ok(())
    }

    fn prepare(&mut self, ops: u64) -> Result<(), Errno> {
        self.opening.prepare(2 * ops)?;
        self.table.refresh_free()
    }
}
