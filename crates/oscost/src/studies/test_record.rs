//! A record for the tests of this room.

use std::sync::LazyLock;

use oscost_model::counters::CounterEvent;
use oscost_model::record::{Metric, Record, Repetition, Row, RowCounters};
use oscost_model::unit::Unit;

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

/// What was counted of an op.
#[derive(Clone, Copy)]
pub(super) struct CountedOp {
    pub(super) cycles: f64,
    pub(super) running_ns: Option<f64>,
    pub(super) waiting_ns: Option<f64>,
}

/// Adds what was counted of a row's op, in both modes.
pub(super) fn with_counts(row: &mut Row, op: CountedOp) {
    let CountedOp { cycles, running_ns, waiting_ns } = op;
    let mut estimate = row.estimate.clone().unwrap();
    (estimate.median, estimate.ci95) = (cycles, None);
    let unit = Unit::CyclesPerOp;
    let metric = Metric { unit, better: unit.better(), estimate };
    row.metrics.insert(CounterEvent::Cycles.metric().to_owned(), metric);
    row.counters = Some(RowCounters {
        workers: 3,
        read_by: Some("read".to_owned()),
        kernel: true,
        inherited: false,
        insn_sd_pct: None,
        repeats: None,
        counted_time_ratio: None,
        running_ns,
        waiting_ns,
        short_by: None,
        amortized: false,
        over_ticks: false,
        void: Vec::new(),
        repetitions: Vec::new(),
    });
}
