//! The heading of a study: which one it is, what it was measured on, and what is measured here.

use crate::report::text::plain;
use crate::studies::Study;

/// The lines of the heading; `targets` are what its columns are here, where it compares two.
pub(super) fn heading_lines(study: &Study, targets: Option<&str>) -> Vec<String> {
    let Study { id, year, title, source, protocol, .. } = study;
    let targets = targets.map(|targets| format!("{targets}; ")).unwrap_or_default();
    [
        format!(
            "Study {id}, published in {year}: {title}. {}. {source}.",
            study.authors.join(", ")
        ),
        format!("then: {}; {}", study.measured_on, protocol.original),
        format!("here: {targets}{}", protocol.replication),
    ]
    .map(|line| plain(&line))
    .to_vec()
}
