//! What a word of a document is.

/// A JSON document, and those of its words that other tables of words do not have.
pub(super) struct Document {
    /// What prints or keeps it.
    pub(super) source: &'static str,
    pub(super) words: &'static [DocumentWord],
}

pub(super) struct DocumentWord {
    pub(super) name: &'static str,
    pub(super) means: &'static str,
}

pub(super) const fn word(name: &'static str, means: &'static str) -> DocumentWord {
    DocumentWord { name, means }
}
