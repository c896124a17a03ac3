//! Writes to protected pages that the handler of SIGSEGV makes writable.

use super::super::prelude::*;
use crate::kernel::memory::repaired_fault::RepairedPages;

/// Pages of a batch: 4 MiB, which stay in memory.
const PAGES: u64 = 1_024;

/// The pages; a batch writes some of them in order.
struct Repairs(RepairedPages);

/// The work: an op is a write to the next page.
pub(super) fn repairs() -> Result<Work, Errno> {
    let body = Repairs(RepairedPages::new(PAGES as usize)?);
    Ok(Work::from_prepared_body(Shape::WithLoop, body).with_max_batch_ops(PAGES))
}

impl WorkBody for Repairs {
    fn prepare(&mut self, _ops: u64) -> Result<(), Errno> {
        self.0.protect()
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        for op in 0..iterations * u64::from(unroll) {
            self.0.write_next().map_err(|errno| OpError { op, errno })?;
        }
        Ok(())
    }

    /// A page that could be written without the handler would be a fast figure.
    fn verify(&mut self) -> Result<(), Errno> {
        match self.0.counts() {
            (written, repaired) if written == repaired => Ok(()),
            (written, repaired) => Err(Errno::check_failed(format!(
                "{written} protected pages were written, and the handler made {repaired} writable"
            ))),
        }
    }
}
