//! Failures to undo.

use crate::kernel::Errno;

/// The error of a change that could not be undone.
pub(super) fn undo_failure(setting: &str, error: Errno, hint: &str) -> Errno {
    Errno::check_failed(format!("cannot restore {setting}: {error}; {hint}"))
}
