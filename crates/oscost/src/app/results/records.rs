//! Records by name: of a run in the store, or from an untrusted file.

use std::io::Read;
use std::path::Path;

use anyhow::Context;
use oscost_model::record::Record;

use super::user_data::open_store_to_read;
use crate::app::error::UsageError;
use crate::estimate::Assembler;
use crate::files::input_file;
use crate::store::{MAX_IMPORT_BYTES, Store, StoredRun, validate};

/// A run of the store.
pub struct KeptRun {
    /// Its record.
    pub record: Record,
    /// When its raw batches were pruned, if they were: the record has none then.
    pub pruned_at: Option<String>,
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
            })
        }
        StoredRun::Imported(record) => Ok(KeptRun { record: *record, pruned_at: None }),
    }
}

/// The record of the run with exactly this id as far as its figures go: without what is computed of
/// several rows (curves, crossings, comparisons), which takes longer than all the rest.
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
        anyhow::anyhow!(
            "cannot read {file}: {error}\n  hint: name a file that exists and that you may read, or \
             `-` for standard input"
        )
    })
}

/// Reads records by name; the store is opened for the first one that needs it.
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

    /// The run of that name: `-` is standard input; a name with a slash or ending in `.json` is a
    /// file, except a label; anything else is looked up in the store, with its raw samples on
    /// request.
    pub(crate) fn read(&mut self, name: &str, samples: bool) -> anyhow::Result<KeptRun> {
        let act = self.act;
        let has_file_name = name.contains('/') || name.ends_with(".json");
        let is_file = name == "-" || (has_file_name && !name.starts_with('@'));
        if is_file {
            if name == "-" && std::mem::replace(&mut self.stdin_read, true) {
                let text = "`-` is named twice: standard input holds one record";
                return Err(UsageError(text.to_owned()).into());
            }
            let bytes = read_file(name, MAX_IMPORT_BYTES)?;
            let record = validate(&bytes).with_context(|| format!("cannot {act} {name}"))?;
            return Ok(KeptRun { record, pruned_at: None });
        }
        let store = match self.store.take() {
            Some(store) => store,
            None => open_store_to_read()?,
        };
        let store = self.store.insert(store);
        let found = store.find(name).map_err(anyhow::Error::from);
        found
            .and_then(|id| assembled(store, &id, samples))
            .with_context(|| format!("cannot {act} `{name}` (a file has a slash or ends in .json)"))
    }
}
