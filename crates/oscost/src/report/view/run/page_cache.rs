//! Where files lay, and what the page cache held of them.

use std::collections::BTreeMap;

use oscost_model::record::FileSummary;

use crate::report::text::plain;

/// What was seen of rows' files, in a line for each kind.
pub(in crate::report::view) fn lines<'a>(
    seen: impl Iterator<Item = &'a FileSummary>,
) -> Vec<String> {
    let mut kinds: BTreeMap<(&str, &str, bool), Vec<&FileSummary>> = BTreeMap::new();
    for file in seen {
        kinds.entry((&file.filesystem, &file.backing, file.cold)).or_default().push(file);
    }
    let line = |((system, behind, cold), files): (&(&str, &str, bool), &Vec<&FileSummary>)| {
        let looks: u64 = files.iter().map(|file| file.checks).sum();
        let held = |all: bool| {
            files.iter().all(|file| file.cached == [if all { file.pages } else { 0 }; 2])
        };
        let held = match () {
            () if held(true) => "all of their pages",
            () if held(false) => "none of their pages",
            () => "some of their pages (`file.cached` of the record)",
        };
        format!(
            "{} files on {} ({behind}): {looks} times before a pass, the page cache held {held}",
            if *cold { "cold" } else { "warm" },
            plain(system),
        )
    };
    kinds.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_of_files_is_a_line_that_says_what_was_cached_of_them() {
        let file = |cold, cached| FileSummary {
            filesystem: "ext4".into(),
            backing: "disk".into(),
            cold,
            pages: 256,
            checks: 21,
            cached,
        };
        let seen = [file(true, [0, 0]), file(true, [0, 0]), file(false, [256, 256])];
        assert_eq!(
            lines(seen.iter()),
            [
                "warm files on ext4 (disk): 21 times before a pass, the page cache held all of \
                 their pages",
                "cold files on ext4 (disk): 42 times before a pass, the page cache held none of \
                 their pages",
            ]
        );
        let some = lines([file(true, [0, 3])].iter());
        assert!(some[0].contains("some of their pages"), "{some:?}");
    }
}
