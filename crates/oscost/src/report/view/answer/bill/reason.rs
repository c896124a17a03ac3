//! A reason not to trust a bill without more.

use crate::advice::trust::Grade;

/// The reason, and the best grade that it leaves.
pub(super) struct Reason {
    pub(super) grade: Grade,
    pub(super) text: String,
}

impl Reason {
    pub(super) fn fair(text: String) -> Self {
        Self { grade: Grade::Fair, text }
    }

    pub(super) fn poor(text: String) -> Self {
        Self { grade: Grade::Poor, text }
    }
}
