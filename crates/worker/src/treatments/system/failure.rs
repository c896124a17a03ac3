//! Failures to undo.

use crate::kernel::Errno;
use crate::kernel::because::unfit;

/// That something could not be undone.
pub(super) fn undo_failure(what: &str, error: Errno, way_out: &str) -> Errno {
    unfit(format!("cannot undo it: {what}: {error}; {way_out}"))
}
