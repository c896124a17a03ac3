//! What each flag means and what to do about it, for the notes below a table.

use std::collections::BTreeMap;

use crate::advice::words::{Kind, Severity, Word, of_kind};
use crate::report::text::plain;
use crate::report::view::sections::first_of;

/// From this share of the rows on, a flag is said of nearly all of them.
const NEARLY_ALL: f64 = 0.8;
/// With fewer rows than these, that says less than their names.
const MIN_ROWS_FOR_SHARE: usize = 5;
/// The rows that should not be used are named, up to so many of a flag.
const MAX_NAMED: usize = 4;

/// The flags of rows with their cases, in sentences.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::report::view) struct FlagLines {
    /// Those that say that a figure should not be used or that its interval is wide; the worst first.
    pub(in crate::report::view) severe: Vec<String>,
    /// Those that are for information.
    pub(in crate::report::view) information: Vec<String>,
}

/// A sentence for each flag: its meaning, its rows, and what to do. `cases` has a flag and a case for
/// each flag of each row, `rows` is the number of all rows.
pub(in crate::report::view) fn lines<'a>(
    kind: Kind,
    cases: impl Iterator<Item = (&'a str, &'a str)>,
    rows: usize,
) -> FlagLines {
    let mut by_flag: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (flag, case) in cases {
        by_flag.entry(flag).or_default().push(case);
    }
    let mut flags: Vec<(Severity, &str, Vec<&str>)> =
        by_flag.into_iter().map(|(flag, cases)| (severity(kind, flag), flag, cases)).collect();
    // The sort is stable: flags of one severity stay in the order of their names.
    flags.sort_by_key(|(severity, ..)| std::cmp::Reverse(*severity));
    let mut lines = FlagLines::default();
    for (severity, flag, cases) in flags {
        let word = of_kind(kind, flag);
        let line = with_action(
            format!(
                "{}: {}: {}",
                plain(flag),
                meaning(word),
                plain(&named(severity, &cases, rows))
            ),
            word,
        );
        match severity {
            Severity::Information => lines.information.push(line),
            Severity::Wide | Severity::Unusable => lines.severe.push(line),
        }
    }
    lines
}

/// A flag of the whole run with its meaning and what to do.
pub(in crate::report::view) fn of_run(flag: &str) -> String {
    let word = of_kind(Kind::RunFlag, flag);
    with_action(format!("{}: {}", plain(flag), meaning(word)), word)
}

/// What a flag says of a figure. One of a newer oscost may say anything.
pub(in crate::report::view) fn severity(kind: Kind, flag: &str) -> Severity {
    of_kind(kind, flag).map_or(Severity::Wide, |word| word.severity)
}

/// The first flag by which a row's figure should not be used; `None` if it may be.
pub(in crate::report::view) fn unusable(kind: Kind, flags: &[String]) -> Option<&str> {
    let is_unusable = |flag: &&String| {
        of_kind(kind, flag).is_some_and(|word| word.severity == Severity::Unusable)
    };
    flags.iter().find(is_unusable).map(String::as_str)
}

fn meaning(word: Option<&Word>) -> &'static str {
    word.map_or("unknown to this version", |word| word.means)
}

fn with_action(line: String, word: Option<&Word>) -> String {
    match word.map(|word| word.action).filter(|action| !action.is_empty()) {
        Some(action) => format!("{line}. {action}"),
        None => line,
    }
}

/// The rows of a flag: those that should not be used by name, others by name or number.
fn named(severity: Severity, cases: &[&str], rows: usize) -> String {
    let (count, share) = (cases.len(), NEARLY_ALL * rows as f64);
    match severity {
        _ if count > MAX_NAMED && count == rows => format!("all {rows} rows"),
        _ if rows >= MIN_ROWS_FOR_SHARE && count as f64 >= share && count < rows => {
            format!("nearly all rows, {count} of {rows}")
        }
        Severity::Unusable if count <= MAX_NAMED => cases.join(", "),
        Severity::Wide | Severity::Information if count <= 2 => cases.join(", "),
        Severity::Unusable => first_of(cases),
        Severity::Wide | Severity::Information => format!("{count} of {rows} rows"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(flag: &'static str, count: usize, rows: usize) -> FlagLines {
        let cases = ["a/a", "a/b", "a/c", "a/d", "a/e", "a/f", "a/g", "a/h", "a/i", "a/j"];
        lines(Kind::RowFlag, cases.into_iter().take(count).map(|case| (flag, case)), rows)
    }

    #[test]
    fn rows_that_should_not_be_used_are_named_and_others_counted() {
        let line = |flag, count, rows| of(flag, count, rows).severe.concat();
        let some = line("DRIFT", 2, 10);
        assert!(some.contains("over 1 %: a/a, a/b. Measure again"), "{some}");
        assert!(line("DRIFT", 5, 10).contains(": a/a and 4 more. Measure"), "names and a number");
        assert!(line("NOT_CONVERGED", 1, 10).contains(": a/a. Read"), "one wide row is named");
        assert!(
            line("NOT_CONVERGED", 3, 10).contains(": 3 of 10 rows. Read"),
            "several are counted"
        );
    }

    #[test]
    fn what_holds_for_nearly_all_rows_is_one_sentence() {
        let line = |count, rows| of("NOT_CONVERGED", count, rows).severe.concat();
        assert!(line(9, 10).contains(": nearly all rows, 9 of 10. Read"), "{}", line(9, 10));
        assert!(line(10, 10).contains(": all 10 rows. Read"), "{}", line(10, 10));
        assert!(line(2, 2).contains(": a/a, a/b. Read"), "{}", line(2, 2));
        assert!(line(7, 10).contains(": 7 of 10 rows. Read"), "{}", line(7, 10));
    }

    #[test]
    fn flags_are_listed_by_severity_and_those_for_information_apart() {
        let cases = [
            ("PROCESSES_DIFFER", "a/a"),
            ("NOT_CONVERGED", "a/a"),
            ("COARSE_CLOCK", "a/b"),
            ("DRIFT", "a/c"),
            ("OF_A_NEWER_VERSION", "a/d"),
        ];
        let FlagLines { severe, information } = lines(Kind::RowFlag, cases.into_iter(), 4);
        let flags: Vec<&str> = severe.iter().filter_map(|line| line.split(':').next()).collect();
        assert_eq!(flags, ["DRIFT", "COARSE_CLOCK", "NOT_CONVERGED", "OF_A_NEWER_VERSION"]);
        let [common] = &information[..] else { panic!("{information:?}") };
        assert_eq!(common, "PROCESSES_DIFFER: processes differ, and the interval covers it: a/a");
        let mut unknown = severe.iter().filter(|line| line.contains("unknown to this version"));
        assert_eq!(unknown.by_ref().count(), 1, "it may say anything, so it is shown");
    }
}
