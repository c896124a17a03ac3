//! Records by name: of a run in the store, or from an untrusted file.

use std::io::Read;
use std::path::Path;

use anyhow::Context;
use oscost_model::bill::Bill;
use oscost_model::record::Record;

use super::user_data::open_store_to_read;
use super::{packed_file, reference_records};
use crate::app::error::UsageError;
use crate::bill::is_void;
use crate::estimate::Assembler;
use crate::files::input_file;
use crate::store::{
    FindError, MAX_IMPORT_BYTES, NamedRecord, RecordKind, Store, StoredRun, kind_of, validate,
    validate_bill,
};

/// A run, of the store or of a file.
pub struct KeptRun {
    /// Its record.
    pub record: Record,
    /// When its raw batches were pruned, if they were: the record has none then.
    pub pruned_at: Option<String>,
    /// Whether this user's oscost measured it: it was not imported, and is of no file.
    pub is_own: bool,
}

impl KeptRun {
    /// A run that was measured elsewhere.
    pub(crate) fn foreign(record: Record) -> Self {
        Self { record, pruned_at: None, is_own: false }
    }
}

/// A run or a bill, of the store or of a file.
pub enum KeptRecord {
    /// A run.
    Run(Box<KeptRun>),
    /// A bill.
    Bill(Box<Bill>),
}

/// The run or bill that `name` means, a run with its raw samples if they are wanted.
pub(crate) fn kept(store: &Store, name: &str, samples: bool) -> anyhow::Result<KeptRecord> {
    let NamedRecord { kind, id, .. } = store.find_record(name)?;
    Ok(match kind {
        RecordKind::Run => KeptRecord::Run(Box::new(assembled(store, &id, samples)?)),
        RecordKind::Bill => KeptRecord::Bill(Box::new(store.load_bill(&id)?)),
    })
}

/// The record of the run that `name` means: an id, the beginning of one, `last`, `last~1`, `@LABEL`.
pub(crate) fn record(store: &Store, name: &str, samples: bool) -> anyhow::Result<Record> {
    load(store, &store.find(name)?, samples)
}

/// The record of the run with exactly this id.
pub(crate) fn load(store: &Store, id: &str, samples: bool) -> anyhow::Result<Record> {
    Ok(assembled(store, id, samples)?.record)
}

/// The run with exactly this id: assembled from its journal as it was the first time, as it was
/// when it was pruned, or as imported.
pub(crate) fn assembled(store: &Store, id: &str, samples: bool) -> anyhow::Result<KeptRun> {
    match store.load(id)? {
        StoredRun::Journal(entries) => {
            let assembler = Assembler::read(&entries);
            let record = assembler.record(samples);
            Ok(KeptRun {
                record: record.with_context(|| never_began(id))?,
                pruned_at: assembler.pruned_at().map(str::to_owned),
                is_own: true,
            })
        }
        StoredRun::Imported(record) => Ok(KeptRun::foreign(*record)),
    }
}

/// The figures of a run.
pub(crate) struct EstimatedRun {
    /// Its record without what is computed of several rows (curves, crossings, comparisons), which
    /// takes longer than all the rest.
    pub(crate) record: Record,
    /// Whether a control of its comparisons showed an effect: a difference of its rows may be that.
    pub(crate) is_void: bool,
}

/// The figures of the run with exactly this id, and whether its comparisons are void.
pub(crate) fn estimated(store: &Store, id: &str) -> anyhow::Result<EstimatedRun> {
    match store.load(id)? {
        StoredRun::Journal(entries) => {
            let assembler = Assembler::read(&entries);
            let record = assembler.estimates(false).with_context(|| never_began(id))?;
            // A pruned run has its comparisons, and no batches of controls.
            let is_void = is_void(&record) || assembler.has_violated_control(&record);
            Ok(EstimatedRun { record, is_void })
        }
        StoredRun::Imported(record) => {
            let is_void = is_void(&record);
            Ok(EstimatedRun { record: *record, is_void })
        }
    }
}

/// The record of the run with exactly this id as far as its figures go, without that of its controls.
pub(crate) fn estimates(store: &Store, id: &str) -> anyhow::Result<Record> {
    match store.load(id)? {
        StoredRun::Journal(entries) => {
            Assembler::read(&entries).estimates(false).with_context(|| never_began(id))
        }
        StoredRun::Imported(record) => Ok(*record),
    }
}

fn never_began(id: &str) -> String {
    format!("the journal of run {id} has no start\n  hint: `oscost runs delete {id}` removes it")
}

/// Reads a whole file, or standard input for `-`, but at most one byte more than `max_bytes`: the
/// caller refuses what is longer.
pub(crate) fn read_file(file: &str, max_bytes: usize) -> anyhow::Result<Vec<u8>> {
    let max_bytes = max_bytes as u64;
    let read = match file {
        "-" => {
            let mut bytes = Vec::new();
            std::io::stdin().take(max_bytes + 1).read_to_end(&mut bytes).map(|_| bytes)
        }
        path => input_file::read(Path::new(path), max_bytes),
    };
    read.map_err(|error| {
        let hint = "name a file that exists and that you may read, or `-` for standard input";
        UsageError::with_hint(&format!("cannot read {file}: {error}"), hint).into()
    })
}

/// Reads the file of a record, which gzip(1) may have packed; `-` is standard input.
pub(crate) fn read_record_file(file: &str) -> anyhow::Result<Vec<u8>> {
    let bytes = read_file(file, MAX_IMPORT_BYTES)?;
    packed_file::content(bytes, MAX_IMPORT_BYTES).map_err(|error| {
        let what = format!("cannot unpack {file}: {error}");
        UsageError::with_hint(&what, "`gzip -t FILE` checks a packed file").into()
    })
}

