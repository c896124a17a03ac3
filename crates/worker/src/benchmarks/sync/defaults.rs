//! What the benchmarks of the family share.

use super::super::prelude::*;

/// What the benchmarks of this family are unless they say otherwise.
pub(super) const DEFAULTS: Bench = Bench { in_price_list: false, ..Bench::DEFAULT };

/// The work; or a skipped row that says what is refused or lacking.
pub(super) fn or_refused(work: Result<Work, Errno>) -> Result<Work, Errno> {
    match or_unavailable(work) {
        Err(error) if error.is_unavailable() => Ok(Work::unavailable(format!(
            "a call that prepares the op is refused or lacking here: {error}"
        ))),
        other => other,
    }
}
