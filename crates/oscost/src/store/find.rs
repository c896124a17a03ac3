//! Finds a record by a name: an id, a unique prefix of one, `last` for the newest one, `last~N` for
//! the one that is N before that, or `@LABEL` for the newest with that label. A run is as new as its
//! start, a bill as its end.
//!
//! Where one kind is wanted, `last` counts records of that kind alone. It never counts runs that a
//! bill has started for itself: the user did not ask for them, and knows the bill.

use super::error::StoreError;
use super::file::Store;
use super::find_error::FindError;
use super::record_kind::{NamedRecord, RecordKind};

/// The maximum number of records that an error names.
const MAX_NAMED: usize = 5;

impl Store {
    /// The id of the run that `name` identifies.
    pub fn find(&self, name: &str) -> Result<String, FindError> {
        self.find_of(RecordKind::Run, name)
    }

    /// The id of the bill that `name` identifies.
    pub fn find_bill(&self, name: &str) -> Result<String, FindError> {
        self.find_of(RecordKind::Bill, name)
    }

    /// The run or bill that `name` identifies.
    pub fn find_record(&self, name: &str) -> Result<NamedRecord, FindError> {
        let all = self.named_records()?;
        let has_bills = all.iter().any(|record| record.kind == RecordKind::Bill);
        let noun = if has_bills { "run or bill" } else { RecordKind::Run.text() };
        let stored = all.len();
        find_among(all, name, RecordSearch { noun, stored })
    }

    fn find_of(&self, wanted: RecordKind, name: &str) -> Result<String, FindError> {
        let all = self.named_records()?;
        let stored = all.len();
        let (of_kind, others): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|record| record.kind == wanted);
        let found = find_among(of_kind, name, RecordSearch { noun: wanted.text(), stored });
        let unknown = match found {
            Ok(record) => return Ok(record.id),
            Err(error @ (FindError::Unknown { .. } | FindError::UnknownLabel { .. })) => error,
            Err(error) => return Err(error),
        };
        if before_last(name).is_some() {
            // The last one of another kind was not meant.
            return Err(unknown);
        }
        match find_among(others, name, RecordSearch { noun: "", stored }) {
            Ok(NamedRecord { kind, .. }) => {
                Err(FindError::OtherKind { name: name.to_owned(), wanted, found: kind })
            }
            Err(_) => Err(unknown),
        }
    }

    /// All runs and bills, the newest first.
    fn named_records(&self) -> Result<Vec<NamedRecord>, StoreError> {
        let runs = self.list()?.into_iter().map(|run| NamedRecord {
            kind: RecordKind::Run,
            is_of_bill: run.is_of_bill(),
            id: run.id,
            time: run.started,
            label: run.label,
        });
        let bills = self.list_bills()?.into_iter().map(|bill| NamedRecord {
            kind: RecordKind::Bill,
            is_of_bill: false,
            id: bill.id,
            time: bill.ended,
            label: bill.label,
        });
        let mut all: Vec<NamedRecord> = runs.chain(bills).collect();
        all.sort_by(|one, other| (&other.time, &other.id).cmp(&(&one.time, &one.id)));
        Ok(all)
    }
}

/// What is looked for.
#[derive(Clone, Copy)]
struct RecordSearch {
    /// Its kind, in a sentence.
    noun: &'static str,
    /// How many records of any kind the store has.
    stored: usize,
}

/// The one of these records, the newest first, that `name` identifies.
fn find_among(
    mut records: Vec<NamedRecord>,
    name: &str,
    RecordSearch { noun, stored }: RecordSearch,
) -> Result<NamedRecord, FindError> {
    if let Some(back) = before_last(name) {
        let found = (0..records.len()).filter(|&at| !records[at].is_of_bill).nth(back);
        if let Some(at) = found {
            return Ok(records.swap_remove(at));
        }
        if back < records.len() {
            return Err(FindError::OfBillsAlone { noun, name: name.to_owned() });
        }
    }
    if let Some(label) = name.strip_prefix('@') {
        return with_label(records, label, noun);
    }
    let prefix = name.to_ascii_lowercase();
    let matches = |record: &&NamedRecord| !prefix.is_empty() && record.id.starts_with(&prefix);
    let mut found: Vec<NamedRecord> = records.iter().filter(matches).cloned().collect();
    let ids = |records: Vec<NamedRecord>| -> Vec<String> {
        records.into_iter().take(MAX_NAMED).map(|record| record.id).collect()
    };
    match found.len() {
        1 => Ok(found.swap_remove(0)),
        0 => {
            let is_label = records.iter().any(|it| it.label.as_deref() == Some(name));
            let newest = ids(records);
            Err(match name {
                _ if is_label && !name.is_empty() => {
                    FindError::BareLabel { noun, name: name.to_owned() }
                }
                "" => FindError::EmptyName { noun, newest },
                name => FindError::Unknown { noun, name: name.to_owned(), newest, stored },
            })
        }
        count => {
            let kind = found[0].kind;
            let are_of_one_kind = found.iter().all(|record| record.kind == kind);
            let noun = if are_of_one_kind { kind.text() } else { "record" };
            let newest = ids(found);
            Err(FindError::Ambiguous { noun, name: name.to_owned(), count, newest })
        }
    }
}

/// The newest of these records, the newest first, that has this label.
fn with_label(
    mut records: Vec<NamedRecord>,
    label: &str,
    noun: &'static str,
) -> Result<NamedRecord, FindError> {
    let is_labelled = |record: &NamedRecord| record.label.as_deref() == Some(label);
    if let Some(at) = records.iter().position(is_labelled) {
        return Ok(records.swap_remove(at));
    }
    let mut labels: Vec<String> = Vec::new();
    for other in records.into_iter().filter_map(|record| record.label) {
        if labels.len() < MAX_NAMED && !labels.contains(&other) {
            labels.push(other);
        }
    }
    Err(match label {
        "" => FindError::EmptyLabel { noun, labels },
        label => FindError::UnknownLabel { noun, label: label.to_owned(), labels },
    })
}

/// N of `last~N`, 0 of `last`; `None` of another name.
fn before_last(name: &str) -> Option<usize> {
    match name.strip_prefix("last")? {
        "" => Some(0),
        back => back.strip_prefix('~')?.parse().ok(),
    }
}