/// The record that comes with oscost of this name, where no run has it as its label.
fn reference(error: &FindError) -> Option<Record> {
    match error {
        FindError::UnknownLabel { label, .. } => reference_records::find(label),
        _ => None,
    }
}

/// Reads records by name; the store is opened for the first one that needs it. A record that cannot be
/// read is an error of usage, also where a program is to be measured with it.
pub(crate) struct RecordReader {
    /// The verb of error messages: what the records are read for.
    act: &'static str,
    store: Option<Store>,
    stdin_read: bool,
}

impl RecordReader {
    /// A reader for errors with this verb.
    pub(crate) fn new(act: &'static str) -> Self {
        Self { act, store: None, stdin_read: false }
    }

    /// The run of that name: `-` is standard input; a name with a slash or ending in `.json` or
    /// `.json.gz` is a file, except a label; anything else is looked up in the store, with its raw
    /// samples on request. A label that no run has may be the name of a record that comes with
    /// oscost.
    pub(crate) fn read(&mut self, name: &str, samples: bool) -> anyhow::Result<KeptRun> {
        let act = self.act;
        if let Some(bytes) = self.file(name)? {
            let record = validate(&bytes).with_context(|| UsageError(unreadable(act, name)))?;
            return Ok(KeptRun::foreign(record));
        }
        let store = self.store()?;
        let read = match store.find(name) {
            Ok(id) => assembled(store, &id, samples),
            Err(error) => match reference(&error) {
                Some(record) => Ok(KeptRun::foreign(record)),
                None => Err(error.into()),
            },
        };
        read.map_err(|error| not_read(act, name, error))
    }

    /// The bill of that name, which means what it means for a run.
    pub(crate) fn read_bill(&mut self, name: &str) -> anyhow::Result<Bill> {
        let act = self.act;
        if let Some(bytes) = self.file(name)? {
            return validate_bill(&bytes).with_context(|| UsageError(unreadable(act, name)));
        }
        let store = self.store()?;
        let found = store.find_bill(name).map_err(anyhow::Error::from);
        let bill = found.and_then(|id| Ok(store.load_bill(&id)?));
        bill.map_err(|error| not_read(act, name, error))
    }

    /// The run or the bill of that name.
    pub(crate) fn read_any(&mut self, name: &str, samples: bool) -> anyhow::Result<KeptRecord> {
        let act = self.act;
        if let Some(bytes) = self.file(name)? {
            let read = match kind_of(&bytes) {
                Some(RecordKind::Bill) => {
                    validate_bill(&bytes).map(|bill| KeptRecord::Bill(Box::new(bill)))
                }
                _ => validate(&bytes)
                    .map(|record| KeptRecord::Run(Box::new(KeptRun::foreign(record)))),
            };
            return read.with_context(|| UsageError(unreadable(act, name)));
        }
        let read = kept(self.store()?, name, samples).or_else(|error| {
            match error.downcast_ref().and_then(reference) {
                Some(record) => Ok(KeptRecord::Run(Box::new(KeptRun::foreign(record)))),
                None => Err(error),
            }
        });
        read.map_err(|error| not_read(act, name, error))
    }

    /// The bytes of the file that a name means; `None` of a record of the store.
    fn file(&mut self, name: &str) -> anyhow::Result<Option<Vec<u8>>> {
        let has_ending = name.ends_with(".json") || name.ends_with(".json.gz");
        let has_file_name = name.contains('/') || has_ending;
        let is_file = name == "-" || (has_file_name && !name.starts_with('@'));
        if name == "-" && std::mem::replace(&mut self.stdin_read, true) {
            let what = "`-` is named twice: standard input holds one record";
            return Err(UsageError::with_hint(what, "name a file for the other").into());
        }
        is_file.then(|| read_record_file(name)).transpose()
    }

    fn store(&mut self) -> anyhow::Result<&Store> {
        let store = match self.store.take() {
            Some(store) => store,
            None => open_store_to_read()?,
        };
        Ok(self.store.insert(store))
    }
}

/// What cannot be done with a file, and where files come from that can be read.
pub(crate) fn unreadable(act: &str, file: &str) -> String {
    format!(
        "cannot {act} {file}\n  hint: `oscost runs export RUN FILE` writes a record that can be read"
    )
}

/// The error of a name of the store that means no record, or one that cannot be read.
fn not_read(act: &str, name: &str, cause: anyhow::Error) -> anyhow::Error {
    let what = match cause.downcast_ref::<FindError>() {
        Some(FindError::UnknownLabel { noun, .. } | FindError::EmptyLabel { noun, .. }) => {
            // No bill comes with oscost.
            let has_references = *noun != RecordKind::Bill.text();
            let hint = has_references.then(reference_hint).unwrap_or_default();
            format!("cannot {act} `{name}`{hint}")
        }
        _ if !name.is_empty() && Path::new(name).exists() => {
            format!("cannot {act} `{name}` (`./{name}` is the file of that name)")
        }
        _ => format!("cannot {act} `{name}` (a file has a slash or ends in .json)"),
    };
    cause.context(UsageError(what))
}

/// The names that records have without a label.
fn reference_hint() -> String {
    let names: Vec<String> = reference_records::names().map(|name| format!("@{name}")).collect();
    format!("\n  hint: the records that come with oscost are {}", names.join(", "))
}
