//! The columns of single shots in the table `rows`.

use crate::report::view::export::sheet::Column;
use crate::report::view::export::sheet::Kind::{Float, Integer};

/// When quantiles are unknown.
const NO_SHOTS: Option<&str> = Some("modes U, B, T");

pub(super) const SHOTS: Column = Column {
    name: "shots",
    kind: Integer,
    means: "single shots, of which the next five are quantiles",
    unknown: NO_SHOTS,
    read: |line| line.estimate(|it| it.quantiles.as_ref().map(|of| of.n)),
};
pub(super) const SHOT_P50: Column = Column {
    name: "shot_p50",
    kind: Float,
    means: "the median of the shots",
    unknown: NO_SHOTS,
    read: |line| line.estimate(|it| it.quantiles.as_ref().map(|of| of.p50)),
};
pub(super) const SHOT_P90: Column = Column {
    name: "shot_p90",
    kind: Float,
    means: "their 90th percentile",
    unknown: Some("below 36 shots"),
    read: |line| line.estimate(|it| it.quantiles.as_ref().and_then(|of| of.p90)),
};
pub(super) const SHOT_P99: Column = Column {
    name: "shot_p99",
    kind: Float,
    means: "their 99th percentile",
    unknown: Some("below 368 shots"),
    read: |line| line.estimate(|it| it.quantiles.as_ref().and_then(|of| of.p99)),
};
pub(super) const SHOT_P999: Column = Column {
    name: "shot_p999",
    kind: Float,
    means: "their 99.9th percentile",
    unknown: Some("below 3688 shots"),
    read: |line| line.estimate(|it| it.quantiles.as_ref().and_then(|of| of.p999)),
};
pub(super) const SHOT_MAX: Column = Column {
    name: "shot_max",
    kind: Float,
    means: "the largest shot",
    unknown: NO_SHOTS,
    read: |line| line.estimate(|it| it.quantiles.as_ref().map(|of| of.max)),
};
