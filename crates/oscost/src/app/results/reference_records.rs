//! The records that come with oscost: runs that this project measured itself, in the folder
//! `records`.

use oscost_model::record::Record;

use super::packed_file;
use crate::store::{MAX_IMPORT_BYTES, validate};

/// A record in the program: its name, and its file as gzip(1) has packed it.
struct EmbeddedRecord {
    name: &'static str,
    packed: &'static [u8],
}

/// The file of a record.
macro_rules! embedded {
    ($name:literal) => {
        EmbeddedRecord {
            name: $name,
            packed: include_bytes!(concat!("../../../../../records/", $name, ".json.gz")),
        }
    };
}

/// The records. A name comes before a label of the same name.
const EMBEDDED: &[EmbeddedRecord] = &[
    embedded!("guest"),
    embedded!("guest-thp-never"),
    embedded!("guest-thp-always"),
    embedded!("guest-seccomp"),
    embedded!("guest-ebpf"),
    embedded!("guest-ptrace"),
    embedded!("guest-sud"),
    embedded!("guest-nice"),
    embedded!("guest-antagonist"),
    embedded!("vm-6.1"),
    embedded!("vm-6.1-mitigations-off"),
    embedded!("vm-6.12"),
    embedded!("vm-6.12-rt"),
];

/// A record that comes with oscost.
pub struct ReferenceRecord {
    /// Its name, without the `@`.
    pub name: &'static str,
    /// The record.
    pub record: Record,
}

/// The record of this name. A test reads all of them.
pub(crate) fn find(name: &str) -> Option<Record> {
    let EmbeddedRecord { packed, .. } = EMBEDDED.iter().find(|it| it.name == name)?;
    validate(&unpacked(packed)?).ok()
}

fn unpacked(packed: &[u8]) -> Option<Vec<u8>> {
    packed_file::unpacked(packed, MAX_IMPORT_BYTES).ok()
}

/// All records, in the order of the list.
pub(crate) fn all() -> Vec<ReferenceRecord> {
    names().filter_map(|name| Some(ReferenceRecord { name, record: find(name)? })).collect()
}

/// The names of all records, in the order of the list.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    EMBEDDED.iter().map(|it| it.name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    /// All records are part of the program.
    const MAX_PACKED_BYTES: usize = 256 << 10;

    #[test]
    fn each_file_of_the_folder_is_a_small_record_without_raw_batches() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../records");
        let mut files = BTreeSet::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            files.extend(name.strip_suffix(".json.gz").map(str::to_owned));
        }
        let names: BTreeSet<String> = EMBEDDED.iter().map(|it| it.name.to_owned()).collect();
        assert_eq!(names, files);
        for EmbeddedRecord { name, packed } in EMBEDDED {
            let is_plain = |c| matches!(c, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.');
            assert!(name.bytes().all(is_plain), "{name}");
            assert!(packed.len() <= MAX_PACKED_BYTES, "{name}: {} bytes", packed.len());
            let text = unpacked(packed).unwrap();
            let record = validate(&text).unwrap_or_else(|why| panic!("{name}: {why}"));
            let mut repetitions = record.results.iter().flat_map(|row| &row.repetitions);
            assert!(repetitions.all(|it| it.samples.is_none()), "{name} has raw batches");
            assert!(record.machines.iter().all(|it| it.os.release.is_some()), "{name}");
        }
        assert_eq!(all().len(), EMBEDDED.len());
        assert!(find("no-such-record").is_none());
    }
}
