//! Failures to undo.

use crate::kernel::Errno;
use crate::kernel::because::unfit;

/// The error of a change that could not be undone.
pub(super) fn undo_failure(what: &str, error: Errno, hint: &str) -> Errno {
    unfit(format!("cannot restore {what}: {error}; {hint}"))
}
