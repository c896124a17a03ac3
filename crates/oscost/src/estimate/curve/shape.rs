//! The shape of a curve, from which several curves are judged.

use oscost_stats::scaling::{Law, SizeCost};

/// The axis that sets the capacity of a channel.
pub(super) const CAPACITY: &str = "capacity";

/// The shape of a curve.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shape {
    /// The channel's capacity: the reported one, or the requested one.
    pub(super) capacity: Option<u64>,
    /// The intervals in which the curve bends; `None` if it has too few points.
    pub(super) bends: Option<Vec<[u64; 2]>>,
    /// Its points as costs.
    pub(super) sizes: Vec<SizeCost>,
    /// The law that fits all of them.
    pub(super) law: Option<CurveLaw>,
}

/// The law that fits a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CurveLaw {
    pub(super) law: Law,
    /// Whether no other law fits as well.
    pub(super) is_only_one: bool,
}
