//! The screen that a text is for, and texts on it.

use std::collections::{BTreeMap, BTreeSet};

use super::paint::width;
use crate::report::text::fold;

/// The usual number of columns, also where no terminal has any.
pub const WIDTH: usize = 80;
/// From this number of columns on, there is room for bars beside a table.
const WIDE: usize = 120;
/// The widest lines of prose and of pictures: longer ones are hard to read along.
const MAX_PROSE: usize = 100;
/// A name that is shortened to less says nothing.
const MIN_NAME: usize = 10;
/// How far a list under a heading is indented, and every line but the first of a text.
pub(super) const INDENT: usize = 2;

/// The screen that a text is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScreenFormat {
    /// The columns of a line.
    pub columns: usize,
    /// Whether it shows colours.
    pub colour: bool,
}

impl ScreenFormat {
    /// A screen of the usual width without colours.
    pub const PLAIN: Self = Self { columns: WIDTH, colour: false };

    /// The columns of prose, and of pictures.
    pub(super) fn prose(self) -> usize {
        self.columns.min(MAX_PROSE)
    }

    /// Whether there is room for bars beside tables.
    pub(super) fn is_wide(self) -> bool {
        self.columns >= WIDE
    }

    /// Whether names are shortened rather than put on lines of their own.
    pub(super) fn is_narrow(self) -> bool {
        self.columns < WIDTH
    }
}

/// A text in lines of at most `columns`, of which the first is indented by `indent`, and the others
/// by `hanging` more.
pub(super) fn fold_lines(text: &str, indent: usize, hanging: usize, columns: usize) -> String {
    let more = " ".repeat(indent + hanging);
    format!("{:indent$}{}\n", "", fold(text, columns.saturating_sub(indent + hanging), &more))
}

/// Names in at most `columns`: in one that is longer, `..` stands for a part. Different names stay
/// different; one for which no part can be left out stays whole.
pub(super) fn short_names(names: &[&str], columns: usize) -> Vec<String> {
    let fits = |name: &&&str| width(name) <= columns;
    let mut taken: BTreeSet<String> = names.iter().filter(fits).map(|&it| it.to_owned()).collect();
    let mut known: BTreeMap<&str, String> = BTreeMap::new();
    let mut shorten = |name: &&'_ str| {
        if columns < MIN_NAME || width(name) <= columns {
            return (*name).to_owned();
        }
        let found = short_forms(name, columns).find(|short| !taken.contains(short));
        let short = found.unwrap_or_else(|| (*name).to_owned());
        taken.insert(short.clone());
        short
    };
    let mut short = Vec::new();
    for name in names {
        if !known.contains_key(name) {
            known.insert(name, shorten(name));
        }
        short.push(known[name].clone());
    }
    short
}

/// What a long name may be shortened to: its middle is left out, or another part.
fn short_forms(name: &str, columns: usize) -> impl Iterator<Item = String> {
    /// The beginning has the indentation.
    const MIN_HEAD: usize = 4;
    let letters: Vec<char> = name.chars().collect();
    let kept = columns.saturating_sub(2);
    let middle = kept / 2;
    // Names of one benchmark differ towards their ends.
    let tails = (middle..=kept.saturating_sub(MIN_HEAD)).chain((0..middle).rev());
    tails.map(move |tail| {
        let head = letters[..kept - tail].iter();
        let end = letters[letters.len() - tail..].iter();
        head.chain(&['.', '.']).chain(end).collect()
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_long_name_loses_its_middle() {
        let names = short_names(&["pipe/round-trip:peer_cpu=same,size=4096", "short"], 20);
        assert_eq!(names, ["pipe/roun..size=4096", "short"]);
        assert_eq!(short_names(&["0123456789abc"], 9), ["0123456789abc"], "too little is left");
    }

    #[test]
    fn equal_names_stay_equal() {
        let name = "a".repeat(30);
        let names = short_names(&[&name, &name], 12);
        assert_eq!(names, ["aaaaa..aaaaa", "aaaaa..aaaaa"]);
    }

    proptest! {
        #[test]
        fn different_names_stay_different(
            names in proptest::collection::btree_set("[ab]{3,24}", 1..40),
            columns in 10usize..20,
        ) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let short = short_names(&names, columns);
            let different: BTreeSet<&String> = short.iter().collect();
            prop_assert_eq!(different.len(), names.len());
            for (short, name) in short.iter().zip(names) {
                prop_assert!(short == name || width(short) == columns, "{} of {}", short, name);
            }
        }
    }
}
