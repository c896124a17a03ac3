//! An entry as two columns: JSON without samples, and the samples packed.
//!
//! Samples are by far the most of a journal. As JSON each takes some 130 bytes, packed about ten,
//! and whoever reads a journal for anything else need not unpack them.

use oscost_model::journal::{Entry, WorkerOutcome};
use oscost_model::worker::Sample;

use super::error::Cause;
use super::{inspect, samples};

/// An entry as it is kept.
pub(super) struct EntryRow {
    /// The entry as JSON, its samples left out.
    pub(super) json: String,
    /// The samples; `None` for an entry that can have none.
    pub(super) samples: Option<Vec<u8>>,
}

impl EntryRow {
    /// Takes an entry apart.
    pub(super) fn of(entry: &Entry) -> Result<EntryRow, Cause> {
        let mut bare = entry.clone();
        let samples = samples_of(&mut bare).map(|samples| samples::pack(&std::mem::take(samples)));
        // JSON has no infinity and no NaN: they would be written as null, and the whole journal
        // could not be read again. Found now, it costs one entry.
        inspect::inspect(&bare, inspect::any_text)
            .map_err(|fault| Cause::Invalid(fault.to_string()))?;
        let json =
            serde_json::to_string(&bare).map_err(|error| Cause::Invalid(error.to_string()))?;
        Ok(EntryRow { json, samples })
    }

    /// Puts an entry together again.
    pub(super) fn into_entry(self) -> Result<Entry, Cause> {
        let mut entry: Entry =
            serde_json::from_str(&self.json).map_err(|error| Cause::Damaged(error.to_string()))?;
        if let Some(samples) = samples_of(&mut entry) {
            let packed = self.samples.unwrap_or_default();
            *samples =
                samples::unpack(&packed).map_err(|error| Cause::Damaged(error.to_string()))?;
        }
        Ok(entry)
    }
}

/// The samples of an entry; `None` of one that can have none.
fn samples_of(entry: &mut Entry) -> Option<&mut Vec<Sample>> {
    match entry {
        Entry::Worker { outcome: WorkerOutcome::Sampled { samples, .. }, .. }
        | Entry::Control { samples, .. } => Some(samples),
        _ => None,
    }
}
