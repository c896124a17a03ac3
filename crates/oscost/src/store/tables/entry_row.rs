//! A journal entry as two columns: JSON without samples, and the packed samples. Of the entry that
//! stands for a pruned journal, the second column is the record.
//!
//! Samples are by far the largest part of a journal. A sample takes some 130 bytes as JSON and
//! about ten packed, and code that reads a journal for anything else need not unpack them.

use std::error::Error;

use oscost_model::counters::CountedSet;
use oscost_model::journal::{CountingOutcome, Entry, WorkerOutcome};
use oscost_model::record::Record;
use oscost_model::worker::Sample;

use crate::store::error::Cause;
use crate::store::inspect;
use crate::store::tables::json::to_json;
use crate::store::tables::{counted_batches, packed_record, samples};

/// An entry as it is stored.
pub(in crate::store) struct EntryRow {
    /// The entry as JSON, without its samples.
    pub(in crate::store) json: String,
    /// The samples, or the record of a pruned run; `None` for a kind of entry without either.
    pub(in crate::store) samples: Option<Vec<u8>>,
}

impl EntryRow {
    /// Separates the samples from the rest of an entry.
    pub(in crate::store) fn of(entry: &Entry) -> Result<EntryRow, Cause> {
        let mut bare = entry.clone();
        let samples = match parts_of(&mut bare) {
            Some(Parts::Samples(samples)) => Some(samples::pack(&std::mem::take(samples))),
            Some(Parts::Counted(sets)) => Some(counted_batches::take_and_pack(sets)),
            Some(Parts::Record(record)) => {
                record.take().map(|record| packed_record::pack(&record)).transpose()?
            }
            None => None,
        };
        // JSON has no infinity and no NaN: they would be written as null, and the whole journal
        // could not be read again. Found now, it costs one entry.
        inspect::inspect(&bare, inspect::any_text)
            .map_err(|fault| Cause::Invalid(fault.to_string()))?;
        Ok(EntryRow { json: to_json(&bare)?, samples })
    }

    /// Puts the entry together again.
    pub(in crate::store) fn into_entry(self) -> Result<Entry, Box<dyn Error>> {
        let mut entry: Entry = serde_json::from_str(&self.json)?;
        let bytes = self.samples.unwrap_or_default();
        match parts_of(&mut entry) {
            Some(Parts::Samples(samples)) => *samples = samples::unpack(&bytes)?,
            Some(Parts::Counted(sets)) => counted_batches::unpack_into(sets, &bytes)?,
            Some(Parts::Record(record)) => *record = Some(Box::new(packed_record::unpack(&bytes)?)),
            None => {}
        }
        Ok(entry)
    }
}

/// The part of an entry that is packed.
enum Parts<'a> {
    Samples(&'a mut Vec<Sample>),
    /// Sets of counted batches.
    Counted(&'a mut [CountedSet]),
    /// The record that stands for a pruned journal.
    Record(&'a mut Option<Box<Record>>),
}

/// The part of an entry that is packed; `None` for a kind of entry without one.
fn parts_of(entry: &mut Entry) -> Option<Parts<'_>> {
    match entry {
        Entry::Worker { outcome: WorkerOutcome::Sampled { samples, .. }, .. }
        | Entry::Control { samples, .. } => Some(Parts::Samples(samples)),
        Entry::EventsCounted { outcome: CountingOutcome::Batches(counts), .. } => {
            Some(Parts::Counted(&mut counts.sets))
        }
        Entry::Pruned { record, .. } => Some(Parts::Record(record)),
        _ => None,
    }
}
