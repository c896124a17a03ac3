//! The numbers of pairs, and the time that they span, in words.

use super::*;

#[test]
fn a_short_span_is_not_nothing() {
    assert_eq!([0.0, 0.44, 1.0, 9.6, 61.7].map(span_text), ["<1 s", "<1 s", "1 s", "10 s", "62 s"]);
}

#[test]
fn one_pair_is_in_the_singular() {
    assert_eq!(pair_count(1, 1), "1 pair");
    assert_eq!(pair_count(1, 2), "1 to 2 pairs");
    assert_eq!(pair_count(12, 12), "12 pairs");
}
