//! The primitives that an op contains.

use oscost_model::definition::FloorPart;

use super::point_filter::{PointFilter, partial_point};

/// A primitive that an op contains.
#[derive(Clone, Copy)]
pub struct Floor {
    case: &'static str,
    times: u32,
    when: PointFilter,
}

/// One op contains the primitive at least `times` times.
pub const fn at_least(times: u32, case: &'static str) -> Floor {
    Floor { case, times, when: &[] }
}

impl Floor {
    /// Applies at these axis values only.
    #[must_use]
    pub const fn when(self, when: PointFilter) -> Self {
        Self { when, ..self }
    }

    pub(super) fn data(&self) -> FloorPart {
        let when = partial_point(self.when);
        FloorPart { case: self.case.to_owned(), times: self.times, when }
    }
}
