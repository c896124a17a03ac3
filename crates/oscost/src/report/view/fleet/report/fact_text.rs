//! Facts that set nodes apart, in words.

use crate::fleet::FactCandidate;
use crate::report::text::plain;

/// More letters of a fact are in the table alone.
const MAX_VALUE_CHARS: usize = 60;

/// A fact that sets a node apart, with its support.
pub(super) fn apart(fact: &FactCandidate, kind: &str) -> String {
    let FactCandidate { name, value, with, without, .. } = fact;
    let (nodes, are) = if with.nodes == 1 { ("node", "is") } else { ("nodes", "are") };
    format!(
        "of its facts `{name}: {}` sets it apart ({} of {} such {nodes} {are} {kind}, {} of {} \
         others): a candidate, no proof",
        shortened(value),
        with.found,
        with.nodes,
        without.found,
        without.nodes
    )
}

/// A value of a fact, which may be long, or a list of nothing.
pub(super) fn shortened(value: &str) -> String {
    let text = plain(value);
    if text.is_empty() {
        return "none".to_owned();
    }
    match text.chars().count() > MAX_VALUE_CHARS {
        true => text.chars().take(MAX_VALUE_CHARS).chain("...".chars()).collect(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_told_in_60_letters_and_nothing_as_none() {
        assert_eq!(shortened(""), "none");
        assert_eq!(shortened("seccomp"), "seccomp");
        assert_eq!(shortened(&"x".repeat(70)), format!("{}...", "x".repeat(60)));
    }
}
