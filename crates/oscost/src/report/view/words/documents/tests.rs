//! Each word of a document is there once, with its meaning.

use std::collections::BTreeSet;

use super::*;

#[test]
fn each_document_has_a_word_once_and_explains_it() {
    let mut seen = BTreeSet::new();
    for document in DOCUMENTS {
        for word in document.words {
            assert!(seen.insert((document.source, word.name)), "{} is twice", word.name);
            assert!(!word.means.is_empty() && word.means.is_ascii(), "{}", word.name);
        }
    }
    assert_eq!(sections("findings").len(), 4, "of several documents");
    assert!(sections("no_such_key").is_empty());
    assert!(names().any(|name| name == "threshold_pct"));
}
