//! The file systems of rows' files, and how much of the files was in the page cache.

use std::collections::BTreeMap;

use oscost_model::record::FileSummary;

use crate::report::text::plain;

/// A line for each kind of files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::report::view) struct CacheLines {
    /// Those of which the cache held what it should: all of a warm file, none of a cold one.
    pub(in crate::report::view) as_meant: Vec<String>,
    /// The others.
    pub(in crate::report::view) otherwise: Vec<String>,
}

/// The lines of these files.
pub(in crate::report::view) fn lines<'a>(
    files: impl Iterator<Item = &'a FileSummary>,
) -> CacheLines {
    let mut kinds: BTreeMap<(&str, &str, bool), Vec<&FileSummary>> = BTreeMap::new();
    for file in files {
        kinds.entry((&file.filesystem, &file.backing, file.cold)).or_default().push(file);
    }
    let mut lines = CacheLines::default();
    for ((filesystem, backing, cold), files) in &kinds {
        let checks: u64 = files.iter().map(|file| file.checks).sum();
        let is_cached = |all: bool| {
            files.iter().all(|file| file.cached == [if all { file.pages } else { 0 }; 2])
        };
        let cached = match () {
            () if is_cached(true) => "all of their pages",
            () if is_cached(false) => "none of their pages",
            () => "some of their pages (`file.cached` of the record)",
        };
        let line = format!(
            "{} files on {} ({backing}): {checks} times before a pass, the page cache held {cached}",
            if *cold { "cold" } else { "warm" },
            plain(filesystem),
        );
        match is_cached(!cold) {
            true => lines.as_meant.push(line),
            false => lines.otherwise.push(line),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_files_has_a_line_that_says_how_much_was_cached() {
        let file = |cold, cached| FileSummary {
            filesystem: "ext4".into(),
            backing: "disk".into(),
            cold,
            pages: 256,
            checks: 21,
            cached,
        };
        let files = [file(true, [0, 0]), file(true, [0, 0]), file(false, [256, 256])];
        assert_eq!(
            lines(files.iter()).as_meant,
            [
                "warm files on ext4 (disk): 21 times before a pass, the page cache held all of \
                 their pages",
                "cold files on ext4 (disk): 42 times before a pass, the page cache held none of \
                 their pages",
            ]
        );
        for (cold, cached, text) in [
            (true, [0, 3], "some of their pages"),
            (true, [256, 256], "held all of their pages"),
            (false, [0, 0], "held none of their pages"),
        ] {
            let CacheLines { as_meant, otherwise } = lines([file(cold, cached)].iter());
            assert!(as_meant.is_empty() && otherwise[0].contains(text), "{otherwise:?}");
        }
    }
}
