//! The words that name a run: in the store, or a file that anybody may have written.

use anyhow::Context;
use oscost_model::record::Record;

use super::{UsageError, runs};
use crate::store::{MOST_BYTES, Store, validate};

/// Finds runs; the store is opened when the first one is asked of it.
pub(super) struct Reader {
    /// What is to be done with them, in a word.
    act: &'static str,
    store: Option<Store>,
    stdin_read: bool,
}

impl Reader {
    /// Finds runs to do this with.
    pub(super) fn to(act: &'static str) -> Self {
        Self { act, store: None, stdin_read: false }
    }

    /// The run of that name: `-` is standard input; what has a slash or ends in `.json` is a file;
    /// anything else is asked of the store.
    /// The raw batches of a run in the store come with it if they are wanted.
    pub(super) fn record(&mut self, name: &str, samples: bool) -> anyhow::Result<Record> {
        let act = self.act;
        let is_file = name == "-" || name.contains('/') || name.ends_with(".json");
        if is_file {
            if name == "-" && std::mem::replace(&mut self.stdin_read, true) {
                let text = "`-` is named twice: standard input holds one record";
                return Err(UsageError(text.to_owned()).into());
            }
            let bytes = runs::read(name, MOST_BYTES)?;
            return validate(&bytes).with_context(|| format!("cannot {act} {name}"));
        }
        let store = match self.store.take() {
            Some(store) => store,
            None => runs::store()?,
        };
        let store = self.store.insert(store);
        runs::record(store, name, samples)
            .with_context(|| format!("cannot {act} `{name}` (a file has a slash or .json)"))
    }
}
