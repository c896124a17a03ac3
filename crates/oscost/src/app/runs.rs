//! `oscost runs`: the runs in the store.

use anyhow::Context;
use oscost_model::record::Record;

pub use crate::store::Listing;

use super::observer::Observer;
use super::results::figures::keep_figures;
use super::results::records::{read_file, record};
use super::results::user_data::{open_store, open_store_to_delete, open_store_to_read};
use crate::store::MAX_IMPORT_BYTES;

/// The runs, newest first.
pub fn list() -> anyhow::Result<Vec<Listing>> {
    Ok(open_store_to_read()?.list()?)
}

/// The record of a run in the store, with its raw samples if they are wanted.
pub fn export(run: &str, samples: bool) -> anyhow::Result<Record> {
    record(&open_store_to_read()?, run, samples)
}

/// Deletes a run; returns its id.
pub fn delete(run: &str) -> anyhow::Result<String> {
    let mut store = open_store_to_delete()?;
    let id = store.find(run)?;
    store.delete(&id)?;
    Ok(id)
}

/// Keeps a record from a file, or from standard input for `-`; returns the id of its run.
pub fn import(file: &str, observer: &dyn Observer) -> anyhow::Result<String> {
    let mut store = open_store()?;
    let bytes = read_file(file, MAX_IMPORT_BYTES)?;
    let id = store.import(&bytes).with_context(|| format!("cannot import {file}"))?;
    let record = record(&store, &id, false)?;
    keep_figures(&mut store, &id, &record, observer);
    Ok(id)
}
