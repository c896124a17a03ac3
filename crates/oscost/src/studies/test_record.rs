//! A record for the tests of this room.

use std::sync::LazyLock;

use oscost_model::record::{Record, Repetition, Row};

/// Simulations need thousands of it.
static STORED: LazyLock<Record> = LazyLock::new(|| {
    let text = include_str!("../../tests/store/run-1.json");
    let mut record: Record = serde_json::from_str(text).unwrap();
    record.comparisons.truncate(1);
    record.results.truncate(1);
    record
});

/// A stored record with one row and one comparison, both of other cases than those of the tests.
pub(super) fn stored_record() -> Record {
    STORED.clone()
}

/// A measured row of a case, with repetitions of these values in this order; a value that is not
/// positive is a failed repetition.
pub(super) fn measured_row(record: &Record, case: &str, values: &[f64]) -> Row {
    let mut row = record.results[0].clone();
    row.case = case.to_owned();
    let one = row.repetitions[0].clone();
    let repetitions = values.iter().zip(0..).map(|(&value, round)| Repetition {
        round,
        value: (value > 0.0).then_some(value),
        ..one.clone()
    });
    row.repetitions = repetitions.collect();
    row
}
