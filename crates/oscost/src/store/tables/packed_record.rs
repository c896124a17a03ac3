//! A record as bytes: the text of its JSON, compressed. That takes a seventh: it repeats the names
//! of its keys in each row.

use std::error::Error;
use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use oscost_model::record::Record;

use crate::store::error::Cause;
use crate::store::inspect;
use crate::store::tables::json::to_json;

/// The maximum size of the text: memory for a damaged store is bounded by it. No run is as large.
const MAX_TEXT_BYTES: u64 = 1 << 30;

/// Packs a record.
pub(super) fn pack(record: &Record) -> Result<Vec<u8>, Cause> {
    // As for entries: a number that JSON does not have could not be read again.
    inspect::inspect(record, inspect::any_text)
        .map_err(|fault| Cause::Invalid(fault.to_string()))?;
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(to_json(record)?.as_bytes())?;
    Ok(encoder.finish()?)
}

/// Unpacks a record. Any bytes may be given.
pub(super) fn unpack(bytes: &[u8]) -> Result<Record, Box<dyn Error>> {
    let mut text = Vec::new();
    ZlibDecoder::new(bytes).take(MAX_TEXT_BYTES).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}
