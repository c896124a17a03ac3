//! What the names of items mean, where they may be read otherwise.

use oscost_model::bill::Bill;

use super::families::is_small;

/// A part of names of items, and what it means.
struct FormWord {
    /// What the names begin with.
    begin: &'static str,
    meaning: &'static str,
}

static WORDS: [FormWord; 3] = [
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
    FormWord {
        begin: "switch across CPUs",
        meaning: "no context switch: a task is woken by one on another CPU, or begins on another one \
                  than its parent: what that takes more than on one CPU",
    },
];

/// A legend for each such word of the items that are shown.
pub(super) fn notes(bill: &Bill) -> impl Iterator<Item = String> {
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
        let of_wakes = told(&["switch across CPUs by TCP", "switch across CPUs"], 1e7);
        assert!(
            of_wakes[0].starts_with("switch across CPUs...: no context switch"),
            "{of_wakes:?}"
        );
        assert_eq!(of_wakes.len(), 1);
        assert!(told(&named, 1e12).is_empty(), "small items are not shown");
        assert!(told(&["newfstatat", "close file"], 1e7).is_empty());
    }
}
