//! Why treatments could not be applied.

use crate::kernel::Errno;

/// Why treatments could not be applied, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// This machine does not offer it, or not to this user; the words tell the way out.
    Unavailable(String),
    /// It went wrong, or makes no sense.
    Failed(String),
}

/// An error of the kernel's: what it says of the machine is no fault.
pub(super) fn refusal(error: Errno, act: &str, way_out: &str) -> Refusal {
    let words = format!("cannot {act}: {error}; {way_out}");
    // EINVAL is what kernels say that do not know a feature.
    match error.is_lacking() || error == Errno::EINVAL {
        true => Refusal::Unavailable(words),
        false => Refusal::Failed(words),
    }
}
