//! An entry as two columns: JSON without samples, and the samples packed.
//!
//! Samples are by far the most of a journal. As JSON each takes some 130 bytes, packed about ten,
//! and whoever reads a journal for anything else need not unpack them.

use std::borrow::Cow;

use oscost_model::journal::{CellOutcome, Entry};

use super::error::Cause;
use super::{inspect, samples};

/// An entry as it is kept.
pub(super) struct Body {
    /// The entry as JSON, its samples left out.
    pub(super) json: String,
    /// The samples; `None` for an entry that can have none.
    pub(super) samples: Option<Vec<u8>>,
}

impl Body {
    /// Takes an entry apart.
    pub(super) fn of(entry: &Entry) -> Result<Body, Cause> {
        let (bare, samples) = match entry {
            Entry::Cell {
                row,
                phase,
                at_s,
                outcome: CellOutcome::Sampled { samples, disturbance },
            } => {
                let outcome =
                    CellOutcome::Sampled { samples: Vec::new(), disturbance: disturbance.clone() };
                let bare = Entry::Cell { row: *row, phase: *phase, at_s: *at_s, outcome };
                (Cow::Owned(bare), Some(samples::pack(samples)))
            }
            entry => (Cow::Borrowed(entry), None),
        };
        // JSON has no infinity and no NaN: they would be written as null, and the whole journal
        // could not be read again. Found now, it costs one entry.
        inspect::inspect(&*bare, inspect::any_text)
            .map_err(|fault| Cause::Unkeepable(fault.to_string()))?;
        let json =
            serde_json::to_string(&*bare).map_err(|error| Cause::Unkeepable(error.to_string()))?;
        Ok(Body { json, samples })
    }

    /// Puts an entry together again.
    pub(super) fn into_entry(self) -> Result<Entry, Cause> {
        let mut entry: Entry =
            serde_json::from_str(&self.json).map_err(|error| Cause::Damaged(error.to_string()))?;
        if let Entry::Cell { outcome: CellOutcome::Sampled { samples, .. }, .. } = &mut entry {
            let packed = self.samples.unwrap_or_default();
            *samples =
                samples::unpack(&packed).map_err(|error| Cause::Damaged(error.to_string()))?;
        }
        Ok(entry)
    }
}
