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

/// The record of the run that `name` means: an id, the beginning of one, `last`, `last~1`.
pub(crate) fn record(store: &Store, name: &str, samples: bool) -> anyhow::Result<Record> {
    load(store, &store.find(name)?, samples)
}

/// The record of the run with exactly this id: assembled from its journal as it was the first time,
/// or as imported.
pub(crate) fn load(store: &Store, id: &str, samples: bool) -> anyhow::Result<Record> {
    match store.load(id)? {
        StoredRun::Journal(entries) => Assembler::read(&entries)
            .record(samples)
            .with_context(|| format!("run {id} never began")),
        StoredRun::Imported(record) => Ok(*record),
    }
}

/// Reads a whole file, or standard input for `-`, but at most one byte more than `max_bytes`: the
/// caller refuses what is longer.
pub(crate) fn read_file(file: &str, max_bytes: usize) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let opened: Box<dyn Read> = match file {
        "-" => Box::new(std::io::stdin()),
        path => {
            let opened = input_file::open(Path::new(path));
            Box::new(opened.with_context(|| format!("cannot open {path}"))?)
        }
    };
    opened
        .take(max_bytes as u64 + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("cannot read {file}"))?;
    Ok(bytes)
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
    /// file; anything else is looked up in the store, with its raw samples on request.
    pub(crate) fn read(&mut self, name: &str, samples: bool) -> anyhow::Result<Record> {
        let act = self.act;
        let is_file = name == "-" || name.contains('/') || name.ends_with(".json");
        if is_file {
            if name == "-" && std::mem::replace(&mut self.stdin_read, true) {
                let text = "`-` is named twice: standard input holds one record";
                return Err(UsageError(text.to_owned()).into());
            }
            let bytes = read_file(name, MAX_IMPORT_BYTES)?;
            return validate(&bytes).with_context(|| format!("cannot {act} {name}"));
        }
        let store = match self.store.take() {
            Some(store) => store,
            None => open_store_to_read()?,
        };
        let store = self.store.insert(store);
        record(store, name, samples)
            .with_context(|| format!("cannot {act} `{name}` (a file has a slash or ends in .json)"))
    }
}
