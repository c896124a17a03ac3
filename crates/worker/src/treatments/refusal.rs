//! Why treatments could not be applied.

use crate::kernel::Errno;

/// Why treatments could not be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// This machine does not support it, or not for this user; the text says what to do.
    Unavailable(String),
    /// It failed, or the treatments contradict each other.
    Failed(String),
}

/// An error of the kernel as a refusal. An error that only says that the machine lacks something is
/// not a failure.
pub(super) fn refusal(error: Errno, act: &str, hint: &str) -> Refusal {
    let words = format!("cannot {act}: {error}; {hint}");
    // Kernels that do not know a feature answer EINVAL.
    match error.is_unavailable() || error == Errno::EINVAL {
        true => Refusal::Unavailable(words),
        false => Refusal::Failed(words),
    }
}
