//! The kinds of records that a store has, and what a name in it means.

/// A kind of record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// A run, `oscost.run/1`.
    Run,
    /// A bill, `oscost.bill/1`.
    Bill,
}

impl RecordKind {
    /// Its name in a sentence.
    pub fn text(self) -> &'static str {
        match self {
            RecordKind::Run => "run",
            RecordKind::Bill => "bill",
        }
    }
}

/// A record of the store, by what it can be named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedRecord {
    /// Its kind.
    pub kind: RecordKind,
    /// A UUID in lower case.
    pub id: String,
    /// When a run was started, or a bill was finished, since runs that measure its prices are started
    /// in between: RFC 3339, UTC.
    pub time: String,
    /// The label that the user gave it.
    pub label: Option<String>,
    /// Whether it is a run that a bill has started for itself: `last` passes over it.
    pub is_of_bill: bool,
}
