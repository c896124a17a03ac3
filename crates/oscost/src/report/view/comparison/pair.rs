//! A comparison with its two rows.

use oscost_model::counters::{CORE_CYCLES, is_work};
use oscost_model::record::{Comparison, Row};

use crate::report::view::run::{counters, instructions, programs};

/// A comparison, the row of its base, and the row that is compared with it.
pub(in crate::report::view) struct Pair<'a> {
    /// The comparison.
    pub(in crate::report::view) it: &'a Comparison,
    /// The row of the base, with the figure that is compared.
    pub(in crate::report::view) base: Row,
    /// The other row.
    pub(in crate::report::view) new: &'a Row,
}

impl<'a> Pair<'a> {
    /// A comparison and its rows.
    pub(in crate::report::view) fn of(it: &'a Comparison, base: &Row, new: &'a Row) -> Self {
        let base = match it.metric.as_str() {
            CORE_CYCLES => counters::in_cycles(base),
            metric if is_work(metric) && !programs::is_program(base) => {
                counters::with_metric(base, metric).unwrap_or_else(|| base.clone())
            }
            _ => programs::of_metric(base, it),
        };
        Self { it, base, new }
    }

    /// Whether its figures are instructions that the processor counted beside the row's own figure.
    pub(in crate::report::view) fn is_work(&self) -> bool {
        is_work(&self.it.metric)
    }

    /// Whether its rows are counted instructions, of a machine that counts them exactly.
    pub(in crate::report::view) fn is_counted(&self) -> bool {
        instructions::is_counted(&self.base) && !self.is_work()
    }
}
