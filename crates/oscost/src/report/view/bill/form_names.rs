//! What the names of forms of calls mean, where they may be read otherwise.

use oscost_model::bill::Bill;

use super::families::is_small;

/// A part of names of forms, and what it means.
struct FormWord {
    /// The call and the word behind it.
    begin: &'static str,
    meaning: &'static str,
}

static WORDS: [FormWord; 2] = [
    FormWord {
        begin: "newfstatat empty ",
        meaning: "by an empty path (AT_EMPTY_PATH), the stat of an open descriptor of this kind, as by \
                  fstat(2)",
    },
    FormWord {
        begin: "close shared ",
        meaning: "another descriptor or process refers to the same open file, so that the close \
                  releases nothing",
    },
];

/// A legend for each such word of the items that are shown.
pub(in crate::report::view) fn notes(bill: &Bill) -> impl Iterator<Item = String> {
    let is_shown = move |word: &&FormWord| {
        bill.items.iter().any(|item| item.name.starts_with(word.begin) && !is_small(item))
    };
    WORDS.iter().filter(is_shown).map(|word| format!("{}...: {}", word.begin, word.meaning))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::view::bill::made_up::{bill, priced};

    #[test]
    fn a_name_that_may_be_misread_has_a_legend_where_it_is_shown() {
        let item = |name: &str| priced(name, "files", 1_000.0, 1_000.0);
        let told = |names: &[&str], system_ns: f64| -> Vec<String> {
            let items = names.iter().map(|name| item(name)).collect();
            notes(&bill(items, system_ns)).collect()
        };
        let named = ["newfstatat empty directory", "newfstatat empty file", "close shared tcp"];
        let found = told(&named, 1e7);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("newfstatat empty ...: by an empty path (AT_EMPTY_PATH)"));
        assert!(found[1].starts_with("close shared ...: another descriptor"));
        assert!(told(&named, 1e12).is_empty(), "small items are not shown");
        assert!(told(&["newfstatat", "close file"], 1e7).is_empty());
    }
}
