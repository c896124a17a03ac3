//! A comparison with its two rows.

use oscost_model::record::{Comparison, Row};

use crate::report::view::run::{instructions, programs};

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
        Self { it, base: programs::of_metric(base, it), new }
    }

    /// Whether its figures are counted instructions.
    pub(in crate::report::view) fn is_counted(&self) -> bool {
        instructions::is_counted(&self.base)
    }
}
