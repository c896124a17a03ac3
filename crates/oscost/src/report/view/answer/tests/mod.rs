//! Answers over made-up records.

mod comparison;
mod intervals;
mod run;

use oscost_model::case::Case;
use oscost_model::record::{Record, Row};

use crate::report::view::document::Answer;

/// A row of so many nanoseconds, whose interval is 5 % wide to each side.
fn row(case: &str, median: f64) -> Row {
    let Case { benchmark, point } = Case::parse(case).unwrap();
    let of_one = include_str!("../../../../../tests/store/run-1.json");
    let record: Record = serde_json::from_str(of_one).unwrap();
    let mut row = Row { case: case.to_owned(), benchmark, point, ..record.results[0].clone() };
    let estimate = row.estimate.as_mut().unwrap();
    estimate.median = median;
    estimate.ci95 = Some([0.95 * median, 1.05 * median]);
    row.flags.clear();
    row.target.treatments.clear();
    row
}

/// A run of these rows.
fn record(rows: Vec<Row>) -> Record {
    let of_one = include_str!("../../../../../tests/store/run-1.json");
    let mut record: Record = serde_json::from_str(of_one).unwrap();
    (record.results, record.comparisons) = (rows, Vec::new());
    record
}

/// The row with a flag.
fn flagged(mut row: Row, flag: &str) -> Row {
    row.flags.push(flag.to_owned());
    row
}

/// Asserts that each text is a sentence with its figures and in the right number.
#[track_caller]
fn assert_sentences(answer: &Answer) {
    for text in answer.paragraphs() {
        for wrong in ["NaN", "inf ", "inf)", "  ", "()", " .", " ,", "..", ";.", ":.", "-0 "] {
            assert!(!text.contains(wrong), "`{wrong}` is in `{text}`");
        }
        assert!(text.ends_with('.'), "`{text}` is no sentence");
        let words: Vec<&str> = text.split_whitespace().collect();
        for pair in words.windows(2) {
            let is_plural = ["cases", "rows", "runs"].iter().any(|noun| pair[1].starts_with(noun));
            // `1 of 4 rows has`: the number before the noun is that of all.
            assert!(!(pair[0] == "1" && is_plural), "`{text}` has a plural of 1");
        }
    }
}
