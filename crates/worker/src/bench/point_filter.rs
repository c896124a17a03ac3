//! The points of a benchmark at which a rule applies.

use oscost_model::point::{Point, Value};

/// Axis values at which a rule applies; at every point if empty.
pub type PointFilter = &'static [(&'static str, &'static str)];

/// The point with these axes alone.
pub(super) fn partial_point(when: PointFilter) -> Point {
    when.iter().fold(Point::none(), |point, &(axis, value)| point.with(axis, Value::parse(value)))
}
