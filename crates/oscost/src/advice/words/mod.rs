//! The words that oscost prints, and what they mean: one table for `oscost explain`, for the notes
//! below tables and for docs/reference/GLOSSARY.md.
//!
//! A new word is one entry in a file of this folder. What has its own data is not repeated here:
//! benchmarks and axes (the catalog), treatments, studies, options, and the columns and keys of
//! files.

mod bill_columns;
mod bill_items;
mod bill_outside_wakes;
mod bills;
mod columns;
mod comparison_columns;
mod comparison_flags;
mod fleets;
mod general;
mod glossary;
mod history_columns;
mod list_columns;
mod machine_columns;
mod marks;
mod metrics;
mod monitor_columns;
mod results;
mod row_flags;
mod run_flags;
mod study_columns;
mod targets;
mod units;
mod verdicts;
mod word;

pub use self::word::{Kind, Severity, Word};

/// The files of the table.
const TABLES: [&[Word]; 23] = [
    row_flags::WORDS,
    comparison_flags::WORDS,
    run_flags::WORDS,
    results::WORDS,
    verdicts::WORDS,
    targets::WORDS,
    units::WORDS,
    metrics::WORDS,
    marks::WORDS,
    bills::WORDS,
    bill_items::WORDS,
    bill_outside_wakes::WORDS,
    columns::WORDS,
    comparison_columns::WORDS,
    bill_columns::WORDS,
    machine_columns::WORDS,
    history_columns::WORDS,
    study_columns::WORDS,
    monitor_columns::WORDS,
    list_columns::WORDS,
    fleets::WORDS,
    general::WORDS,
    glossary::WORDS,
];

/// All words.
pub fn all() -> impl Iterator<Item = &'static Word> {
    TABLES.into_iter().flatten()
}

/// The meanings of a word, whatever its case; where one is spelled exactly so, only those.
pub fn find(name: &str) -> Vec<&'static Word> {
    let mut found: Vec<&Word> = all().filter(|word| word.is_spelled(name)).collect();
    if found.iter().any(|word| word.word == name) {
        found.retain(|word| word.word == name || word.kind.is_of_sentences());
    }
    found.sort_by_key(|word| word.kind);
    found
}

/// The word of this kind, if there is one.
pub fn of_kind(kind: Kind, name: &str) -> Option<&'static Word> {
    all().find(|word| word.kind == kind && word.word == name)
}

/// The rows of docs/reference/GLOSSARY.md.
pub fn glossary() -> impl Iterator<Item = &'static Word> {
    glossary::WORDS.iter()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_word_has_one_meaning_of_a_kind_and_no_empty_one() {
        let mut seen = BTreeSet::new();
        for word in all() {
            assert!(seen.insert((word.kind, word.word)), "`{}` is there twice", word.word);
            assert!(!word.word.is_empty() && !word.means.is_empty(), "{word:?}");
            assert_eq!(word.word.trim(), word.word, "{word:?}");
            let texts = [word.means, word.range, word.matters, word.action, word.source];
            assert!(texts.iter().all(|text| !text.contains("  ") && text.is_ascii()), "{word:?}");
        }
    }

    #[test]
    fn a_word_is_found_whatever_its_case_and_its_exact_spelling_is_preferred() {
        assert_eq!(find("not_converged")[0].word, "NOT_CONVERGED");
        assert!(find("s").iter().all(|word| word.word == "s"), "the unit, not the mode");
        assert_eq!(find("very noisy")[0].word, "very-noisy", "as it is written in a sentence");
        assert_eq!(find("Fixed")[0].kind, Kind::CurveLine);
        assert!(find("no-such-word").is_empty());
        let first = |name: &str| find(name).first().map(|word| (word.word, word.kind));
        assert_eq!(first("lost"), Some(("lost", Kind::GeneralTerm)), "before a column");
        assert_eq!(first("interval"), Some(("interval", Kind::GeneralTerm)));
        assert_eq!(first("rows"), Some(("row", Kind::Term)), "of a plural the word");
        assert_eq!(first("batches"), Some(("batch, sample", Kind::Term)));
        assert_eq!(first("System call"), Some(("system call", Kind::GeneralTerm)));
        let kinds: Vec<Kind> = find("new").iter().map(|word| word.kind).collect();
        assert!(kinds.contains(&Kind::Term) && kinds.is_sorted(), "{kinds:?}");
    }
}
