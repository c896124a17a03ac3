//! Figures of other revisions of their benchmarks, as a report tells them.

use crate::fleet::OtherRevision;
use crate::report::text::{plain, plural};

/// What is left out of a case, and why.
pub(super) fn left_out(it: &OtherRevision) -> String {
    let OtherRevision { case, rev, newest, figures } = it;
    format!(
        "{}: {} of revision {rev} of the benchmark left out, which does other work than revision \
         {newest}",
        plain(case),
        plural(*figures as u64, "figure")
    )
}
