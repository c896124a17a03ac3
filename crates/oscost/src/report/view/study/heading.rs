//! The heading of a study: which one it is, what it was measured on, and what is measured here.

use crate::report::text::plain_paragraph;
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
    // Composed of several texts of the study, each of which is bounded.
    .map(|line| plain_paragraph(&line))
    .to_vec()
}

#[cfg(test)]
mod tests {
    use super::heading_lines;
    use crate::studies::{built_in_names, find_built_in};

    #[test]
    fn the_heading_of_every_study_is_whole() {
        for name in built_in_names() {
            for line in heading_lines(&find_built_in(name).unwrap(), None) {
                assert!(!line.ends_with("..."), "{name}: {line}");
            }
        }
    }
}
