//! The records that come with oscost: runs that this project measured itself, in the folder
//! `records`.

use oscost_model::record::Record;

use crate::store::validate;

/// The names of the records, and their files. A name comes before a label of the same name.
const EMBEDDED: &[(&str, &str)] = &[];

/// A record that comes with oscost.
pub struct ReferenceRecord {
    /// Its name, without the `@`.
    pub name: &'static str,
    /// The record.
    pub record: Record,
}

/// The record of this name. A test reads all of them.
pub(crate) fn find(name: &str) -> Option<Record> {
    let (_, text) = EMBEDDED.iter().find(|(known, _)| *known == name)?;
    validate(text.as_bytes()).ok()
}

/// All records, in the order of the list.
pub(crate) fn all() -> Vec<ReferenceRecord> {
    let names = EMBEDDED.iter().map(|(name, _)| *name);
    names.filter_map(|name| Some(ReferenceRecord { name, record: find(name)? })).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    /// A record is read by each build and by each start of `oscost table`.
    const MAX_BYTES: usize = 1 << 20;

    #[test]
    fn each_file_of_the_folder_is_a_small_record_without_raw_batches() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../records");
        let mut files = BTreeSet::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "json") {
                files.insert(path.file_stem().unwrap().to_str().unwrap().to_owned());
            }
        }
        let names: BTreeSet<String> = EMBEDDED.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(names, files);
        for (name, text) in EMBEDDED {
            let is_plain = |c| matches!(c, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.');
            assert!(name.bytes().all(is_plain), "{name}");
            assert!(text.len() <= MAX_BYTES, "{name}: {} bytes", text.len());
            let record = validate(text.as_bytes()).unwrap_or_else(|why| panic!("{name}: {why}"));
            let mut repetitions = record.results.iter().flat_map(|row| &row.repetitions);
            assert!(repetitions.all(|it| it.samples.is_none()), "{name} has raw batches");
            assert!(record.machines.iter().all(|it| it.os.release.is_some()), "{name}");
        }
        assert_eq!(all().len(), EMBEDDED.len());
        assert!(find("no-such-record").is_none());
    }
}
