//! A record as bytes: the text of its JSON, compressed. Its long numbers are compressed by
//! themselves: the rest repeats the names of its keys in each row, and takes little then.
//!
//! Older oscosts compressed the text as it is; that is read, too.

use std::error::Error;
use std::io::{Read, Write};

use flate2::Compression;
use flate2::bufread::ZlibDecoder;
use flate2::write::ZlibEncoder;
use oscost_model::record::Record;
use serde::de::DeserializeOwned;

use crate::store::error::Cause;
use crate::store::inspect;
use crate::store::tables::json::to_json;
use crate::store::tables::long_numbers::{Separated, join, separate};

/// The maximum size of the text: memory for a damaged store is bounded by it. No run is as large.
const MAX_TEXT_BYTES: usize = 1 << 30;

/// Packs a record.
pub(super) fn pack(record: &Record) -> Result<Vec<u8>, Cause> {
    // As for entries: a number that JSON does not have could not be read again.
    inspect::inspect(record, inspect::any_text)
        .map_err(|fault| Cause::Invalid(fault.to_string()))?;
    pack_valid(record)
}

/// Packs a record that was checked.
pub(in crate::store) fn pack_valid(record: &Record) -> Result<Vec<u8>, Cause> {
    let Separated { rest, order, heads, tails } = separate(&to_json(record)?);
    let mut packed = compressed(&rest)?;
    for part in [order, heads] {
        packed.append(&mut compressed(&part)?);
    }
    packed.extend(tails);
    Ok(packed)
}

fn compressed(text: &[u8]) -> Result<Vec<u8>, Cause> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text)?;
    Ok(encoder.finish()?)
}

/// Unpacks a record, or those keys of it that `T` has. Any bytes may be given.
pub(in crate::store) fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Box<dyn Error>> {
    let DecompressedText { text: rest, behind } = decompressed(bytes)?;
    if behind.is_empty() {
        return Ok(serde_json::from_slice(&rest)?);
    }
    let DecompressedText { text: order, behind } = decompressed(behind)?;
    let DecompressedText { text: heads, behind: tails } = decompressed(behind)?;
    let separated = Separated { rest: &rest[..], order: &order[..], heads: &heads[..], tails };
    Ok(serde_json::from_slice(&join(&separated, MAX_TEXT_BYTES)?)?)
}

/// A text that was compressed, and the bytes behind it.
struct DecompressedText<'a> {
    text: Vec<u8>,
    behind: &'a [u8],
}

fn decompressed(bytes: &[u8]) -> Result<DecompressedText<'_>, Box<dyn Error>> {
    let mut text = Vec::new();
    let mut decoder = ZlibDecoder::new(bytes);
    decoder.by_ref().take(MAX_TEXT_BYTES as u64).read_to_end(&mut text)?;
    if text.len() == MAX_TEXT_BYTES {
        return Err("it is too large".into());
    }
    Ok(DecompressedText { text, behind: decoder.into_inner() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        let text = include_str!("../../../tests/store/run-1.json");
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_record_is_read_back_to_the_last_bit() {
        let mut record = record();
        record.label = Some("0.123456789012 \"#\" \\".to_owned());
        let estimate = record.results[0].estimate.as_mut().unwrap();
        estimate.median = 0.1 + 0.2;
        estimate.min = -1.234_567_890_123e-300;
        estimate.sd = Some(f64::MIN_POSITIVE);
        assert_eq!(unpack::<Record>(&pack(&record).unwrap()).unwrap(), record);
    }

    #[test]
    fn what_an_older_oscost_packed_is_read() {
        let record = record();
        let text = to_json(&record).unwrap();
        let packed = compressed(text.as_bytes()).unwrap();
        assert_eq!(unpack::<Record>(&packed).unwrap(), record);
    }

    #[test]
    fn damaged_bytes_are_an_error() {
        let packed = pack(&record()).unwrap();
        for end in (0..packed.len()).step_by(101) {
            unpack::<Record>(&packed[..end]).unwrap_err();
        }
        unpack::<Record>(b"not packed").unwrap_err();
    }
}
